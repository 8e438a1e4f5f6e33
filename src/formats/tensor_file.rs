//! A file of named tensors, whatever its format.

use super::marian::{MarianFile, TensorData, TensorInfo};
use crate::error::Result;

/// Tensors by name, read when asked for.
pub trait TensorFile {
    /// Name of the file, for errors.
    fn name(&self) -> &str;
    /// What the file says of a tensor.
    fn find(&self, name: &str) -> Option<&TensorInfo>;
    /// The values of a tensor of this file.
    ///
    /// # Errors
    /// As the format's reader.
    fn read(&self, tensor: &TensorInfo) -> Result<TensorData>;
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
}
