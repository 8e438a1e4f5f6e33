//! Scaled dot-product attention, softmax(q·kᵀ/√d)·v in several heads (Vaswani et al. 2017): arguments, checks, reference.

use std::ops::Range;

/// Which keys a query sees. A value with one predicate, never a tensor of `query_len · kv_len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// Every key: encoders, cross-attention.
    None,
    /// Keys up to the query's own position: decoders.
    Causal,
}

impl Mask {
    /// Whether the query at position `query` sees the key at position `key`, both counted from the sequence's start.
    pub fn visible(self, query: usize, key: usize) -> bool {
        match self {
            Mask::None => true,
            Mask::Causal => key <= query,
        }
    }
}

/// Columns of a tensor from `column` on: one of the queries, keys and values that lie side by side.
#[derive(Debug)]
pub struct View<'a, T> {
    /// The tensor.
    pub tensor: &'a T,
    /// Its first column.
    pub column: usize,
}

/// Where keys and values lie: `[kv_len, num_kv_heads · head_dim]` each.
#[derive(Debug)]
pub struct KeyValue<'a, T> {
    /// Keys.
    pub k: View<'a, T>,
    /// Values.
    pub v: View<'a, T>,
}

/// One sequence of a ragged batch: its queries and the keys and values they look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionSegment {
    /// Rows of the query tensor.
    pub query_rows: Range<usize>,
    /// Index into [`AttentionArgs::kv`].
    pub kv: usize,
    /// Rows of the keys and values.
    pub kv_rows: Range<usize>,
    /// Position of the first query, for the mask: the keys cached before it.
    pub past_len: usize,
}

/// Arguments of one attention call over a ragged batch.
#[derive(Debug)]
pub struct AttentionArgs<'a, T> {
    /// Queries, `[query rows, num_heads · head_dim]`.
    pub q: View<'a, T>,
    /// Keys and values, which segments name by index.
    pub kv: &'a [KeyValue<'a, T>],
    /// The sequences; their query rows tile the query tensor in order.
    pub segments: &'a [AttentionSegment],
    /// Heads of the queries.
    pub num_heads: usize,
    /// Heads of keys and values; divides `num_heads` (grouped-query attention, Ainslie et al. 2023).
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Factor of the scores, usually 1/√head_dim.
    pub scale: f32,
    /// Which keys a query sees.
    pub mask: Mask,
    /// Heads whose weights are returned beside the result.
    pub weights_of: &'a [usize],
}
