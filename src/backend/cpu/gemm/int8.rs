//! Int8 products, exact: integers summed in int32, one multiplication at the end.

use super::quads::QuadBlocks;
use super::{BLOCK, Eight, Floats, Output, Pairs, Tile, for_each_tile, in_blocks, pack};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::quantize::{OUTLIERS, QuantizedRows, RowForm, RowQuant};

/// Longest row whose int32 sum cannot overflow: 132104 · 128 · 127 < 2^31.
pub const MAX_IN_FEATURES: usize = 132_104;

/// An int8 matrix, packed for the fastest exact product of the machine, with zeros past the last row and column.
#[derive(Debug)]
pub struct Int8Matrix {
    in_features: usize,
    out_features: usize,
    blocks: Blocks,
    scale: Vec<Floats>,
    bias: Vec<Floats>,
    quant: RowQuant,
}

#[derive(Debug)]
enum Blocks {
    /// `[out_features / 8, in_features / 2]`.
    Pairs(Vec<Pairs>),
    Quads(QuadBlocks),
}

impl Int8Matrix {
    /// Packs `rows`, `[out_features]` rows of `in_features` each with its own multiplier: value = int8 / multiplier.
    pub fn pack<'a, L: Lanes>(
        in_features: usize,
        rows: impl ExactSizeIterator<Item = (&'a [i8], f32)>,
        bias: Option<&[f32]>,
        quant: RowQuant,
    ) -> Self {
        let out_features = rows.len();
        let count = out_features.div_ceil(BLOCK);
        let pairs = in_features.div_ceil(2);
        let mut blocks = match RowForm::fastest::<L>(quant) {
            RowForm::Words => Blocks::Pairs(vec![Pairs::ZERO; count * pairs]),
            RowForm::Bytes(kind) => Blocks::Quads(QuadBlocks::zeros(kind, in_features, count)),
        };
        let mut scale = in_blocks(None, out_features);
        let mut rows = rows;
        for (i, scale) in scale.iter_mut().enumerate() {
            let mut eight: [&[i8]; BLOCK] = [&[]; BLOCK];
            for ((to, scale), (row, multiplier)) in
                eight.iter_mut().zip(scale.lanes_mut()).zip(&mut rows)
            {
                *to = row;
                *scale = column_scale(quant, multiplier);
            }
            match &mut blocks {
                Blocks::Pairs(blocks) => {
                    pack::pack_int8_block::<L>(eight, &mut blocks[i * pairs..][..pairs]);
                }
                Blocks::Quads(blocks) => blocks.pack::<L>(i, eight),
            }
        }
        let bias = in_blocks(bias, out_features);
        Self { in_features, out_features, blocks, scale, bias, quant }
    }

    /// Columns of its output.
    pub fn out_features(&self) -> usize {
        self.out_features
    }

    /// How its input is quantised, and to what form.
    pub fn input(&self) -> (RowQuant, RowForm) {
        let form = match &self.blocks {
            Blocks::Pairs(_) => RowForm::Words,
            Blocks::Quads(blocks) => RowForm::Bytes(blocks.kind()),
        };
        (self.quant, form)
    }

    /// `input · Wᵀ + b` for rows quantised as [`Int8Matrix::input`] says.
    pub fn multiply<L: Lanes>(&self, input: &QuantizedRows, output: &mut Output<'_>) {
        self.multiply_part::<L>(0, self.out_features, input, output);
    }

    /// As [`Int8Matrix::multiply`], at most `width` columns from the first of block `block` on.
    pub fn multiply_from<L: Lanes>(
        &self,
        block: usize,
        input: &QuantizedRows,
        output: &mut Output<'_>,
        width: usize,
    ) {
        let left = self.out_features.saturating_sub(block * BLOCK);
        self.multiply_part::<L>(block, width.min(left), input, output);
    }

    fn multiply_part<L: Lanes>(
        &self,
        block: usize,
        out_features: usize,
        input: &QuantizedRows,
        output: &mut Output<'_>,
    ) {
        let rows = output.values.len().checked_div(output.stride).unwrap_or(0);
        let (pairs, fours) = (self.in_features.div_ceil(2), self.in_features.div_ceil(4));
        let fits = match &self.blocks {
            Blocks::Pairs(_) => (0..rows).all(|row| input.row(row).len() >= pairs),
            Blocks::Quads(_) => (0..rows).all(|row| input.fours(row).len() >= fours),
        };
        if !fits {
            return debug_assert!(false, "input smaller than the product");
        }
        let all = block..block + out_features.div_ceil(BLOCK);
        let Some(bias) = self.bias.get(all) else {
            return debug_assert!(false, "fewer columns than asked for");
        };
        match &self.blocks {
            Blocks::Pairs(blocks) => {
                let tiles = Int8Tiles { input, pairs, blocks, scale: &self.scale };
                let tiles = From { tiles, block };
                for_each_tile::<L>(&tiles, rows, out_features, bias, output);
            }
            Blocks::Quads(blocks) => {
                let tiles = From { tiles: blocks.tiles(input, &self.scale), block };
                for_each_tile::<L>(&tiles, rows, out_features, bias, output);
            }
        }
    }
}

/// The blocks of a product from `block` on.
struct From<T> {
    tiles: T,
    block: usize,
}

impl<L: Lanes, T: Tile<L>> Tile<L> for From<T> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        self.tiles.sums::<R, B>(row, self.block + block)
    }
}

/// Adds, for one pair of k, the products x·u and x·h of [`Pairs`].
#[inline(always)]
fn add_products<L: Lanes, const R: usize, const B: usize>(
    sums: &mut [[[L::I32; 2]; B]; R],
    x: [&[i16; 2]; R],
    blocks: [&Pairs; B],
) {
    let x = x.map(|x| L::splat_pair(x));
    for (b, Pairs(pairs)) in blocks.into_iter().enumerate() {
        let both = L::load_i16(pairs);
        let upper = L::upper_bytes(both);
        for (sums, &x) in sums.iter_mut().zip(&x) {
            let [sum_both, sum_upper] = &mut sums[b];
            *sum_both = L::add_i32(*sum_both, L::dot(x, both));
            *sum_upper = L::add_i32(*sum_upper, L::dot(x, upper));
        }
    }
}

/// What integer sums are multiplied by, beside the scale of a row: 1 / (activation multiplier · weight multiplier).
pub(super) fn column_scale(quant: RowQuant, multiplier: f32) -> f32 {
    match quant {
        RowQuant::Static(alpha) => 1.0 / (alpha * multiplier),
        RowQuant::PerRow | RowQuant::Near | RowQuant::Wide => 1.0 / multiplier,
    }
}

/// Adds to the products of one row with `B` blocks those of its outliers; `weights` gives the eight weights of a block
/// that meet a column, and their scales.
#[inline(always)]
pub(super) fn add_outliers<'a, L: Lanes, const B: usize>(
    products: &mut [[L::F32; 2]; B],
    outliers: &[(usize, f32)],
    weights: impl Fn(usize, usize) -> ([i16; BLOCK], &'a Floats),
) {
    if !OUTLIERS {
        return;
    }
    for &(k, x) in outliers {
        for (b, products) in products.iter_mut().enumerate() {
            let (weights, scale) = weights(b, k);
            let weights = weights.map(f32::from);
            let (halves, _) = weights.as_chunks::<4>();
            for ((product, weights), scale) in products.iter_mut().zip(halves).zip(&scale.0) {
                let x = L::mul(L::splat(x), L::load(scale));
                *product = L::add(*product, L::mul(x, L::load(weights)));
            }
        }
    }
}

struct Int8Tiles<'a> {
    input: &'a QuantizedRows,
    pairs: usize,
    blocks: &'a [Pairs],
    scale: &'a [Floats],
}

impl<L: Lanes> Tile<L> for Int8Tiles<'_> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        let n = self.pairs;
        let rows: [&[[i16; 2]]; R] = std::array::from_fn(|r| &self.input.row(row + r)[..n]);
        let blocks: [&[Pairs]; B] = std::array::from_fn(|b| &self.blocks[(block + b) * n..][..n]);
        let mut sums = [[[L::splat_i32(0); 2]; B]; R];
        for k in 0..n {
            add_products::<L, R, B>(
                &mut sums,
                rows.map(|row| &row[k]),
                blocks.map(|block| &block[k]),
            );
        }
        let mut products: [[[L::F32; 2]; B]; R] = std::array::from_fn(|r| {
            let row_scale = L::splat(self.input.row_scale(row + r));
            let offset = L::splat_i32(self.input.row_sum(row + r).wrapping_mul(128));
            std::array::from_fn(|b| {
                let Eight([low, high]) = &self.scale[block + b];
                let [sum_both, sum_high] = sums[r][b];
                let sum_low = L::sub_i32(L::sub_i32(sum_both, L::shl::<8>(sum_high)), offset);
                [
                    L::mul(L::to_f32(sum_low), L::mul(row_scale, L::load(low))),
                    L::mul(L::to_f32(sum_high), L::mul(row_scale, L::load(high))),
                ]
            })
        });
        for (r, products) in products.iter_mut().enumerate() {
            add_outliers::<L, B>(products, self.input.outliers(row + r), |b, k| {
                let lanes = &blocks[b][k / 2].0;
                let weights = std::array::from_fn(|c| {
                    let both = lanes[2 * (c % 4) + k % 2];
                    if c < 4 { (both & 0xff) - 128 } else { both >> 8 }
                });
                (weights, &self.scale[block + b])
            });
        }
        products
    }
}

/// `input · tableᵀ + b` straight from int8 rows `[out_features, in_features]`, for tables too large to keep widened;
/// `multiplier` gives that of a row.
/// The results are those of [`Int8Matrix`].
pub fn multiply_int8<L: Lanes>(
    input: &QuantizedRows,
    in_features: usize,
    table: &[i8],
    multiplier: impl Fn(usize) -> f32,
    bias: Option<&[f32]>,
    quant: RowQuant,
    output: &mut Output<'_>,
) {
    let rows = output.values.len().checked_div(output.stride).unwrap_or(0);
    if in_features == 0 {
        return;
    }
    // Four table rows at a time, each over all input rows.
    for (i, four) in table.chunks(4 * in_features).enumerate() {
        let width = four.len() / in_features;
        let mut table_rows: [&[i8]; 4] = [four; 4];
        for (to, row) in table_rows.iter_mut().zip(four.chunks_exact(in_features)) {
            *to = row;
        }
        let mut four_bias = [0.0; 4];
        if let Some(bias) = bias.and_then(|bias| bias.get(4 * i..)) {
            for (to, &from) in four_bias.iter_mut().zip(bias) {
                *to = from;
            }
        }
        let scales = std::array::from_fn(|row| column_scale(quant, multiplier(4 * i + row)));
        let scales = L::load(&scales);
        for row in 0..rows {
            let sums = dot_four::<L>(input.row_chunks(row), table_rows, in_features);
            let scale = L::mul(L::splat(input.row_scale(row)), scales);
            let start = row * output.stride + output.column + 4 * i;
            let Some(to) = output.values.get_mut(start..start + width) else { return };
            let mut y = [0.0; 4];
            for (y, &to) in y.iter_mut().zip(to.iter()) {
                *y = to;
            }
            super::finish_four::<L>(
                L::mul(L::to_f32(sums), scale),
                &four_bias,
                output.finish,
                &mut y,
            );
            for (to, y) in to.iter_mut().zip(y) {
                *to = y;
            }
        }
    }
}

/// Sums of one input row with four table rows.
#[inline(always)]
fn dot_four<L: Lanes>(x: &[[i16; 8]], table_rows: [&[i8]; 4], in_features: usize) -> L::I32 {
    let mut sums = [L::splat_i32(0); 4];
    let whole = in_features / 8;
    let chunks = table_rows.map(|row| &row.as_chunks::<8>().0[..whole]);
    let x_whole = &x[..whole];
    for k in 0..whole {
        let x = L::load_i16(&x_whole[k]);
        for (sum, chunks) in sums.iter_mut().zip(&chunks) {
            *sum = L::add_i32(*sum, L::dot(x, L::load_i8(&chunks[k])));
        }
    }
    if let (false, Some(x)) = (in_features.is_multiple_of(8), x.get(whole)) {
        for (sum, row) in sums.iter_mut().zip(table_rows) {
            let mut chunk = [0; 8];
            for (to, &from) in chunk.iter_mut().zip(&row[8 * whole..in_features]) {
                *to = from;
            }
            *sum = L::add_i32(*sum, L::dot(L::load_i16(x), L::load_i8(&chunk)));
        }
    }
    let [a, b, c, d] = L::transpose(sums);
    L::add_i32(L::add_i32(a, b), L::add_i32(c, d))
}
