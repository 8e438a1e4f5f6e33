//! Matrix products `y = x · Wᵀ + b` on weights packed once: eight output columns side by side, tiles of up to
//! four rows, one accumulator an output in the order of k, so no result depends on the tile it was computed in.

mod float;
pub mod grouped;
mod int8;
mod pack;
mod quads;
mod wide;

use super::lanes::Lanes;
use std::ops::Range;

pub use super::lanes::{Eight, Floats};
pub use float::multiply_float;
pub use int8::{Int8Matrix, MAX_IN_FEATURES, multiply_int8};
pub use pack::{pack_dequantized_block, pack_float_block};
pub use wide::FloatMatrix;

/// Output columns of a block.
pub const BLOCK: usize = 8;

/// Two int8 of each column, a vector in all: int16 lane j holds columns 4 to 7 in its upper byte and columns 0 to 3,
/// 128 added to them, in its lower byte. The lanes of a column are the two of its k, the columns follow one another.
///
/// Int8 is half of what int16 would be to fetch, and costs no more to compute with: where u is the vector, h its upper
/// bytes and x the input, the sums of columns 4 to 7 are x·h and those of columns 0 to 3 are x·u − 256·x·h − 128·Σx,
/// exactly, in integers that wrap.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub struct Pairs(pub [i16; 8]);

/// Four int8 of each column, columns 0 to 3 in the first vector and 4 to 7 in the second: what products of bytes read.
pub type Quads = Eight<[i8; 16]>;

impl Pairs {
    /// Zeros.
    pub const ZERO: Self = Self([128; 8]);
}

/// What becomes of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It is stored.
    Store,
    /// `max(product, 0)` is stored.
    Relu,
    /// It is added to what is there.
    Add,
}

/// Where products go: the columns from `column` on of rows `stride` long.
#[derive(Debug)]
pub struct Output<'a> {
    /// `[rows, stride]`.
    pub values: &'a mut [f32],
    /// Columns of a row.
    pub stride: usize,
    /// First column written.
    pub column: usize,
    /// What becomes of the products.
    pub finish: Finish,
}

/// A product of `rows` rows with blocks of eight columns, of which it computes any `R` rows × `B` blocks.
trait Tile<L: Lanes> {
    /// Sums without bias, for rows from `row` on and blocks from `block` on.
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R];

    /// Computes the first `rows` rows, a multiple of four, of one block.
    #[inline(never)] // a function of its own is compiled soonest and best
    fn fours(&self, rows: usize, block: usize, sweep: &mut Sweep<'_, '_>) {
        for row in (0..rows).step_by(4) {
            for (r, [sums]) in self.sums::<4, 1>(row, block).into_iter().enumerate() {
                sweep.finish::<L>(row + r, block, sums);
            }
        }
    }
}

/// Computes every tile of a product and finishes it. `bias` has one entry a block.
fn for_each_tile<L: Lanes>(
    tiles: &impl Tile<L>,
    rows: usize,
    out_features: usize,
    bias: &[Floats],
    output: &mut Output<'_>,
) {
    let mut sweep = Sweep { out_features, bias, output };
    match rows % 4 {
        0 => sweep.rows::<L, 0, 1>(tiles, rows),
        1 => sweep.rows::<L, 1, 4>(tiles, rows),
        2 => sweep.rows::<L, 2, 2>(tiles, rows),
        _ => sweep.rows::<L, 3, 1>(tiles, rows),
    }
}

struct Sweep<'a, 'o> {
    out_features: usize,
    bias: &'a [Floats],
    output: &'a mut Output<'o>,
}

impl Sweep<'_, '_> {
    /// All blocks, `B` at a time, the last ones singly: each over all rows in fours, then over the last `R`, so that weights
    /// are fetched once.
    #[inline(always)]
    fn rows<L: Lanes, const R: usize, const B: usize>(
        &mut self,
        tiles: &impl Tile<L>,
        rows: usize,
    ) {
        let whole = self.bias.len() - self.bias.len() % B;
        for block in (0..whole).step_by(B) {
            self.fours::<L>(tiles, rows - R, block..block + B);
            if R > 0 {
                self.tile::<L, R, B>(tiles, rows - R, block);
            }
        }
        for block in whole..self.bias.len() {
            self.fours::<L>(tiles, rows - R, block..block + 1);
            if R > 0 {
                self.tile::<L, R, 1>(tiles, rows - R, block);
            }
        }
    }

    /// The first `rows` rows, four at a time, over some blocks.
    #[inline(always)]
    fn fours<L: Lanes>(&mut self, tiles: &impl Tile<L>, rows: usize, blocks: Range<usize>) {
        if rows > 0 {
            blocks.for_each(|block| tiles.fours(rows, block, self));
        }
    }

    #[inline(always)]
    fn tile<L: Lanes, const R: usize, const B: usize>(
        &mut self,
        tiles: &impl Tile<L>,
        row: usize,
        block: usize,
    ) {
        let sums = tiles.sums::<R, B>(row, block);
        for (r, sums) in sums.into_iter().enumerate() {
            for (b, sums) in sums.into_iter().enumerate() {
                self.finish::<L>(row + r, block + b, sums);
            }
        }
    }

    /// Finishes `R` rows × `B` blocks if the output has all of their columns; whether it has.
    #[inline(always)]
    fn finish_whole<L: Lanes, const R: usize, const B: usize>(
        &mut self,
        row: usize,
        block: usize,
        sums: &[[[L::F32; 2]; B]; R],
    ) -> bool {
        let Some([bias]) = self.bias.get(block..block + B).map(|bias| bias.as_chunks::<B>().0)
        else {
            return false;
        };
        let column = block * BLOCK;
        if column + B * BLOCK > self.out_features {
            return false;
        }
        let (stride, finish) = (self.output.stride, self.output.finish);
        let start = row * stride + self.output.column + column;
        for (r, sums) in sums.iter().enumerate() {
            let start = start + r * stride;
            let Some(to) = self.output.values.get_mut(start..start + B * BLOCK) else {
                debug_assert!(false, "output smaller than the product");
                return true;
            };
            let to = to.as_chunks_mut::<4>().0.as_chunks_mut::<2>().0;
            for ((to, bias), sums) in to.iter_mut().zip(bias).zip(sums) {
                finish_four::<L>(sums[0], &bias.0[0], finish, &mut to[0]);
                finish_four::<L>(sums[1], &bias.0[1], finish, &mut to[1]);
            }
        }
        true
    }

    #[inline(always)]
    fn finish<L: Lanes>(&mut self, row: usize, block: usize, sums: [L::F32; 2]) {
        let column = block * BLOCK;
        let width = (self.out_features - column).min(BLOCK);
        let start = row * self.output.stride + self.output.column + column;
        let (Some(to), Some(bias)) =
            (self.output.values.get_mut(start..start + width), self.bias.get(block))
        else {
            return debug_assert!(false, "output smaller than the product");
        };
        if let ([low, high], []) = to.as_chunks_mut::<4>() {
            finish_four::<L>(sums[0], &bias.0[0], self.output.finish, low);
            finish_four::<L>(sums[1], &bias.0[1], self.output.finish, high);
        } else {
            let mut whole: [[f32; 4]; 2] = Default::default();
            for (x, &y) in whole.as_flattened_mut().iter_mut().zip(to.iter()) {
                *x = y;
            }
            finish_four::<L>(sums[0], &bias.0[0], self.output.finish, &mut whole[0]);
            finish_four::<L>(sums[1], &bias.0[1], self.output.finish, &mut whole[1]);
            for (x, &y) in to.iter_mut().zip(whole.as_flattened()) {
                *x = y;
            }
        }
    }
}

#[inline(always)]
fn finish_four<L: Lanes>(sum: L::F32, bias: &[f32; 4], finish: Finish, to: &mut [f32; 4]) {
    let y = L::add(sum, L::load(bias));
    let y = match finish {
        Finish::Store => y,
        Finish::Relu => L::pmax(L::splat(0.0), y),
        Finish::Add => L::add(L::load(to), y),
    };
    L::store(y, to);
}

/// One value a column, in blocks padded with zeros; `values` may be absent.
fn in_blocks(values: Option<&[f32]>, out_features: usize) -> Vec<Floats> {
    let mut blocks = vec![Floats::default(); out_features.div_ceil(BLOCK)];
    let lanes = blocks.iter_mut().flat_map(Eight::lanes_mut);
    for (to, &from) in lanes.zip(values.unwrap_or(&[])) {
        *to = from;
    }
    blocks
}
