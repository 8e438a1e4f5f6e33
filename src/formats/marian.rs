//! Marian `.bin` models (Firefox Translations, Bergamot, Marian 1.8 to 1.12), read by ranges: the
//! head and the configuration on opening, a tensor's data when it is asked for.

use super::{ByteSource, marian_config::MarianConfig, marian_header};
use crate::error::{Error, Result};
use std::{borrow::Cow, fmt, ops::Range};

/// Name of the tensor that holds the configuration as YAML.
const CONFIG: &str = "special:model.yml";

/// How the values of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DType {
    /// Type code 0x404: little-endian float32.
    F32,
    /// Type code 0x4101 (the fork that Firefox's models come from) or 0x10001 (Marian 1.12): int8
    /// values, then one float32 multiplier; value = int8 / multiplier.
    Intgemm8,
    /// Type code 0x101: plain bytes, such as the configuration.
    Int8,
}

impl DType {
    /// Whether the values are int8.
    pub fn is_int8(self) -> bool {
        matches!(self, DType::Intgemm8 | DType::Int8)
    }

    /// Bytes that `elements` values take in the file, without alignment; `None` past 2^64.
    pub(super) fn bytes_needed(self, elements: u64) -> Option<u64> {
        match self {
            DType::F32 => elements.checked_mul(4),
            DType::Intgemm8 => elements.checked_add(4),
            DType::Int8 => Some(elements),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::F32 => "float32",
            DType::Intgemm8 => "intgemm8",
            DType::Int8 => "int8",
        })
    }
}

/// What the head of the file says about one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name, for example `encoder_l1_self_Wq`.
    pub name: String,
    /// How the values are stored.
    pub dtype: DType,
    /// Shape as the head has it, for example `[in, out]`, whatever the order of the data.
    pub shape: Vec<usize>,
    /// Where the data lies in the file, alignment included.
    pub bytes: Range<u64>,
}

impl TensorInfo {
    /// Number of values, the product of the shape (checked when the file was opened).
    pub fn num_elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The values of one tensor.
#[derive(Debug, Clone, PartialEq)]
pub enum TensorData {
    /// Float32 values, row-major in the shape of the head; all finite.
    F32(Vec<f32>),
    /// Quantised values: value = int8 / `multiplier`. Weights (except `Wemb`) are stored
    /// transposed, `[out, in]` rows, though the head says `[in, out]`.
    Int8 {
        /// The int8 values in file order.
        values: Vec<i8>,
        /// Quantisation multiplier: finite and above 0; 1 for [`DType::Int8`], which stores none.
        multiplier: f32,
    },
}

/// An open Marian model: its configuration and what tensors it holds.
pub struct MarianFile {
    source: Box<dyn ByteSource>,
    config: MarianConfig,
    tensors: Vec<TensorInfo>,
    /// Indices into `tensors`, sorted by name.
    by_name: Vec<usize>,
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
        let mut by_name: Vec<usize> = (0..tensors.len()).collect();
        by_name.sort_by_key(|index| tensors.get(*index).map(|tensor| &tensor.name));
        let config = tensors.iter().find(|tensor| tensor.name == CONFIG).ok_or_else(|| {
            Error::MissingTensor {
                file: source.name().to_owned(),
                tensors: vec![CONFIG.to_owned()],
            }
        })?;
        let config = read_config(source.as_ref(), config)?;
        Ok(Self { source, config, tensors, by_name })
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
        &self.tensors
    }

    /// The tensor called `name`.
    pub fn find(&self, name: &str) -> Option<&TensorInfo> {
        let named = |index: &usize| self.tensors.get(*index);
        let found = self.by_name.binary_search_by(|index| {
            named(index).map(|tensor| tensor.name.as_str()).cmp(&Some(name))
        });
        found.ok().and_then(|at| self.by_name.get(at)).and_then(named)
    }

    /// Reads the values of a tensor of this file.
    ///
    /// # Errors
    /// [`Error::Tensor`] for a value or multiplier that is not finite, or a multiplier not above
    /// 0; [`Error::OutOfMemory`]; errors of the source.
    pub fn read(&self, tensor: &TensorInfo) -> Result<TensorData> {
        let fail = |offset: u64, what: String| Error::Tensor {
            file: self.name().to_owned(),
            tensor: tensor.name.clone(),
            offset,
            what,
        };
        let elements = tensor.num_elements();
        let start = tensor.bytes.start;
        let needed = tensor.dtype.bytes_needed(elements as u64);
        let end = needed.and_then(|needed| start.checked_add(needed));
        let end = end.filter(|end| *end <= tensor.bytes.end).ok_or_else(|| {
            fail(start, format!("{elements} values do not fit in bytes {:?}", tensor.bytes))
        })?;
        let bytes = self.source.read(start..end)?;
        if bytes.len() as u64 != end - start {
            return Err(fail(start, format!("{} bytes read of {}", bytes.len(), end - start)));
        }
        match tensor.dtype {
            DType::F32 => {
                let mut values = self.reserve(tensor, elements, 4)?;
                values
                    .extend(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)));
                match values.iter().position(|value| !value.is_finite()) {
                    None => Ok(TensorData::F32(values)),
                    Some(at) => Err(fail(
                        start + 4 * at as u64,
                        format!("value {at} is {:?}, expected a finite number", values.get(at)),
                    )),
                }
            }
            DType::Intgemm8 => {
                let multiplier = bytes.last_chunk().map(|four| f32::from_le_bytes(*four));
                match multiplier.filter(|multiplier| multiplier.is_finite() && *multiplier > 0.0) {
                    Some(multiplier) => {
                        Ok(TensorData::Int8 { values: self.int8(tensor, bytes)?, multiplier })
                    }
                    None => Err(fail(
                        end - 4,
                        format!(
                            "quantisation multiplier {multiplier:?} found, expected a finite \
                             number above 0"
                        ),
                    )),
                }
            }
            DType::Int8 => {
                Ok(TensorData::Int8 { values: self.int8(tensor, bytes)?, multiplier: 1.0 })
            }
        }
    }

    /// The int8 values in front of whatever else `bytes` holds. Bytes that are owned already are
    /// turned in place, so that a big tensor is in memory once.
    fn int8(&self, tensor: &TensorInfo, bytes: Cow<'_, [u8]>) -> Result<Vec<i8>> {
        let elements = tensor.num_elements();
        match bytes {
            Cow::Owned(mut bytes) => {
                bytes.truncate(elements);
                Ok(bytes.into_iter().map(u8::cast_signed).collect())
            }
            Cow::Borrowed(bytes) => {
                let mut values = self.reserve(tensor, elements, 1)?;
                values.extend(bytes.iter().take(elements).map(|byte| byte.cast_signed()));
                Ok(values)
            }
        }
    }

    fn reserve<T>(&self, tensor: &TensorInfo, elements: usize, size: u64) -> Result<Vec<T>> {
        let mut values = Vec::new();
        values.try_reserve_exact(elements).map_err(|_| Error::OutOfMemory {
            what: format!("tensor {} of {}", tensor.name, self.name()),
            bytes: size.saturating_mul(elements as u64),
        })?;
        Ok(values)
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
