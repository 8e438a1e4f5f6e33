//! Matrices as they lie on the GPU: as compact as in the file, split where a buffer would be too large to bind.

use super::gpu_blocks;
use super::weights::{Multiplier, Weights};
use crate::backend::cpu::blocks::{BlockType, f16_to_f32, f32_to_f16};
use crate::backend::gpu::{Gpu, Storage};
use crate::error::Result;

/// How the values of a matrix are stored; `FORMAT` of the kernels (`weights.wgsl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Float32, a word each.
    F32,
    /// Int8, four to a word, with a scale a row.
    Int8,
    /// Float16, two to a word.
    F16,
    /// Groups of 32 or 16 codes with scales.
    Blocks(BlockType),
}

impl Format {
    /// That of `weights`. Float32 numbers that are all float16 numbers, as those of files of float16 are, lie as such.
    pub fn of(weights: &Weights<'_>) -> Self {
        let is_half = |x: &f32| f16_to_f32(f32_to_f16(*x)).to_bits() == x.to_bits();
        match weights {
            Weights::F32(values) if values.iter().all(is_half) => Self::F16,
            Weights::F32(_) => Self::F32,
            Weights::Int8 { .. } => Self::Int8,
            Weights::Blocks { kind, .. } => Self::Blocks(*kind),
        }
    }

    /// Its number in the kernels.
    pub fn code(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::Int8 => 1,
            Self::F16 => 2,
            Self::Blocks(kind) => gpu_blocks::code(kind),
        }
    }

    /// Values that a vector of four words holds.
    fn values_of_vector(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 8,
            Self::Int8 | Self::Blocks(BlockType::Q8_0) => 16,
            Self::Blocks(_) => 32,
        }
    }

    /// Words of codes of a row of `columns` values: whole vectors of four.
    pub fn words_of_row(self, columns: usize) -> usize {
        4 * columns.div_ceil(self.values_of_vector())
    }

    /// Words of a row that lie in a buffer of their own: scales, minimums, upper bits.
    pub fn scales_of_row(self, columns: usize) -> usize {
        match self {
            Self::F32 | Self::F16 => 0,
            Self::Int8 => 1,
            Self::Blocks(kind) => gpu_blocks::scales_of_row(kind, columns),
        }
    }
}

/// Some rows of a matrix, in a buffer of their own.
pub struct Piece {
    /// The first of them.
    pub first_row: usize,
    /// How many there are.
    pub rows: usize,
    /// Row after row, each of [`Format::words_of_row`].
    pub words: Storage,
    /// Row after row, each of [`Format::scales_of_row`]; something that is not read in formats without.
    pub scales: Storage,
}

/// A matrix, `[rows, columns]`.
pub struct Matrix {
    /// How it is stored.
    pub format: Format,
    /// Number of rows.
    pub rows: usize,
    /// Width of a row.
    pub columns: usize,
    /// Its rows, in order.
    pub pieces: Vec<Piece>,
}

/// Rows turned into words at a time: little enough beside the matrix.
const WORDS_AT_ONCE: usize = 1 << 18;

impl Matrix {
    /// Room for a matrix, to be filled by [`Matrix::fill`].
    pub fn room(gpu: &Gpu, format: Format, rows: usize, columns: usize) -> Self {
        let (stride, scales) = (format.words_of_row(columns), format.scales_of_row(columns));
        let at_once = gpu.limits().rows_of(4 * stride.max(scales) as u64);
        let piece = |first_row: usize| {
            let rows = at_once.min(rows - first_row);
            let bytes = |words: usize| 4 * rows as u64 * words as u64;
            let (words, scales) = (gpu.kept(bytes(stride)), gpu.kept(bytes(scales)));
            Piece { first_row, rows, words, scales }
        };
        let pieces = (0..rows).step_by(at_once).map(piece).collect();
        Self { format, rows, columns, pieces }
    }

    /// Puts `weights`, which were checked to fill `[rows, columns]`, on the device.
    ///
    /// # Errors
    /// Those of the file that the weights are read of.
    pub fn load(gpu: &Gpu, weights: &Weights<'_>, rows: usize, columns: usize) -> Result<Self> {
        let matrix = Self::room(gpu, Format::of(weights), rows, columns);
        matrix.fill(gpu, 0, weights, rows)?;
        Ok(matrix)
    }

    /// Writes the `rows` rows of `weights`, of this matrix's format, from the row `first_row` on.
    ///
    /// # Errors
    /// Those of the file that the weights are read of.
    pub fn fill(
        &self,
        gpu: &Gpu,
        first_row: usize,
        weights: &Weights<'_>,
        rows: usize,
    ) -> Result<()> {
        let columns = self.columns;
        let stride = self.format.words_of_row(columns);
        let mut blocks = match weights {
            Weights::Blocks { kind, bytes } => {
                let width = columns / kind.values() * kind.bytes();
                Some((gpu_blocks::Packer::new(*kind, columns), bytes.rows(width)))
            }
            _ => None,
        };
        let at_once = (WORDS_AT_ONCE / columns.max(1)).max(1);
        for start in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - start);
            let values = start * columns..(start + count) * columns;
            let (words, scales) = match weights {
                Weights::F32(all) => {
                    let all = all.get(values).unwrap_or_default();
                    let words = match self.format {
                        Format::F16 => {
                            words_of_rows(all, columns, stride, 2, |x| u32::from(f32_to_f16(*x)))
                        }
                        _ => words_of_rows(all, columns, stride, 1, |x| x.to_bits()),
                    };
                    (words, Vec::new())
                }
                Weights::Int8 { values: all, multiplier } => {
                    let all = all.get(values).unwrap_or_default();
                    let word = |x: &i8| u32::from(x.cast_unsigned());
                    let words = words_of_rows(all, columns, stride, 4, word);
                    (words, scales(multiplier, start, count))
                }
                Weights::Blocks { .. } => {
                    let (mut words, mut scales) = (Vec::new(), Vec::new());
                    if let Some((packer, rows)) = &mut blocks {
                        for row in start..start + count {
                            packer.pack(rows.row(row)?, &mut words, &mut scales);
                        }
                    }
                    (words, scales)
                }
            };
            self.write(gpu, first_row + start, count, &words, &scales);
        }
        Ok(())
    }

    /// Writes whole rows, which may lie in several pieces.
    fn write(&self, gpu: &Gpu, first_row: usize, rows: usize, words: &[u32], scales: &[u32]) {
        let stride = self.format.words_of_row(self.columns);
        let scales_each = self.format.scales_of_row(self.columns);
        for piece in &self.pieces {
            let from = first_row.max(piece.first_row);
            let to = (first_row + rows).min(piece.first_row + piece.rows);
            if from >= to {
                continue;
            }
            for (all, each, storage) in
                [(words, stride, &piece.words), (scales, scales_each, &piece.scales)]
            {
                let part = (from - first_row) * each..(to - first_row) * each;
                if let Some(part) = all.get(part).filter(|part| !part.is_empty()) {
                    gpu.write_at(storage, 4 * ((from - piece.first_row) * each) as u64, part);
                }
            }
        }
    }
}

/// Rows of `stride` words of `each` values, the first in the lowest bits; zeros follow the last.
fn words_of_rows<T>(
    values: &[T],
    columns: usize,
    stride: usize,
    each: usize,
    bits: impl Fn(&T) -> u32,
) -> Vec<u32> {
    let mut words = Vec::with_capacity(values.len() / columns.max(1) * stride);
    for row in values.chunks(columns.max(1)) {
        let end = words.len() + stride;
        let word = |few: &[T]| {
            let shifted = few.iter().enumerate();
            shifted.fold(0, |word, (i, value)| word | bits(value) << (32 / each * i))
        };
        words.extend(row.chunks(each).map(word));
        words.resize(end, 0);
    }
    words
}

fn scales(multiplier: &Multiplier, first: usize, count: usize) -> Vec<u32> {
    (first..first + count).map(|row| (1.0 / multiplier.of(row)).to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Format, words_of_rows};
    use crate::backend::cpu::blocks::BlockType;
    use crate::ops::{Multiplier, Weights};

    #[test]
    fn rows_start_at_vectors() {
        // The first value of a row in the lowest byte; −1 is 0xff.
        let bits = |x: &i8| u32::from(x.cast_unsigned());
        let values = [1, -1, 2, 3, 4, -128, 0, 0, 0, 5];
        let words = words_of_rows(&values, 5, Format::Int8.words_of_row(5), 4, bits);
        assert_eq!(words, [0x0302_ff01, 0x04, 0, 0, 0x0000_0080, 0x05, 0, 0]);
        assert_eq!(words_of_rows(&[1u32, 2, 3], 3, 4, 2, |x| *x), [0x0002_0001, 3, 0, 0]);
    }

    #[test]
    fn what_is_float16_lies_as_such() {
        // 2^−24 is the smallest float16, 65504 the largest.
        let halves = [1.0, -0.5, 0.0, -0.0, 2f32.powi(-24), 65504.0];
        assert_eq!(Format::of(&Weights::F32(halves.to_vec())), Format::F16);
        for other in [0.1, 2f32.powi(-25), 65536.0] {
            assert_eq!(Format::of(&Weights::F32(vec![1.0, other])), Format::F32);
        }
        let multiplier = Multiplier::One(1.0);
        assert_eq!(Format::of(&Weights::Int8 { values: vec![1], multiplier }), Format::Int8);
    }

    #[test]
    fn matrices_are_as_large_as_in_the_file() {
        // SmolLM2's 576, and widths of larger models, by 256 as the K types need.
        for columns in [256, 1536, 2048, 4096] {
            for kind in BlockType::ALL {
                let format = Format::Blocks(kind);
                let bytes = 4 * (format.words_of_row(columns) + format.scales_of_row(columns));
                let file = columns / kind.values() * kind.bytes();
                assert!(bytes <= file + file / 100 + 2, "{kind:?}, {columns}: {bytes} of {file}");
            }
            assert_eq!(4 * Format::F16.words_of_row(columns), 2 * columns);
            assert_eq!(Format::Int8.words_of_row(columns), columns / 4);
            assert_eq!(Format::F32.words_of_row(columns), columns);
        }
        // 18 groups of 4 words; nine pairs of scales.
        let q4 = Format::Blocks(BlockType::Q4_0);
        assert_eq!((q4.words_of_row(576), q4.scales_of_row(576)), (72, 9));
    }
}
