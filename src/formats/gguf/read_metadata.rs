//! The metadata of a head: keys, types and values.

use super::head::{Head, Place};
use super::metadata::{Entry, Metadata};
use super::value::{Array, Strings, Value, ValueType};
use crate::error::{Error, Result};

/// As ggml's description of the format has it.
const MAX_KEY_BYTES: u64 = 65_535;
/// Length of a key, one letter of it, type of a value, the value.
const LEAST_ENTRY_BYTES: u64 = 8 + 1 + 4 + 1;
/// Arrays of arrays may be nested; no known model has any.
const MAX_DEPTH: u32 = 4;

/// Reads `count` entries.
pub(super) fn read(head: &mut Head, count: u64) -> Result<Metadata> {
    head.check_count(count, LEAST_ENTRY_BYTES, Place::Head("the number of keys"))?;
    let mut entries = Vec::new();
    for number in 0..count {
        let offset = head.offset();
        let key = head.name(MAX_KEY_BYTES, Place::EntryNumber(number))?;
        let value = read_value(head, Place::Key(&key))?;
        entries.push(Entry { key, offset, value });
    }
    Metadata::new(head.file(), entries)
}

fn read_value(head: &mut Head, place: Place) -> Result<Value> {
    Ok(match value_type(head, place)? {
        ValueType::U8 => Value::U8(head.array(place).map(u8::from_le_bytes)?),
        ValueType::I8 => Value::I8(head.array(place).map(i8::from_le_bytes)?),
        ValueType::U16 => Value::U16(head.array(place).map(u16::from_le_bytes)?),
        ValueType::I16 => Value::I16(head.array(place).map(i16::from_le_bytes)?),
        ValueType::U32 => Value::U32(head.array(place).map(u32::from_le_bytes)?),
        ValueType::I32 => Value::I32(head.array(place).map(i32::from_le_bytes)?),
        ValueType::F32 => Value::F32(head.array(place).map(f32::from_le_bytes)?),
        ValueType::U64 => Value::U64(head.array(place).map(u64::from_le_bytes)?),
        ValueType::I64 => Value::I64(head.array(place).map(i64::from_le_bytes)?),
        ValueType::F64 => Value::F64(head.array(place).map(f64::from_le_bytes)?),
        ValueType::Bool => Value::Bool(read_bools(head, 1, place)?.first() == Some(&true)),
        ValueType::String => Value::String(head.string(place)?.to_owned()),
        ValueType::Array => Value::Array(read_array(head, place, 1)?),
    })
}

fn value_type(head: &mut Head, place: Place) -> Result<ValueType> {
    let offset = head.offset();
    let code = head.u32(place)?;
    ValueType::from_code(code).ok_or_else(|| {
        place.fail(head.file(), offset, format!("value type {code} found, expected 0 to 12"))
    })
}

fn read_array(head: &mut Head, place: Place, depth: u32) -> Result<Array> {
    let offset = head.offset();
    if depth > MAX_DEPTH {
        let what = format!("arrays in arrays, deeper than {MAX_DEPTH}");
        return Err(place.fail(head.file(), offset, what));
    }
    let element = value_type(head, place)?;
    let count = head.u64(place)?;
    Ok(match element {
        ValueType::U8 => Array::U8(read_numbers(head, count, u8::from_le_bytes, place)?),
        ValueType::I8 => Array::I8(read_numbers(head, count, i8::from_le_bytes, place)?),
        ValueType::U16 => Array::U16(read_numbers(head, count, u16::from_le_bytes, place)?),
        ValueType::I16 => Array::I16(read_numbers(head, count, i16::from_le_bytes, place)?),
        ValueType::U32 => Array::U32(read_numbers(head, count, u32::from_le_bytes, place)?),
        ValueType::I32 => Array::I32(read_numbers(head, count, i32::from_le_bytes, place)?),
        ValueType::F32 => Array::F32(read_numbers(head, count, f32::from_le_bytes, place)?),
        ValueType::U64 => Array::U64(read_numbers(head, count, u64::from_le_bytes, place)?),
        ValueType::I64 => Array::I64(read_numbers(head, count, i64::from_le_bytes, place)?),
        ValueType::F64 => Array::F64(read_numbers(head, count, f64::from_le_bytes, place)?),
        ValueType::Bool => Array::Bool(read_bools(head, count, place)?),
        ValueType::String => Array::Strings(read_strings(head, count, place)?),
        ValueType::Array => {
            // the type and the count of each
            head.check_count(count, 12, place)?;
            let mut arrays = Vec::new();
            for _ in 0..count {
                arrays.push(read_array(head, place, depth + 1)?);
            }
            Array::Arrays(arrays)
        }
    })
}

fn read_numbers<T, const N: usize>(
    head: &mut Head,
    count: u64,
    convert: fn([u8; N]) -> T,
    place: Place,
) -> Result<Vec<T>> {
    head.check_count(count, N as u64, place)?;
    let file = head.file();
    // no overflow: the file has as many bytes
    let bytes = head.bytes(count * N as u64, place)?;
    let mut values = reserve(file, bytes.len() / N, place)?;
    values.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| convert(*bytes)));
    Ok(values)
}

fn read_bools(head: &mut Head, count: u64, place: Place) -> Result<Vec<bool>> {
    let (file, offset) = (head.file(), head.offset());
    let bytes = head.bytes(count, place)?;
    if let Some(at) = bytes.iter().position(|byte| *byte > 1) {
        let what = format!("a bool of {:?} found, expected 0 or 1", bytes.get(at));
        return Err(place.fail(file, offset + at as u64, what));
    }
    let mut values = reserve(file, bytes.len(), place)?;
    values.extend(bytes.iter().map(|byte| *byte == 1));
    Ok(values)
}

fn read_strings(head: &mut Head, count: u64, place: Place) -> Result<Strings> {
    // the length of each
    head.check_count(count, 8, place)?;
    let file = head.file();
    let mut strings = Strings {
        text: String::new(),
        ends: reserve(file, usize::try_from(count).unwrap_or(usize::MAX), place)?,
    };
    for _ in 0..count {
        let offset = head.offset();
        strings.text.push_str(head.string(place)?);
        let end = u32::try_from(strings.text.len())
            .map_err(|_| place.fail(file, offset, "more than 4 GB of text in one array"))?;
        strings.ends.push(end);
    }
    strings.text.shrink_to_fit();
    Ok(strings)
}

fn reserve<T>(file: &str, count: usize, place: Place) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| Error::OutOfMemory {
        what: match place {
            Place::Key(key) => format!("metadata key {key} of {file}"),
            _ => format!("the metadata of {file}"),
        },
        bytes: (size_of::<T>() as u64).saturating_mul(count as u64),
    })?;
    Ok(values)
}
