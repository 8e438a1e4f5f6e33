//! Float32 activations on the CPU.

use super::buffer::Buffer;

/// Float32 values, `[rows, columns]`, row after row, in a recycled buffer.
#[derive(Debug)]
pub struct Tensor {
    rows: usize,
    columns: usize,
    buffer: Buffer,
}

impl Tensor {
    /// A tensor whose values are left over from earlier use: for results that are written whole.
    pub fn stale(rows: usize, columns: usize) -> Self {
        Self { rows, columns, buffer: Buffer::stale(rows.saturating_mul(columns)) }
    }

    /// A tensor of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let mut tensor = Self::stale(rows, columns);
        tensor.values_mut().fill(0.0);
        tensor
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// `[rows · columns]`.
    pub fn values(&self) -> &[f32] {
        self.buffer.values()
    }

    /// `[rows · columns]`.
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.buffer.values_mut()
    }

    /// The row `row`, `[columns]`, if there is one.
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        let start = row.checked_mul(self.columns)?;
        self.values().get(start..)?.get(..self.columns).filter(|_| row < self.rows)
    }

    /// The row `row`, `[columns]`, if there is one.
    pub fn row_mut(&mut self, row: usize) -> Option<&mut [f32]> {
        let (start, columns) = (row.checked_mul(self.columns)?, self.columns);
        if row >= self.rows {
            return None;
        }
        self.values_mut().get_mut(start..)?.get_mut(..columns)
    }

    /// Keeps the first `rows` rows; their room stays.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.buffer.shorten(self.rows * self.columns);
    }

    /// Adds `values`, `[columns]`, below the last row; false if their number is wrong.
    pub fn push_row(&mut self, values: &[f32]) -> bool {
        if values.len() != self.columns {
            return false;
        }
        let len = self.values().len();
        self.buffer.grow(len + values.len());
        self.values_mut()[len..].copy_from_slice(values);
        self.rows += 1;
        true
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        let mut copy = Self::stale(self.rows, self.columns);
        copy.values_mut().copy_from_slice(self.values());
        copy
    }
}
