//! Attention on the CPU: one query and head at a time, four keys at once, memory linear in the keys.

use super::{AttentionArgs, KeyValue, View, check};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Tensor};
use crate::error::Result;
use std::ops::Range;

impl<L: Lanes> Cpu<L> {
    /// softmax(q·kᵀ·scale)·v, and the weights of the heads asked for.
    pub(crate) fn apply_attention(
        &mut self,
        args: &AttentionArgs<'_, Tensor>,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let longest = check(args, |tensor| (tensor.rows(), tensor.columns()))?;
        let query_rows = args.q.tensor.rows();
        let mut context = Tensor::stale(query_rows, args.num_heads * args.head_dim);
        let asked = args.weights_of.len();
        let mut weights = (asked > 0).then(|| Tensor::zeros(query_rows * asked, longest));
        for segment in args.segments {
            let Some(kv) = args.kv.get(segment.kv) else { continue };
            for (i, row) in segment.query_rows.clone().enumerate() {
                let keys = args
                    .mask
                    .visible_keys(segment.past_len.saturating_add(i), segment.kv_rows.len());
                let first = segment.kv_rows.start;
                let rows = first + keys.start..first + keys.end;
                let query = Query { args, kv, row, keys: rows };
                let Some(context) = context.row_mut(row) else { continue };
                for (head, context) in context.chunks_exact_mut(args.head_dim).enumerate() {
                    let probs = query.head::<L>(head, &mut self.scratch.scores, context);
                    let Some(weights) = &mut weights else { continue };
                    let asked_here =
                        args.weights_of.iter().enumerate().filter(|&(_, &asked)| asked == head);
                    for (index, _) in asked_here {
                        copy_weights(weights, row * asked + index, &keys, probs);
                    }
                }
            }
        }
        Ok((context, weights))
    }
}

fn copy_weights(weights: &mut Tensor, row: usize, keys: &Range<usize>, probs: &[f32]) {
    let to = weights.row_mut(row).and_then(|row| row.get_mut(keys.clone()));
    for (to, &from) in to.into_iter().flatten().zip(probs) {
        *to = from;
    }
}

/// One query row and the keys that it sees.
struct Query<'a> {
    args: &'a AttentionArgs<'a, Tensor>,
    kv: &'a KeyValue<'a, Tensor>,
    row: usize,
    /// Rows of the keys and values.
    keys: Range<usize>,
}

impl Query<'_> {
    /// Writes one head's context, `[head_dim]`; returns its probs, `[keys]`.
    fn head<'s, L: Lanes>(
        &self,
        head: usize,
        scores: &'s mut Vec<[f32; 4]>,
        context: &mut [f32],
    ) -> &'s [f32] {
        let (n, head_dim) = (self.keys.len(), self.args.head_dim);
        let kv_head = head / (self.args.num_heads / self.args.num_kv_heads);
        let q = rows_of(&self.args.q, self.row..self.row + 1, head * head_dim);
        let k = rows_of(&self.kv.k, self.keys.clone(), kv_head * head_dim);
        let v = rows_of(&self.kv.v, self.keys.clone(), kv_head * head_dim);
        scores.clear();
        scores.resize(n.div_ceil(4), [f32::NEG_INFINITY; 4]);
        if let Some(q) = q.get(..head_dim) {
            score::<L>(q, k, self.kv.k.tensor.columns(), self.args.scale, scores);
        }
        // What pads the last four is −∞ now and 0 then.
        for pad in scores.as_flattened_mut().iter_mut().skip(n) {
            *pad = f32::NEG_INFINITY;
        }
        math::softmax::<L>(scores);
        let probs = &scores.as_flattened()[..n];
        mix::<L>(probs, v, self.kv.v.tensor.columns(), context);
        probs
    }
}

/// The values of a view from the column `column` of its first row on.
fn rows_of<'a>(view: &View<'a, Tensor>, rows: Range<usize>, column: usize) -> &'a [f32] {
    let columns = view.tensor.columns();
    let values = view.tensor.values();
    values.get(rows.start * columns + view.column + column..rows.end * columns).unwrap_or(&[])
}

/// `scores[j] = (Σ_d q[d] · k[j, d]) · scale`; the keys lie `stride` apart.
#[inline(always)]
fn score<L: Lanes>(q: &[f32], k: &[f32], stride: usize, scale: f32, scores: &mut [[f32; 4]]) {
    let scale = L::splat(scale);
    for (four, keys) in scores.iter_mut().zip(k.chunks(4 * stride)) {
        let mut rows = keys.chunks(stride).filter_map(|row| row.get(..q.len()));
        // Past the last key the first is scored again; the caller overwrites what comes of it.
        let Some(first) = rows.next() else { return };
        let keys = [first, rows.next().unwrap_or(first), rows.next().unwrap_or(first), {
            rows.next().unwrap_or(first)
        }];
        L::store(L::mul(dot_four::<L>(q, keys), scale), four);
    }
}

/// Products of `q` with four keys: lanes over d, added up in the order of [`Lanes::sum`], then what is left of d.
#[inline(always)]
fn dot_four<L: Lanes>(q: &[f32], keys: [&[f32]; 4]) -> L::F32 {
    let (q_chunks, q_rest) = q.as_chunks::<4>();
    let whole = q_chunks.len();
    let chunks = keys.map(|key| &key.as_chunks::<4>().0[..whole]);
    let mut sums = [L::splat(0.0); 4];
    for (d, q) in q_chunks.iter().enumerate() {
        let q = L::load(q);
        for (sum, chunks) in sums.iter_mut().zip(&chunks) {
            *sum = L::add(*sum, L::mul(q, L::load(&chunks[d])));
        }
    }
    let mut total = L::sums(sums);
    for (d, &q) in (4 * whole..).zip(q_rest) {
        let key = keys.map(|key| key.get(d).copied().unwrap_or(0.0));
        total = L::add(total, L::mul(L::splat(q), L::load(&key)));
    }
    total
}

/// `context[d] = Σ_j probs[j] · v[j, d]`, in the order of j; the values lie `stride` apart.
#[inline(always)]
fn mix<L: Lanes>(probs: &[f32], v: &[f32], stride: usize, context: &mut [f32]) {
    let mut column = 0;
    let (chunks, _) = context.as_chunks_mut::<32>();
    for to in chunks {
        mix_columns::<L, 8>(probs, v, stride, column, to.as_chunks_mut::<4>().0);
        column += 32;
    }
    let (chunks, rest) = context[column..].as_chunks_mut::<4>();
    for to in chunks {
        mix_columns::<L, 1>(probs, v, stride, column, std::slice::from_mut(to));
        column += 4;
    }
    for (to, d) in rest.iter_mut().zip(column..) {
        let rows = probs.iter().zip(v.chunks(stride));
        *to = rows.fold(0.0, |sum, (p, v)| sum + p * v.get(d).copied().unwrap_or(0.0));
    }
}

#[inline(always)]
fn mix_columns<L: Lanes, const C: usize>(
    probs: &[f32],
    v: &[f32],
    stride: usize,
    column: usize,
    to: &mut [[f32; 4]],
) {
    let mut sums = [L::splat(0.0); C];
    for (&p, v) in probs.iter().zip(v.chunks(stride)) {
        let Some(v) = v.get(column..column + 4 * C) else { continue };
        let p = L::splat(p);
        for (sum, v) in sums.iter_mut().zip(v.as_chunks::<4>().0) {
            *sum = L::add(*sum, L::mul(p, L::load(v)));
        }
    }
    for (to, sum) in to.iter_mut().zip(sums) {
        L::store(sum, to);
    }
}
