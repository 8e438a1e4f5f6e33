//! Float32 products with blocks of eight columns, made for one call.

use super::{Eight, Floats, Output, Sweep, Tile};
use crate::backend::cpu::lanes::Lanes;

/// `input · Wᵀ + b` with `blocks` packed as `[out_features / 8, in_features, 8]` and one `bias` entry a block.
pub fn multiply_float<L: Lanes>(
    input: &[f32],
    in_features: usize,
    out_features: usize,
    blocks: &[Floats],
    bias: &[Floats],
    output: &mut Output<'_>,
) {
    let rows = output.values.len().checked_div(output.stride).unwrap_or(0);
    if input.len() < rows * in_features || blocks.len() < bias.len() * in_features {
        return debug_assert!(false, "input smaller than the product");
    }
    let tiles = FloatTiles { input, in_features, blocks };
    let mut sweep = Sweep { out_features, bias, output };
    // One block at a time: callers have one.
    match rows % 4 {
        0 => sweep.rows::<L, 0, 1>(&tiles, rows),
        1 => sweep.rows::<L, 1, 1>(&tiles, rows),
        2 => sweep.rows::<L, 2, 1>(&tiles, rows),
        _ => sweep.rows::<L, 3, 1>(&tiles, rows),
    }
}

struct FloatTiles<'a> {
    input: &'a [f32],
    in_features: usize,
    blocks: &'a [Floats],
}

impl<L: Lanes> Tile<L> for FloatTiles<'_> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        let n = self.in_features;
        let rows: [&[f32]; R] = std::array::from_fn(|r| &self.input[(row + r) * n..][..n]);
        let blocks: [&[Floats]; B] = std::array::from_fn(|b| &self.blocks[(block + b) * n..][..n]);
        let mut sums = [[[L::splat(0.0); 2]; B]; R];
        for k in 0..n {
            let x: [L::F32; R] = std::array::from_fn(|r| L::splat(rows[r][k]));
            for b in 0..B {
                let Eight([low, high]) = &blocks[b][k];
                let (low, high) = (L::load(low), L::load(high));
                for r in 0..R {
                    let [sum_low, sum_high] = &mut sums[r][b];
                    *sum_low = L::mul_add(x[r], low, *sum_low);
                    *sum_high = L::mul_add(x[r], high, *sum_high);
                }
            }
        }
        sums
    }
}
