//! Attention, softmax(score(q, k))·v in several heads: arguments, checks, reference. Scores are q·kᵀ/√d (Vaswani et al. 2017)
//! or additive (Bahdanau et al. 2015).

#[cfg(feature = "recurrent")]
mod additive;
pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(all(feature = "gpu", feature = "recurrent"))]
pub mod gpu_additive;
#[cfg(feature = "gpu")]
mod gpu_plan;
mod tiles;

use super::linear::mismatch;
use crate::error::Result;
use std::ops::Range;

/// Which keys a query sees. A value with one predicate, never a tensor of `query_len · kv_len`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// Every key: encoders, cross-attention.
    None,
    /// Keys up to the query's own position: decoders.
    Causal,
    /// As `Causal`, and of these only the last so many (sliding-window attention, Beltagy et al. 2020).
    Window(usize),
}

impl Mask {
    /// Whether the query at position `query` sees the key at position `key`, both counted from the sequence's start.
    pub fn visible(self, query: usize, key: usize) -> bool {
        match self {
            Mask::None => true,
            Mask::Causal => key <= query,
            Mask::Window(width) => key <= query && query - key < width,
        }
    }

    /// The keys of `0..kv_len` that are [`Mask::visible`] to `query`: under every mask they are neighbours.
    pub fn visible_keys(self, query: usize, kv_len: usize) -> Range<usize> {
        match self {
            Mask::None => 0..kv_len,
            Mask::Causal => 0..kv_len.min(query.saturating_add(1)),
            Mask::Window(width) => {
                let end = kv_len.min(query.saturating_add(1));
                query.saturating_add(1).saturating_sub(width).min(end)..end
            }
        }
    }
}

/// Columns of a tensor from `column` on: queries, beside which keys and values may lie.
#[derive(Debug)]
pub struct View<'a, T> {
    /// The tensor.
    pub tensor: &'a T,
    /// Its first column.
    pub column: usize,
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

/// How keys and values of tokens are remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheKind {
    /// Float32, for many short sequences (beams): room is used again, and growing costs no allocation once warm.
    #[default]
    Short,
    /// Float32, for few long sequences: growing moves nothing, and copies share what they have in common.
    Long,
    /// As `Long`, of int8 with a scale for each token's key and value of each head: little more than a quarter of it.
    LongInt8,
}

/// Keys and values side by side, which segments name by index: just computed, or remembered.
#[derive(Debug)]
pub enum KeysValues<'a, T, C> {
    /// In tensors.
    Tensors(&'a [T]),
    /// In caches.
    Caches(&'a [C]),
}

/// Where keys and values are to be remembered.
pub struct Kept<'a, C> {
    /// One a sequence.
    pub caches: &'a mut [C],
    /// The sequences, of which the query rows matter.
    pub segments: &'a [AttentionSegment],
    /// First column of the keys; the values follow.
    pub column: usize,
}

/// What makes a score of a query and a key.
#[cfg(feature = "recurrent")]
#[derive(Debug, Clone, Copy)]
pub enum Score<'a, T> {
    /// `Σ_d q[d] · k[d]` (Luong et al. 2015, Vaswani et al. 2017).
    DotProduct,
    /// `Σ_d w[d] · tanh(q[d] + k[d])` (Bahdanau et al. 2015), with w in a row, `[1, num_heads · head_dim]`.
    Additive(&'a T),
}

/// Arguments of one attention call over a ragged batch.
#[derive(Debug)]
pub struct AttentionArgs<'a, T, C> {
    /// Queries, `[query rows, num_heads · head_dim]`.
    pub q: View<'a, T>,
    /// Keys and values.
    pub kv: KeysValues<'a, T, C>,
    /// First column of the keys, `[kv_len, num_kv_heads · head_dim]`.
    pub k_column: usize,
    /// First column of the values, `[kv_len, num_kv_heads · head_dim]`.
    pub v_column: usize,
    /// The sequences; their query rows tile the query tensor in order.
    pub segments: &'a [AttentionSegment],
    /// Heads of the queries.
    pub num_heads: usize,
    /// Heads of keys and values; divides `num_heads` (grouped-query attention, Ainslie et al. 2023).
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// What makes a score of a query and a key.
    #[cfg(feature = "recurrent")]
    pub score: Score<'a, T>,
    /// Factor of the scores, usually 1/√head_dim.
    pub scale: f32,
    /// Scores become `cap · tanh(score / cap)` before the mask, which bounds them (Gemma Team 2024).
    pub score_cap: Option<f32>,
    /// Added to the scores by the distance of key and query, after the scale: `[num_heads, 2 · reach + 1]`, for a key
    /// so many positions after its query in column `reach` + that (relative positions, Shaw et al. 2018, Raffel et al.
    /// 2020).
    pub relative: Option<&'a T>,
    /// Which keys a query sees.
    pub mask: Mask,
    /// Heads whose weights are returned beside the result.
    pub weights_of: &'a [usize],
}

/// Checks the arguments, given the shapes of tensors and caches; returns the longest `kv_len` of the segments.
pub fn check<T, C>(
    args: &AttentionArgs<'_, T, C>,
    shape: impl Fn(&T) -> (usize, usize),
    cache_shape: impl Fn(&C) -> (usize, usize),
) -> Result<usize> {
    let (heads, kv_heads) = (args.num_heads, args.num_kv_heads);
    if args.head_dim == 0 || kv_heads == 0 || heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(mismatch(
            "attention",
            "num_heads a multiple of num_kv_heads",
            [heads, kv_heads, args.head_dim],
        ));
    }
    if let Some(head) = args.weights_of.iter().find(|&&head| head >= heads) {
        return Err(mismatch("attention weights", format!("a head below {heads}"), head));
    }
    let fits = |(tensor_rows, columns): (usize, usize),
                column: usize,
                heads: usize,
                rows: usize| {
        let end = heads.checked_mul(args.head_dim).and_then(|width| width.checked_add(column));
        match end {
            Some(end) if end <= columns && rows <= tensor_rows => Ok(()),
            _ => Err(mismatch("attention", [rows, heads * args.head_dim], [tensor_rows, columns])),
        }
    };
    let mut next_row = 0;
    let mut longest = 0;
    for segment in args.segments {
        let (queries, keys) = (&segment.query_rows, &segment.kv_rows);
        if queries.start != next_row || queries.end < next_row || keys.end < keys.start {
            return Err(mismatch(
                "attention segments",
                format!("rows from {next_row} on"),
                segment,
            ));
        }
        next_row = queries.end;
        longest = longest.max(keys.len());
        let kv = match args.kv {
            KeysValues::Tensors(tensors) => tensors.get(segment.kv).map(&shape),
            KeysValues::Caches(caches) => caches.get(segment.kv).map(&cache_shape),
        };
        let kv = kv.ok_or_else(|| {
            mismatch("attention segments", "one of the keys and values", segment.kv)
        })?;
        fits(kv, args.k_column, kv_heads, keys.end)?;
        fits(kv, args.v_column, kv_heads, keys.end)?;
    }
    if let Some((rows, columns)) = args.relative.map(&shape) {
        let farthest = |segment: &AttentionSegment| {
            let last = segment.past_len.saturating_add(segment.query_rows.len());
            segment.kv_rows.len().max(last)
        };
        let needed = args.segments.iter().map(farthest).max().unwrap_or(0).max(1);
        if rows != heads || columns.is_multiple_of(2) || columns / 2 < needed - 1 {
            return Err(mismatch("relative positions", [heads, 2 * needed - 1], [rows, columns]));
        }
    }
    #[cfg(feature = "recurrent")]
    if let Score::Additive(weights) = args.score {
        fits(shape(weights), 0, heads, 1)?;
    }
    fits(shape(args.q.tensor), args.q.column, heads, next_row)?;
    let (query_rows, _) = shape(args.q.tensor);
    if query_rows != next_row {
        return Err(mismatch("attention segments", query_rows, next_row));
    }
    Ok(longest)
}

/// For every query row and head: `scores[j] = scale · Σ_d q[d] · k[j, d] + relative[j − i]` ([`Score`] has the other sum), capped, over the visible keys j,
/// `probs = softmax(scores)`, `y[d] = Σ_j probs[j] · v[j, d]`, in double precision; and the probs of the heads asked
/// for. `values` gives the values and the number of columns of a tensor; caches are tensors here.
pub fn reference<T>(
    args: &AttentionArgs<'_, T, T>,
    values: impl Fn(&T) -> (&[f32], usize),
) -> (Vec<f32>, Vec<f32>) {
    let at = |tensor: &T, row: usize, column: usize| {
        let (values, columns) = values(tensor);
        f64::from(values[row * columns + column])
    };
    let longest = args.segments.iter().map(|segment| segment.kv_rows.len()).max().unwrap_or(0);
    let (mut y, mut weights) = (Vec::new(), Vec::new());
    for segment in args.segments {
        let (KeysValues::Tensors(kv) | KeysValues::Caches(kv)) = args.kv;
        let kv = &kv[segment.kv];
        for (i, row) in segment.query_rows.clone().enumerate() {
            let mut row_probs = Vec::new();
            for head in 0..args.num_heads {
                let kv_head = head / (args.num_heads / args.num_kv_heads);
                let q0 = args.q.column + head * args.head_dim;
                let k0 = args.k_column + kv_head * args.head_dim;
                let v0 = args.v_column + kv_head * args.head_dim;
                let mut scores = Vec::new();
                for (j, key) in segment.kv_rows.clone().enumerate() {
                    let products = (0..args.head_dim).map(|d| {
                        let (q, k) = (at(args.q.tensor, row, q0 + d), at(kv, key, k0 + d));
                        #[cfg(feature = "recurrent")]
                        if let Score::Additive(weights) = args.score {
                            return at(weights, 0, head * args.head_dim + d) * libm::tanh(q + k);
                        }
                        q * k
                    });
                    let visible = args.mask.visible(segment.past_len + i, j);
                    let relative = args.relative.map_or(0.0, |relative| {
                        let (_, columns) = values(relative);
                        let position = segment.past_len + i;
                        at(relative, head, columns / 2 + j - position)
                    });
                    let score = products.sum::<f64>() * f64::from(args.scale) + relative;
                    let score = args.score_cap.map_or(score, |cap| {
                        let cap = f64::from(cap);
                        cap * libm::tanh(score / cap)
                    });
                    scores.push(if visible { score } else { f64::NEG_INFINITY });
                }
                let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let e: Vec<f64> = scores.iter().map(|score| libm::exp(score - greatest)).collect();
                let sum: f64 = e.iter().sum();
                let probs: Vec<f64> = e.iter().map(|e| e / sum).collect();
                for d in 0..args.head_dim {
                    let keys = segment.kv_rows.clone().zip(&probs);
                    let context: f64 = keys.map(|(key, p)| p * at(kv, key, v0 + d)).sum();
                    y.push(context as f32);
                }
                row_probs.push(probs);
            }
            for &head in args.weights_of {
                let probs = row_probs[head].iter().map(|&p| p as f32);
                weights.extend(probs.chain(std::iter::repeat(0.0)).take(longest));
            }
        }
    }
    (y, weights)
}
