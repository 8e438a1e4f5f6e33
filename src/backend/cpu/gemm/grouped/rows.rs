//! Rows on their way into a product with grouped weights: int8 with a scale for each group, and where that is too
//! coarse, fifteen bits.

use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::quantize::{quantize_bytes, quantize_wide, row_multiplier};

/// A group whose largest magnitude is so many times the root of the row's mean square is quantised to fifteen bits.
/// Few groups are: those of the channels in which language models keep what is far from the rest (Dettmers et al. 2022).
/// Rounded to eight bits they would cost more accuracy than all others together.
const OUTLIER: f32 = 4.0;

/// Rows quantised group by group, each by its own largest magnitude.
#[derive(Debug, Default)]
pub struct GroupedRows {
    size: usize,
    columns: usize,
    /// `[rows, columns / 16]`; of a fine group, a 128th of its values.
    bytes: Vec<[i8; 16]>,
    /// What is left of the values of fine groups, as `bytes`; stale elsewhere.
    rests: Vec<[i8; 16]>,
    /// Which groups are fine, `[rows, groups]`.
    is_fine: Vec<bool>,
    /// What the integers of a group are multiplied by, `[rows, groups]`.
    scales: Vec<f32>,
    /// Sums of the integers of a group, `[rows, groups]`.
    sums: Vec<i32>,
    /// `scale · sum`, `[rows, groups]`.
    totals: Vec<f32>,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct GroupedRow<'a> {
    pub fours: &'a [[i8; 4]],
    pub rests: &'a [[i8; 4]],
    pub is_fine: &'a [bool],
    pub scales: &'a [f32],
    pub sums: &'a [i32],
    pub totals: &'a [f32],
}

impl GroupedRows {
    /// Quantises `input`, `[rows, columns]`, in groups of `size`, 16 or 32, of which a row is a multiple.
    pub fn quantize<L: Lanes>(&mut self, input: &[f32], columns: usize, size: usize) {
        (self.size, self.columns) = (size, columns);
        self.bytes.resize(input.len() / 16, [0; 16]);
        self.rests.resize(input.len() / 16, [0; 16]);
        self.is_fine.clear();
        self.scales.clear();
        self.sums.clear();
        self.totals.clear();
        let places =
            self.bytes.chunks_exact_mut(size / 16).zip(self.rests.chunks_exact_mut(size / 16));
        let mut places = places;
        for row in input.chunks_exact(columns.max(1)) {
            let squares = math::sum::<L>(row, 0.0, |x| L::mul(x, x));
            let limit = OUTLIER * (squares / columns as f32).sqrt();
            for (from, (bytes, rests)) in row.chunks_exact(size).zip(&mut places) {
                let (multiplier, scale) = row_multiplier::<L>(from, 127.0);
                let is_fine = scale * 127.0 > limit;
                let (scale, sum) = if is_fine {
                    (scale / 128.0, quantize_wide::<L>(from, multiplier * 128.0, bytes, rests))
                } else {
                    (scale, quantize_bytes::<L>(from, multiplier, bytes))
                };
                self.is_fine.push(is_fine);
                self.scales.push(scale);
                self.sums.push(sum);
                self.totals.push(scale * sum as f32);
            }
        }
    }

    /// Whether it holds `rows` rows of that width in groups of that size.
    pub fn fits(&self, rows: usize, columns: usize, size: usize) -> bool {
        let groups = rows * (columns / size);
        (self.columns, self.size) == (columns, size) && self.scales.len() >= groups
    }

    /// The row `row`.
    #[inline(always)]
    pub fn row(&self, row: usize) -> GroupedRow<'_> {
        let groups = self.columns / self.size;
        fn fours(bytes: &[[i8; 16]]) -> &[[i8; 4]] {
            bytes.as_flattened().as_chunks::<4>().0
        }
        let part = |bytes| &fours(bytes)[row * self.columns / 4..][..self.columns / 4];
        GroupedRow {
            fours: part(&self.bytes),
            rests: part(&self.rests),
            is_fine: &self.is_fine[row * groups..][..groups],
            scales: &self.scales[row * groups..][..groups],
            sums: &self.sums[row * groups..][..groups],
            totals: &self.totals[row * groups..][..groups],
        }
    }
}
