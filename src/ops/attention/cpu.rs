//! Attention on the CPU: one query and head at a time, four keys at once, memory linear in the keys.

use super::{AttentionArgs, check};
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
        let width = args.num_heads * args.head_dim;
        // A score and its share of the context, for every head and key.
        let keys = args.segments.iter().map(|segment| segment.kv_rows.len()).max().unwrap_or(0);
        let rows_each = self.rows_each(query_rows, 2 * width * keys);
        let contexts = context.values_mut().chunks_mut((rows_each * width).max(1));
        let weights_each = (rows_each * asked * longest).max(1);
        let mut weights_parts =
            weights.as_mut().map(|weights| weights.values_mut().chunks_mut(weights_each));
        let parts = contexts.enumerate().map(|(index, context)| Part {
            first_row: index * rows_each,
            context,
            weights: weights_parts.as_mut().and_then(Iterator::next).unwrap_or_default(),
            longest,
        });
        self.share(parts, |part, scratch| part.attend::<L>(args, &mut scratch.scores));
        Ok((context, weights))
    }
}

/// The query rows that one thread takes.
struct Part<'a> {
    first_row: usize,
    /// `[rows, num_heads · head_dim]`
    context: &'a mut [f32],
    /// `[rows · heads asked for, longest]`; empty if none is.
    weights: &'a mut [f32],
    longest: usize,
}

impl Part<'_> {
    fn attend<L: Lanes>(&mut self, args: &AttentionArgs<'_, Tensor>, scores: &mut Vec<[f32; 4]>) {
        let width = args.num_heads * args.head_dim;
        let rows =
            self.first_row..self.first_row + self.context.len().checked_div(width).unwrap_or(0);
        for segment in args.segments {
            let Some(kv) = args.kv.get(segment.kv) else { continue };
            let first = segment.kv_rows.start;
            for row in
                segment.query_rows.start.max(rows.start)..segment.query_rows.end.min(rows.end)
            {
                let position = segment.past_len.saturating_add(row - segment.query_rows.start);
                let keys = args.mask.visible_keys(position, segment.kv_rows.len());
                let kv_rows = first + keys.start..first + keys.end;
                let query = Query { args, kv, row, keys: kv_rows };
                let row = row - rows.start;
                let context = &mut self.context[row * width..][..width];
                for (head, context) in context.chunks_exact_mut(args.head_dim).enumerate() {
                    let probs = query.head::<L>(head, scores, context);
                    let asked_here =
                        args.weights_of.iter().enumerate().filter(|&(_, &asked)| asked == head);
                    for (index, _) in asked_here {
                        let row = (row * args.weights_of.len() + index) * self.longest;
                        copy_weights(self.weights, row + keys.start, probs);
                    }
                }
            }
        }
    }
}

fn copy_weights(weights: &mut [f32], start: usize, probs: &[f32]) {
    for (to, &from) in weights.iter_mut().skip(start).zip(probs) {
        *to = from;
    }
}

/// One query row and the keys that it sees.
struct Query<'a> {
    args: &'a AttentionArgs<'a, Tensor>,
    kv: &'a Tensor,
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
        let (q, kv) = (&self.args.q, kv_head * head_dim);
        let q = rows_of(q.tensor, self.row..self.row + 1, q.column + head * head_dim);
        let k = rows_of(self.kv, self.keys.clone(), self.args.k_column + kv);
        let v = rows_of(self.kv, self.keys.clone(), self.args.v_column + kv);
        scores.clear();
        scores.resize(n.div_ceil(4), [f32::NEG_INFINITY; 4]);
        if let Some(q) = q.get(..head_dim) {
            score::<L>(q, k, self.kv.columns(), self.args.scale, scores);
        }
        if let Some(cap) = self.args.score_cap {
            math::soft_cap::<L>(scores.as_flattened_mut(), cap);
        }
        // What pads the last four is −∞ now and 0 then.
        for pad in scores.as_flattened_mut().iter_mut().skip(n) {
            *pad = f32::NEG_INFINITY;
        }
        math::softmax::<L>(scores);
        let probs = &scores.as_flattened()[..n];
        mix::<L>(probs, v, self.kv.columns(), context);
        probs
    }
}

/// The values of some rows, from the column `column` of the first on.
fn rows_of(tensor: &Tensor, rows: Range<usize>, column: usize) -> &[f32] {
    let columns = tensor.columns();
    tensor.values().get(rows.start * columns + column..rows.end * columns).unwrap_or(&[])
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
