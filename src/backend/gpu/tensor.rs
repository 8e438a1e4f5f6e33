//! Activations on the device.

use super::Gpu;
use super::memory::Storage;

/// Float32 values, `[rows, columns]`, row after row from the start of a buffer, which may have room for more.
pub struct Tensor {
    storage: Storage,
    rows: usize,
    columns: usize,
}

impl Tensor {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Width of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The buffer.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Bytes of `rows` rows.
    fn bytes_of(&self, rows: usize) -> u64 {
        rows as u64 * self.columns as u64 * 4
    }

    /// Bytes of its values.
    pub fn bytes(&self) -> u64 {
        self.bytes_of(self.rows)
    }
}

impl Gpu {
    /// A tensor whose values are still to be written.
    pub fn stale(&self, rows: usize, columns: usize) -> Tensor {
        let bytes = (rows as u64).saturating_mul(columns as u64).saturating_mul(4);
        Tensor { storage: self.storage(bytes), rows, columns }
    }

    /// A tensor without rows, with room for `rows`.
    pub fn with_room(&self, rows: usize, columns: usize) -> Tensor {
        Tensor { rows: 0, ..self.stale(rows, columns) }
    }

    /// A tensor of zeros.
    pub fn zeroed(&self, rows: usize, columns: usize) -> Tensor {
        let tensor = self.stale(rows, columns);
        self.clear(&tensor.storage, tensor.bytes());
        tensor
    }

    /// A tensor of given values; `None` if they are not as many as it has.
    pub fn tensor(&self, rows: usize, columns: usize, values: &[f32]) -> Option<Tensor> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return None;
        }
        let words: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
        Some(Tensor { storage: self.upload_words(&words), rows, columns })
    }

    /// A copy.
    pub fn duplicate(&self, tensor: &Tensor) -> Tensor {
        let copy = self.stale(tensor.rows, tensor.columns);
        self.copy_bytes(&tensor.storage, 0..tensor.bytes(), &copy.storage, 0);
        copy
    }

    /// Makes room for `more` rows after those that `tensor` has, which stay; their values are stale.
    pub fn extend(&self, tensor: &mut Tensor, more: usize) {
        let rows = tensor.rows + more;
        if tensor.bytes_of(rows) > tensor.storage.size() {
            // Doubled, so that it grows seldom.
            let storage = self.storage(tensor.bytes_of(rows.max(2 * tensor.rows)));
            self.copy_bytes(&tensor.storage, 0..tensor.bytes(), &storage, 0);
            tensor.storage = storage;
        }
        tensor.rows = rows;
    }

    /// Forgets the rows after the first `rows`.
    pub fn shorten(&self, tensor: &mut Tensor, rows: usize) {
        tensor.rows = rows.min(tensor.rows);
    }
}
