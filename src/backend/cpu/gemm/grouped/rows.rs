//! Rows on their way into a product with grouped weights: int8 with a scale for each group, but for what is far from the
//! rest of its row.

use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::quantize::{quantize_bytes, row_multiplier};

/// A value whose magnitude is more than so many times the root of its row's mean square stays float32, and its group is
/// scaled without it. Few are: those of the channels in which language models keep what is far from the rest (Dettmers
/// et al. 2022). The steps that such a value would need are too coarse for the others.
const OUTLIER: f32 = 6.0;

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
    /// What is not quantised: column and value, row after row.
    outliers: Vec<(usize, f32)>,
    /// Where the outliers of each row end.
    outlier_ends: Vec<usize>,
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
        self.outliers.clear();
        self.outlier_ends.clear();
        if !cfg!(feature = "blocks") {
            // No weights come in groups.
            return;
        }
        let mut places = self.bytes.chunks_exact_mut(size / 16);
        for row in input.chunks_exact(columns.max(1)) {
            let squares = math::sum::<L>(row, 0.0, |x| L::mul(x, x));
            let limit = OUTLIER * (squares / columns as f32).sqrt();
            for (g, (from, bytes)) in row.chunks_exact(size).zip(&mut places).enumerate() {
                let (mut multiplier, mut scale) = row_multiplier::<L>(from, 127.0);
                let mut near = [0.0; 32];
                let mut from = from;
                if scale * 127.0 > limit {
                    for (i, (near, &x)) in near.iter_mut().zip(from).enumerate() {
                        if x.abs() > limit {
                            self.outliers.push((g * size + i, x));
                        } else {
                            *near = x;
                        }
                    }
                    from = &near[..size];
                    (multiplier, scale) = row_multiplier::<L>(from, 127.0);
                }
                let sum = quantize_bytes::<L>(from, multiplier, bytes);
                self.scales.push(scale);
                self.sums.push(sum);
                self.totals.push(scale * sum as f32);
            }
            self.outlier_ends.push(self.outliers.len());
        }
    }

    /// Whether it holds `rows` rows of that width in groups of that size.
    pub fn fits(&self, rows: usize, columns: usize, size: usize) -> bool {
        let groups = rows * (columns / size);
        (self.columns, self.size) == (columns, size) && self.scales.len() >= groups
    }

    /// The row `row`, without its outliers.
    #[inline(always)]
    pub fn row(&self, row: usize) -> GroupedRow<'_> {
        let (columns, groups) = (self.columns, self.columns / self.size);
        let fours = self.bytes.as_flattened().as_chunks::<4>().0;
        GroupedRow {
            fours: &fours[row * columns / 4..][..columns / 4],
            scales: &self.scales[row * groups..][..groups],
            sums: &self.sums[row * groups..][..groups],
            totals: &self.totals[row * groups..][..groups],
        }
    }

    /// The outliers of the row `row`: column and value.
    #[inline(always)]
    pub fn outliers(&self, row: usize) -> &[(usize, f32)] {
        let start = row.checked_sub(1).map_or(0, |before| self.outlier_ends[before]);
        &self.outliers[start..self.outlier_ends[row]]
    }
}
