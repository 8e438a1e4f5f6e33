//! Products of codes with quantised rows, and the weights that codes stand for.

use super::decode::{Decode, Operands};
use super::rows::GroupedRow;
use super::{GroupedMatrix, GroupedRows, Sixteen};
use crate::backend::cpu::lanes::Lanes;

/// Codes times quantised rows, in integers a group at a time.
pub struct CodeTiles<'a, D> {
    pub matrix: &'a GroupedMatrix,
    pub decode: D,
    pub input: &'a GroupedRows,
}

impl<D> CodeTiles<'_, D> {
    /// Sums of `R` rows from `row` on with the columns of one block, without bias.
    #[inline(always)]
    pub fn sums<L: Lanes, const R: usize>(&self, row: usize, block: usize) -> [[L::F32; 2]; R]
    where
        D: Decode<L>,
    {
        let rows: [_; R] = std::array::from_fn(|r| self.input.row(row + r));
        let mut totals = [[L::splat(0.0); 2]; R];
        for g in 0..self.groups() {
            self.add_group::<L, R>(&rows, block, g, &mut totals);
        }
        for (row, totals) in (row..).zip(&mut totals) {
            for &(column, x) in self.input.outliers(row) {
                let weights = weight_column::<L, D>(self.matrix, self.decode, block, column);
                let x = L::splat(x);
                for (total, weights) in totals.iter_mut().zip(weights) {
                    *total = L::add(*total, L::mul(x, weights));
                }
            }
        }
        totals
    }

    fn groups(&self) -> usize {
        self.matrix.in_features / self.matrix.form.size
    }

    /// Adds the products of one group.
    #[inline(always)]
    fn add_group<L: Lanes, const R: usize>(
        &self,
        rows: &[GroupedRow<'_>; R],
        block: usize,
        g: usize,
        totals: &mut [[L::F32; 2]; R],
    ) where
        D: Decode<L>,
    {
        let matrix = self.matrix;
        let quads = matrix.form.size / 4;
        let at = block * self.groups() + g;
        let codes = &matrix.codes[at * quads * D::VECTORS..][..quads * D::VECTORS];
        let x = rows.each_ref().map(|row| &row.fours[g * quads..][..quads]);
        let sums = group_sums::<L, D, R>(self.decode, codes, x);
        let (scale, min) = (&matrix.scales[at], matrix.mins.get(at));
        for ((row, sums), totals) in rows.iter().zip(sums).zip(totals) {
            let zero = L::splat_i32(self.decode.zero().wrapping_mul(row.sums[g]));
            let x_scale = L::splat(row.scales[g]);
            for (half, total) in totals.iter_mut().enumerate() {
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

/// The weights of a block for one input: columns 0 to 3 and 4 to 7.
#[inline(never)]
pub fn weight_column<L: Lanes, D: Decode<L>>(
    matrix: &GroupedMatrix,
    decode: D,
    block: usize,
    k: usize,
) -> [L::F32; 2] {
    let size = matrix.form.size;
    let at = block * (matrix.in_features / size) + k / size;
    let place = at * (size / 4) + k % size / 4;
    let operands = decode.operands(&matrix.codes[place * D::VECTORS..][..D::VECTORS]);
    std::array::from_fn(|half| {
        let bits = code_bits::<L, D>(decode, &operands, half);
        let bits = match k % 4 {
            0 => bits,
            1 => L::shr::<8>(bits),
            2 => L::shr::<16>(bits),
            _ => L::shr::<24>(bits),
        };
        weight_of_bits::<L, D>(matrix, decode, at, half, bits)
    })
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
    let halves: [[L::F32; 4]; 2] = std::array::from_fn(|half| {
        let mut bits = code_bits::<L, D>(decode, &operands, half);
        std::array::from_fn(|_| {
            let weight = weight_of_bits::<L, D>(matrix, decode, at, half, bits);
            bits = L::shr::<8>(bits);
            weight
        })
    });
    std::array::from_fn(|i| [halves[0][i], halves[1][i]])
}

/// The codes of a quad for four columns, as numbers from 0 on: of each column four bytes, the first input's lowest.
#[inline(always)]
fn code_bits<L: Lanes, D: Decode<L>>(decode: D, operands: &Operands<L>, half: usize) -> L::I32 {
    let (flip, _) = decode.plain();
    let bits = L::xor(L::pairs(operands.lower[half]), L::splat_i32(flip));
    if D::IS_SPLIT {
        return L::add_i32(bits, L::shl::<4>(L::pairs(operands.upper[half])));
    }
    bits
}

/// The weights that the lowest bytes of `bits` stand for in group `at` of the matrix's groups, block by block.
#[inline(always)]
fn weight_of_bits<L: Lanes, D: Decode<L>>(
    matrix: &GroupedMatrix,
    decode: D,
    at: usize,
    half: usize,
    bits: L::I32,
) -> L::F32 {
    let (_, zero) = decode.plain();
    let code = L::sub_i32(L::and(bits, L::splat_i32(255)), L::splat_i32(zero));
    let weight = L::mul(L::to_f32(code), L::load(&matrix.scales[at].0[half]));
    match matrix.mins.get(at) {
        Some(min) => L::add(weight, L::load(&min.0[half])),
        None => weight,
    }
}
