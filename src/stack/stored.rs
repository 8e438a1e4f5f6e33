//! Tensors of the types of GGUF files, of which a piece at a time comes into memory: blocks on their way into packed form,
//! halves and blocks as float32.

use crate::backend::cpu::blocks::{BlockType, bf16_to_f32, f16_to_f32};
use crate::error::{Error, Result};
use crate::formats::{DType, TensorFile, TensorInfo};
use crate::ops::{Multiplier, StoredBytes, Weights};
use std::{borrow::Cow, ops::Range};

/// Read at a time, in values: a whole number of blocks of every type.
const PIECE: usize = 1 << 16;

/// The block format of a type, if it is one.
pub fn block_type(dtype: DType) -> Option<BlockType> {
    Some(match dtype {
        DType::Q8_0 => BlockType::Q8_0,
        DType::Q4_0 => BlockType::Q4_0,
        DType::Q4_1 => BlockType::Q4_1,
        DType::Q5_0 => BlockType::Q5_0,
        DType::Q5_1 => BlockType::Q5_1,
        DType::Iq4Nl => BlockType::Iq4Nl,
        DType::Q4K => BlockType::Q4K,
        DType::Q5K => BlockType::Q5K,
        DType::Q6K => BlockType::Q6K,
        DType::F32 | DType::F16 | DType::BF16 | DType::Intgemm8 | DType::Int8 => return None,
    })
}

/// The blocks of a tensor in a file.
pub struct FileBlocks<'a> {
    pub file: &'a dyn TensorFile,
    pub tensor: &'a TensorInfo,
    pub kind: BlockType,
}

impl StoredBytes for FileBlocks<'_> {
    fn len(&self) -> u64 {
        let needed = self.tensor.dtype.bytes_needed(self.tensor.num_elements() as u64);
        needed.unwrap_or_default()
    }

    fn read(&self, part: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let start = part.start;
        let bytes = self.file.read_part(self.tensor, part)?;
        match self.kind.find_not_finite(&bytes) {
            None => Ok(bytes),
            Some(at) => {
                let size = self.kind.bytes() as u64;
                let (block, offset) = (start / size + at as u64, start + at as u64 * size);
                Err(not_finite(
                    self.file,
                    self.tensor,
                    offset,
                    &format!("a scale of block {block}"),
                ))
            }
        }
    }
}

/// A float32 or half precision matrix, `[rows, columns]`, as int8: each row symmetric by its own largest magnitude,
/// value ≈ int8 / multiplier, |int8| ≤ 127. Read some rows at a time, so that it is never in memory as floats. `None` for
/// other types.
pub fn int8_rows(file: &dyn TensorFile, tensor: &TensorInfo) -> Result<Option<Weights<'static>>> {
    let (DType::F32 | DType::F16 | DType::BF16, [.., rows, columns]) =
        (tensor.dtype, &tensor.shape[..])
    else {
        return Ok(None);
    };
    let (rows, columns) = (*rows, (*columns).max(1));
    let mut values: Vec<i8> = room(file, tensor, tensor.num_elements(), "int8")?;
    let mut multipliers = Vec::with_capacity(rows);
    let rows_each = (PIECE / columns).max(1);
    let mut floats = Vec::new();
    for first in (0..rows).step_by(rows_each) {
        let end = (first + rows_each).min(rows);
        floats.clear();
        read_floats(file, tensor, first * columns..end * columns, &mut floats)?;
        for row in floats.chunks_exact(columns) {
            let largest = row.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
            // 0, or so small that its inverse has no float32
            let multiplier =
                Some(127.0 / largest).filter(|inverse| inverse.is_finite()).unwrap_or(1.0);
            values.extend(row.iter().map(|value| libm::rintf(value * multiplier) as i8));
            multipliers.push(multiplier);
        }
    }
    Ok(Some(Weights::Int8 { values, multiplier: Multiplier::Rows(multipliers) }))
}

/// Room for `count` values of a tensor.
fn room<T>(file: &dyn TensorFile, tensor: &TensorInfo, count: usize, kind: &str) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| Error::OutOfMemory {
        what: format!("tensor {} of {} as {kind}", tensor.name, file.name()),
        bytes: (size_of::<T>() as u64).saturating_mul(count as u64),
    })?;
    Ok(values)
}

/// Adds the values `part` of a tensor of float32 or of halves.
fn read_floats(
    file: &dyn TensorFile,
    tensor: &TensorInfo,
    part: Range<usize>,
    to: &mut Vec<f32>,
) -> Result<()> {
    let size = tensor.dtype.block_bytes();
    let bytes = file.read_part(tensor, part.start as u64 * size..part.end as u64 * size)?;
    let start = to.len();
    match tensor.dtype {
        DType::F32 => to.extend(bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four))),
        dtype => {
            let convert = if dtype == DType::F16 { f16_to_f32 } else { bf16_to_f32 };
            let pairs = bytes.as_chunks::<2>().0.iter();
            to.extend(pairs.map(|pair| convert(u16::from_le_bytes(*pair))));
        }
    }
    let new = to.get(start..).unwrap_or_default();
    match new.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let at = part.start + at;
            Err(not_finite(file, tensor, size * at as u64, &format!("value {at}")))
        }
    }
}

/// All values of a tensor of halves or of blocks, as float32; `None` for another type.
pub fn floats(file: &dyn TensorFile, tensor: &TensorInfo) -> Result<Option<Vec<f32>>> {
    // What only translates is built without.
    if !cfg!(feature = "halves") {
        return Ok(None);
    }
    let kind = match tensor.dtype {
        DType::F16 | DType::BF16 => None,
        dtype => match block_type(dtype).filter(|_| cfg!(feature = "blocks")) {
            Some(kind) => Some(FileBlocks { file, tensor, kind }),
            None => return Ok(None),
        },
    };
    let count = tensor.num_elements();
    let mut values: Vec<f32> = room(file, tensor, count, "float32")?;
    let bytes_of = |values: usize| tensor.dtype.bytes_needed(values as u64).unwrap_or_default();
    while values.len() < count {
        let (start, end) = (values.len(), (values.len() + PIECE).min(count));
        if let Some(blocks) = &kind {
            let bytes = blocks.read(bytes_of(start)..bytes_of(end))?;
            values.resize(end, 0.0);
            blocks.kind.dequantize(&bytes, values.get_mut(start..).unwrap_or_default());
            continue;
        }
        read_floats(file, tensor, start..end, &mut values)?;
    }
    Ok(Some(values))
}

/// `at` counts from the start of the tensor.
fn not_finite(file: &dyn TensorFile, tensor: &TensorInfo, at: u64, what: &str) -> Error {
    Error::Tensor {
        file: file.name().to_owned(),
        tensor: tensor.name.clone(),
        offset: tensor.bytes.start + at,
        what: format!("{what} is infinite or no number, expected a finite one"),
    }
}
