//! A float32 matrix and its products.

use super::{BLOCK, Eight, Floats, Output, Sweep, in_blocks};
use crate::backend::cpu::lanes::Lanes;

/// Blocks of eight columns that lie side by side. Two rows × 24 columns are twelve sums: more than the eight that
/// multiply–adds take to be done while others begin, and as many as registers hold beside two inputs and a weight.
const WIDE: usize = 3;

/// What the columns of a wide block have for one input.
type Wide = [Floats; WIDE];

/// A float32 matrix, packed as `[out_features / 24, in_features, 24]` with zeros past the last column.
#[derive(Debug)]
pub struct FloatMatrix {
    in_features: usize,
    out_features: usize,
    weights: Vec<Wide>,
    bias: Vec<Floats>,
}

impl FloatMatrix {
    /// Packs `out_features` columns, given eight at a time: `pack` writes those from its first argument on.
    pub fn pack(
        in_features: usize,
        out_features: usize,
        bias: Option<&[f32]>,
        mut pack: impl FnMut(usize, &mut [Floats]),
    ) -> Self {
        let blocks = out_features.div_ceil(BLOCK);
        let mut weights = vec![Wide::default(); blocks.div_ceil(WIDE) * in_features];
        let mut eight = vec![Floats::default(); in_features];
        for block in 0..blocks {
            pack(block * BLOCK, &mut eight);
            let wide = weights.iter_mut().skip(block / WIDE * in_features);
            for (to, from) in wide.zip(&eight) {
                to[block % WIDE] = *from;
            }
        }
        Self { in_features, out_features, weights, bias: in_blocks(bias, out_features) }
    }

    /// Columns of its output.
    pub fn out_features(&self) -> usize {
        self.out_features
    }

    /// `input · Wᵀ + b` for the rows of `input`, `[rows, in_features]`: at most `width` columns, from the first of the
    /// eight of `block` on.
    pub fn multiply_from<L: Lanes>(
        &self,
        block: usize,
        input: &[f32],
        output: &mut Output<'_>,
        width: usize,
    ) {
        let out_features = width.min(self.out_features.saturating_sub(block * BLOCK));
        let blocks = out_features.div_ceil(BLOCK);
        let rows = output.values.len().checked_div(output.stride).unwrap_or(0);
        let Some(bias) = self.bias.get(block..block + blocks) else {
            return debug_assert!(false, "fewer columns than asked for");
        };
        if input.len() < rows * self.in_features {
            return debug_assert!(false, "input smaller than the product");
        }
        let mut sweep = Sweep { out_features, bias, output };
        for wide in block / WIDE..(block + blocks).div_ceil(WIDE) {
            let tiles = WideTiles { matrix: self, input, wide, first: block };
            tiles.all::<L>(rows, &mut sweep);
        }
    }
}

/// The products of all rows with one wide block.
struct WideTiles<'a> {
    matrix: &'a FloatMatrix,
    input: &'a [f32],
    wide: usize,
    /// The first block of the output.
    first: usize,
}

impl WideTiles<'_> {
    /// Weights are more than caches hold, and the first rows would wait for a block while all others have it near: so
    /// each two rows fetch a part of the next block, for each input `S` float32, until it is there.
    #[inline(always)]
    fn all<L: Lanes>(&self, rows: usize, sweep: &mut Sweep<'_, '_>) {
        match rows / 2 {
            _ if !cfg!(feature = "encoder") => self.rows::<L, 1>(rows, sweep),
            24.. => self.rows::<L, 1>(rows, sweep),
            12..24 => self.rows::<L, 2>(rows, sweep),
            6..12 => self.rows::<L, 4>(rows, sweep),
            _ => self.rows::<L, 8>(rows, sweep),
        }
    }

    #[inline(never)] // a function of its own is compiled soonest and best
    fn rows<L: Lanes, const S: usize>(&self, rows: usize, sweep: &mut Sweep<'_, '_>) {
        let n = self.matrix.in_features;
        let weights = self.weights(self.wide);
        let ahead = Floats::lanes(self.weights(self.wide + 1).as_flattened());
        // Over many rows it makes no difference.
        if S > 1 {
            begin_pages::<L>(ahead);
        }
        let mut parts = ahead.chunks_exact((S * n).max(1));
        for row in (0..rows / 2 * 2).step_by(2) {
            let inputs = [self.input_row(row), self.input_row(row + 1)];
            // Translation has no float32 products that matter.
            let sums = match parts.next().filter(|_| cfg!(feature = "encoder")) {
                Some(part) => sums_and_fetch::<L, S>(inputs, weights, part),
                None => sums::<L>(inputs, weights),
            };
            self.finish::<L, 2>(row, sums, sweep);
        }
        if !rows.is_multiple_of(2) {
            let sums = sums_of_one::<L>(self.input_row(rows - 1), weights);
            self.finish::<L, 1>(rows - 1, sums, sweep);
        }
    }

    #[inline(always)]
    fn finish<L: Lanes, const R: usize>(
        &self,
        row: usize,
        sums: [[[L::F32; 2]; WIDE]; R],
        sweep: &mut Sweep<'_, '_>,
    ) {
        let block = (self.wide * WIDE).checked_sub(self.first);
        if block.is_some_and(|block| sweep.finish_whole::<L, R, WIDE>(row, block, &sums)) {
            return;
        }
        self.finish_parts::<L>(row, &sums, sweep);
    }

    /// Of a wide block that the output has a part of.
    #[inline(never)]
    fn finish_parts<L: Lanes>(
        &self,
        row: usize,
        sums: &[[[L::F32; 2]; WIDE]],
        sweep: &mut Sweep<'_, '_>,
    ) {
        for (r, sums) in sums.iter().enumerate() {
            for (b, &sums) in sums.iter().enumerate() {
                let block = (self.wide * WIDE + b).checked_sub(self.first);
                if let Some(block) = block.filter(|block| *block < sweep.bias.len()) {
                    sweep.finish::<L>(row + r, block, sums);
                }
            }
        }
    }

    #[inline(always)]
    fn input_row(&self, row: usize) -> &[f32] {
        let n = self.matrix.in_features;
        &self.input[row * n..][..n]
    }

    /// Those of a wide block, none past the last.
    #[inline(always)]
    fn weights(&self, wide: usize) -> &[Wide] {
        let n = self.matrix.in_features;
        self.matrix.weights.get(wide * n..(wide + 1) * n).unwrap_or_default()
    }
}

#[inline(always)]
fn sums<L: Lanes>([a, b]: [&[f32]; 2], weights: &[Wide]) -> [[[L::F32; 2]; WIDE]; 2] {
    let mut sums = [[[L::splat(0.0); 2]; WIDE]; 2];
    for ((weights, a), b) in weights.iter().zip(a).zip(b) {
        add::<L, 2>([*a, *b], weights, &mut sums);
    }
    sums
}

/// As [`sums`], of one row.
#[inline(always)]
fn sums_of_one<L: Lanes>(input: &[f32], weights: &[Wide]) -> [[[L::F32; 2]; WIDE]; 1] {
    let mut sums = [[[L::splat(0.0); 2]; WIDE]];
    for (weights, x) in weights.iter().zip(input) {
        add::<L, 1>([*x], weights, &mut sums);
    }
    sums
}

/// As [`sums`]; meanwhile `ahead` is fetched, `S` float32 for each input: by one load, which costs less than
/// to wait for memory later.
#[inline(always)]
fn sums_and_fetch<L: Lanes, const S: usize>(
    [a, b]: [&[f32]; 2],
    weights: &[Wide],
    ahead: &[f32],
) -> [[[L::F32; 2]; WIDE]; 2] {
    let mut sums = [[[L::splat(0.0); 2]; WIDE]; 2];
    for (((weights, a), b), ahead) in weights.iter().zip(a).zip(b).zip(ahead.as_chunks::<S>().0) {
        L::fetch(&ahead[0]);
        add::<L, 2>([*a, *b], weights, &mut sums);
    }
    sums
}

#[inline(always)]
fn add<L: Lanes, const R: usize>(
    inputs: [f32; R],
    weights: &Wide,
    sums: &mut [[[L::F32; 2]; WIDE]; R],
) {
    let inputs = inputs.map(L::splat);
    for (b, Eight(halves)) in weights.iter().enumerate() {
        for (half, weights) in halves.iter().enumerate() {
            let weights = L::load(weights);
            for r in 0..R {
                sums[r][b][half] = L::mul_add(inputs[r], weights, sums[r][b][half]);
            }
        }
    }
}

/// Float32 in a page of memory, and in a line of a cache.
const PAGE: usize = 1024;
const LINE: usize = 16;

/// Fetches the first lines of every page that `ahead` lies in. A processor fetches what follows by itself, but no further
/// than a page; all at once, the pages are waited for together.
#[inline(always)]
fn begin_pages<L: Lanes>(ahead: &[f32]) {
    let into_page = ahead.as_ptr().addr() / size_of::<f32>() % PAGE;
    let starts = std::iter::once(0).chain((PAGE - into_page..ahead.len()).step_by(PAGE));
    for start in starts {
        for line in 0..2 {
            if let Some(there) = ahead.get(start + line * LINE) {
                L::fetch(there);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::gemm::Finish;
    use crate::backend::cpu::lanes::{Native, Scalar};

    /// Small integers, so that every order of sums gives the same.
    fn value(i: usize) -> f32 {
        (i * 7919 % 15) as f32 - 7.0
    }

    fn check<L: Lanes>(rows: usize, in_features: usize, out_features: usize, first: usize) {
        let input: Vec<f32> = (0..rows * in_features).map(value).collect();
        let weight = |column: usize, k: usize| value(3 + column * in_features + k);
        let bias: Vec<f32> = (0..out_features).map(|column| value(5 * column)).collect();
        let matrix = FloatMatrix::pack(in_features, out_features, Some(&bias), |at, block| {
            for (k, to) in block.iter_mut().enumerate() {
                for (c, to) in to.lanes_mut().iter_mut().enumerate() {
                    *to = if at + c < out_features { weight(at + c, k) } else { 0.0 };
                }
            }
        });
        let columns = out_features - first * BLOCK;
        for (finish, width) in [(Finish::Store, columns), (Finish::Add, columns.min(9))] {
            let (stride, before) = (columns + 3, 100.0);
            let mut values = vec![before; rows * stride];
            let mut output = Output { values: &mut values, stride, column: 2, finish };
            matrix.multiply_from::<L>(first, &input, &mut output, width);
            for (i, &found) in values.iter().enumerate() {
                let (row, at) = (i / stride, i % stride);
                let expected = match at.checked_sub(2).filter(|column| *column < width) {
                    None => before,
                    Some(column) => {
                        let column = first * BLOCK + column;
                        let x = |k: usize| input[row * in_features + k];
                        let sum: f32 = (0..in_features).map(|k| x(k) * weight(column, k)).sum();
                        sum + bias[column] + if finish == Finish::Add { before } else { 0.0 }
                    }
                };
                assert_eq!(
                    found, expected,
                    "{rows} × {in_features} × {out_features}, {first}: {i}"
                );
            }
        }
    }

    #[test]
    fn products_are_right_for_all_rows_columns_and_parts() {
        for rows in [0, 1, 2, 3, 11, 12, 26, 51] {
            for (in_features, out_features) in [(1, 1_usize), (5, 24), (16, 48), (9, 61), (40, 73)]
            {
                for first in 0..out_features.div_ceil(BLOCK) {
                    check::<Native>(rows, in_features, out_features, first);
                    check::<Scalar>(rows, in_features, out_features, first);
                }
            }
        }
    }
}
