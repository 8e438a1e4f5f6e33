//! Products of codes with quantised rows, and the weights that codes stand for.

use super::decode::{Decode, Operands};
use super::record::{Factors, HalfConstants, Record, Records};
use super::unpacked::{self, Unpacked};
use super::{Floats, GroupedMatrix, GroupedRows, Sixteen};
use crate::backend::cpu::lanes::Lanes;

/// Codes times quantised rows, in integers a group at a time.
pub struct CodeTiles<'a, D> {
    pub matrix: &'a GroupedMatrix,
    pub decode: D,
    pub input: &'a GroupedRows,
}

impl<D> CodeTiles<'_, D> {
    /// Sums of four rows from `row` on with the columns of an unpacked block, without bias.
    #[inline(never)] // a function of its own is compiled soonest and best
    pub fn four_rows<L: Lanes>(&self, row: usize, block: &Unpacked) -> [[L::F32; 2]; 4]
    where
        D: Decode<L>,
    {
        let (tile, quads) = (self.input.tile::<4>(row), self.group_size() / 4);
        let mut totals = [[L::splat(0.0); 2]; 4];
        for g in 0..block.groups() {
            let x = &tile.fours[g * quads..][..quads];
            let sums = four_sums::<L, D>(block.quads(g * quads, quads), x);
            let factors = block.factors::<L>(g);
            for (r, (sums, totals)) in sums.into_iter().zip(&mut totals).enumerate() {
                let x = XGroup {
                    scale: tile.scales[g][r],
                    sum: tile.sums[g][r],
                    total: tile.totals[g][r],
                };
                add_scaled::<L>(sums, self.decode.zero(), &factors, x, totals);
            }
        }
        for (row, totals) in (row..).zip(&mut totals) {
            for &(column, x) in self.input.outliers(row) {
                let [lower, upper] = block.quads(column / 4, 1);
                let Some(lower) = lower.first() else { continue };
                let operands = unpacked::load::<L>(lower, upper.first());
                let factors = block.factors::<L>(column / self.group_size());
                add_outlier::<L, D>(self.decode, &operands, &factors, (column, x), totals);
            }
        }
        totals
    }

    /// Sums of one row with the columns of blocks `apart` blocks from each other, `block` the first, without bias; `sums`
    /// has a place for each. They stay in memory: a processor's vectors are too few for all of them.
    pub fn one_row<L: Lanes>(&self, row: usize, block: usize, apart: usize, sums: &mut [Floats])
    where
        D: Decode<L>,
    {
        sums.fill(Floats::default());
        let place = (row, block, apart);
        match (self.matrix.form.halves, self.matrix.form.has_min) {
            (true, true) => self.add_groups::<L, true, true>(place, sums),
            (true, false) => self.add_groups::<L, true, false>(place, sums),
            (false, true) => self.add_groups::<L, false, true>(place, sums),
            (false, false) => self.add_groups::<L, false, false>(place, sums),
        }
        let (records, constants) = (Records::new(self.matrix), HalfConstants::new());
        for &(column, x) in self.input.outliers(row) {
            let (g, quad) = (column / self.group_size(), column % self.group_size() / 4);
            for (s, to) in sums.iter_mut().enumerate() {
                let record = records.of(block + s * apart, g);
                let operands = operands::<L, D>(self.decode, record, quad);
                let (factors, mut totals) = (record.factors(&constants), load_eight::<L>(to));
                add_outlier::<L, D>(self.decode, &operands, &factors, (column, x), &mut totals);
                store_eight::<L>(totals, to);
            }
        }
    }

    #[inline(never)]
    fn add_groups<L: Lanes, const HALVES: bool, const HAS_MIN: bool>(
        &self,
        (row, block, apart): (usize, usize, usize),
        sums: &mut [Floats],
    ) where
        D: Decode<L>,
    {
        let (tile, quads) = (self.input.tile::<1>(row), self.group_size() / 4);
        let (records, constants) = (Records::new(self.matrix), HalfConstants::new());
        let (first, apart) = (block * records.groups(), apart * records.groups());
        let zero = self.decode.zero();
        let x_groups = tile.scales.iter().zip(tile.sums).zip(tile.totals);
        let fours = tile.fours.chunks_exact(quads);
        for (g, ((([scale], [sum]), [total]), fours)) in x_groups.zip(fours).enumerate() {
            let mut at = first + g;
            for to in &mut *sums {
                let record = records.at(at);
                at += apart;
                let sums = one_sums::<L, D>(self.decode, record, fours);
                let factors = record.factors_of::<L, HALVES, HAS_MIN>(&constants);
                let x = XGroup { scale: *scale, sum: *sum, total: *total };
                let mut totals = load_eight::<L>(to);
                add_scaled::<L>(sums, zero, &factors, x, &mut totals);
                store_eight::<L>(totals, to);
            }
        }
    }

    fn group_size(&self) -> usize {
        self.matrix.form.size
    }
}

/// What a row has of a group.
struct XGroup {
    scale: f32,
    sum: i32,
    total: f32,
}

/// Adds the products of one group, given their sums in integers.
#[inline(always)]
fn add_scaled<L: Lanes>(
    mut sums: [L::I32; 2],
    zero: i32,
    factors: &Factors<L>,
    x: XGroup,
    totals: &mut [L::F32; 2],
) {
    if zero != 0 {
        let zero = L::splat_i32(zero.wrapping_mul(x.sum));
        sums = sums.map(|sum| L::sub_i32(sum, zero));
    }
    for half in 0..2 {
        let scale = L::mul(L::splat(x.scale), factors.scales[half]);
        totals[half] = L::add(totals[half], L::mul(L::to_f32(sums[half]), scale));
        if let Some(mins) = factors.mins {
            totals[half] = L::add(totals[half], L::mul(L::splat(x.total), mins[half]));
        }
    }
}

/// Adds the product of an input that was not quantised, `(column, x)`, with the codes of its quad.
#[inline(always)]
fn add_outlier<L: Lanes, D: Decode<L>>(
    decode: D,
    operands: &Operands<L>,
    factors: &Factors<L>,
    (column, x): (usize, f32),
    totals: &mut [L::F32; 2],
) {
    // A product with 1 among zeros is the operand.
    let one = L::splat_bytes(&ONE[column % 4]);
    let mut sums = [[L::splat_i32(0); 2]; 2];
    add_products::<L, D>(one, operands, &mut sums);
    let zero = L::splat_i32(decode.zero());
    let codes = joined::<L, D>(sums).map(|code| L::sub_i32(code, zero));
    for (total, weight) in totals.iter_mut().zip(factors.weights(codes)) {
        *total = L::add(*total, L::mul(L::splat(x), weight));
    }
}

#[inline(always)]
fn load_eight<L: Lanes>(from: &Floats) -> [L::F32; 2] {
    from.0.each_ref().map(L::load)
}

#[inline(always)]
fn store_eight<L: Lanes>(eight: [L::F32; 2], to: &mut Floats) {
    eight.into_iter().zip(&mut to.0).for_each(|(four, to)| L::store(four, to));
}

/// 1 in one of four places.
const ONE: [[i8; 4]; 4] = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]];

/// `Σ x · code` over a group, of eight columns for each of four rows. A quad at a time: with more, the compiler would put
/// the products of one sum one after the other, each of which waits for the last.
#[inline(always)]
fn four_sums<L: Lanes, D: Decode<L>>(
    [lower, upper]: [&[[Sixteen; 2]]; 2],
    x: &[[[i8; 4]; 4]],
) -> [[L::I32; 2]; 4] {
    let mut sums = [[[L::splat_i32(0); 2]; 2]; 4];
    let lower = &lower[..x.len()];
    for (q, x) in x.iter().enumerate() {
        let operands = unpacked::load::<L>(&lower[q], D::IS_SPLIT.then(|| &upper[q]));
        for (x, sums) in x.iter().zip(&mut sums) {
            add_products::<L, D>(L::splat_bytes(x), &operands, sums);
        }
    }
    sums.map(joined::<L, D>)
}

/// `Σ x · code` over a group, of eight columns for one row, four quads at a time.
#[inline(always)]
fn one_sums<L: Lanes, D: Decode<L>>(
    decode: D,
    record: Record<'_>,
    x: &[[[i8; 4]; 1]],
) -> [L::I32; 2] {
    let mut sums = [[L::splat_i32(0); 2]; 2];
    let units = D::units(record.codes).chunks_exact(4 / D::QUADS);
    for (x, units) in x.as_chunks::<4>().0.iter().zip(units) {
        for (q, [x]) in x.iter().enumerate() {
            let operands = decode.operands(&units[q / D::QUADS], q % D::QUADS);
            add_products::<L, D>(L::splat_bytes(x), &operands, &mut sums);
        }
    }
    joined::<L, D>(sums)
}

/// Adds products with the lower and with the upper parts of operands.
#[inline(always)]
fn add_products<L: Lanes, D: Decode<L>>(
    x: L::I16,
    operands: &Operands<L>,
    [lower, upper]: &mut [[L::I32; 2]; 2],
) {
    for half in 0..2 {
        lower[half] = L::dot_bytes(lower[half], x, operands.lower[half]);
        if D::IS_SPLIT {
            upper[half] = L::dot_bytes(upper[half], x, operands.upper[half]);
        }
    }
}

/// Sums of products with whole operands.
#[inline(always)]
fn joined<L: Lanes, D: Decode<L>>([lower, upper]: [[L::I32; 2]; 2]) -> [L::I32; 2] {
    if !D::IS_SPLIT {
        return lower;
    }
    std::array::from_fn(|half| L::add_i32(lower[half], L::shl::<4>(upper[half])))
}

#[inline(always)]
fn operands<L: Lanes, D: Decode<L>>(decode: D, record: Record<'_>, quad: usize) -> Operands<L> {
    decode.operands(&D::units(record.codes)[quad / D::QUADS], quad % D::QUADS)
}

/// The weights of quad `k` of a block: for each of its four inputs, columns 0 to 3 and 4 to 7.
#[inline(always)]
pub fn weights<L: Lanes, D: Decode<L>>(
    matrix: &GroupedMatrix,
    decode: D,
    block: usize,
    k: usize,
) -> [[L::F32; 2]; 4] {
    let quads = matrix.form.size / 4;
    let record = Records::new(matrix).of(block, k / quads);
    let (operands, factors) =
        (operands::<L, D>(decode, record, k % quads), record.factors(&HalfConstants::<L>::new()));
    let mut bits = [0, 1].map(|half| code_bits::<L, D>(decode, &operands, half));
    let (_, zero) = decode.plain();
    std::array::from_fn(|_| {
        let lowest = |bits| L::sub_i32(L::and(bits, L::splat_i32(255)), L::splat_i32(zero));
        let codes = bits.map(lowest);
        bits = bits.map(L::shr::<8>);
        factors.weights(codes)
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
