//! Weights in blocks on their way into packed form: held, or read a few rows at a time, so that a matrix is in memory once.

use crate::error::{Error, Result};
use std::{borrow::Cow, fmt, ops::Range, rc::Rc};

/// About how much is read at a time, in whole rows.
const CHUNK_BYTES: usize = 256 << 10;

/// Bytes of a matrix that lie elsewhere, in a file.
pub trait StoredBytes {
    /// How many there are.
    fn len(&self) -> u64;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The bytes `part`, whole blocks, checked to stand for finite values.
    ///
    /// # Errors
    /// Those of the file.
    fn read(&self, part: Range<u64>) -> Result<Cow<'_, [u8]>>;
}

/// Bytes of a matrix in blocks, row after row.
#[derive(Clone)]
pub enum BlockBytes<'a> {
    /// In memory.
    Held(Vec<u8>),
    /// In a file.
    Stored(Rc<dyn StoredBytes + 'a>),
}

impl From<Vec<u8>> for BlockBytes<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Held(bytes)
    }
}

impl fmt::Debug for BlockBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl BlockBytes<'_> {
    /// How many there are.
    pub fn len(&self) -> u64 {
        match self {
            Self::Held(bytes) => bytes.len() as u64,
            Self::Stored(bytes) => bytes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part of those that are in memory, for references.
    pub fn held(&self, part: Range<usize>) -> &[u8] {
        match self {
            Self::Held(bytes) => bytes.get(part).unwrap_or(&[]),
            Self::Stored(_) => &[],
        }
    }

    /// Its rows of `width` bytes.
    pub fn rows(&self, width: usize) -> BlockRows<'_> {
        let len = self.len();
        BlockRows { bytes: self, width, len, chunk: Cow::Borrowed(&[]), start: 0 }
    }
}

/// Rows of a matrix in blocks. Asked for in order, each is read once.
pub struct BlockRows<'a> {
    bytes: &'a BlockBytes<'a>,
    width: usize,
    len: u64,
    /// What was read last, and where in the matrix it starts.
    chunk: Cow<'a, [u8]>,
    start: usize,
}

impl BlockRows<'_> {
    /// The row `row`.
    ///
    /// # Errors
    /// Those of the file; [`Error::Internal`] past the end.
    pub fn row(&mut self, row: usize) -> Result<&[u8]> {
        let past = || Error::Internal { what: format!("row {row} of a matrix of fewer") };
        let from = row.checked_mul(self.width).ok_or_else(past)?;
        let to =
            from.checked_add(self.width).filter(|to| *to as u64 <= self.len).ok_or_else(past)?;
        let bytes = match self.bytes {
            BlockBytes::Held(bytes) => return bytes.get(from..to).ok_or_else(past),
            BlockBytes::Stored(bytes) => bytes,
        };
        if from < self.start || to > self.start + self.chunk.len() {
            let rows = (CHUNK_BYTES / self.width.max(1)).max(1);
            let end = (from as u64).saturating_add((rows * self.width) as u64).min(self.len);
            // The old chunk goes before the new one comes.
            self.chunk = Cow::Borrowed(&[]);
            self.chunk = bytes.read(from as u64..end)?;
            self.start = from;
        }
        self.chunk.get(from - self.start..to - self.start).ok_or_else(past)
    }
}
