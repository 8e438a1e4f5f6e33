//! What a head says of the tensors: names, shapes, types and where their data lies, all checked before use.

use super::head::{Head, Place};
use super::types;
use crate::error::{Error, Result};
use crate::formats::{DType, TensorInfo};

/// The description says 64; some converters write longer ones.
const MAX_NAME_BYTES: u64 = 1024;
/// `GGML_MAX_DIMS`.
const MAX_DIMS: u32 = 4;
/// Length of a name, one letter of it, number of dimensions, one of them, type, offset.
const LEAST_TENSOR_BYTES: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor as the head has it.
struct Record {
    name: String,
    dtype: DType,
    /// Outermost first: reversed.
    shape: Vec<usize>,
    data_bytes: u64,
    /// Where the data starts, counted from the start of all data.
    data_offset: u64,
    /// Where in the file that number stands.
    at: u64,
}

/// Reads `count` tensors, whose data starts behind them at a multiple of `alignment`; in the order of the head.
pub(super) fn read(head: &mut Head, count: u64, alignment: u64) -> Result<Vec<TensorInfo>> {
    head.check_count(count, LEAST_TENSOR_BYTES, Place::Head("the number of tensors"))?;
    let mut records = Vec::new();
    for number in 0..count {
        records.push(read_record(head, number, alignment)?);
    }
    let (file, len) = (head.file(), head.len());
    let head_end = head.offset();
    let data_start = head_end.checked_next_multiple_of(alignment);
    let mut tensors = Vec::with_capacity(records.len());
    let mut places = Vec::with_capacity(records.len());
    for record in records {
        let start = data_start.and_then(|start| start.checked_add(record.data_offset));
        let end = start.and_then(|start| start.checked_add(record.data_bytes));
        let Some((start, end)) = start.zip(end.filter(|end| *end <= len)) else {
            let what = format!(
                "its {} bytes of data would start {} bytes behind the start of the data ({:?}), but the file ends at \
                 byte {len}",
                record.data_bytes,
                record.data_offset,
                data_start.unwrap_or(u64::MAX)
            );
            return Err(Place::Tensor(&record.name).fail(file, record.at, what));
        };
        places.push(record.at);
        let Record { name, dtype, shape, .. } = record;
        tensors.push(TensorInfo { name, dtype, shape, bytes: start..end });
    }
    check_names(file, &tensors, &places)?;
    check_overlaps(file, &tensors, &places)?;
    Ok(tensors)
}

fn read_record(head: &mut Head, number: u64, alignment: u64) -> Result<Record> {
    let name = head.name(MAX_NAME_BYTES, Place::TensorNumber(number))?;
    let place = Place::Tensor(&name);
    let file = head.file();
    let dims_at = head.offset();
    let num_dims = head.u32(place)?;
    if !(1..=MAX_DIMS).contains(&num_dims) {
        let what = format!("{num_dims} dimensions found, expected 1 to {MAX_DIMS}");
        return Err(place.fail(file, dims_at, what));
    }
    let dims = (0..num_dims).map(|_| head.u64(place)).collect::<Result<Vec<u64>>>()?;
    let type_at = head.offset();
    let dtype = types::dtype(head.u32(place)?).map_err(|what| Error::Unsupported {
        file: file.to_owned(),
        what: format!("tensor {name} has {what} (byte {type_at})"),
    })?;
    let at = head.offset();
    let data_offset = head.u64(place)?;
    if !data_offset.is_multiple_of(alignment) {
        let what = format!(
            "offset {data_offset} of its data is no multiple of the alignment, {alignment}"
        );
        return Err(place.fail(file, at, what));
    }
    let data_bytes = data_bytes(&dims, dtype).map_err(|what| {
        let what = format!("dimensions {dims:?} (the one of neighbouring values first): {what}");
        place.fail(file, dims_at + 4, what)
    })?;
    // as many as fit into the file, but perhaps not into this machine's memory
    let shape = dims.iter().rev().map(|dim| usize::try_from(*dim).ok()).collect();
    let elements = dims
        .iter()
        .try_fold(1_usize, |product, dim| product.checked_mul(usize::try_from(*dim).ok()?));
    match (shape, elements, usize::try_from(data_bytes)) {
        (Some(shape), Some(_), Ok(_)) => {
            Ok(Record { name, dtype, shape, data_bytes, data_offset, at })
        }
        _ => {
            Err(Error::OutOfMemory { what: format!("tensor {name} of {file}"), bytes: data_bytes })
        }
    }
}

/// Bytes of a tensor with these dimensions, innermost first.
fn data_bytes(dims: &[u64], dtype: DType) -> std::result::Result<u64, String> {
    let (row, block) = (dims.first().copied().unwrap_or(0), dtype.block_len());
    if dims.contains(&0) {
        return Err("expected each at least 1".to_owned());
    }
    if !row.is_multiple_of(block) {
        return Err(format!(
            "rows of {row} values are no whole number of {dtype} blocks of {block}"
        ));
    }
    let elements = dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim));
    elements
        .and_then(|elements| dtype.bytes_needed(elements))
        .ok_or_else(|| format!("more than 2^64 bytes of {dtype}"))
}

/// No name twice. `places` are those in the file, for errors.
fn check_names(file: &str, tensors: &[TensorInfo], places: &[u64]) -> Result<()> {
    let mut order: Vec<_> = tensors.iter().zip(places).collect();
    order.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    for pair in order.windows(2) {
        if let [(a, _), (b, at)] = pair
            && a.name == b.name
        {
            let what = "name found twice, expected each name once";
            return Err(Place::Tensor(&b.name).fail(file, **at, what));
        }
    }
    Ok(())
}

/// No byte of data in two tensors.
fn check_overlaps(file: &str, tensors: &[TensorInfo], places: &[u64]) -> Result<()> {
    let mut order: Vec<_> = tensors.iter().zip(places).collect();
    order.sort_by_key(|(tensor, _)| tensor.bytes.start);
    for pair in order.windows(2) {
        if let [(a, _), (b, at)] = pair
            && a.bytes.end > b.bytes.start
        {
            let what = format!(
                "its data in bytes {:?} overlaps with that of tensor {} in bytes {:?}",
                b.bytes, a.name, a.bytes
            );
            return Err(Place::Tensor(&b.name).fail(file, **at, what));
        }
    }
    Ok(())
}
