//! Matrices as they lie on the GPU: as compact as in the file, split where a buffer would be too large to bind.

use super::weights::{Multiplier, Weights};
use crate::backend::gpu::{Gpu, Storage};
use crate::error::Result;

/// How the values of a matrix are stored; `FORMAT` of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Format {
    /// Float32, a word each.
    F32 = 0,
    /// Int8, four to a word, with a scale a row.
    Int8 = 1,
}

impl Format {
    /// That of `weights`; blocks become float32.
    pub fn of(weights: &Weights<'_>) -> Self {
        match weights {
            Weights::F32(_) | Weights::Blocks { .. } => Self::F32,
            Weights::Int8 { .. } => Self::Int8,
        }
    }

    /// Words of a row of `columns` values.
    pub fn words_of_row(self, columns: usize) -> usize {
        match self {
            Self::F32 => columns,
            Self::Int8 => columns.div_ceil(4),
        }
    }

    /// Words of a row that are no codes and lie in a buffer of their own: its scale.
    pub fn scales_of_row(self, _columns: usize) -> usize {
        match self {
            Self::F32 => 0,
            Self::Int8 => 1,
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
        let mut blocks = match weights {
            Weights::Blocks { kind, bytes } => {
                let width = columns / kind.values() * kind.bytes();
                Some((*kind, bytes.rows(width)))
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
                    (all.iter().map(|value| value.to_bits()).collect::<Vec<_>>(), Vec::new())
                }
                Weights::Int8 { values: all, multiplier } => {
                    let all = all.get(values).unwrap_or_default();
                    (four_to_a_word(all, columns), scales(multiplier, start, count))
                }
                Weights::Blocks { .. } => {
                    let mut floats = vec![0.0; count * columns];
                    for (row, to) in floats.chunks_exact_mut(columns.max(1)).enumerate() {
                        if let Some((kind, rows)) = &mut blocks {
                            kind.dequantize(rows.row(start + row)?, to);
                        }
                    }
                    (floats.iter().map(|value| value.to_bits()).collect(), Vec::new())
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

/// Rows of int8, each from a word's start.
fn four_to_a_word(values: &[i8], columns: usize) -> Vec<u32> {
    let row = |row: &[i8]| -> Vec<u32> {
        let word = |four: &[i8]| {
            let bytes = four.iter().rev();
            bytes.fold(0, |word, byte| word << 8 | u32::from(byte.cast_unsigned()))
        };
        row.chunks(4).map(word).collect()
    };
    values.chunks(columns.max(1)).flat_map(row).collect()
}

fn scales(multiplier: &Multiplier, first: usize, count: usize) -> Vec<u32> {
    (first..first + count).map(|row| (1.0 / multiplier.of(row)).to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Format, four_to_a_word};

    #[test]
    fn rows_of_int8_start_at_words() {
        // The first value of a row in the lowest byte; −1 is 0xff.
        let words = four_to_a_word(&[1, -1, 2, 3, 4, -128, 0, 0, 0, 5], 5);
        assert_eq!(words, [0x0302_ff01, 0x04, 0x0000_0080, 0x05]);
        assert_eq!(Format::Int8.words_of_row(5), 2);
    }
}
