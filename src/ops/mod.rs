//! What a transformer asks of a device: the composites its block is made of, one trait, every device.
//!
//! Activations are row-major float32 `[rows, columns]`. Several sequences lie one under the other in the
//! same tensor (ragged, never padded), so no result depends on what else is in the batch. Calls record
//! work in order (the CPU does it at once); only [`Ops::read`] and [`Ops::read_chosen`] wait for it. A call that
//! returns no `Result` and cannot be carried out gives zeros, and its error is that of the next read.

pub mod activation;
pub mod attention;
mod block_bytes;
pub mod choose;
mod cpu;
mod cpu_rows;
pub mod embed;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
mod gpu_blocks;
#[cfg(feature = "gpu")]
mod gpu_caches;
#[cfg(feature = "gpu")]
mod gpu_check;
#[cfg(feature = "gpu")]
mod gpu_kernels;
#[cfg(feature = "gpu")]
mod gpu_rows;
#[cfg(feature = "gpu")]
pub mod gpu_weights;
pub mod linear;
pub mod norm;
pub mod output;
pub mod pool;
#[cfg(feature = "recurrent")]
pub mod recurrent;
pub mod rotary;
pub mod ssru;
mod weights;

use crate::error::Result;
use std::ops::Range;

#[cfg(feature = "recurrent")]
pub use attention::Score;
pub use attention::{AttentionArgs, AttentionSegment, CacheKind, Kept, KeysValues, Mask, View};
pub use block_bytes::{BlockBytes, StoredBytes};
pub use choose::{Choice, Choices, Pick, Wanted};
#[cfg(feature = "gpu")]
pub use gpu_kernels::KERNELS;
pub use norm::{NormKind, NormSource};
pub use pool::Pooling;
#[cfg(feature = "recurrent")]
pub use recurrent::{Cell, RecurrentSource};
pub use weights::{ActivationQuant, LinearPart, Multiplier, Stored, TableSource, Weights};

/// Non-linearity of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x · sigmoid(x)` (Ramachandran et al. 2017), also called SiLU.
    Swish,
    /// `x · Φ(x)` with Φ by the error function (Hendrycks and Gimpel 2016).
    Gelu,
    /// `x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2`: as `Gelu`, without the error function.
    GeluTanh,
    /// `tanh(x)`.
    Tanh,
}

/// Rotary positions (Su et al. 2021): element pairs of a head are turned by position · frequency.
#[derive(Debug, Clone, PartialEq)]
pub struct RotarySource {
    /// Angle a position of each pair, in radians: `[pairs]`. The other elements of a head stay as they are.
    pub frequencies: Vec<f32>,
    /// Which elements are a pair.
    pub pairs: RotaryPairs,
}

/// Which two elements of a head are turned together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotaryPairs {
    /// 2i and 2i + 1.
    Neighbours,
    /// i and i + pairs.
    Halves,
}

/// What becomes of queries and keys, head by head, before they meet.
pub struct HeadArgs<'a, O: Ops + ?Sized> {
    /// Heads of the queries, the first columns.
    pub num_heads: usize,
    /// Heads of the keys, the columns after them; values follow, and stay.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Normalisations of each query head and each key head.
    pub norms: Option<(&'a O::Norm, &'a O::Norm)>,
    /// Rotation, after the normalisation.
    pub rotary: Option<&'a O::Rotary>,
    /// Position of each row.
    pub positions: &'a [usize],
}

/// The residual stream: what each sublayer reads from and adds to. A normalisation that follows a
/// sublayer (post-norm) waits in `pending_norm` until the next reader, so that a device may fuse it.
pub struct Residual<'w, O: Ops + ?Sized> {
    /// `[rows, hidden_size]`.
    pub x: O::Tensor,
    /// Normalisation to apply before anything reads `x`.
    pub pending_norm: Option<&'w O::Norm>,
}

/// What a device must be able to do to run every model of this crate.
pub trait Ops {
    /// Float32 activations, `[rows, columns]`.
    type Tensor;
    /// Keys and values of one sequence, a row a token, `[rows, 2 · num_kv_heads · head_dim]`.
    type Cache;
    /// Packed weights of one or several matrices with the same input, concatenated by columns.
    type Linear;
    /// Packed normalisation.
    type Norm;
    /// Packed rotary positions.
    type Rotary;
    /// Rows looked up by id.
    type Table;
    /// Rows of a table prepared as an output projection, with their ids.
    type OutputProjection;
    /// Packed weights of a recurrent layer.
    #[cfg(feature = "recurrent")]
    type Recurrent;
    /// Choices not yet read back, with room for those of the next call.
    type Chosen: Default;

    /// Whether what is read back comes late, so that steps should be recorded ahead with choices not yet known.
    const READS_LATE: bool;
    /// Whether [`Ops::project_qkv_kept`] is more than two calls one after the other.
    const KEEPS_AT_ONCE: bool;

    // ---- loading

    /// Packs matrices that share an input of `in_features`; their outputs lie side by side.
    fn linear(&self, in_features: usize, parts: Vec<LinearPart<'_>>) -> Result<Self::Linear>;
    /// Packs a normalisation.
    fn norm(&self, source: NormSource) -> Result<Self::Norm>;
    /// Packs rotary positions.
    fn rotary(&self, source: RotarySource) -> Result<Self::Rotary>;
    /// Packs a recurrent layer.
    #[cfg(feature = "recurrent")]
    fn recurrent(&self, source: RecurrentSource) -> Result<Self::Recurrent>;
    /// Packs a table.
    fn table(&self, source: TableSource<'_>) -> Result<Self::Table>;
    /// Prepares the rows `ids` of `table` (all of them if `None`) as the output projection of some rows.
    /// `ids` ascend strictly. `bias` has one entry a table row. `barred` ids are scored but never chosen.
    fn output_projection(
        &self,
        table: &Self::Table,
        bias: Option<&[f32]>,
        activation: ActivationQuant,
        ids: Option<&[u32]>,
        barred: &[u32],
    ) -> Result<Self::OutputProjection>;

    // ---- tensors

    /// A tensor of zeros.
    fn zeros(&mut self, rows: usize, columns: usize) -> Self::Tensor;
    /// A tensor of given values, row after row.
    fn upload(&mut self, rows: usize, columns: usize, values: &[f32]) -> Self::Tensor;
    /// `[rows, columns]`.
    fn shape(&self, tensor: &Self::Tensor) -> (usize, usize);
    /// The rows `rows` of `tensor`, in that order: beams reordered, sequences dropped or doubled.
    fn select_rows(&mut self, tensor: &Self::Tensor, rows: &[usize]) -> Self::Tensor;
    /// Writes `from[row, column..]` as the new last row of `to`, which grows by one row; the width is that of `to`.
    fn append_row(&mut self, to: &mut Self::Tensor, from: &Self::Tensor, row: usize, column: usize);
    /// A copy.
    fn copy(&mut self, tensor: &Self::Tensor) -> Self::Tensor;

    // ---- caches

    /// A cache without rows, of keys and values with heads of `head_dim`.
    fn cache(&mut self, kind: CacheKind, num_kv_heads: usize, head_dim: usize) -> Self::Cache;
    /// Writes `from[rows, column..]` as the new last rows of `cache`.
    fn append_to_cache(
        &mut self,
        cache: &mut Self::Cache,
        from: &Self::Tensor,
        rows: Range<usize>,
        column: usize,
    );
    /// Forgets the rows of `cache` after the first `rows`.
    fn truncate_cache(&mut self, cache: &mut Self::Cache, rows: usize);
    /// A copy that goes its own way from here.
    fn copy_cache(&mut self, cache: &Self::Cache) -> Self::Cache;

    // ---- composites

    /// `[tokens, hidden_size]`: row i is `table[tokens[i]] · scale + positions[i]`; a token of `None` is a zero row
    /// (plus its position). `positions` is `[tokens, hidden_size]`.
    fn embed(
        &mut self,
        table: &Self::Table,
        tokens: &[Option<u32>],
        scale: f32,
        positions: Option<&Self::Tensor>,
    ) -> Result<Self::Tensor>;
    /// [`Ops::embed`] of the best choices of the last `rows` rows of `chosen`, which need not be read for it; no choice is a
    /// zero row.
    fn embed_chosen(
        &mut self,
        table: &Self::Table,
        chosen: &Self::Chosen,
        rows: usize,
        scale: f32,
        positions: Option<&Self::Tensor>,
    ) -> Result<Self::Tensor>;
    /// `norm(stream) · Wᵀ + b`, `[rows, out_features]`: queries, keys and values side by side, a recurrent cell's
    /// input, or one of them. `norm` is the sublayer's own (pre-norm). `heads` says what becomes of queries and keys.
    fn project_qkv(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&Self::Norm>,
        weights: &Self::Linear,
        heads: Option<&HeadArgs<'_, Self>>,
    ) -> Self::Tensor;
    /// [`Ops::project_qkv`], and keys and values of each sequence as the new last rows of its cache.
    fn project_qkv_kept(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&Self::Norm>,
        weights: &Self::Linear,
        heads: Option<&HeadArgs<'_, Self>>,
        kept: Kept<'_, Self::Cache>,
    ) -> Self::Tensor {
        let qkv = self.project_qkv(stream, norm, weights, heads);
        for (cache, segment) in kept.caches.iter_mut().zip(kept.segments) {
            self.append_to_cache(cache, &qkv, segment.query_rows.clone(), kept.column);
        }
        qkv
    }
    /// `input · Wᵀ + b` of rows that are no residual stream: cross-attention's keys and values from the encoder output.
    fn project(&mut self, input: &Self::Tensor, weights: &Self::Linear) -> Self::Tensor;
    /// softmax(q·kᵀ·scale)·v for every head, `[query rows, num_heads · head_dim]`, and the weights
    /// of the heads asked for, `[query rows · heads asked, longest kv_len]`, 0 past a row's own keys.
    fn attention(
        &mut self,
        args: &AttentionArgs<'_, Self::Tensor, Self::Cache>,
    ) -> Result<(Self::Tensor, Option<Self::Tensor>)>;
    /// `stream += context · Wᵀ + b`; then `norm` is pending.
    fn project_out_residual<'w>(
        &mut self,
        context: &Self::Tensor,
        weights: &Self::Linear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w Self::Norm>,
    );
    /// `norm` of every row, of the output of a sublayer before it is added to the stream.
    fn normalize(&mut self, output: &mut Self::Tensor, norm: &Self::Norm);
    /// `stream += context`, for models without an output projection; then `norm` is pending.
    fn add_residual<'w>(
        &mut self,
        context: &Self::Tensor,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w Self::Norm>,
    );
    /// `activation(norm(stream) · Wᵀ + b)`, `[rows, intermediate_size]`.
    fn mlp_in(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&Self::Norm>,
        weights: &Self::Linear,
        activation: Activation,
    ) -> Self::Tensor;
    /// `activation(g) · u` with g and u the two halves of `norm(stream) · Wᵀ + b`, `[rows, intermediate_size]` each
    /// (gated linear units, Shazeer 2020).
    fn mlp_in_gated(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&Self::Norm>,
        weights: &Self::Linear,
        activation: Activation,
    ) -> Self::Tensor;
    /// `activation(hidden · Wᵀ + b)`: a further layer between the two of a usual feed-forward block.
    fn mlp_middle(
        &mut self,
        hidden: &Self::Tensor,
        weights: &Self::Linear,
        activation: Activation,
    ) -> Self::Tensor;
    /// `stream += hidden · Wᵀ + b`; then `norm` is pending.
    fn mlp_out_residual<'w>(
        &mut self,
        hidden: &Self::Tensor,
        weights: &Self::Linear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w Self::Norm>,
    );
    /// One step of the simple recurrent unit with relu (Kim et al. 2019). `projected` is `[rows, 2 · hidden_size]`,
    /// x·W then x·Wf + bf; `state` `[rows, hidden_size]` becomes `f∘state + (1 − f)∘x·W` with f = sigmoid(x·Wf + bf);
    /// `stream += relu(state)`; then `norm` is pending.
    fn ssru_residual<'w>(
        &mut self,
        projected: &Self::Tensor,
        state: &mut Self::Tensor,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w Self::Norm>,
    );
    /// A recurrent layer over each sequence, whose rows its segment has as query rows. `input` is the projected input,
    /// `[rows, directions · gates · hidden_size]`; `state`, `[sequences, vectors · directions · hidden_size]`, is what is
    /// remembered of each before its first row, and then after its last. The states after each row,
    /// `[rows, directions · hidden_size]`.
    #[cfg(feature = "recurrent")]
    fn recur(
        &mut self,
        input: &Self::Tensor,
        weights: &Self::Recurrent,
        segments: &[AttentionSegment],
        state: &mut Self::Tensor,
    ) -> Self::Tensor;
    /// The columns of `left`, then those of `right`, which has as many rows.
    #[cfg(feature = "recurrent")]
    fn beside(&mut self, left: &Self::Tensor, right: &Self::Tensor) -> Self::Tensor;
    /// One row of each sequence: `rows` are those of `hidden` that belong to each, `[sequences, columns]`. A sequence
    /// without rows is a row of zeros.
    fn pool(
        &mut self,
        hidden: &Self::Tensor,
        rows: &[Range<usize>],
        pooling: Pooling,
    ) -> Self::Tensor;
    /// Applies the pending normalisation, if any, then `norm`, if any, and gives the rows up.
    fn finish(&mut self, stream: Residual<'_, Self>, norm: Option<&Self::Norm>) -> Self::Tensor;
    /// Logits of the rows `rows` of `hidden` over the projection's candidates, `[rows, candidates]`.
    fn logits(
        &mut self,
        hidden: &Self::Tensor,
        rows: Range<usize>,
        output: &Self::OutputProjection,
    ) -> Self::Tensor;
    /// `cap · tanh(x / cap)` of every value.
    fn soft_cap(&mut self, logits: &mut Self::Tensor, cap: f32);
    /// The wanted candidates of each row of `hidden` that a pick names, by their [`Ops::logits`]. Picks are
    /// independent of one another; `chosen` has their rows in order, in place of what it had before.
    fn choose(
        &mut self,
        hidden: &Self::Tensor,
        picks: &[Pick<Self::OutputProjection>],
        chosen: &mut Self::Chosen,
    );
    /// The likeliest candidate of each row of `hidden` that `pick` names, whatever it wants, in rows after those that
    /// `chosen` has of such calls.
    fn choose_next(
        &mut self,
        hidden: &Self::Tensor,
        pick: &Pick<Self::OutputProjection>,
        chosen: &mut Self::Chosen,
    );

    // ---- reading back, into what was read before: a decoding step allocates nothing

    /// Waits for the recorded work and reads choices.
    fn read_chosen(
        &mut self,
        chosen: &Self::Chosen,
        to: &mut Choices,
    ) -> impl Future<Output = Result<()>>;
    /// Waits for the recorded work and reads choices, and tensors one after the other, all in one go where each would take
    /// long.
    #[cfg(feature = "gpu")]
    fn read_chosen_with(
        &mut self,
        chosen: &Self::Chosen,
        tensors: &[Self::Tensor],
        to: &mut Choices,
        values: &mut Vec<f32>,
    ) -> impl Future<Output = Result<()>> {
        async move {
            let mut own = Vec::new();
            values.clear();
            for tensor in tensors {
                self.read(tensor, &mut own).await?;
                values.append(&mut own);
            }
            self.read_chosen(chosen, to).await
        }
    }
    /// Waits for the recorded work and reads a tensor, row after row.
    fn read(
        &mut self,
        tensor: &Self::Tensor,
        to: &mut Vec<f32>,
    ) -> impl Future<Output = Result<()>>;
}
