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
    rows: usize,
    /// Four integers at a time, `[rows / 4, columns / 4, 4 rows]`; what rows there are more, `[columns / 4]` each. So are
    /// the others, by group.
    fours: Vec<[i8; 4]>,
    /// What the integers of a group are multiplied by.
    scales: Vec<f32>,
    /// Sums of the integers of a group.
    sums: Vec<i32>,
    /// `scale · sum`.
    totals: Vec<f32>,
    /// The row being quantised.
    bytes: Vec<[i8; 16]>,
    /// What is not quantised: column and value, row after row.
    outliers: Vec<(usize, f32)>,
    /// Where the outliers of each row end.
    outlier_ends: Vec<usize>,
}

/// Rows that are multiplied together: four, or one.
#[derive(Debug, Clone, Copy)]
pub struct GroupedTile<'a, const R: usize> {
    /// `[columns / 4, R]`.
    pub fours: &'a [[[i8; 4]; R]],
    /// `[groups, R]`, as the others.
    pub scales: &'a [[f32; R]],
    pub sums: &'a [[i32; R]],
    pub totals: &'a [[f32; R]],
}

impl GroupedRows {
    /// Quantises `input`, `[rows, columns]`, in groups of `size`, 16 or 32, of which a row is a multiple.
    pub fn quantize<L: Lanes>(&mut self, input: &[f32], columns: usize, size: usize) {
        let columns = columns.max(1);
        (self.size, self.columns, self.rows) = (size, columns, input.len() / columns);
        self.outliers.clear();
        self.outlier_ends.clear();
        if !cfg!(feature = "blocks") {
            // No weights come in groups.
            return;
        }
        let groups = columns / size;
        self.fours.resize(self.rows * columns / 4, [0; 4]);
        self.scales.resize(self.rows * groups, 0.0);
        self.sums.resize(self.rows * groups, 0);
        self.totals.resize(self.rows * groups, 0.0);
        self.bytes.resize(columns / 16, [0; 16]);
        for (r, row) in input.chunks_exact(columns).enumerate() {
            // Where the row's first of each is, and how far apart they are.
            let (first, step) = match r < self.rows - self.rows % 4 {
                true => (r / 4 * 4, 4),
                false => (r, 1),
            };
            let squares = math::sum::<L>(row, 0.0, |x| L::mul(x, x));
            let limit = OUTLIER * (squares / columns as f32).sqrt();
            let mut places = self.bytes.chunks_exact_mut(size / 16);
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
                let at = first * groups + g * step + r % step;
                self.scales[at] = scale;
                self.sums[at] = sum;
                self.totals[at] = scale * sum as f32;
            }
            let to = self.fours[first * columns / 4..].iter_mut().skip(r % step).step_by(step);
            for (to, four) in to.zip(self.bytes.as_flattened().as_chunks::<4>().0) {
                *to = *four;
            }
            self.outlier_ends.push(self.outliers.len());
        }
    }

    /// Whether it holds `rows` rows of that width in groups of that size.
    pub fn fits(&self, rows: usize, columns: usize, size: usize) -> bool {
        (self.rows, self.columns, self.size) == (rows, columns, size)
    }

    /// `R` rows from `row` on, without their outliers: four of the first whole fours, or one of the others.
    #[inline(always)]
    pub fn tile<const R: usize>(&self, row: usize) -> GroupedTile<'_, R> {
        let groups = self.columns / self.size;
        let quads = self.columns / 4;
        let at = row * groups;
        GroupedTile {
            fours: self.fours[row * quads..].as_chunks().0.split_at(quads).0,
            scales: self.scales[at..].as_chunks().0.split_at(groups).0,
            sums: self.sums[at..].as_chunks().0.split_at(groups).0,
            totals: self.totals[at..].as_chunks().0.split_at(groups).0,
        }
    }

    /// The outliers of the row `row`: column and value.
    #[inline(always)]
    pub fn outliers(&self, row: usize) -> &[(usize, f32)] {
        let start = row.checked_sub(1).map_or(0, |before| self.outlier_ends[before]);
        &self.outliers[start..self.outlier_ends[row]]
    }
}
