//! Attention on the CPU: one query at a time, or a few that see the same keys, four keys at once, memory linear in the keys.

use super::tiles::{dot_fours, mix_tile};
use super::{AttentionArgs, KeysValues, Mask, check};
#[cfg(feature = "recurrent")]
use super::{Score, additive};
use crate::backend::cpu::cache::{Cache, Head, PAGED};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Scratch, Tensor};
use crate::error::Result;
use crate::ops::linear::mismatch;
use std::ops::Range;

impl<L: Lanes> Cpu<L> {
    /// softmax(q·kᵀ·scale)·v, and the weights of the heads asked for.
    pub(crate) fn apply_attention(
        &mut self,
        args: &AttentionArgs<'_, Tensor, Cache>,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let longest = check(
            args,
            |tensor| (tensor.rows(), tensor.columns()),
            |cache| (cache.rows(), cache.columns()),
        )?;
        if let KeysValues::Caches(caches) = args.kv {
            let (head_dim, columns) = (args.head_dim, [args.k_column, args.v_column]);
            let fits = |own: usize| own == head_dim && columns.iter().all(|c| c % own == 0);
            if let Some(own) = caches.iter().filter_map(Cache::head_dim).find(|own| !fits(*own)) {
                return Err(mismatch("attention", format!("int8 heads of {own}"), head_dim));
            }
        }
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
        self.share(parts, |part, scratch| part.attend::<L>(args, scratch));
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
    fn attend<L: Lanes>(&mut self, args: &AttentionArgs<'_, Tensor, Cache>, scratch: &mut Scratch) {
        let Scratch { scores, tile, .. } = scratch;
        tile.resize(TILE * args.head_dim, 0.0);
        let width = args.num_heads * args.head_dim;
        let rows =
            self.first_row..self.first_row + self.context.len().checked_div(width).unwrap_or(0);
        for segment in args.segments {
            let kv = match args.kv {
                KeysValues::Tensors(tensors) => tensors.get(segment.kv).map(Source::Tensor),
                KeysValues::Caches(caches) => caches.get(segment.kv).map(Source::of),
            };
            let Some(kv) = kv else { continue };
            let first = segment.kv_rows.start;
            let mut row = segment.query_rows.start.max(rows.start);
            let end = segment.query_rows.end.min(rows.end);
            while row < end {
                let position = segment.past_len.saturating_add(row - segment.query_rows.start);
                let keys = args.mask.visible_keys(position, segment.kv_rows.len());
                let kv_rows = first + keys.start..first + keys.end;
                let offset = keys.start as isize - position as isize;
                let query = Query { args, kv, row, keys: kv_rows, offset };
                let at = row - rows.start;
                let context = &mut self.context[at * width..];
                let count = if end - row < TOGETHER || !see_the_same(args) { 1 } else { TOGETHER };
                match count {
                    1 => query.attend::<L, 1>(scores, tile, &mut context[..width]),
                    _ => query.attend::<L, TOGETHER>(scores, tile, &mut context[..count * width]),
                }
                let padded = 4 * keys.len().div_ceil(4);
                let asked = args.weights_of.len();
                for (index, probs) in
                    scores.as_flattened().chunks(args.num_heads * padded.max(1)).enumerate()
                {
                    for (own, &head) in args.weights_of.iter().enumerate() {
                        let row = ((at + index) * asked + own) * self.longest;
                        let probs = &probs[head * padded..][..keys.len()];
                        copy_weights(self.weights, row + keys.start, probs);
                    }
                }
                row += count;
            }
        }
    }
}

/// Whether all rows of a sequence see the same keys, each of whose heads one of the queries does. What only translates does
/// not look.
fn see_the_same(args: &AttentionArgs<'_, Tensor, Cache>) -> bool {
    cfg!(feature = "encoder") && args.mask == Mask::None && args.num_heads == args.num_kv_heads
}

fn copy_weights(weights: &mut [f32], start: usize, probs: &[f32]) {
    for (to, &from) in weights.iter_mut().skip(start).zip(probs) {
        *to = from;
    }
}

/// Where keys and values are.
#[derive(Clone, Copy)]
enum Source<'a> {
    Tensor(&'a Tensor),
    /// In pages.
    Cache(&'a Cache),
}

impl<'a> Source<'a> {
    fn of(cache: &'a Cache) -> Self {
        cache.tensor().map_or(Self::Cache(cache), Self::Tensor)
    }
}

/// One query row and the keys that it sees, or the first of several that see the same.
struct Query<'a> {
    args: &'a AttentionArgs<'a, Tensor, Cache>,
    kv: Source<'a>,
    row: usize,
    /// Rows of the keys and values.
    keys: Range<usize>,
    /// Positions from the query to the first of the keys.
    offset: isize,
}

/// Keys whose values are added to the contexts of all heads that share them before the next ones are: as many as a core's
/// nearest cache holds.
const TILE: usize = 16;

/// Heads with the same keys that are computed together, of one row or of as many rows.
const TOGETHER: usize = 3;

/// How many of `heads` are. Where none share any keys, as in translation, that is left out of the build.
fn together(heads: usize) -> usize {
    if cfg!(feature = "text") { heads - heads % TOGETHER } else { 0 }
}

impl Query<'_> {
    /// Writes the contexts of all heads of `R` rows, `[R, num_heads, head_dim]`, and leaves their probs in `scores`,
    /// `[R, num_heads, keys]`, each head's padded to whole fours. One head of keys and values follows the other, each read
    /// once for all that share it. `tile` is room for [`TILE`] heads of keys or values.
    fn attend<L: Lanes, const R: usize>(
        &self,
        scores: &mut Vec<[f32; 4]>,
        tile: &mut [f32],
        context: &mut [f32],
    ) {
        let (n, fours, heads) = (self.keys.len(), self.keys.len().div_ceil(4), self.args.num_heads);
        scores.clear();
        scores.resize(R * heads * fours, [f32::NEG_INFINITY; 4]);
        match (R, self.additive()) {
            #[cfg(feature = "recurrent")]
            (_, Some(weights)) => self.score_additive::<L>(weights, scores, tile),
            (1, _) => self.score::<L>(scores, tile),
            _ => self.score_rows::<L, R>(scores, tile),
        }
        for (index, scores) in scores.chunks_exact_mut(fours.max(1)).enumerate() {
            self.add_relative([index / heads, index % heads], scores.as_flattened_mut());
            if let Some(cap) = self.args.score_cap {
                math::soft_cap::<L>(scores.as_flattened_mut(), cap);
            }
            // What pads the last four is −∞ now and 0 then.
            for pad in scores.as_flattened_mut().iter_mut().skip(n) {
                *pad = f32::NEG_INFINITY;
            }
            math::softmax::<L>(scores);
        }
        match R {
            1 => self.mix::<L>(scores, tile, context),
            _ => self.mix_rows::<L, R>(scores, tile, context),
        }
    }

    /// The weights of additive scores; what has no such models does not look.
    #[inline(always)]
    fn additive(&self) -> Option<&Tensor> {
        #[cfg(feature = "recurrent")]
        if let Score::Additive(weights) = self.args.score {
            return Some(weights);
        }
        None
    }

    /// Adds what the distances of the keys are worth to a head of a row. What only translates does without.
    fn add_relative(&self, [row, head]: [usize; 2], scores: &mut [f32]) {
        let Some(relative) = self.args.relative.filter(|_| cfg!(feature = "encoder")) else {
            return;
        };
        let reach = (relative.columns() / 2) as isize;
        let first = usize::try_from(reach + self.offset - row as isize).ok();
        let row = relative.row(head).zip(first).and_then(|(row, first)| row.get(first..));
        for (score, addend) in scores.iter_mut().zip(row.unwrap_or_default()).take(self.keys.len())
        {
            *score += addend;
        }
    }

    /// Heads of the queries that look at the same keys.
    fn heads_each(&self) -> usize {
        self.args.num_heads / self.args.num_kv_heads
    }

    /// One head of keys or values, of which the first is at `column`, in each of `rows`: `room`, `[N, head_dim]`, is where
    /// those of int8 become float32.
    #[inline(always)]
    fn heads<'s, L: Lanes, const N: usize>(
        &'s self,
        rows: impl Iterator<Item = usize>,
        column: usize,
        kv_head: usize,
        room: &'s mut [f32],
    ) -> [&'s [f32]; N] {
        let head_dim = self.args.head_dim;
        let column = column + kv_head * head_dim;
        let mut heads: [&[f32]; N] = [&[]; N];
        match self.kv {
            Source::Tensor(kv) => {
                for (to, row) in heads.iter_mut().zip(rows) {
                    *to = &kv.values()[row * kv.columns() + column..][..head_dim];
                }
            }
            Source::Cache(_) if !PAGED => {}
            Source::Cache(cache) => {
                let rooms = room.chunks_exact_mut(head_dim);
                for ((to, room), row) in heads.iter_mut().zip(rooms).zip(rows) {
                    *to = match cache.head(row, column, head_dim) {
                        Head::Floats(values) => values,
                        Head::Int8(codes, scale) => {
                            math::scaled::<L>(codes, scale, room);
                            room
                        }
                    };
                }
            }
        }
        heads
    }

    /// `scores[head, j] = (Σ_d q[head, d] · k[j, d]) · scale`.
    fn score<L: Lanes>(&self, scores: &mut [[f32; 4]], tile: &mut [f32]) {
        let (args, heads_each) = (self.args, self.heads_each());
        let (q, head_dim, fours) = (&args.q, args.head_dim, self.keys.len().div_ceil(4));
        let start = self.row * q.tensor.columns() + q.column;
        let queries = &q.tensor.values()[start..][..args.num_heads * head_dim];
        for kv_head in 0..args.num_kv_heads {
            let first_head = kv_head * heads_each;
            let queries = &queries[first_head * head_dim..][..heads_each * head_dim];
            let scores = &mut scores[first_head * fours..][..heads_each * fours];
            let (scale, whole) = (args.scale, together(heads_each));
            for (four, first) in self.keys.clone().step_by(4).enumerate() {
                // Past the last key it is scored again; the caller overwrites what comes of it.
                let rows: [usize; 4] = std::array::from_fn(|i| (first + i).min(self.keys.end - 1));
                let keys = self.heads::<L, 4>(rows.into_iter(), args.k_column, kv_head, tile);
                let (mut q, mut to) =
                    (queries.chunks_exact(head_dim), scores.chunks_exact_mut(fours));
                for _ in (0..whole).step_by(TOGETHER) {
                    dot_fours::<L, TOGETHER>(&mut q, keys, scale, &mut to, four);
                }
                for _ in whole..heads_each {
                    dot_fours::<L, 1>(&mut q, keys, scale, &mut to, four);
                }
            }
        }
    }

    /// `scores[head, j] = (Σ_d w[head, d] · tanh(q[head, d] + k[j, d])) · scale` of as many rows as `scores` has.
    #[cfg(feature = "recurrent")]
    fn score_additive<L: Lanes>(
        &self,
        weights: &Tensor,
        scores: &mut [[f32; 4]],
        tile: &mut [f32],
    ) {
        let (args, heads, heads_each) = (self.args, self.args.num_heads, self.heads_each());
        let (q, head_dim) = (&args.q, args.head_dim);
        let fours = self.keys.len().div_ceil(4).max(1);
        for (index, scores) in scores.chunks_exact_mut(fours).enumerate() {
            let (row, head) = (self.row + index / heads, index % heads);
            let start = row * q.tensor.columns() + q.column + head * head_dim;
            let query = &q.tensor.values()[start..][..head_dim];
            let weights = &weights.values()[head * head_dim..][..head_dim];
            for (key, to) in self.keys.clone().zip(scores.as_flattened_mut()) {
                let rows = std::iter::once(key);
                let [key] = self.heads::<L, 1>(rows, args.k_column, head / heads_each, tile);
                *to = args.scale * additive::score::<L>(query, key, weights);
            }
        }
    }

    /// `context[head, d] = Σ_j probs[head, j] · v[j, d]`, in the order of j.
    fn mix<L: Lanes>(&self, probs: &[[f32; 4]], tile: &mut [f32], context: &mut [f32]) {
        let (args, heads_each) = (self.args, self.heads_each());
        let (head_dim, padded) = (args.head_dim, 4 * self.keys.len().div_ceil(4));
        context.fill(0.0);
        for kv_head in 0..args.num_kv_heads {
            let first_head = kv_head * heads_each;
            let contexts = &mut context[first_head * head_dim..][..heads_each * head_dim];
            let (shared, rest) = contexts.split_at_mut(together(heads_each) * head_dim);
            for first in (0..self.keys.len()).step_by(TILE) {
                let keys = first..self.keys.len().min(first + TILE);
                let rows = keys.clone().map(|key| self.keys.start + key);
                let values = self.heads::<L, TILE>(rows, args.v_column, kv_head, tile);
                let values = &values[..keys.len()];
                let probs = probs.as_flattened().chunks_exact(padded).skip(first_head);
                let mut probs = probs.map(|probs| &probs[keys.clone()]);
                let mut shared = shared.chunks_exact_mut(head_dim);
                for _ in (0..together(heads_each)).step_by(TOGETHER) {
                    mix_tile::<L, TOGETHER>(&mut probs, values, &mut shared);
                }
                for context in rest.chunks_exact_mut(head_dim) {
                    mix_tile::<L, 1>(&mut probs, values, &mut std::iter::once(context));
                }
            }
        }
    }

    /// As [`Query::score`], of `R` rows.
    fn score_rows<L: Lanes, const R: usize>(&self, scores: &mut [[f32; 4]], tile: &mut [f32]) {
        let (args, fours) = (self.args, self.keys.len().div_ceil(4));
        let (q, head_dim) = (&args.q, args.head_dim);
        let rows = q.tensor.values().chunks_exact(q.tensor.columns()).skip(self.row);
        for head in 0..args.num_heads {
            let queries = rows.clone().map(|row| &row[q.column + head * head_dim..][..head_dim]);
            for (four, first) in self.keys.clone().step_by(4).enumerate() {
                let rows: [usize; 4] = std::array::from_fn(|i| (first + i).min(self.keys.end - 1));
                let keys = self.heads::<L, 4>(rows.into_iter(), args.k_column, head, tile);
                let rows = scores.chunks_exact_mut(args.num_heads * fours);
                let mut to = rows.map(|row| &mut row[head * fours..][..fours]);
                dot_fours::<L, R>(&mut queries.clone(), keys, args.scale, &mut to, four);
            }
        }
    }

    /// As [`Query::mix`], of `R` rows.
    fn mix_rows<L: Lanes, const R: usize>(
        &self,
        probs: &[[f32; 4]],
        tile: &mut [f32],
        context: &mut [f32],
    ) {
        let (args, padded) = (self.args, 4 * self.keys.len().div_ceil(4));
        let (heads, head_dim) = (args.num_heads, args.head_dim);
        context.fill(0.0);
        for head in 0..heads {
            for first in (0..self.keys.len()).step_by(TILE) {
                let keys = first..self.keys.len().min(first + TILE);
                let rows = keys.clone().map(|key| self.keys.start + key);
                let values = self.heads::<L, TILE>(rows, args.v_column, head, tile);
                let probs = probs.as_flattened().chunks_exact(heads * padded);
                let mut probs = probs.map(|row| &row[head * padded..][keys.clone()]);
                let rows = context.chunks_exact_mut(heads * head_dim);
                let mut contexts = rows.map(|row| &mut row[head * head_dim..][..head_dim]);
                mix_tile::<L, R>(&mut probs, &values[..keys.len()], &mut contexts);
            }
        }
    }
}
