//! Eight rows of weights side by side: the layout that the products read.

use super::{BLOCK, Floats, Pairs};
use crate::backend::cpu::lanes::Lanes;

/// Writes `rows[c][k]` to `to[k][c]`; a row too short is padded with zeros.
pub fn pack_float_block<L: Lanes>(rows: [&[f32]; BLOCK], to: &mut [Floats]) {
    pack_block::<L, f32>(rows, to, |_, four| L::load(four), |_, x| x);
}

/// As [`pack_float_block`], of int8 rows with their multipliers: value = int8 / multiplier.
pub fn pack_dequantized_block<L: Lanes>(rows: [(&[i8], f32); BLOCK], to: &mut [Floats]) {
    let multipliers = rows.map(|(_, multiplier)| multiplier);
    let dequantize = |row: usize, four: &[i8; 4]| {
        let [a, b, c, d] = *four;
        let [low, _] = L::widen(L::load_i8(&[a, b, c, d, 0, 0, 0, 0]));
        L::div(L::to_f32(low), L::splat(multipliers[row]))
    };
    let rows = rows.map(|(values, _)| values);
    pack_block::<L, i8>(rows, to, dequantize, |row, x| f32::from(x) / multipliers[row]);
}

#[inline(always)]
fn pack_block<L: Lanes, T: Copy>(
    rows: [&[T]; BLOCK],
    to: &mut [Floats],
    load: impl Fn(usize, &[T; 4]) -> L::F32,
    convert: impl Fn(usize, T) -> f32,
) {
    let width = to.len();
    let shortest = rows.iter().map(|row| row.len()).min().unwrap_or(0).min(width);
    let whole = shortest / 4;
    let chunks = rows.map(|row| &row.as_chunks::<4>().0[..whole]);
    let (to_chunks, _) = to.as_chunks_mut::<4>();
    for (k, to) in to_chunks.iter_mut().enumerate().take(whole) {
        for half in 0..2 {
            let four = std::array::from_fn(|c| load(4 * half + c, &chunks[4 * half + c][k]));
            for (to, column) in to.iter_mut().zip(L::transpose_f32(four)) {
                L::store(column, &mut to.0[half]);
            }
        }
    }
    for (k, to) in to.iter_mut().enumerate().skip(4 * whole) {
        for (c, (to, row)) in to.lanes_mut().iter_mut().zip(rows).enumerate() {
            *to = row.get(k).map_or(0.0, |&x| convert(c, x));
        }
    }
}

/// Writes `rows[c][2·p + i]` to `to[p]`; a row too short is padded with zeros.
pub(super) fn pack_int8_block<L: Lanes>(rows: [&[i8]; BLOCK], to: &mut [Pairs]) {
    let shortest = rows.iter().map(|row| row.len()).min().unwrap_or(0).min(2 * to.len());
    let whole = shortest / 8;
    let chunks = rows.map(|row| &row.as_chunks::<8>().0[..whole]);
    let (to_chunks, _) = to.as_chunks_mut::<4>();
    let (lower_bytes, offset) = (L::splat_i32(0x00ff_00ff), L::splat_i32(0x0080_0080));
    for (k, to) in to_chunks.iter_mut().enumerate().take(whole) {
        let half = |first: usize| {
            L::transpose(std::array::from_fn(|c| L::pairs(L::load_i8(&chunks[first + c][k]))))
        };
        for ((to, low), high) in to.iter_mut().zip(half(0)).zip(half(4)) {
            // Nothing carries from one int16 into the next: 255 + 128 fits, and the upper bytes come as they are.
            let low = L::add_i32(L::and(low, lower_bytes), offset);
            let high = L::shl::<8>(L::and(high, lower_bytes));
            let both = L::add_i32(L::and(low, lower_bytes), high);
            L::store_i16(L::from_pairs(both), &mut to.0);
        }
    }
    for (p, to) in to.iter_mut().enumerate().skip(4 * whole) {
        let value = |c: usize, k: usize| rows[c].get(k).copied().map_or(0, i16::from);
        for (lane, to) in to.0.iter_mut().enumerate() {
            let (c, k) = (lane / 2, 2 * p + lane % 2);
            *to = (value(4 + c, k) << 8) + (value(c, k) + 128);
        }
    }
}
