//! GGUF models (versions 2 and 3, little-endian), read by ranges: the head on opening, a tensor's data when asked for.
//!
//! The format is described in `docs/gguf.md` of ggml. In order: the bytes `GGUF`, u32 version, u64 number of tensors,
//! u64 number of keys; for each key a string, a u32 type and a value; for each tensor a name, u32 number of
//! dimensions, those as u64, u32 type, u64 offset; then, from the next multiple of `general.alignment` (32 where there
//! is no such key) on, the data, to whose start the offsets count. A string is a u64 length and UTF-8. Version 2 is
//! version 3 without big-endian files.

mod head;
mod metadata;
mod read_metadata;
mod read_tensors;
mod types;
mod value;

pub use metadata::Metadata;
pub use value::{Array, Strings, Value, ValueType};

use super::{
    ByteSource, TensorData, TensorInfo,
    tensor::{self, TensorList},
};
use crate::error::{Error, Result};
use head::{Head, Place};
use std::{borrow::Cow, ops::Range};

/// The first bytes of every file, of either byte order.
const MAGIC: &[u8] = b"GGUF";

/// An open GGUF model: its metadata and what tensors it holds.
pub struct GgufFile {
    source: Box<dyn ByteSource>,
    version: u32,
    metadata: Metadata,
    tensors: TensorList,
}

impl GgufFile {
    /// Reads and checks the head. A megabyte is read at a time, so the head of most models takes one to ten reads.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Metadata`] or [`Error::Tensor`] where the file contradicts the format or itself;
    /// [`Error::Unsupported`] for version 1, big-endian files, one file of several (`split.count`) and tensor types
    /// that are not in [`DType`](super::DType); [`Error::OutOfMemory`].
    pub fn open(source: Box<dyn ByteSource>) -> Result<Self> {
        let mut head = Head::new(source.as_ref());
        let magic = head.bytes(4, Place::Head("the first four bytes"))?;
        if magic != MAGIC {
            let found = magic.escape_ascii();
            let what = format!("the file begins with \"{found}\", a GGUF file with \"GGUF\"");
            return Err(Error::format(source.name(), 0, what));
        }
        let version = head.u32(Place::Head("the version"))?;
        check_version(source.name(), version)?;
        let num_tensors = head.u64(Place::Head("the number of tensors"))?;
        let num_keys = head.u64(Place::Head("the number of keys"))?;
        let metadata = read_metadata::read(&mut head, num_keys)?;
        check_whole(&metadata)?;
        let alignment = metadata.alignment()?;
        let tensors = read_tensors::read(&mut head, num_tensors, alignment)?;
        check_quantization(&metadata, &tensors)?;
        Ok(Self { version, metadata, tensors: TensorList::new(tensors), source })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The keys and values of the head.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors in the order of the head, which is mostly that of their data. A file of a vocabulary has none.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.tensors.all()
    }

    /// The tensor called `name`.
    pub fn find(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.find(name)
    }

    /// Reads the values of a tensor of this file; of any type but float32, as they are stored.
    ///
    /// # Errors
    /// As [`TensorFile::read`](super::TensorFile::read).
    pub fn read(&self, tensor: &TensorInfo) -> Result<TensorData> {
        tensor::read_values(self.source.as_ref(), tensor)
    }

    /// The bytes `part` of a tensor's data, counted from its start.
    ///
    /// # Errors
    /// As [`TensorFile::read_part`](super::TensorFile::read_part).
    pub fn read_part(&self, tensor: &TensorInfo, part: Range<u64>) -> Result<Cow<'_, [u8]>> {
        tensor::read_part(self.source.as_ref(), tensor, part)
    }
}

fn check_version(file: &str, version: u32) -> Result<()> {
    let unsupported = |what: String| Err(Error::Unsupported { file: file.to_owned(), what });
    match version {
        2 | 3 => Ok(()),
        0 => Err(Error::format(file, 4, "GGUF version 0 found, expected 2 or 3")),
        1 => unsupported(
            "GGUF version 1, of 2023; versions 2 and 3 are read. Take a newer conversion of the model".to_owned(),
        ),
        // versions are small numbers: one whose lower half is empty was written the other way round
        _ if version & 0xFFFF == 0 => unsupported(format!(
            "a big-endian GGUF file (version {}); only little-endian ones are read. Take the little-endian \
             conversion of the model, or turn this one by gguf_convert_endian.py of llama.cpp",
            version.swap_bytes()
        )),
        _ => unsupported(format!("GGUF version {version}; versions 2 and 3 are read")),
    }
}

/// A model may be cut into several files, each with some of the tensors.
fn check_whole(metadata: &Metadata) -> Result<()> {
    let count = metadata.integer("split.count")?.unwrap_or(1);
    if count <= 1 {
        return Ok(());
    }
    let number = metadata.integer("split.no")?.unwrap_or(0).saturating_add(1);
    Err(Error::Unsupported {
        file: metadata.file().to_owned(),
        what: format!(
            "file {number} of the {count} (split.count) into which the model was split; models in one file are read. \
             Join them by llama-gguf-split --merge of llama.cpp, or take a conversion in one file"
        ),
    })
}

/// The layout of blocks has a version of its own; there were two others before there was GGUF.
fn check_quantization(metadata: &Metadata, tensors: &[TensorInfo]) -> Result<()> {
    let Some(version) = metadata.integer("general.quantization_version")? else { return Ok(()) };
    let quantised = tensors.iter().find(|tensor| tensor.dtype.block_len() > 1);
    let Some(TensorInfo { name, dtype, .. }) = quantised.filter(|_| version != 2) else {
        return Ok(());
    };
    Err(Error::Unsupported {
        file: metadata.file().to_owned(),
        what: format!(
            "general.quantization_version {version}, by which tensor {name} is {dtype}; version 2 is read"
        ),
    })
}
