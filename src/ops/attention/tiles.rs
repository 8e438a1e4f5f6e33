//! Scores and contexts of a few heads that look at the same keys.

use crate::backend::cpu::lanes::Lanes;

/// The scores of the next `H` heads with four keys, `scale · q·k`: lanes over d, added up in the order of [`Lanes::sum`],
/// then what is left of d. They are the fours at `four` of the next heads' scores.
#[inline(always)]
pub fn dot_fours<'q, 's, L: Lanes, const H: usize>(
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

/// Adds to the contexts of the next `H` heads, `[head_dim]` each, what a tile of values weighs with their probs.
#[inline(always)]
pub fn mix_tile<'p, 'c, L: Lanes, const H: usize>(
    probs: &mut impl Iterator<Item = &'p [f32]>,
    values: &[&[f32]],
    contexts: &mut impl Iterator<Item = &'c mut [f32]>,
) {
    let probs: [&[f32]; H] = std::array::from_fn(|_| probs.next().unwrap_or(&[]));
    let mut contexts: [&mut [f32]; H] = std::array::from_fn(|_| contexts.next().unwrap_or(&mut []));
    let head_dim = contexts.first().map_or(0, |context| context.len());
    let mut d = 0;
    // As many sums as a processor has vectors for.
    while H == 1 && d + 32 <= head_dim {
        mix_columns::<L, H, 8>(probs, values, &mut contexts, d);
        d += 32;
    }
    while d + 16 <= head_dim {
        mix_columns::<L, H, 4>(probs, values, &mut contexts, d);
        d += 16;
    }
    for (context, probs) in contexts.into_iter().zip(probs) {
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
    contexts: &mut [&mut [f32]; H],
    d: usize,
) {
    let probs = probs.map(|probs| &probs[..values.len()]);
    let mut sums = [[L::splat(0.0); C]; H];
    let mut places: [&mut [[f32; 4]]; H] = contexts.each_mut().map(|context| {
        context.get_mut(d..d + 4 * C).map_or(&mut [][..], |four| four.as_chunks_mut::<4>().0)
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
