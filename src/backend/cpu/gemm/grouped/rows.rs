//! Rows on their way into a product with grouped weights: int8 with a scale for each group, and where that is too
//! coarse, fifteen bits.

use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::quantize::{quantize_bytes, quantize_wide, row_multiplier};
use std::ops::Range;

/// A group whose largest magnitude is so many times the root of the row's mean square is quantised to fifteen bits.
/// Few groups are: those of the channels in which language models keep what is far from the rest (Dettmers et al. 2022).
/// Rounded to eight bits they would cost more accuracy than all others together.
const OUTLIER: f32 = 4.0;

/// Rows quantised group by group, each by its own largest magnitude.
#[derive(Debug, Default)]
pub struct GroupedRows {
    size: usize,
    columns: usize,
    /// The values, to eight bits.
    whole: Part,
    /// What is left of the values of fine groups; zeros elsewhere.
    rest: Part,
    /// Whether a row has a fine group.
    is_fine: Vec<bool>,
}

/// Integers of all groups of all rows.
#[derive(Debug, Default)]
struct Part {
    /// `[rows, columns / 16]`.
    bytes: Vec<[i8; 16]>,
    /// What the integers of a group are multiplied by, `[rows, groups]`.
    scales: Vec<f32>,
    /// Sums of the integers of a group, `[rows, groups]`.
    sums: Vec<i32>,
    /// `scale · sum`, `[rows, groups]`.
    totals: Vec<f32>,
}

/// One row of a part.
#[derive(Debug, Clone, Copy)]
pub struct GroupedRow<'a> {
    pub fours: &'a [[i8; 4]],
    pub scales: &'a [f32],
    pub sums: &'a [i32],
    pub totals: &'a [f32],
}

impl Part {
    fn clear(&mut self, bytes: usize) {
        self.bytes.resize(bytes, [0; 16]);
        self.scales.clear();
        self.sums.clear();
        self.totals.clear();
    }

    fn push(&mut self, scale: f32, sum: i32) {
        self.scales.push(scale);
        self.sums.push(sum);
        self.totals.push(scale * sum as f32);
    }

    #[inline(always)]
    fn row(&self, row: usize, columns: usize, size: usize) -> GroupedRow<'_> {
        let groups = columns / size;
        GroupedRow {
            fours: &self.bytes.as_flattened().as_chunks::<4>().0[row * columns / 4..]
                [..columns / 4],
            scales: &self.scales[row * groups..][..groups],
            sums: &self.sums[row * groups..][..groups],
            totals: &self.totals[row * groups..][..groups],
        }
    }
}

impl GroupedRows {
    /// Quantises `input`, `[rows, columns]`, in groups of `size`, 16 or 32, of which a row is a multiple.
    pub fn quantize<L: Lanes>(&mut self, input: &[f32], columns: usize, size: usize) {
        (self.size, self.columns) = (size, columns);
        let Self { whole, rest, is_fine, .. } = self;
        whole.clear(input.len() / 16);
        rest.clear(input.len() / 16);
        is_fine.clear();
        for (row, from) in input.chunks_exact(columns.max(1)).enumerate() {
            let squares = math::sum::<L>(from, 0.0, |x| L::mul(x, x));
            let limit = OUTLIER * (squares / columns as f32).sqrt();
            let mut has_fine = false;
            for (g, from) in from.chunks_exact(size).enumerate() {
                let start = (row * columns + g * size) / 16;
                let places = start..start + size / 16;
                let (bytes, rests) = (&mut whole.bytes[places.clone()], &mut rest.bytes[places]);
                let (multiplier, scale) = row_multiplier::<L>(from, 127.0);
                if scale * 127.0 > limit {
                    has_fine = true;
                    let [sum, of_rest] = quantize_wide::<L>(from, multiplier * 128.0, bytes, rests);
                    whole.push(scale, sum);
                    rest.push(scale / 128.0, of_rest);
                } else {
                    let sum = quantize_bytes::<L>(from, multiplier, bytes);
                    rests.fill([0; 16]);
                    whole.push(scale, sum);
                    rest.push(0.0, 0);
                }
            }
            is_fine.push(has_fine);
        }
    }

    /// Whether it holds `rows` rows of that width in groups of that size.
    pub fn fits(&self, rows: usize, columns: usize, size: usize) -> bool {
        let groups = rows * (columns / size);
        (self.columns, self.size) == (columns, size) && self.whole.scales.len() >= groups
    }

    /// Whether something is left of one of these rows.
    #[inline(always)]
    pub fn is_fine(&self, rows: Range<usize>) -> bool {
        self.is_fine[rows].iter().any(|is_fine| *is_fine)
    }

    /// The row `row`, to eight bits.
    #[inline(always)]
    pub fn row(&self, row: usize) -> GroupedRow<'_> {
        self.whole.row(row, self.columns, self.size)
    }

    /// What is left of the row `row`; a group of which nothing is has a scale of 0.
    #[inline(always)]
    pub fn rest(&self, row: usize) -> GroupedRow<'_> {
        self.rest.row(row, self.columns, self.size)
    }
}
