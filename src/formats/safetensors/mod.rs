//! Safetensors models, in one file or in several with an index, read by ranges.
//!
//! The format (`docs/safetensors` of Hugging Face): u64 length of the head, little-endian; the head, a JSON object of
//! `name: { dtype, shape, data_offsets: [start, end] }` beside `__metadata__`; then the data, to whose start the offsets
//! count. Of a model in several files `model.safetensors.index.json` says by `weight_map` which tensor is in which.

mod head;
mod shards;

pub use shards::SafetensorsFolder;

use super::{
    ByteSource, TensorData, TensorInfo,
    tensor::{self, TensorList},
};
use crate::error::Result;
use std::{borrow::Cow, ops::Range};

/// One open file: what tensors it holds.
pub struct SafetensorsFile {
    source: Box<dyn ByteSource>,
    tensors: TensorList,
    others: Vec<OtherTensor>,
}

/// A tensor of a type that is not read here, such as the positions that some checkpoints hold as int64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherTensor {
    /// Its name.
    pub name: String,
    /// Its type, as the file names it.
    pub dtype: String,
    /// Where its data begins in the file.
    pub offset: u64,
}

impl SafetensorsFile {
    /// Reads and checks the head.
    ///
    /// # Errors
    /// [`Error::Format`](crate::error::Error::Format) or [`Error::Tensor`](crate::error::Error::Tensor) where the file
    /// contradicts the format or itself; errors of the source.
    pub fn open(source: Box<dyn ByteSource>) -> Result<Self> {
        let (tensors, others) = head::read(source.as_ref())?;
        Ok(Self { source, tensors: TensorList::new(tensors), others })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// All tensors of types that are read here, in the order of their data.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.tensors.all()
    }

    /// All tensors of other types.
    pub fn others(&self) -> &[OtherTensor] {
        &self.others
    }

    /// The tensor called `name`.
    pub fn find(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.find(name)
    }

    /// Reads the values of a tensor of this file; of any type but float32 and int8, as they are stored.
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
