//! Products of tiles: of codes with quantised rows, and of the weights that they stand for with float32 rows.

use super::decode::Decode;
use super::rows::GroupedRow;
use super::{GroupedMatrix, GroupedRows, Sixteen};
use crate::backend::cpu::gemm::Tile;
use crate::backend::cpu::lanes::Lanes;

/// Codes times quantised rows, in integers a group at a time.
pub struct CodeTiles<'a, D> {
    pub matrix: &'a GroupedMatrix,
    pub decode: D,
    /// First block of the product.
    pub block: usize,
    pub input: &'a GroupedRows,
}

impl<L: Lanes, D: Decode<L>> Tile<L> for CodeTiles<'_, D> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        let matrix = self.matrix;
        let size = matrix.form.size;
        let (quads, groups) = (size / 4, matrix.in_features / size);
        let rows: [_; R] = std::array::from_fn(|r| self.input.row(row + r));
        let mut totals = [[[L::splat(0.0); 2]; B]; R];
        for g in 0..groups {
            for b in 0..B {
                let at = (self.block + block + b) * groups + g;
                let codes = &matrix.codes[at * quads * D::VECTORS..][..quads * D::VECTORS];
                let x = rows.map(|row| &row.fours[g * quads..][..quads]);
                let mut sums = group_sums::<L, D, R>(self.decode, codes, x);
                if rows.iter().any(|row| row.is_fine[g]) {
                    add_rests::<L, D, R>(self.decode, codes, rows, g, &mut sums);
                }
                let scale = &matrix.scales[at];
                let min = matrix.mins.get(at);
                for ((row, sums), totals) in rows.iter().zip(sums).zip(&mut totals) {
                    let zero = L::splat_i32(self.decode.zero().wrapping_mul(row.sums[g]));
                    let x_scale = L::splat(row.scales[g]);
                    for (half, total) in totals[b].iter_mut().enumerate() {
                        let scale = L::mul(x_scale, L::load(&scale.0[half]));
                        let sum = L::to_f32(L::sub_i32(sums[half], zero));
                        *total = L::add(*total, L::mul(sum, scale));
                        if let Some(min) = min {
                            let of_min = L::mul(L::splat(row.totals[g]), L::load(&min.0[half]));
                            *total = L::add(*total, of_min);
                        }
                    }
                }
            }
        }
        totals
    }
}

/// `Σ x · code` over a group, of eight columns for each row.
#[inline(always)]
fn group_sums<L: Lanes, D: Decode<L>, const R: usize>(
    decode: D,
    codes: &[Sixteen],
    x: [&[[i8; 4]]; R],
) -> [[L::I32; 2]; R] {
    let mut lower = [[L::splat_i32(0); 2]; R];
    let mut upper = [[L::splat_i32(0); 2]; R];
    for (q, quad) in codes.chunks_exact(D::VECTORS).enumerate() {
        let operands = decode.operands(quad);
        for r in 0..R {
            let x = L::splat_bytes(&x[r][q]);
            for half in 0..2 {
                lower[r][half] = L::dot_bytes(lower[r][half], x, operands.lower[half]);
                if D::IS_SPLIT {
                    upper[r][half] = L::dot_bytes(upper[r][half], x, operands.upper[half]);
                }
            }
        }
    }
    if D::IS_SPLIT {
        for (lower, upper) in lower.iter_mut().zip(upper) {
            for (lower, upper) in lower.iter_mut().zip(upper) {
                *lower = L::add_i32(*lower, L::shl::<4>(upper));
            }
        }
    }
    lower
}

/// To the sums of the rows whose group `g` is fine: 128 times what they are, and what was left.
#[cold]
fn add_rests<L: Lanes, D: Decode<L>, const R: usize>(
    decode: D,
    codes: &[Sixteen],
    rows: [GroupedRow<'_>; R],
    g: usize,
    sums: &mut [[L::I32; 2]; R],
) {
    let quads = codes.len() / D::VECTORS;
    let x = rows.map(|row| &row.rests[g * quads..][..quads]);
    let rests = group_sums::<L, D, R>(decode, codes, x);
    for ((row, sums), rests) in rows.iter().zip(sums).zip(rests) {
        if row.is_fine[g] {
            for (sum, rest) in sums.iter_mut().zip(rests) {
                *sum = L::add_i32(L::shl::<7>(*sum), rest);
            }
        }
    }
}

/// The weights of a quad: for each of its four inputs, columns 0 to 3 and 4 to 7.
#[inline(always)]
pub fn weights<L: Lanes, D: Decode<L>>(
    matrix: &GroupedMatrix,
    decode: D,
    block: usize,
    g: usize,
    q: usize,
) -> [[L::F32; 2]; 4] {
    let size = matrix.form.size;
    let at = block * (matrix.in_features / size) + g;
    let quad = &matrix.codes[(at * (size / 4) + q) * D::VECTORS..][..D::VECTORS];
    let operands = decode.operands(quad);
    let (flip, zero) = decode.plain();
    let scale = &matrix.scales[at];
    let min = matrix.mins.get(at);
    let halves: [[L::F32; 4]; 2] = std::array::from_fn(|half| {
        let mut bits = L::xor(L::pairs(operands.lower[half]), L::splat_i32(flip));
        if D::IS_SPLIT {
            bits = L::add_i32(bits, L::shl::<4>(L::pairs(operands.upper[half])));
        }
        std::array::from_fn(|_| {
            let code = L::sub_i32(L::and(bits, L::splat_i32(255)), L::splat_i32(zero));
            bits = L::shr::<8>(bits);
            let weight = L::mul(L::to_f32(code), L::load(&scale.0[half]));
            match min {
                Some(min) => L::add(weight, L::load(&min.0[half])),
                None => weight,
            }
        })
    });
    std::array::from_fn(|i| [halves[0][i], halves[1][i]])
}

/// Weights times float32 rows, in the order of the inputs.
pub struct FloatTiles<'a, D> {
    pub matrix: &'a GroupedMatrix,
    pub decode: D,
    /// First block of the product.
    pub block: usize,
    pub input: &'a [f32],
}

impl<L: Lanes, D: Decode<L>> Tile<L> for FloatTiles<'_, D> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        let n = self.matrix.in_features;
        let quads = self.matrix.form.size / 4;
        let rows: [&[f32]; R] = std::array::from_fn(|r| &self.input[(row + r) * n..][..n]);
        let mut sums = [[[L::splat(0.0); 2]; B]; R];
        for k in 0..n / 4 {
            for b in 0..B {
                let block = self.block + block + b;
                let four = weights::<L, D>(self.matrix, self.decode, block, k / quads, k % quads);
                for (i, [low, high]) in four.into_iter().enumerate() {
                    for (sums, row) in sums.iter_mut().zip(rows) {
                        let x = L::splat(row[4 * k + i]);
                        let [sum_low, sum_high] = &mut sums[b];
                        *sum_low = L::add(*sum_low, L::mul(x, low));
                        *sum_high = L::add(*sum_high, L::mul(x, high));
                    }
                }
            }
        }
        sums
    }
}
