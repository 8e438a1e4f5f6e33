//! Rows on their way into a product with grouped weights: int8 with a scale for each group.

use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::quantize::{quantize_bytes, row_multiplier};

/// Rows quantised group by group, each by its own largest magnitude.
#[derive(Debug, Default)]
pub struct GroupedRows {
    size: usize,
    columns: usize,
    /// `[rows, columns / 16]`.
    bytes: Vec<[i8; 16]>,
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
    pub scales: &'a [f32],
    pub sums: &'a [i32],
    pub totals: &'a [f32],
}

impl GroupedRows {
    /// Quantises `input`, `[rows, columns]`, in groups of `size`, 16 or 32, of which a row is a multiple.
    pub fn quantize<L: Lanes>(&mut self, input: &[f32], columns: usize, size: usize) {
        (self.size, self.columns) = (size, columns);
        self.bytes.resize(input.len() / 16, [0; 16]);
        self.scales.clear();
        self.sums.clear();
        self.totals.clear();
        for (from, to) in input.chunks_exact(size).zip(self.bytes.chunks_exact_mut(size / 16)) {
            let (multiplier, scale) = row_multiplier::<L>(from, 127.0);
            let sum = quantize_bytes::<L>(from, multiplier, to);
            self.scales.push(scale);
            self.sums.push(sum);
            self.totals.push(scale * sum as f32);
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
        let fours = self.bytes.as_flattened().as_chunks::<4>().0;
        GroupedRow {
            fours: &fours[row * self.columns / 4..][..self.columns / 4],
            scales: &self.scales[row * groups..][..groups],
            sums: &self.sums[row * groups..][..groups],
            totals: &self.totals[row * groups..][..groups],
        }
    }
}
