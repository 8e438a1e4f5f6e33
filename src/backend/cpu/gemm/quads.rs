//! Int8 products by products of bytes, four at a time ([`crate::backend::cpu::lanes::ByteDot`]).

use super::int8::add_outliers;
use super::{BLOCK, Eight, Floats, Quads, Tile};
use crate::backend::cpu::lanes::{ByteDot, Lanes};
use crate::backend::cpu::quantize::QuantizedRows;

/// Blocks of eight columns.
#[derive(Debug)]
pub(super) struct QuadBlocks {
    kind: ByteDot,
    /// Quads of a block: a quarter of the input's features.
    fours: usize,
    /// `[blocks, fours]`
    quads: Vec<Quads>,
    /// What the sums of each column start from: where inputs have 128 added to them, −128 times its weights.
    start: Vec<Eight<[i32; 4]>>,
}

impl QuadBlocks {
    pub fn zeros(kind: ByteDot, in_features: usize, blocks: usize) -> Self {
        let fours = in_features.div_ceil(4);
        let quads = vec![Eight([[0; 16]; 2]); blocks * fours];
        Self { kind, fours, quads, start: vec![Eight::default(); blocks] }
    }

    pub fn kind(&self) -> ByteDot {
        self.kind
    }

    /// Writes `rows[c][4·q + i]` to quad q of a block; a row too short is padded with zeros.
    pub fn pack<L: Lanes>(&mut self, block: usize, rows: [&[i8]; BLOCK]) {
        let quads = &mut self.quads[block * self.fours..][..self.fours];
        let start = &mut self.start[block];
        for half in 0..2 {
            let rows: [&[i8]; 4] = std::array::from_fn(|c| rows[4 * half + c]);
            let mut sums = L::splat_i32(0);
            for (at, four) in quads.chunks_mut(4).enumerate() {
                let sixteen = rows.map(|row| L::pairs(L::load_bytes(&sixteen_from(row, 16 * at))));
                for (quad, column) in four.iter_mut().zip(L::transpose(sixteen)) {
                    let weights = L::from_pairs(column);
                    // The first operand is read as int8 on every machine.
                    sums = L::dot_bytes(sums, weights, L::splat_bytes(&[1; 4]));
                    L::store_bytes(weights, &mut quad.0[half]);
                }
            }
            if self.kind == ByteDot::Unsigned {
                let offset = L::sub_i32(L::splat_i32(0), L::shl::<7>(sums));
                L::store_i32(offset, &mut start.0[half]);
            }
        }
    }

    pub fn tiles<'a>(&'a self, input: &'a QuantizedRows, scale: &'a [Floats]) -> QuadTiles<'a> {
        QuadTiles { input, blocks: self, scale }
    }
}

/// Sixteen values of a row, zeros past its end.
#[inline(always)]
fn sixteen_from(row: &[i8], start: usize) -> [i8; 16] {
    let rest = row.get(start..).unwrap_or(&[]);
    if let Some(all) = rest.first_chunk::<16>() {
        return *all;
    }
    let mut sixteen = [0; 16];
    for (to, &from) in sixteen.iter_mut().zip(rest) {
        *to = from;
    }
    sixteen
}

pub(super) struct QuadTiles<'a> {
    input: &'a QuantizedRows,
    blocks: &'a QuadBlocks,
    scale: &'a [Floats],
}

impl<L: Lanes> Tile<L> for QuadTiles<'_> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        let n = self.blocks.fours;
        let rows: [&[[i8; 4]]; R] = std::array::from_fn(|r| &self.input.fours(row + r)[..n]);
        let blocks: [&[Quads]; B] =
            std::array::from_fn(|b| &self.blocks.quads[(block + b) * n..][..n]);
        let start: [[L::I32; 2]; B] = std::array::from_fn(|b| {
            self.blocks.start[block + b].0.map(|four| load_i32::<L>(&four))
        });
        let mut sums = [start; R];
        for k in 0..n {
            for (b, block) in blocks.iter().enumerate() {
                let [low, high] = block[k].0.each_ref().map(|weights| L::load_bytes(weights));
                for (sums, row) in sums.iter_mut().zip(&rows) {
                    let x = L::splat_bytes(&row[k]);
                    let [sum_low, sum_high] = &mut sums[b];
                    *sum_low = L::dot_bytes(*sum_low, low, x);
                    *sum_high = L::dot_bytes(*sum_high, high, x);
                }
            }
        }
        let mut products: [[[L::F32; 2]; B]; R] = std::array::from_fn(|r| {
            let row_scale = L::splat(self.input.row_scale(row + r));
            std::array::from_fn(|b| {
                let scale = &self.scale[block + b].0;
                std::array::from_fn(|half| {
                    let scale = L::mul(row_scale, L::load(&scale[half]));
                    L::mul(L::to_f32(sums[r][b][half]), scale)
                })
            })
        });
        for (r, products) in products.iter_mut().enumerate() {
            add_outliers::<L, B>(products, self.input.outliers(row + r), |b, k| {
                let Eight(halves) = &blocks[b][k / 4];
                let weights =
                    std::array::from_fn(|c| i16::from(halves[c / 4][4 * (c % 4) + k % 4]));
                (weights, &self.scale[block + b])
            });
        }
        products
    }
}

#[inline(always)]
fn load_i32<L: Lanes>(from: &[i32; 4]) -> L::I32 {
    L::bits(L::load(&from.map(|x| f32::from_bits(x.cast_unsigned()))))
}
