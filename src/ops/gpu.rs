//! The GPU as a device of [`Ops`]: composites recorded as kernels.

use super::attention::AttentionArgs;
#[cfg(feature = "recurrent")]
use super::attention::AttentionSegment;
use super::attention::gpu::GpuCache;
use super::choose::gpu::GpuChosen;
use super::embed::gpu::GpuTable;
use super::linear::gpu::{Finish, GpuLinear};
use super::linear::mismatch;
use super::norm::gpu::GpuNorm;
use super::output::gpu::GpuOutput;
#[cfg(feature = "recurrent")]
use super::recurrent::{RecurrentSource, gpu::GpuRecurrent};
use super::rotary::gpu::GpuRotary;
use super::{
    Activation, ActivationQuant, CacheKind, Choices, HeadArgs, Kept, LinearPart, NormSource, Ops,
    Pick, Pooling, Residual, RotarySource, TableSource,
};
use crate::backend::gpu::{Gpu, Tensor};
use crate::error::Result;
use std::ops::Range;

/// Tokens that a cache of a long sequence has room for from the start; then it doubles.
const LONG_TOKENS: usize = 256;

/// The same of short sequences.
const SHORT_TOKENS: usize = 32;

impl Gpu {
    /// Applies the normalisation that is pending.
    fn settle(&self, stream: &mut Residual<'_, Self>) {
        if let Some(norm) = stream.pending_norm.take() {
            self.apply_norm(&stream.x, norm);
        }
    }

    /// `finish(norm(input) · Wᵀ + b)`.
    fn project_rows(
        &self,
        input: &Tensor,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        finish: Finish,
    ) -> Tensor {
        let columns = match finish {
            Finish::Gate(_) => weights.out_features() / 2,
            _ => weights.out_features(),
        };
        let y = self.stale(input.rows(), columns);
        self.apply_linear(input, norm, weights, &y, finish);
        y
    }

    /// `finish(norm(stream) · Wᵀ + b)`.
    fn project_stream(
        &self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        finish: Finish,
    ) -> Tensor {
        self.settle(stream);
        self.project_rows(&stream.x, norm, weights, finish)
    }

    /// `stream += input · Wᵀ + b`; then `norm` is pending.
    fn add_projected<'w>(
        &self,
        input: &Tensor,
        weights: &GpuLinear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w GpuNorm>,
    ) {
        self.settle(stream);
        self.apply_linear(input, None, weights, &stream.x, Finish::Add);
        stream.pending_norm = norm;
    }
}

impl Ops for Gpu {
    type Tensor = Tensor;
    type Cache = GpuCache;
    type Linear = GpuLinear;
    type Norm = GpuNorm;
    type Rotary = GpuRotary;
    type Table = GpuTable;
    type OutputProjection = GpuOutput;
    #[cfg(feature = "recurrent")]
    type Recurrent = GpuRecurrent;
    type Chosen = GpuChosen;

    const READS_LATE: bool = true;
    const KEEPS_AT_ONCE: bool = true;

    fn linear(&self, in_features: usize, parts: Vec<LinearPart<'_>>) -> Result<GpuLinear> {
        GpuLinear::load(self, in_features, &parts)
    }

    fn norm(&self, source: NormSource) -> Result<GpuNorm> {
        GpuNorm::load(self, &source)
    }

    fn rotary(&self, source: RotarySource) -> Result<GpuRotary> {
        Ok(GpuRotary::new(source))
    }

    #[cfg(feature = "recurrent")]
    fn recurrent(&self, source: RecurrentSource) -> Result<GpuRecurrent> {
        GpuRecurrent::load(self, &source)
    }

    fn table(&self, source: TableSource<'_>) -> Result<GpuTable> {
        GpuTable::load(self, &source)
    }

    fn output_projection(
        &self,
        table: &GpuTable,
        bias: Option<&[f32]>,
        activation: ActivationQuant,
        ids: Option<&[u32]>,
        barred: &[u32],
    ) -> Result<GpuOutput> {
        GpuOutput::prepare(self, table, bias, activation, ids, barred)
    }

    fn zeros(&mut self, rows: usize, columns: usize) -> Tensor {
        self.zeroed(rows, columns)
    }

    fn upload(&mut self, rows: usize, columns: usize, values: &[f32]) -> Tensor {
        self.tensor(rows, columns, values).unwrap_or_else(|| {
            self.record_fault(mismatch("upload", [rows, columns], values.len()));
            self.zeroed(rows, columns)
        })
    }

    fn shape(&self, tensor: &Tensor) -> (usize, usize) {
        (tensor.rows(), tensor.columns())
    }

    fn select_rows(&mut self, tensor: &Tensor, rows: &[usize]) -> Tensor {
        self.selected(tensor, rows)
    }

    fn append_row(&mut self, to: &mut Tensor, from: &Tensor, row: usize, column: usize) {
        self.copy_row(to, from, row, column);
    }

    fn copy(&mut self, tensor: &Tensor) -> Tensor {
        self.duplicate(tensor)
    }

    fn cache(&mut self, kind: CacheKind, num_kv_heads: usize, head_dim: usize) -> GpuCache {
        let columns = num_kv_heads.saturating_mul(head_dim).saturating_mul(2);
        let room = match kind {
            CacheKind::Short => SHORT_TOKENS,
            CacheKind::Long | CacheKind::LongInt8 => LONG_TOKENS,
        };
        GpuCache { tokens: self.with_room(room, columns) }
    }

    fn append_to_cache(
        &mut self,
        cache: &mut GpuCache,
        from: &Tensor,
        rows: Range<usize>,
        column: usize,
    ) {
        self.append(&mut cache.tokens, from, rows, column);
    }

    fn truncate_cache(&mut self, cache: &mut GpuCache, rows: usize) {
        self.shorten(&mut cache.tokens, rows);
    }

    fn copy_cache(&mut self, cache: &GpuCache) -> GpuCache {
        GpuCache { tokens: self.duplicate(&cache.tokens) }
    }

    fn embed(
        &mut self,
        table: &GpuTable,
        tokens: &[Option<u32>],
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        self.embedded(table, tokens, scale, positions)
    }

    fn embed_chosen(
        &mut self,
        table: &GpuTable,
        chosen: &GpuChosen,
        rows: usize,
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        let (ids, first) = chosen.last_ids(rows)?;
        self.embedded_ids(table, (ids, first, rows), scale, positions)
    }

    fn project_qkv(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        heads: Option<&HeadArgs<'_, Self>>,
    ) -> Tensor {
        let qkv = self.project_stream(stream, norm, weights, Finish::Store);
        if let Some(heads) = heads {
            self.prepare_heads(&qkv, heads, None);
        }
        qkv
    }

    fn project_qkv_kept(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        heads: Option<&HeadArgs<'_, Self>>,
        kept: Kept<'_, GpuCache>,
    ) -> Tensor {
        let qkv = self.project_stream(stream, norm, weights, Finish::Store);
        self.remember(&qkv, heads, kept);
        qkv
    }

    fn project(&mut self, input: &Tensor, weights: &GpuLinear) -> Tensor {
        self.project_rows(input, None, weights, Finish::Store)
    }

    fn attention(
        &mut self,
        args: &AttentionArgs<'_, Tensor, GpuCache>,
    ) -> Result<(Tensor, Option<Tensor>)> {
        self.attend(args)
    }

    fn project_out_residual<'w>(
        &mut self,
        context: &Tensor,
        weights: &GpuLinear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w GpuNorm>,
    ) {
        self.add_projected(context, weights, stream, norm);
    }

    fn normalize(&mut self, output: &mut Tensor, norm: &GpuNorm) {
        self.apply_norm(output, norm);
    }

    fn add_residual<'w>(
        &mut self,
        context: &Tensor,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w GpuNorm>,
    ) {
        self.settle(stream);
        self.add(context, &stream.x);
        stream.pending_norm = norm;
    }

    fn mlp_in(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        activation: Activation,
    ) -> Tensor {
        self.project_stream(stream, norm, weights, Finish::Activate(activation))
    }

    fn mlp_in_gated(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&GpuNorm>,
        weights: &GpuLinear,
        activation: Activation,
    ) -> Tensor {
        self.project_stream(stream, norm, weights, Finish::Gate(activation))
    }

    fn mlp_middle(
        &mut self,
        hidden: &Tensor,
        weights: &GpuLinear,
        activation: Activation,
    ) -> Tensor {
        self.project_rows(hidden, None, weights, Finish::Activate(activation))
    }

    fn mlp_out_residual<'w>(
        &mut self,
        hidden: &Tensor,
        weights: &GpuLinear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w GpuNorm>,
    ) {
        self.add_projected(hidden, weights, stream, norm);
    }

    fn ssru_residual<'w>(
        &mut self,
        projected: &Tensor,
        state: &mut Tensor,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w GpuNorm>,
    ) {
        self.settle(stream);
        self.apply_ssru(projected, state, &stream.x);
        stream.pending_norm = norm;
    }

    #[cfg(feature = "recurrent")]
    fn recur(
        &mut self,
        input: &Tensor,
        weights: &GpuRecurrent,
        segments: &[AttentionSegment],
        state: &mut Tensor,
    ) -> Tensor {
        self.apply_recurrent(input, weights, segments, state)
    }

    #[cfg(feature = "recurrent")]
    fn beside(&mut self, left: &Tensor, right: &Tensor) -> Tensor {
        self.put_beside(left, right)
    }

    fn pool(&mut self, hidden: &Tensor, rows: &[Range<usize>], pooling: Pooling) -> Tensor {
        self.pooled_rows(hidden, rows, pooling)
    }

    fn finish(&mut self, mut stream: Residual<'_, Self>, norm: Option<&GpuNorm>) -> Tensor {
        self.settle(&mut stream);
        if let Some(norm) = norm {
            self.apply_norm(&stream.x, norm);
        }
        stream.x
    }

    fn logits(&mut self, hidden: &Tensor, rows: Range<usize>, output: &GpuOutput) -> Tensor {
        self.logits_of(hidden, rows, output)
    }

    fn soft_cap(&mut self, logits: &mut Tensor, cap: f32) {
        self.apply_soft_cap(logits, cap);
    }

    fn choose(&mut self, hidden: &Tensor, picks: &[Pick<GpuOutput>], chosen: &mut GpuChosen) {
        self.record_choices(hidden, picks, chosen);
    }

    fn choose_next(&mut self, hidden: &Tensor, pick: &Pick<GpuOutput>, chosen: &mut GpuChosen) {
        self.record_next(hidden, pick, chosen);
    }

    async fn read_chosen(&mut self, chosen: &GpuChosen, to: &mut Choices) -> Result<()> {
        self.read_choices(chosen, to).await
    }

    async fn read_chosen_with(
        &mut self,
        chosen: &GpuChosen,
        tensors: &[Tensor],
        to: &mut Choices,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        self.read_choices_with(chosen, tensors, to, values).await
    }

    async fn read(&mut self, tensor: &Tensor, to: &mut Vec<f32>) -> Result<()> {
        to.clear();
        let mut words = Vec::new();
        let count = tensor.rows() * tensor.columns();
        self.read_words(tensor.storage(), count, &mut words).await?;
        to.extend(words.iter().map(|word| f32::from_bits(*word)));
        Ok(())
    }
}
