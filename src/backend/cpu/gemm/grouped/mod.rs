//! Matrices whose weights share scales in groups: value = scale · (code − zero) + min, codes of four to eight bits.
//!
//! That is what the blocks of GGUF files say, whatever their layout. Here eight columns lie side by side, so that one
//! instruction multiplies four codes of each of four columns; no code is widened in memory. With codes of at most
//! seven bits as its second operand the product of bytes is exact on every machine, since no sum of two reaches 2^15.

mod decode;
mod form;
mod gapless;
mod record;
mod rows;
mod tiles;
mod unpacked;

use super::{BLOCK, Floats, Output, Sweep, in_blocks, multiply_float};
use crate::backend::cpu::lanes::{ByteDot, Lanes, probe};
use crate::error::{Error, Result};
use decode::{Bytes, Decode, LookUp, Nibbles, SplitBytes, SplitLookUp};
use form::pack_codes;
use gapless::{Fives, Sixes};
use record::{Records, push_factors, record_len};
use tiles::CodeTiles;
use unpacked::Unpacked;

pub use form::{Codes, Group, GroupForm};
pub use rows::GroupedRows;

/// Room for what is made of a block of columns.
#[derive(Debug, Default)]
pub struct BlockRoom {
    /// Eight float32 weights of each input.
    pub floats: Vec<Floats>,
    unpacked: Unpacked,
}

/// Sixteen bytes of codes, aligned so that no load crosses a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub struct Sixteen(pub [i8; 16]);

/// A matrix packed for products.
#[derive(Debug)]
pub struct GroupedMatrix {
    in_features: usize,
    out_features: usize,
    form: GroupForm,
    /// How the machine reads bytes of eight bits; `None`: they are multiplied in two halves.
    kind: Option<ByteDot>,
    /// `[out_features / 8, groups]`, each of eight columns: codes, [`form::vectors`] of them; scales, and after them what is
    /// added, if anything is. A product with one row takes as long as memory takes to read it all, which is shortest from
    /// the first byte to the last.
    records: Vec<Sixteen>,
    /// `[out_features / 8]`.
    bias: Vec<Floats>,
}

impl GroupedMatrix {
    /// Packs rows of `in_features` weights, a multiple of the group's size. `read(row, groups)` fills in the groups of
    /// a row; rows come in order, each once.
    ///
    /// # Errors
    /// Those of `read`; [`Error::OutOfMemory`].
    pub fn pack<L: Lanes>(
        in_features: usize,
        out_features: usize,
        form: GroupForm,
        bias: Option<&[f32]>,
        mut read: impl FnMut(usize, &mut [Group]) -> Result<()>,
    ) -> Result<Self> {
        // Where the feature is off no weights come in groups: what follows is left out of the build.
        let out_features = if cfg!(feature = "blocks") { out_features } else { 0 };
        let groups = in_features / form.size;
        let kind = probe::<L>();
        let blocks = out_features.div_ceil(BLOCK);
        let mut records = reserve(blocks * groups, record_len(form))?;
        let mut rows = vec![Group::ZERO; BLOCK * groups];
        // Int8 that is read as uint8 has 128 added to it.
        let flip =
            if form.codes == Codes::Eight && kind != Some(ByteDot::Signed) { 0x80 } else { 0 };
        for block in 0..blocks {
            for (i, row) in rows.chunks_exact_mut(groups.max(1)).enumerate() {
                let column = block * BLOCK + i;
                if column < out_features {
                    read(column, row)?;
                } else {
                    row.fill(Group::ZERO);
                }
            }
            for g in 0..groups {
                let column = |c: usize| &rows[c * groups + g];
                let four = |q: usize, first: usize| -> [u8; 16] {
                    std::array::from_fn(|i| column(first + i / 4).codes[4 * q + i % 4] ^ flip)
                };
                let quads: [_; 8] = std::array::from_fn(|q| [four(q, 0), four(q, 4)]);
                pack_codes(form.codes, &quads[..form.size / 4], &mut records);
                let eight = |of: fn(&Group) -> f32| std::array::from_fn(|c| of(column(c)));
                push_factors(eight(|group| group.scale), form, &mut records);
                if form.has_min {
                    push_factors(eight(|group| group.min), form, &mut records);
                }
            }
        }
        let bias = in_blocks(bias, out_features);
        Ok(Self { in_features, out_features, form, kind, records, bias })
    }

    /// Columns of its output.
    pub fn out_features(&self) -> usize {
        self.out_features
    }

    /// Columns of its input.
    pub fn in_features(&self) -> usize {
        self.in_features
    }

    /// Weights of a group, and so of a group of its input.
    pub fn group_size(&self) -> usize {
        self.form.size
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.records)
    }

    /// `input · Wᵀ + b` for rows that were quantised in groups of [`GroupedMatrix::group_size`]: at most `width` columns
    /// from the first of block `block` on.
    pub fn multiply_from<L: Lanes>(
        &self,
        block: usize,
        input: &GroupedRows,
        output: &mut Output<'_>,
        width: usize,
        room: &mut BlockRoom,
    ) {
        self.dispatch::<L, _>(WithRows {
            matrix: self,
            block,
            input,
            output,
            width,
            unpacked: &mut room.unpacked,
        });
    }

    /// As [`GroupedMatrix::multiply_from`], of float32 rows `[rows, in_features]`: eight columns of weights at a time
    /// become float32.
    pub fn multiply_float_from<L: Lanes>(
        &self,
        block: usize,
        input: &[f32],
        output: &mut Output<'_>,
        width: usize,
        room: &mut BlockRoom,
    ) {
        let (width, bias) = self.part(block, width);
        let floats = &mut room.floats;
        floats.clear();
        floats.resize(self.in_features, Floats::default());
        let column = output.column;
        for (i, bias) in bias.iter().enumerate() {
            self.dispatch::<L, _>(Block { matrix: self, block: block + i, floats });
            output.column = column + i * BLOCK;
            let width = (width - i * BLOCK).min(BLOCK);
            multiply_float::<L>(input, self.in_features, width, floats, &[*bias], output);
        }
        output.column = column;
    }

    /// Row `row` of the matrix, as float32.
    pub fn row<L: Lanes>(&self, row: usize, to: &mut [f32]) {
        self.dispatch::<L, _>(Row { matrix: self, row, to });
    }

    /// Calls `work` with what makes operands of the codes.
    fn dispatch<L: Lanes, W: WithCodes<L>>(&self, work: W) {
        // As in `pack`.
        if !cfg!(feature = "blocks") {
            return;
        }
        match (self.form.codes, self.kind) {
            (Codes::Four { zero }, _) => work.call(Nibbles { zero: zero.into() }),
            (Codes::Five { zero }, _) => work.call(Fives { zero: zero.into() }),
            (Codes::Six { zero }, _) => work.call(Sixes { zero: zero.into() }),
            (Codes::Eight, Some(kind)) => work.call(Bytes::eight(kind)),
            (Codes::Eight, None) => work.call(SplitBytes),
            (Codes::Chosen(table), Some(kind)) => work.call(LookUp::<L>::new(table, kind)),
            (Codes::Chosen(table), None) => work.call(SplitLookUp::<L>::new(table)),
        }
    }

    fn part(&self, block: usize, width: usize) -> (usize, &[Floats]) {
        let width = width.min(self.out_features.saturating_sub(block * BLOCK));
        let bias = self.bias.get(block..block + width.div_ceil(BLOCK)).unwrap_or(&[]);
        (width, bias)
    }
}

/// Room for exactly `groups · each` of something: what grows by doubling leaves gaps in memory that never shrinks.
fn reserve<T>(groups: usize, each: usize) -> Result<Vec<T>> {
    let (count, mut room) = (groups.saturating_mul(each), Vec::new());
    room.try_reserve_exact(count).map_err(|_| Error::OutOfMemory {
        what: "the weights of a matrix".to_owned(),
        bytes: count.saturating_mul(size_of::<T>()) as u64,
    })?;
    Ok(room)
}

/// Something done with a matrix, written once for every form of codes.
trait WithCodes<L: Lanes> {
    fn call<D: Decode<L>>(self, decode: D);
}

struct WithRows<'a, 'o> {
    matrix: &'a GroupedMatrix,
    block: usize,
    input: &'a GroupedRows,
    output: &'a mut Output<'o>,
    width: usize,
    unpacked: &'a mut Unpacked,
}

impl<L: Lanes> WithCodes<L> for WithRows<'_, '_> {
    fn call<D: Decode<L>>(self, decode: D) {
        let Self { matrix, block, input, output, width, unpacked } = self;
        let rows = output.values.len().checked_div(output.stride).unwrap_or(0);
        if !input.fits(rows, matrix.in_features, matrix.form.size) {
            return debug_assert!(false, "input smaller than the product");
        }
        let (width, bias) = matrix.part(block, width);
        if bias.is_empty() {
            return;
        }
        let tiles = CodeTiles { matrix, decode, input };
        let mut sweep = Sweep { out_features: width, bias, output };
        let whole = rows - rows % 4;
        if whole > 0 {
            for i in 0..bias.len() {
                unpacked.unpack::<L, D>(decode, Records::new(matrix), block + i);
                for row in (0..whole).step_by(4) {
                    let sums = tiles.four_rows::<L>(row, unpacked);
                    for (r, sums) in sums.into_iter().enumerate() {
                        sweep.finish::<L>(row + r, i, sums);
                    }
                }
            }
        }
        for row in whole..rows {
            let mut sums = [Floats::default(); STREAMS];
            let mut finish = |first: usize, apart: usize, sums: &[Floats]| {
                for (s, sums) in sums.iter().enumerate() {
                    let sums = sums.0.each_ref().map(L::load);
                    sweep.finish::<L>(row, first + s * apart, sums);
                }
            };
            let part = bias.len() / STREAMS;
            for i in 0..part {
                tiles.one_row::<L>(row, block + i, part, &mut sums);
                finish(i, part, &sums);
            }
            let rest = STREAMS * part;
            let sums = &mut sums[..bias.len() - rest];
            tiles.one_row::<L>(row, block + rest, 1, sums);
            finish(rest, 1, sums);
        }
    }
}

/// Places of memory from which a product with one row reads at a time: as it goes on to the next page at one, it waits for
/// memory at all of them at once.
const STREAMS: usize = 8;

/// The weights of one block of columns.
struct Block<'a> {
    matrix: &'a GroupedMatrix,
    block: usize,
    floats: &'a mut [Floats],
}

impl<L: Lanes> WithCodes<L> for Block<'_> {
    fn call<D: Decode<L>>(self, decode: D) {
        let Self { matrix, block, floats } = self;
        for (k, four) in floats.chunks_exact_mut(4).enumerate() {
            let weights = tiles::weights::<L, D>(matrix, decode, block, k);
            for (to, [low, high]) in four.iter_mut().zip(weights) {
                L::store(low, &mut to.0[0]);
                L::store(high, &mut to.0[1]);
            }
        }
    }
}

struct Row<'a> {
    matrix: &'a GroupedMatrix,
    row: usize,
    to: &'a mut [f32],
}

impl<L: Lanes> WithCodes<L> for Row<'_> {
    fn call<D: Decode<L>>(self, decode: D) {
        let Self { matrix, row, to } = self;
        let (block, half, lane) = (row / BLOCK, row % BLOCK / 4, row % 4);
        for (k, to) in to.chunks_mut(4).enumerate() {
            let columns = tiles::weights::<L, D>(matrix, decode, block, k);
            for (to, columns) in to.iter_mut().zip(columns) {
                let mut four = [0.0; 4];
                L::store(columns[half], &mut four);
                *to = four[lane];
            }
        }
    }
}

#[cfg(test)]
mod tests;
