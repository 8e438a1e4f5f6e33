//! The CPU as a device of [`Ops`]: composites from the single ops, executed at once.

use super::activation::cpu::{activate, finish, gate};
use super::attention::AttentionArgs;
#[cfg(feature = "recurrent")]
use super::attention::AttentionSegment;
use super::embed::cpu::CpuTable;
use super::linear::cpu::CpuLinear;
use super::linear::mismatch;
use super::norm::cpu::CpuNorm;
use super::output::cpu::CpuOutput;
#[cfg(feature = "recurrent")]
use super::recurrent::{RecurrentSource, cpu::CpuRecurrent};
use super::rotary::cpu::CpuRotary;
use super::{
    Activation, ActivationQuant, CacheKind, Choices, HeadArgs, LinearPart, NormSource, Ops, Pick,
    Pooling, Residual, RotarySource, TableSource, Wanted,
};
use crate::backend::cpu::cache::Cache;
use crate::backend::cpu::gemm::Finish;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Tensor, math};
use crate::error::Result;
use std::future::ready;
use std::{ops::Range, sync::Arc};

impl<L: Lanes> Cpu<L> {
    /// `activation(norm(stream) · Wᵀ + b)`, without an activation if there is none.
    fn project_stream(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&CpuNorm>,
        weights: &CpuLinear,
        activation: Option<Activation>,
    ) -> Tensor {
        self.settle(stream);
        match norm {
            None => self.project_rows(&stream.x, weights, activation),
            Some(norm) => {
                let mut x = stream.x.clone();
                self.apply_norm(&mut x, norm);
                self.project_rows(&x, weights, activation)
            }
        }
    }

    fn project_rows(
        &mut self,
        input: &Tensor,
        weights: &CpuLinear,
        activation: Option<Activation>,
    ) -> Tensor {
        let mut y = Tensor::stale(input.rows(), weights.out_features());
        self.apply_linear(input, weights, &mut y, activation.map_or(Finish::Store, finish));
        if let Some(activation) = activation {
            activate::<L>(y.values_mut(), activation);
        }
        y
    }

    /// `stream += input · Wᵀ + b`; then `norm` is pending.
    fn add_projected<'w>(
        &mut self,
        input: &Tensor,
        weights: &CpuLinear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w CpuNorm>,
    ) {
        self.settle(stream);
        self.apply_linear(input, weights, &mut stream.x, Finish::Add);
        stream.pending_norm = norm;
    }
}

impl<L: Lanes> Ops for Cpu<L> {
    type Tensor = Tensor;
    type Cache = Cache;
    type Linear = CpuLinear;
    type Norm = CpuNorm;
    type Rotary = CpuRotary;
    type Table = CpuTable;
    type OutputProjection = CpuOutput;
    #[cfg(feature = "recurrent")]
    type Recurrent = CpuRecurrent;
    type Chosen = Choices;

    const READS_LATE: bool = false;
    const KEEPS_AT_ONCE: bool = false;

    fn linear(&self, in_features: usize, parts: Vec<LinearPart<'_>>) -> Result<CpuLinear> {
        CpuLinear::pack::<L>(in_features, &parts)
    }

    fn norm(&self, source: NormSource) -> Result<CpuNorm> {
        CpuNorm::pack(&source)
    }

    fn rotary(&self, source: RotarySource) -> Result<CpuRotary> {
        Ok(CpuRotary::new(source))
    }

    #[cfg(feature = "recurrent")]
    fn recurrent(&self, source: RecurrentSource) -> Result<CpuRecurrent> {
        CpuRecurrent::pack(&source)
    }

    fn table(&self, source: TableSource<'_>) -> Result<CpuTable> {
        CpuTable::new::<L>(source)
    }

    fn output_projection(
        &self,
        table: &CpuTable,
        bias: Option<&[f32]>,
        activation: ActivationQuant,
        ids: Option<&[u32]>,
        barred: &[u32],
    ) -> Result<CpuOutput> {
        CpuOutput::prepare::<L>(table, bias, activation, ids, barred)
    }

    fn zeros(&mut self, rows: usize, columns: usize) -> Tensor {
        Tensor::zeros(rows, columns)
    }

    fn upload(&mut self, rows: usize, columns: usize, values: &[f32]) -> Tensor {
        self.tensor_of(rows, columns, values)
    }

    fn shape(&self, tensor: &Tensor) -> (usize, usize) {
        (tensor.rows(), tensor.columns())
    }

    fn select_rows(&mut self, tensor: &Tensor, rows: &[usize]) -> Tensor {
        self.selected(tensor, rows)
    }

    fn append_row(&mut self, to: &mut Tensor, from: &Tensor, row: usize, column: usize) {
        self.append_from(to, from, row, column);
    }

    fn copy(&mut self, tensor: &Tensor) -> Tensor {
        tensor.clone()
    }

    fn cache(&mut self, kind: CacheKind, num_kv_heads: usize, head_dim: usize) -> Cache {
        let columns = num_kv_heads.saturating_mul(head_dim).saturating_mul(2);
        match kind {
            CacheKind::Short => Cache::whole(columns),
            CacheKind::Long => Cache::pages(columns),
            CacheKind::LongInt8 => Cache::int8(columns, head_dim),
        }
    }

    fn append_to_cache(
        &mut self,
        cache: &mut Cache,
        from: &Tensor,
        rows: Range<usize>,
        column: usize,
    ) {
        let columns = cache.columns();
        for row in rows {
            let values =
                from.row(row).and_then(|row| row.get(column..)).and_then(|row| row.get(..columns));
            let pushed = match values {
                Some(values) => cache.push::<L>(values, &mut self.scratch.quantized),
                None => {
                    let got = [from.rows(), from.columns()];
                    Err(mismatch("append to a cache", [row + 1, column + columns], got))
                }
            };
            if let Err(error) = pushed {
                self.record_fault(error);
            }
        }
    }

    fn truncate_cache(&mut self, cache: &mut Cache, rows: usize) {
        cache.truncate(rows);
    }

    fn copy_cache(&mut self, cache: &Cache) -> Cache {
        cache.clone()
    }

    fn embed(
        &mut self,
        table: &CpuTable,
        tokens: &[Option<u32>],
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        self.apply_embed(table, tokens, scale, positions)
    }

    fn embed_chosen(
        &mut self,
        table: &CpuTable,
        chosen: &Choices,
        rows: usize,
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        let tokens: Vec<Option<u32>> = chosen.best_of_last(rows).collect();
        self.apply_embed(table, &tokens, scale, positions)
    }

    fn project_qkv(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&CpuNorm>,
        weights: &CpuLinear,
        heads: Option<&HeadArgs<'_, Self>>,
    ) -> Tensor {
        let mut qkv = self.project_stream(stream, norm, weights, None);
        if let Some(heads) = heads {
            self.prepare_heads(&mut qkv, heads);
        }
        qkv
    }

    fn project(&mut self, input: &Tensor, weights: &CpuLinear) -> Tensor {
        self.project_rows(input, weights, None)
    }

    fn attention(
        &mut self,
        args: &AttentionArgs<'_, Tensor, Cache>,
    ) -> Result<(Tensor, Option<Tensor>)> {
        self.apply_attention(args)
    }

    fn project_out_residual<'w>(
        &mut self,
        context: &Tensor,
        weights: &CpuLinear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w CpuNorm>,
    ) {
        self.add_projected(context, weights, stream, norm);
    }

    fn normalize(&mut self, output: &mut Tensor, norm: &CpuNorm) {
        self.apply_norm(output, norm);
    }

    fn add_residual<'w>(
        &mut self,
        context: &Tensor,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w CpuNorm>,
    ) {
        self.settle(stream);
        let shapes = [self.shape(&stream.x), self.shape(context)];
        if shapes[0] != shapes[1] {
            self.record_fault(mismatch("add residual", shapes[0], shapes[1]));
        }
        for (x, &y) in stream.x.values_mut().iter_mut().zip(context.values()) {
            *x += y;
        }
        stream.pending_norm = norm;
    }

    fn mlp_in(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&CpuNorm>,
        weights: &CpuLinear,
        activation: Activation,
    ) -> Tensor {
        self.project_stream(stream, norm, weights, Some(activation))
    }

    fn mlp_in_gated(
        &mut self,
        stream: &mut Residual<'_, Self>,
        norm: Option<&CpuNorm>,
        weights: &CpuLinear,
        activation: Activation,
    ) -> Tensor {
        let mut both = self.project_stream(stream, norm, weights, None);
        let width = both.columns() / 2;
        let mut hidden = Tensor::stale(both.rows(), width);
        if width == 0 {
            return hidden;
        }
        for (both, to) in both
            .values_mut()
            .chunks_exact_mut(2 * width)
            .zip(hidden.values_mut().chunks_exact_mut(width))
        {
            let (gates, ups) = both.split_at_mut(width);
            to.copy_from_slice(ups);
            gate::<L>(gates, to, activation);
        }
        hidden
    }

    fn mlp_middle(
        &mut self,
        hidden: &Tensor,
        weights: &CpuLinear,
        activation: Activation,
    ) -> Tensor {
        self.project_rows(hidden, weights, Some(activation))
    }

    fn mlp_out_residual<'w>(
        &mut self,
        hidden: &Tensor,
        weights: &CpuLinear,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w CpuNorm>,
    ) {
        self.add_projected(hidden, weights, stream, norm);
    }

    fn ssru_residual<'w>(
        &mut self,
        projected: &Tensor,
        state: &mut Tensor,
        stream: &mut Residual<'w, Self>,
        norm: Option<&'w CpuNorm>,
    ) {
        self.settle(stream);
        self.apply_ssru(projected, state, &mut stream.x);
        stream.pending_norm = norm;
    }

    #[cfg(feature = "recurrent")]
    fn recur(
        &mut self,
        input: &Tensor,
        weights: &CpuRecurrent,
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
        self.apply_pool(hidden, rows, pooling)
    }

    fn finish(&mut self, mut stream: Residual<'_, Self>, norm: Option<&CpuNorm>) -> Tensor {
        self.settle(&mut stream);
        if let Some(norm) = norm {
            self.apply_norm(&mut stream.x, norm);
        }
        stream.x
    }

    fn logits(&mut self, hidden: &Tensor, rows: Range<usize>, output: &CpuOutput) -> Tensor {
        self.apply_output(hidden, rows, output)
    }

    fn soft_cap(&mut self, logits: &mut Tensor, cap: f32) {
        math::soft_cap::<L>(logits.values_mut(), cap);
    }

    fn choose(&mut self, hidden: &Tensor, picks: &[Pick<CpuOutput>], chosen: &mut Choices) {
        self.apply_choose(hidden, picks, chosen);
    }

    fn choose_next(&mut self, hidden: &Tensor, pick: &Pick<CpuOutput>, chosen: &mut Choices) {
        let (rows, output) = (pick.rows.clone(), Arc::clone(&pick.output));
        let mut next = Choices::default();
        self.apply_choose(
            hidden,
            &[Pick { rows, output, wanted: Wanted::Likeliest(1) }],
            &mut next,
        );
        (0..next.len()).for_each(|row| chosen.push_row(next.row(row).iter().copied()));
    }

    fn read_chosen(
        &mut self,
        chosen: &Choices,
        to: &mut Choices,
    ) -> impl Future<Output = Result<()>> {
        to.copy_from(chosen);
        ready(self.take_fault())
    }

    fn read(&mut self, tensor: &Tensor, to: &mut Vec<f32>) -> impl Future<Output = Result<()>> {
        to.clear();
        to.extend_from_slice(tensor.values());
        ready(self.take_fault())
    }
}
