//! Products of codes with quantised rows, and the weights that codes stand for.

use super::decode::{Decode, Operands};
use super::rows::GroupedRow;
use super::{GroupForm, GroupedMatrix, GroupedRows, Sixteen, factors, record_len};
use crate::backend::cpu::lanes::Lanes;
use std::marker::PhantomData;

/// Codes times quantised rows, in integers a group at a time.
pub struct CodeTiles<'a, D> {
    pub matrix: &'a GroupedMatrix,
    pub decode: D,
    pub input: &'a GroupedRows,
}

impl<D> CodeTiles<'_, D> {
    /// Sums of `R` rows from `row` on with the columns of some blocks, without bias.
    #[inline(never)] // a function of its own is compiled soonest and best
    pub fn sums<L: Lanes, const R: usize, const B: usize>(
        &self,
        row: usize,
        blocks: [usize; B],
    ) -> [[[L::F32; 2]; B]; R]
    where
        D: Decode<L>,
    {
        let groups = self.matrix.in_features / self.matrix.form.size;
        let rows: [_; R] = std::array::from_fn(|r| self.input.row(row + r));
        let rows = rows.map(|row| RowGroups::new(row, groups));
        let blocks = blocks.map(|block| Records::<D>::new(self.matrix, block, groups));
        let mut totals = [[[L::splat(0.0); 2]; B]; R];
        for g in 0..groups {
            self.add_group::<L, R, B>(&rows, &blocks, g, &mut totals);
        }
        for (row, totals) in (row..).zip(&mut totals) {
            for &(column, x) in self.input.outliers(row) {
                let x = L::splat(x);
                for (block, totals) in blocks.iter().zip(&mut *totals) {
                    let weights = self.weight_column::<L>(block, column);
                    for (total, weights) in totals.iter_mut().zip(weights) {
                        *total = L::add(*total, L::mul(x, weights));
                    }
                }
            }
        }
        totals
    }

    /// Adds the products of one group.
    #[inline(always)]
    fn add_group<L: Lanes, const R: usize, const B: usize>(
        &self,
        rows: &[RowGroups<'_>; R],
        blocks: &[Records<'_, D>; B],
        g: usize,
        totals: &mut [[[L::F32; 2]; B]; R],
    ) where
        D: Decode<L>,
    {
        let x = rows.each_ref().map(|row| &row.fours[g * D::QUADS..][..D::QUADS]);
        let records = blocks.each_ref().map(|block| block.record::<L>(g));
        let codes = records.each_ref().map(|record| record.codes);
        let sums = group_sums::<L, D, R, B>(self.decode, codes, x);
        let factors = records.map(|record| (record.scales::<L>(), record.mins::<L>()));
        for ((row, sums), totals) in rows.iter().zip(sums).zip(totals) {
            let zero = L::splat_i32(self.decode.zero().wrapping_mul(row.sums[g]));
            let x_scale = L::splat(row.scales[g]);
            let x_total = L::splat(row.totals[g]);
            for (((scales, mins), sums), totals) in factors.iter().zip(sums).zip(totals) {
                for half in 0..2 {
                    let scale = L::mul(x_scale, scales[half]);
                    let sum = L::to_f32(L::sub_i32(sums[half], zero));
                    totals[half] = L::add(totals[half], L::mul(sum, scale));
                    if let Some(mins) = mins {
                        totals[half] = L::add(totals[half], L::mul(x_total, mins[half]));
                    }
                }
            }
        }
    }

    /// The weights of a block for one input: columns 0 to 3 and 4 to 7.
    #[inline(always)]
    fn weight_column<L: Lanes>(&self, block: &Records<'_, D>, k: usize) -> [L::F32; 2]
    where
        D: Decode<L>,
    {
        let size = 4 * D::QUADS;
        let record = block.record::<L>(k / size);
        let operands = self.decode.operands(record.codes, k % size / 4);
        // A product with 1 among zeros is the operand.
        let one = L::splat_bytes(&ONE[k % 4]);
        let [sums] = split_sums::<L, D, 1>([one], &operands, [[[L::splat_i32(0); 2]; 2]]);
        let zero = L::splat_i32(self.decode.zero());
        let codes = joined::<L, D>(sums).map(|code| L::sub_i32(code, zero));
        record.weights::<L>(codes)
    }
}

/// 1 in one of four places.
const ONE: [[i8; 4]; 4] = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]];

/// A row of which the lengths are known to be those of the matrix.
struct RowGroups<'a> {
    fours: &'a [[i8; 4]],
    scales: &'a [f32],
    sums: &'a [i32],
    totals: &'a [f32],
}

impl<'a> RowGroups<'a> {
    #[inline(always)]
    fn new(row: GroupedRow<'a>, groups: usize) -> Self {
        Self {
            fours: row.fours,
            scales: &row.scales[..groups],
            sums: &row.sums[..groups],
            totals: &row.totals[..groups],
        }
    }
}

/// What a matrix has of a block of columns.
#[derive(Clone, Copy)]
struct Records<'a, D> {
    /// Group after group.
    vectors: &'a [Sixteen],
    /// Vectors of a group.
    len: usize,
    form: GroupForm,
    decode: PhantomData<D>,
}

impl<'a, D> Records<'a, D> {
    #[inline(always)]
    fn new(matrix: &'a GroupedMatrix, block: usize, groups: usize) -> Self {
        let len = record_len(matrix.form);
        let vectors = &matrix.records[block * groups * len..][..groups * len];
        Self { vectors, len, form: matrix.form, decode: PhantomData }
    }

    #[inline(always)]
    fn record<L: Lanes>(&self, g: usize) -> Record<'a>
    where
        D: Decode<L>,
    {
        let (codes, factors) = self.vectors[g * self.len..][..self.len].split_at(D::VECTORS);
        let (scales, mins) = factors.split_at(factors::vectors(self.form.halves));
        Record { codes, scales, mins: self.form.has_min.then_some(mins) }
    }
}

/// What is of a group of eight columns.
#[derive(Clone, Copy)]
struct Record<'a> {
    codes: &'a [Sixteen],
    scales: &'a [Sixteen],
    mins: Option<&'a [Sixteen]>,
}

impl<'a> Record<'a> {
    #[inline(always)]
    fn scales<L: Lanes>(&self) -> [L::F32; 2] {
        factors::load::<L>(self.scales)
    }

    #[inline(always)]
    fn mins<L: Lanes>(&self) -> Option<[L::F32; 2]> {
        self.mins.map(factors::load::<L>)
    }

    /// The weights of codes, from which their zero was taken.
    #[inline(always)]
    fn weights<L: Lanes>(&self, codes: [L::I32; 2]) -> [L::F32; 2] {
        let (scales, mins) = (self.scales::<L>(), self.mins::<L>());
        std::array::from_fn(|half| {
            let weight = L::mul(L::to_f32(codes[half]), scales[half]);
            match mins {
                Some(mins) => L::add(weight, mins[half]),
                None => weight,
            }
        })
    }
}

/// `Σ x · code` over a group, of eight columns for each row and block.
#[inline(always)]
fn group_sums<L: Lanes, D: Decode<L>, const R: usize, const B: usize>(
    decode: D,
    codes: [&[Sixteen]; B],
    x: [&[[i8; 4]]; R],
) -> [[[L::I32; 2]; B]; R] {
    let codes = codes.map(|codes| &codes[..D::VECTORS]);
    let mut sums = [[[[L::splat_i32(0); 2]; 2]; R]; B];
    for set in 0..D::QUADS / D::SET {
        for (codes, sums) in codes.iter().zip(&mut sums) {
            decode.each(codes, set, |q, operands| {
                let x = x.map(|x| L::splat_bytes(&x[q]));
                *sums = split_sums::<L, D, R>(x, &operands, *sums);
            });
        }
    }
    std::array::from_fn(|r| std::array::from_fn(|b| joined::<L, D>(sums[b][r])))
}

/// Adds the products of `R` rows with the lower and with the upper parts of operands.
#[inline(always)]
fn split_sums<L: Lanes, D: Decode<L>, const R: usize>(
    x: [L::I16; R],
    operands: &Operands<L>,
    mut sums: [[[L::I32; 2]; 2]; R],
) -> [[[L::I32; 2]; 2]; R] {
    for (sums, x) in sums.iter_mut().zip(x) {
        let [lower, upper] = sums;
        for half in 0..2 {
            lower[half] = L::dot_bytes(lower[half], x, operands.lower[half]);
            if D::IS_SPLIT {
                upper[half] = L::dot_bytes(upper[half], x, operands.upper[half]);
            }
        }
    }
    sums
}

/// Sums of products with whole operands.
#[inline(always)]
fn joined<L: Lanes, D: Decode<L>>([lower, upper]: [[L::I32; 2]; 2]) -> [L::I32; 2] {
    if !D::IS_SPLIT {
        return lower;
    }
    std::array::from_fn(|half| L::add_i32(lower[half], L::shl::<4>(upper[half])))
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
    let groups = matrix.in_features / matrix.form.size;
    let record = Records::<D>::new(matrix, block, groups).record::<L>(g);
    let operands = decode.operands(record.codes, q);
    let mut bits = [0, 1].map(|half| code_bits::<L, D>(decode, &operands, half));
    let (_, zero) = decode.plain();
    std::array::from_fn(|_| {
        let lowest = |bits| L::sub_i32(L::and(bits, L::splat_i32(255)), L::splat_i32(zero));
        let codes = bits.map(lowest);
        bits = bits.map(L::shr::<8>);
        record.weights::<L>(codes)
    })
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
