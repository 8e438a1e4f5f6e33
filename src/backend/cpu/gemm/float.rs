//! Float32 products.

use super::{BLOCK, Eight, Floats, Output, Sweep, Tile, for_each_tile, in_blocks};
use crate::backend::cpu::lanes::Lanes;

/// A float32 matrix, packed as `[out_features / 8, in_features, 8]` with zeros past the last column.
#[derive(Debug)]
pub struct FloatMatrix {
    in_features: usize,
    out_features: usize,
    blocks: Vec<Floats>,
    bias: Vec<Floats>,
}

impl FloatMatrix {
    /// Packs `out_features` columns, given block by block: `pack` writes the eight columns from its first argument on.
    pub fn pack(
        in_features: usize,
        out_features: usize,
        bias: Option<&[f32]>,
        mut pack: impl FnMut(usize, &mut [Floats]),
    ) -> Self {
        let mut blocks = vec![Floats::default(); out_features.div_ceil(BLOCK) * in_features];
        if in_features > 0 {
            for (i, block) in blocks.chunks_exact_mut(in_features).enumerate() {
                pack(i * BLOCK, block);
            }
        }
        Self { in_features, out_features, blocks, bias: in_blocks(bias, out_features) }
    }

    /// Columns of its output.
    pub fn out_features(&self) -> usize {
        self.out_features
    }

    /// `input · Wᵀ + b` for the rows of `input`, `[rows, in_features]`.
    pub fn multiply<L: Lanes>(&self, input: &[f32], output: &mut Output<'_>) {
        multiply_float::<L>(
            input,
            self.in_features,
            self.out_features,
            &self.blocks,
            &self.bias,
            output,
        );
    }

    /// As [`FloatMatrix::multiply`], at most `width` columns from the first of block `block` on.
    pub fn multiply_from<L: Lanes>(
        &self,
        block: usize,
        input: &[f32],
        output: &mut Output<'_>,
        width: usize,
    ) {
        let columns = width.min(self.out_features.saturating_sub(block * BLOCK));
        let all = block..block + columns.div_ceil(BLOCK);
        let (Some(bias), Some(blocks)) = (
            self.bias.get(all.clone()),
            self.blocks.get(all.start * self.in_features..all.end * self.in_features),
        ) else {
            return debug_assert!(false, "fewer columns than asked for");
        };
        multiply_float::<L>(input, self.in_features, columns, blocks, bias, output);
    }
}

/// `input · Wᵀ + b` with `blocks` packed as in [`FloatMatrix`] and one `bias` entry a block.
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
    for_each_tile::<L>(&tiles, rows, out_features, bias, output);
}

struct FloatTiles<'a> {
    input: &'a [f32],
    in_features: usize,
    blocks: &'a [Floats],
}

impl FloatTiles<'_> {
    /// Sums of `R` rows with `B` blocks. For each input `S` float32 of `ahead` are fetched meanwhile, if any is there: by one
    /// load, which costs less than to wait for memory later.
    #[inline(always)]
    fn sums_and_fetch<L: Lanes, const R: usize, const B: usize, const S: usize>(
        &self,
        [row, block]: [usize; 2],
        ahead: Option<&[f32]>,
    ) -> [[[L::F32; 2]; B]; R] {
        let n = self.in_features;
        let rows: [&[f32]; R] = std::array::from_fn(|r| &self.input[(row + r) * n..][..n]);
        let blocks: [&[Floats]; B] = std::array::from_fn(|b| &self.blocks[(block + b) * n..][..n]);
        let ahead = ahead.map(|ahead| &ahead.as_chunks::<S>().0[..n]);
        let mut sums = [[[L::splat(0.0); 2]; B]; R];
        for k in 0..n {
            if let Some(ahead) = ahead {
                L::fetch(&ahead[k][0]);
            }
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

impl FloatTiles<'_> {
    /// Computes the first `rows` rows of a block, of which each four fetches `S` eighths of the next block, until it is
    /// there.
    #[inline(always)]
    fn fours_and_fetch<L: Lanes, const S: usize>(
        &self,
        rows: usize,
        block: usize,
        sweep: &mut Sweep<'_, '_>,
    ) {
        let n = self.in_features;
        let next = self.blocks.get((block + 1) * n..(block + 2) * n).unwrap_or_default();
        // Over many rows it makes no difference.
        if S > 1 {
            begin_pages::<L>(Floats::lanes(next));
        }
        let mut parts = Floats::lanes(next).chunks_exact(S * n.max(1));
        for row in (0..rows).step_by(4) {
            let sums = match parts.next() {
                Some(part) => self.sums_and_fetch::<L, 4, 1, S>([row, block], Some(part)),
                None => self.sums_and_fetch::<L, 4, 1, S>([row, block], None),
            };
            for (r, [sums]) in sums.into_iter().enumerate() {
                sweep.finish::<L>(row + r, block, sums);
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

impl<L: Lanes> Tile<L> for FloatTiles<'_> {
    #[inline(always)]
    fn sums<const R: usize, const B: usize>(
        &self,
        row: usize,
        block: usize,
    ) -> [[[L::F32; 2]; B]; R] {
        self.sums_and_fetch::<L, R, B, 1>([row, block], None)
    }

    /// The fours fetch the next block between them: a model's weights are more than caches hold, and the first four would
    /// wait for its block while all others have it near.
    #[inline(never)] // a function of its own is compiled soonest and best
    fn fours(&self, rows: usize, block: usize, sweep: &mut Sweep<'_, '_>) {
        match rows / 4 {
            // Translation has no float32 products that matter.
            _ if !cfg!(feature = "encoder") => self.fours_and_fetch::<L, 1>(rows, block, sweep),
            8.. => self.fours_and_fetch::<L, 1>(rows, block, sweep),
            4..8 => self.fours_and_fetch::<L, 2>(rows, block, sweep),
            _ => self.fours_and_fetch::<L, 4>(rows, block, sweep),
        }
    }
}
