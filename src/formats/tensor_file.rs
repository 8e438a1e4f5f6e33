//! A file of named tensors, whatever its format.

use super::{TensorData, TensorInfo, gguf::GgufFile, marian::MarianFile};
use crate::error::Result;
use std::{borrow::Cow, ops::Range};

/// Tensors by name, read when asked for.
pub trait TensorFile {
    /// Name of the file, for errors.
    fn name(&self) -> &str;
    /// What the file says of a tensor.
    fn find(&self, name: &str) -> Option<&TensorInfo>;
    /// The values of a tensor of this file.
    ///
    /// # Errors
    /// [`Error::Tensor`](crate::error::Error::Tensor) for a value or multiplier that is not finite, or a multiplier
    /// not above 0, and where the file is shorter than it was;
    /// [`Error::OutOfMemory`](crate::error::Error::OutOfMemory); errors of the source.
    fn read(&self, tensor: &TensorInfo) -> Result<TensorData>;
    /// The bytes `part` of a tensor's data as they are stored, counted from its start: a big tensor can be taken
    /// some rows at a time.
    ///
    /// # Errors
    /// [`Error::Tensor`](crate::error::Error::Tensor) where the file is shorter than it was; errors of the source;
    /// [`Error::Internal`](crate::error::Error::Internal) for a part outside of the tensor.
    fn read_part(&self, tensor: &TensorInfo, part: Range<u64>) -> Result<Cow<'_, [u8]>>;
}

impl TensorFile for MarianFile {
    fn name(&self) -> &str {
        MarianFile::name(self)
    }

    fn find(&self, name: &str) -> Option<&TensorInfo> {
        MarianFile::find(self, name)
    }

    fn read(&self, tensor: &TensorInfo) -> Result<TensorData> {
        MarianFile::read(self, tensor)
    }

    fn read_part(&self, tensor: &TensorInfo, part: Range<u64>) -> Result<Cow<'_, [u8]>> {
        MarianFile::read_part(self, tensor, part)
    }
}

impl TensorFile for GgufFile {
    fn name(&self) -> &str {
        GgufFile::name(self)
    }

    fn find(&self, name: &str) -> Option<&TensorInfo> {
        GgufFile::find(self, name)
    }

    fn read(&self, tensor: &TensorInfo) -> Result<TensorData> {
        GgufFile::read(self, tensor)
    }

    fn read_part(&self, tensor: &TensorInfo, part: Range<u64>) -> Result<Cow<'_, [u8]>> {
        GgufFile::read_part(self, tensor, part)
    }
}
