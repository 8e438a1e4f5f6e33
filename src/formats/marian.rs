//! Marian `.bin` models (Firefox Translations, Bergamot, Marian 1.8 to 1.12), read by ranges: the
//! head and the configuration on opening, a tensor's data when it is asked for.

use super::{
    ByteSource, DType, TensorData, TensorInfo,
    marian_config::MarianConfig,
    marian_header,
    tensor::{self, TensorList},
};
use crate::error::{Error, Result};
use std::{borrow::Cow, ops::Range};

/// Name of the tensor that holds the configuration as YAML.
const CONFIG: &str = "special:model.yml";

/// An open Marian model: its configuration and what tensors it holds.
pub struct MarianFile {
    source: Box<dyn ByteSource>,
    config: MarianConfig,
    tensors: TensorList,
}

impl MarianFile {
    /// Reads and checks the head and the configuration.
    ///
    /// # Errors
    /// [`Error::Format`] or [`Error::Tensor`] where the file contradicts the format or itself,
    /// [`Error::Unsupported`] for another element type, [`Error::MissingTensor`] where the
    /// configuration is missing.
    pub fn open(source: Box<dyn ByteSource>) -> Result<Self> {
        let tensors = marian_header::read(source.as_ref())?;
        let config = tensors.iter().find(|tensor| tensor.name == CONFIG).ok_or_else(|| {
            Error::MissingTensor {
                file: source.name().to_owned(),
                tensors: vec![CONFIG.to_owned()],
                extra: Vec::new(),
            }
        })?;
        let config = read_config(source.as_ref(), config)?;
        Ok(Self { source, config, tensors: TensorList::new(tensors) })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The configuration, tensor `special:model.yml`.
    pub fn config(&self) -> &MarianConfig {
        &self.config
    }

    /// All tensors in file order, the configuration among them.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.tensors.all()
    }

    /// The tensor called `name`.
    pub fn find(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.find(name)
    }

    /// Reads the values of a tensor of this file.
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

fn read_config(source: &dyn ByteSource, tensor: &TensorInfo) -> Result<MarianConfig> {
    let start = tensor.bytes.start;
    let fail = |offset: u64, what: String| Error::Tensor {
        file: source.name().to_owned(),
        tensor: CONFIG.to_owned(),
        offset,
        what,
    };
    if tensor.dtype != DType::Int8 {
        return Err(fail(start, format!("stored as {}, expected int8 (text)", tensor.dtype)));
    }
    let bytes = source.read(tensor.bytes.clone())?;
    // NUL-terminated; what follows the NUL is alignment
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = str::from_utf8(text).map_err(|error| {
        fail(start + error.valid_up_to() as u64, format!("configuration is not UTF-8: {error}"))
    })?;
    MarianConfig::parse(source.name(), start, text)
}
