//! The head of a Marian `.bin` file: counts, names, shapes and data ranges, all checked before use.
//!
//! Layout (`binary.cpp` of Marian 1.8 to 1.12), little-endian:
//! u64 version = 1, u64 count; count × { u64 name_len, u64 type, u64 ndims, u64 data_len };
//! names (`name_len` bytes each, the last one NUL); shapes (i32 each); u64 padding length, padding;
//! the data of each tensor in order, up to the end of the file.

use super::{ByteSource, DType, TensorInfo, u64_at};
use crate::error::{Error, Result};

/// Version and count.
const PREFIX_BYTES: u64 = 16;
/// One fixed-size record: name_len, type, ndims, data_len.
const RECORD_BYTES: u64 = 32;
/// Marian's own models have some hundreds; this bounds what a damaged huge file can make us read.
const MAX_TENSORS: u64 = 1 << 16;
/// Marian writes two dimensions; its shapes hold four, with room to spare here.
const MAX_DIMS: u64 = 8;
/// Marian's longest names have some 60 bytes.
const MAX_NAME_BYTES: u64 = 4096;
/// Marian rounds each tensor's bytes up to its allocator's alignment.
pub(super) const ALIGNMENT: u64 = 256;

/// One fixed-size record and where it lies.
struct Record {
    offset: u64,
    name_bytes: u64,
    type_code: u64,
    num_dims: u64,
    data_bytes: u64,
}

/// Reads the head and returns the tensors in file order. Costs three reads whatever the count.
pub(super) fn read(source: &dyn ByteSource) -> Result<Vec<TensorInfo>> {
    let records = read_records(source)?;
    let names_start = PREFIX_BYTES + RECORD_BYTES * records.len() as u64;
    let (names, shapes_start) = read_names(source, &records, names_start)?;
    let (shapes, shapes_end) = read_shapes(source, &records, &names, shapes_start)?;
    let data_start = read_padding(source, shapes_end)?;

    let mut tensors = Vec::with_capacity(records.len());
    let mut start = data_start;
    for ((record, name), shape) in records.iter().zip(names).zip(shapes) {
        let dtype = dtype(source, record, &name)?;
        check_data_len(source, record, &name, dtype, &shape)?;
        let end = start.checked_add(record.data_bytes).filter(|end| *end <= source.len());
        let Some(end) = end else {
            return Err(Error::Tensor {
                file: source.name().to_owned(),
                offset: record.offset + 24,
                what: format!(
                    "its {} bytes of data would start at byte {start}, but the file ends at byte {}",
                    record.data_bytes,
                    source.len()
                ),
                tensor: name,
            });
        };
        tensors.push(TensorInfo { name, dtype, shape, bytes: start..end });
        start = end;
    }
    if start != source.len() {
        return Err(Error::format(
            source.name(),
            start,
            format!(
                "the data of the last tensor ends here, expected the end of the file at byte {}",
                source.len()
            ),
        ));
    }
    check_unique(source, &tensors, &records)?;
    Ok(tensors)
}

fn read_records(source: &dyn ByteSource) -> Result<Vec<Record>> {
    let file = source.name();
    if source.len() < PREFIX_BYTES {
        return Err(Error::format(
            file,
            0,
            format!("{} bytes found, a Marian file has at least {PREFIX_BYTES}", source.len()),
        ));
    }
    let prefix = source.read(0..PREFIX_BYTES)?;
    let version = field(file, &prefix, 0, 0)?;
    if version != 1 {
        return Err(Error::format(
            file,
            0,
            format!("version {version} found, expected 1 (Marian binary model)"),
        ));
    }
    let count = field(file, &prefix, 8, 0)?;
    let end = count
        .checked_mul(RECORD_BYTES)
        .and_then(|bytes| bytes.checked_add(PREFIX_BYTES))
        .filter(|end| (1..=MAX_TENSORS).contains(&count) && *end <= source.len());
    let Some(end) = end else {
        return Err(Error::format(
            file,
            8,
            format!(
                "{count} tensors announced, expected 1 to {} in a file of {} bytes",
                MAX_TENSORS.min((source.len() - PREFIX_BYTES) / RECORD_BYTES),
                source.len()
            ),
        ));
    };
    let bytes = source.read(PREFIX_BYTES..end)?;
    let mut records = Vec::with_capacity(bytes.len() / RECORD_BYTES as usize);
    for (index, record) in bytes.chunks_exact(RECORD_BYTES as usize).enumerate() {
        let offset = PREFIX_BYTES + RECORD_BYTES * index as u64;
        let record = Record {
            offset,
            name_bytes: field(file, record, 0, offset)?,
            type_code: field(file, record, 8, offset)?,
            num_dims: field(file, record, 16, offset)?,
            data_bytes: field(file, record, 24, offset)?,
        };
        if !(2..=MAX_NAME_BYTES).contains(&record.name_bytes) {
            return Err(Error::format(
                file,
                offset,
                format!(
                    "name of tensor {index} has {} bytes, expected 2 to {MAX_NAME_BYTES} with the NUL",
                    record.name_bytes
                ),
            ));
        }
        if !(1..=MAX_DIMS).contains(&record.num_dims) {
            return Err(Error::format(
                file,
                offset + 16,
                format!(
                    "tensor {index} has {} dimensions, expected 1 to {MAX_DIMS}",
                    record.num_dims
                ),
            ));
        }
        records.push(record);
    }
    Ok(records)
}

/// The names, and the offset behind them.
fn read_names(
    source: &dyn ByteSource,
    records: &[Record],
    start: u64,
) -> Result<(Vec<String>, u64)> {
    // at most 4096 bytes for each 32 already read: no overflow
    let end = start + records.iter().map(|record| record.name_bytes).sum::<u64>();
    let bytes = read_section(source, start, end, "names")?;
    let mut names = Vec::with_capacity(records.len());
    let mut rest = bytes.as_ref();
    for (index, record) in records.iter().enumerate() {
        let offset = end - rest.len() as u64;
        let fail = |what: String| Error::format(source.name(), offset, what);
        let split = rest.split_at_checked(record.name_bytes as usize);
        let (name, after) = split.ok_or_else(|| fail(format!("name of tensor {index} missing")))?;
        rest = after;
        let Some((0, name)) = name.split_last() else {
            return Err(fail(format!(
                "name of tensor {index} does not end in NUL: {:?}",
                String::from_utf8_lossy(name)
            )));
        };
        let name = str::from_utf8(name)
            .map_err(|error| fail(format!("name of tensor {index} is not UTF-8: {error}")))?;
        if name.contains('\0') {
            return Err(fail(format!("name of tensor {index} has a NUL inside: {name:?}")));
        }
        names.push(name.to_owned());
    }
    Ok((names, end))
}

/// The shapes, and the offset behind them.
fn read_shapes(
    source: &dyn ByteSource,
    records: &[Record],
    names: &[String],
    start: u64,
) -> Result<(Vec<Vec<usize>>, u64)> {
    // at most 8 dims for each 32 bytes already read: no overflow
    let end = start + records.iter().map(|record| 4 * record.num_dims).sum::<u64>();
    let bytes = read_section(source, start, end, "shapes")?;
    let mut dims = bytes.as_chunks::<4>().0.iter().map(|dim| i32::from_le_bytes(*dim));
    let mut offset = start;
    let mut shapes = Vec::with_capacity(records.len());
    for (record, name) in records.iter().zip(names) {
        let mut shape = Vec::with_capacity(record.num_dims as usize);
        for dim in dims.by_ref().take(record.num_dims as usize) {
            match usize::try_from(dim) {
                Ok(dim) if dim > 0 => shape.push(dim),
                _ => {
                    return Err(Error::Tensor {
                        file: source.name().to_owned(),
                        tensor: name.clone(),
                        offset,
                        what: format!("dimension {dim} found, expected at least 1"),
                    });
                }
            }
            offset += 4;
        }
        shapes.push(shape);
    }
    Ok((shapes, end))
}

/// Where the data starts: `at` holds the length of the padding that comes first.
fn read_padding(source: &dyn ByteSource, at: u64) -> Result<u64> {
    let bytes = read_section(source, at, at + 8, "padding length")?;
    let padding = field(source.name(), &bytes, 0, at)?;
    let left = source.len() - at - 8;
    if padding > left {
        return Err(Error::format(
            source.name(),
            at,
            format!("{padding} bytes of padding announced, {left} bytes are left in the file"),
        ));
    }
    Ok(at + 8 + padding)
}

/// Reads `start..end`, naming the section if the file ends before it.
fn read_section<'a>(
    source: &'a dyn ByteSource,
    start: u64,
    end: u64,
    section: &str,
) -> Result<std::borrow::Cow<'a, [u8]>> {
    if end > source.len() {
        return Err(Error::format(
            source.name(),
            start,
            format!(
                "the {section} should end at byte {end}, but the file ends at byte {}",
                source.len()
            ),
        ));
    }
    source.read(start..end)
}

fn dtype(source: &dyn ByteSource, record: &Record, name: &str) -> Result<DType> {
    match record.type_code {
        0x404 => Ok(DType::F32),
        0x4101 | 0x1_0001 => Ok(DType::Intgemm8),
        0x101 => Ok(DType::Int8),
        code => Err(Error::Unsupported {
            file: source.name().to_owned(),
            what: format!(
                "tensor {name} has type {code:#x} ({}) at byte {}; float32 (0x404), \
                 intgemm8 (0x4101, 0x10001) and int8 (0x101) are supported",
                type_name(code),
                record.offset + 8
            ),
        }),
    }
}

/// Marian's name of a type that is not read here.
fn type_name(code: u64) -> &'static str {
    match code {
        0x102 => "int16",
        0x104 => "int32",
        0x108 => "int64",
        0x201 => "uint8",
        0x202 => "uint16",
        0x204 => "uint32",
        0x208 => "uint64",
        0x402 => "float16",
        0x408 => "float64",
        0x802 => "packed16",
        0x1801 => "packed8avx2",
        0x2801 => "packed8avx512",
        0x4102 | 0x1_0002 => "intgemm16",
        0x4103..0x2_0000 if code & 0x1_4000 != 0 => "intgemm packed for one processor",
        _ => "unknown",
    }
}

/// The bytes announced must be those that shape and type need, plus at most the alignment.
fn check_data_len(
    source: &dyn ByteSource,
    record: &Record,
    name: &str,
    dtype: DType,
    shape: &[usize],
) -> Result<()> {
    let elements = shape.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim as u64));
    let needed = elements.and_then(|elements| dtype.bytes_needed(elements));
    let fits = needed.is_some_and(|needed| {
        needed <= record.data_bytes && record.data_bytes - needed < ALIGNMENT
    });
    if fits {
        // every later product and length of this tensor is at most this
        return match usize::try_from(record.data_bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::OutOfMemory {
                what: format!("tensor {name} of {}", source.name()),
                bytes: record.data_bytes,
            }),
        };
    }
    let needed = needed.map_or("more than 2^64".to_owned(), |needed| needed.to_string());
    Err(Error::Tensor {
        file: source.name().to_owned(),
        tensor: name.to_owned(),
        offset: record.offset + 24,
        what: format!(
            "{} bytes of data found, shape {shape:?} of {dtype} needs {needed}, \
             at most {} more as padding",
            record.data_bytes,
            ALIGNMENT - 1
        ),
    })
}

fn check_unique(source: &dyn ByteSource, tensors: &[TensorInfo], records: &[Record]) -> Result<()> {
    let mut order: Vec<_> = tensors.iter().zip(records).collect();
    order.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let twice = order.windows(2).find_map(|pair| match pair {
        [(a, _), (b, record)] if a.name == b.name => Some((&b.name, record.offset)),
        _ => None,
    });
    match twice {
        None => Ok(()),
        Some((name, offset)) => Err(Error::Tensor {
            file: source.name().to_owned(),
            tensor: name.clone(),
            offset,
            what: "name found twice, expected each name once".to_owned(),
        }),
    }
}

/// The u64 at `at` of `bytes`, which start at `offset` of the file.
fn field(file: &str, bytes: &[u8], at: usize, offset: u64) -> Result<u64> {
    u64_at(bytes, at)
        .ok_or_else(|| Error::format(file, offset + at as u64, "8 bytes expected, fewer found"))
}
