//! Model files: bytes → names, dtypes, shapes and byte ranges. No arithmetic happens here.

mod dtype;
#[cfg(feature = "encoder")]
pub mod folder;
pub mod gguf;
pub mod marian;
pub mod marian_config;
mod marian_header;
#[cfg(feature = "encoder")]
pub mod safetensors;
pub mod shortlist;
mod tensor;
mod tensor_file;
mod yaml_scalar;

pub use dtype::DType;
#[cfg(feature = "encoder")]
pub use folder::{Config, ModelFolder};
pub use tensor::{TensorData, TensorInfo};
pub use tensor_file::TensorFile;

use crate::error::{Error, Result};
use std::{borrow::Cow, ops::Range};

/// A file read by ranges, so that no reader needs the whole of it in memory. In a browser worker it
/// stands on a `Blob`; natively on bytes or a file.
pub trait ByteSource {
    /// Name of the file, for errors.
    fn name(&self) -> &str;
    /// Length in bytes.
    fn len(&self) -> u64;
    /// Whether the file holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The bytes of `range`. A range that leaves the file is an [`Error::Format`].
    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>>;
}

/// A file held in memory.
pub struct MemoryFile {
    name: String,
    bytes: Vec<u8>,
}

impl MemoryFile {
    /// Wraps the bytes of a file called `name`.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

impl ByteSource for MemoryFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let ends = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        ends.and_then(|(start, end)| self.bytes.get(start..end)).map(Cow::Borrowed).ok_or_else(
            || {
                Error::format(
                    &self.name,
                    range.start,
                    format!(
                        "bytes {}..{} asked for, the file has {}",
                        range.start,
                        range.end,
                        self.bytes.len()
                    ),
                )
            },
        )
    }
}

/// The little-endian u64 at `at`, where `bytes` holds one.
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|eight| u64::from_le_bytes(*eight))
}
