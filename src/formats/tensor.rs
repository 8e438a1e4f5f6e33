//! Tensors of a file: what its head says of them, and their values.

use super::{ByteSource, DType};
use crate::error::{Decimal, Error, Result};
use std::{borrow::Cow, ops::Range};

/// Bytes read at a time: whole values of every type.
const PIECE: u64 = 1 << 20;

/// What the head of a file says about one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name, for example `encoder_l1_self_Wq`.
    pub name: String,
    /// How the values are stored.
    pub dtype: DType,
    /// Shape, outermost first, for example `[in, out]`; whatever the order of the data in a Marian file. In a GGUF
    /// file the last one is that of neighbouring values: ggml's `ne`, which begins with it, reversed.
    pub shape: Vec<usize>,
    /// Where the data lies in the file; in a Marian file with its alignment.
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
    /// Quantised values: value = int8 / `multiplier`. Marian's weights (except `Wemb`) are stored
    /// transposed, `[out, in]` rows, though the head says `[in, out]`.
    Int8 {
        /// The int8 values in file order.
        values: Vec<i8>,
        /// Quantisation multiplier: finite and above 0; 1 for [`DType::Int8`], which stores none.
        multiplier: f32,
    },
    /// Values of any other type, row-major in the shape of the head: the bytes as they are stored.
    Stored(Vec<u8>),
}

/// Tensors in file order, found by name.
pub(super) struct TensorList {
    tensors: Vec<TensorInfo>,
    /// Indices into `tensors`, sorted by name.
    by_name: Vec<usize>,
}

impl TensorList {
    pub(super) fn new(tensors: Vec<TensorInfo>) -> Self {
        let mut by_name: Vec<usize> = (0..tensors.len()).collect();
        by_name.sort_by_key(|index| tensors.get(*index).map(|tensor| &tensor.name));
        Self { tensors, by_name }
    }

    pub(super) fn all(&self) -> &[TensorInfo] {
        &self.tensors
    }

    pub(super) fn find(&self, name: &str) -> Option<&TensorInfo> {
        let named = |index: &usize| self.tensors.get(*index);
        let found = self.by_name.binary_search_by(|index| {
            named(index).map(|tensor| tensor.name.as_str()).cmp(&Some(name))
        });
        found.ok().and_then(|at| self.by_name.get(at)).and_then(named)
    }
}

/// The bytes `part` of a tensor's data, counted from its start.
pub(super) fn read_part<'a>(
    source: &'a dyn ByteSource,
    tensor: &TensorInfo,
    part: Range<u64>,
) -> Result<Cow<'a, [u8]>> {
    let start = tensor.bytes.start;
    let ends = start.checked_add(part.start).zip(start.checked_add(part.end));
    let inside = ends.filter(|(from, to)| from <= to && *to <= tensor.bytes.end);
    let (from, to) = inside.ok_or_else(|| {
        let (name, bytes) = (&tensor.name, &tensor.bytes);
        Error::Internal {
            what: format!("bytes {part:?} of tensor {name}, which lies in {bytes:?}"),
        }
    })?;
    let bytes = source.read(from..to)?;
    if bytes.len() as u64 != to - from {
        let what = format!("{} bytes read of {}", bytes.len(), to - from);
        return Err(fail(source, tensor, from, what));
    }
    Ok(bytes)
}

/// The values of a tensor of this file.
pub(super) fn read_values(source: &dyn ByteSource, tensor: &TensorInfo) -> Result<TensorData> {
    let elements = tensor.num_elements();
    let start = tensor.bytes.start;
    let needed = tensor.dtype.bytes_needed(elements as u64);
    let needed = needed
        .filter(|needed| *needed <= tensor.bytes.end.saturating_sub(start))
        .ok_or_else(|| {
            let what = format!("{elements} values do not fit in bytes {:?}", tensor.bytes);
            fail(source, tensor, start, what)
        })?;
    // Of what is longer than a piece only the values are held, never all of the bytes beside them.
    let pieces = || {
        let ends = (0..needed).step_by(PIECE as usize).map(|from| from..needed.min(from + PIECE));
        ends.map(|part| read_part(source, tensor, part))
    };
    match tensor.dtype {
        DType::F32 => {
            let mut values: Vec<f32> = reserve(source, tensor, elements, 4)?;
            for bytes in pieces() {
                let fours = bytes?;
                values.extend(fours.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)));
            }
            match values.iter().position(|value| !value.is_finite()) {
                None => Ok(TensorData::F32(values)),
                Some(at) => {
                    let value = Decimal(values.get(at).copied().unwrap_or(f32::NAN));
                    let what = format!("value {at} is {value}, expected a finite number");
                    Err(fail(source, tensor, start + 4 * at as u64, what))
                }
            }
        }
        DType::Intgemm8 | DType::Int8 => {
            let mut values: Vec<i8> = reserve(source, tensor, elements, 1)?;
            let mut behind = Vec::new();
            for bytes in pieces() {
                let bytes = bytes?;
                let (own, rest) = bytes.split_at((elements - values.len()).min(bytes.len()));
                values.extend(own.iter().map(|byte| byte.cast_signed()));
                behind.extend_from_slice(rest);
            }
            let multiplier = match tensor.dtype {
                DType::Int8 => 1.0,
                _ => multiplier(&behind)
                    .map_err(|what| fail(source, tensor, start + needed - 4, what))?,
            };
            Ok(TensorData::Int8 { values, multiplier })
        }
        _ => {
            let count = usize::try_from(needed).unwrap_or(usize::MAX);
            let mut values = reserve(source, tensor, count, 1)?;
            for bytes in pieces() {
                values.extend_from_slice(&bytes?);
            }
            Ok(TensorData::Stored(values))
        }
    }
}

/// The quantisation multiplier behind int8 values; otherwise what is to be said of it.
fn multiplier(bytes: &[u8]) -> std::result::Result<f32, String> {
    let found = bytes.first_chunk().map(|four| f32::from_le_bytes(*four));
    found.filter(|multiplier| multiplier.is_finite() && *multiplier > 0.0).ok_or_else(|| {
        let found = found.map_or("nothing".to_owned(), |found| Decimal(found).to_string());
        format!("{found} found as quantisation multiplier, expected a finite number above 0")
    })
}

fn reserve<T>(
    source: &dyn ByteSource,
    tensor: &TensorInfo,
    elements: usize,
    size: u64,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(elements).map_err(|_| Error::OutOfMemory {
        what: format!("tensor {} of {}", tensor.name, source.name()),
        bytes: size.saturating_mul(elements as u64),
    })?;
    Ok(values)
}

fn fail(source: &dyn ByteSource, tensor: &TensorInfo, offset: u64, what: String) -> Error {
    Error::Tensor { file: source.name().to_owned(), tensor: tensor.name.clone(), offset, what }
}
