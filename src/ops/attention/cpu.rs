//! Attention on the CPU: one query at a time, four keys at once, memory linear in the keys.

use super::{AttentionArgs, KeysValues, check};
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
            for row in
                segment.query_rows.start.max(rows.start)..segment.query_rows.end.min(rows.end)
            {
                let position = segment.past_len.saturating_add(row - segment.query_rows.start);
                let keys = args.mask.visible_keys(position, segment.kv_rows.len());
                let kv_rows = first + keys.start..first + keys.end;
                let offset = keys.start as isize - position as isize;
                let query = Query { args, kv, row, keys: kv_rows, offset };
                let row = row - rows.start;
                query.attend::<L>(scores, tile, &mut self.context[row * width..][..width]);
                let padded = 4 * keys.len().div_ceil(4);
                for (index, &head) in args.weights_of.iter().enumerate() {
                    let row = (row * args.weights_of.len() + index) * self.longest;
                    let probs = &scores.as_flattened()[head * padded..][..keys.len()];
                    copy_weights(self.weights, row + keys.start, probs);
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

/// One query row and the keys that it sees.
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

/// Heads with the same keys that are computed together.
const TOGETHER: usize = 3;

/// How many of `heads` are. Where none share any keys, as in translation, that is left out of the build.
fn together(heads: usize) -> usize {
    if cfg!(feature = "text") { heads - heads % TOGETHER } else { 0 }
}

impl Query<'_> {
    /// Writes the contexts of all heads, `[num_heads, head_dim]`, and leaves their probs in `scores`, `[num_heads, keys]`,
    /// each head's padded to whole fours. One head of keys and values follows the other, each read once for all that share
    /// it. `tile` is room for [`TILE`] heads of keys or values.
    fn attend<L: Lanes>(&self, scores: &mut Vec<[f32; 4]>, tile: &mut [f32], context: &mut [f32]) {
        let (n, fours) = (self.keys.len(), self.keys.len().div_ceil(4));
        scores.clear();
        scores.resize(self.args.num_heads * fours, [f32::NEG_INFINITY; 4]);
        self.score::<L>(scores, tile);
        for (head, scores) in scores.chunks_exact_mut(fours.max(1)).enumerate() {
            self.add_relative(head, scores.as_flattened_mut());
            if let Some(cap) = self.args.score_cap {
                math::soft_cap::<L>(scores.as_flattened_mut(), cap);
            }
            // What pads the last four is −∞ now and 0 then.
            for pad in scores.as_flattened_mut().iter_mut().skip(n) {
                *pad = f32::NEG_INFINITY;
            }
            math::softmax::<L>(scores);
        }
        self.mix::<L>(scores, tile, context);
    }

    /// Adds what the distances of the keys are worth to a head. What only translates does without.
    fn add_relative(&self, head: usize, scores: &mut [f32]) {
        let Some(relative) = self.args.relative.filter(|_| cfg!(feature = "encoder")) else {
            return;
        };
        let reach = (relative.columns() / 2) as isize;
        let first = usize::try_from(reach + self.offset).ok();
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
                for contexts in shared.chunks_exact_mut(TOGETHER * head_dim) {
                    mix_tile::<L, TOGETHER>(&mut probs, values, contexts);
                }
                for context in rest.chunks_exact_mut(head_dim) {
                    mix_tile::<L, 1>(&mut probs, values, context);
                }
            }
        }
    }
}

/// The scores of the next `H` heads with four keys, `scale · q·k`: lanes over d, added up in the order of [`Lanes::sum`],
/// then what is left of d. They are the fours at `four` of the next heads' scores.
#[inline(always)]
fn dot_fours<'q, 's, L: Lanes, const H: usize>(
    queries: &mut impl Iterator<Item = &'q [f32]>,
    keys: [&[f32]; 4],
    scale: f32,
    scores: &mut impl Iterator<Item = &'s mut [[f32; 4]]>,
    four: usize,
) {
    let queries: [&[f32]; H] = std::array::from_fn(|_| queries.next().unwrap_or(&[]));
    let chunks = queries.map(|q| q.as_chunks::<4>().0);
    let key_chunks = keys.map(|key| key.as_chunks::<4>().0);
    let whole = key_chunks[0].len();
    let (chunks, key_chunks) =
        (chunks.map(|chunks| &chunks[..whole]), key_chunks.map(|chunks| &chunks[..whole]));
    let mut sums = [[L::splat(0.0); 4]; H];
    for d in 0..whole {
        let keys = key_chunks.map(|chunks| L::load(&chunks[d]));
        for (sums, q) in sums.iter_mut().zip(chunks) {
            let q = L::load(&q[d]);
            for (sum, key) in sums.iter_mut().zip(keys) {
                *sum = L::add(*sum, L::mul(q, key));
            }
        }
    }
    for (sums, q) in sums.into_iter().zip(queries) {
        let mut total = L::sums(sums);
        for d in 4 * whole..q.len() {
            let key = keys.map(|key| key[d]);
            total = L::add(total, L::mul(L::splat(q[d]), L::load(&key)));
        }
        if let Some(to) = scores.next().and_then(|scores| scores.get_mut(four)) {
            L::store(L::mul(total, L::splat(scale)), to);
        }
    }
}

/// Adds to the contexts of `H` heads, `[H, head_dim]`, what a tile of values weighs with the probs of the next heads.
#[inline(always)]
fn mix_tile<'p, L: Lanes, const H: usize>(
    probs: &mut impl Iterator<Item = &'p [f32]>,
    values: &[&[f32]],
    contexts: &mut [f32],
) {
    let probs: [&[f32]; H] = std::array::from_fn(|_| probs.next().unwrap_or(&[]));
    let head_dim = contexts.len() / H;
    let mut d = 0;
    // As many sums as a processor has vectors for.
    while H == 1 && d + 32 <= head_dim {
        mix_columns::<L, H, 8>(probs, values, contexts, d);
        d += 32;
    }
    while d + 16 <= head_dim {
        mix_columns::<L, H, 4>(probs, values, contexts, d);
        d += 16;
    }
    for (context, probs) in contexts.chunks_exact_mut(head_dim).zip(probs) {
        for (d, to) in context.iter_mut().enumerate().skip(d) {
            *to = probs.iter().zip(values).fold(*to, |sum, (p, v)| sum + p * v[d]);
        }
    }
}

/// As [`mix_tile`], of `4 · C` columns from `d` on.
#[inline(always)]
fn mix_columns<L: Lanes, const H: usize, const C: usize>(
    probs: [&[f32]; H],
    values: &[&[f32]],
    contexts: &mut [f32],
    d: usize,
) {
    let head_dim = contexts.len() / H;
    let probs = probs.map(|probs| &probs[..values.len()]);
    let mut sums = [[L::splat(0.0); C]; H];
    let mut rows = contexts.chunks_exact_mut(head_dim);
    let mut places: [&mut [[f32; 4]]; H] = std::array::from_fn(|_| {
        let row = rows.next().unwrap_or(&mut []);
        row.get_mut(d..d + 4 * C).map_or(&mut [][..], |row| row.as_chunks_mut::<4>().0)
    });
    for (sums, place) in sums.iter_mut().zip(&places) {
        for (sum, four) in sums.iter_mut().zip(place.iter()) {
            *sum = L::load(four);
        }
    }
    for (j, v) in values.iter().enumerate() {
        let (v, _) = v[d..d + 4 * C].as_chunks::<4>();
        for (sums, probs) in sums.iter_mut().zip(probs) {
            let p = L::splat(probs[j]);
            for (sum, v) in sums.iter_mut().zip(v) {
                *sum = L::add(*sum, L::mul(p, L::load(v)));
            }
        }
    }
    for (sums, place) in sums.into_iter().zip(&mut places) {
        for (sum, to) in sums.into_iter().zip(place.iter_mut()) {
            L::store(sum, to);
        }
    }
}
