//! The head of a safetensors file.

use super::OtherTensor;
use crate::error::{Error, Result};
use crate::formats::folder::{LONGEST_JSON, json};
use crate::formats::{ByteSource, DType, TensorInfo};
use serde_json::{Map, Value};

/// The tensors that are read here and the others, in the order of their data.
pub fn read(source: &dyn ByteSource) -> Result<(Vec<TensorInfo>, Vec<OtherTensor>)> {
    let file = source.name();
    if source.len() < 8 {
        let what = format!("the file has {} bytes, a safetensors file at least 8", source.len());
        return Err(Error::format(file, 0, what));
    }
    let length = source.read(0..8)?;
    let length = length.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let end = length.checked_add(8).filter(|end| *end <= source.len() && length <= LONGEST_JSON);
    let Some(end) = end else {
        let what = format!(
            "a head of {length} bytes; the file has {} and a head at most {LONGEST_JSON}",
            source.len()
        );
        return Err(Error::format(file, 0, what));
    };
    let text = source.read(8..end)?;
    let Value::Object(entries) = json(file, 8, &text)? else {
        return Err(Error::format(file, 8, "a head that is no JSON object"));
    };
    let mut places = entries
        .iter()
        .filter(|(name, _)| *name != "__metadata__")
        .map(|(name, entry)| Entry { file, name, data: end..source.len() }.read(entry))
        .collect::<Result<Vec<Place>>>()?;
    places.sort_by_key(|place| (place.info.bytes.start, place.info.bytes.end));
    let mut next = end;
    for place in &places {
        let TensorInfo { name, bytes, .. } = &place.info;
        if bytes.start < next {
            let what = format!("begins at {}, inside of what ends at {next}", bytes.start);
            return Err(fail(file, name, bytes.start, what));
        }
        next = bytes.end;
    }
    let (mut tensors, mut others) = (Vec::new(), Vec::new());
    for Place { info, unknown } in places {
        match unknown {
            None => tensors.push(info),
            Some(dtype) => {
                others.push(OtherTensor { name: info.name, dtype, offset: info.bytes.start });
            }
        }
    }
    Ok((tensors, others))
}

/// A tensor and, if it is of a type that is not read here, the name of that.
struct Place {
    info: TensorInfo,
    unknown: Option<String>,
}

struct Entry<'a> {
    file: &'a str,
    name: &'a str,
    /// Where the data of all tensors lies.
    data: std::ops::Range<u64>,
}

impl Entry<'_> {
    fn fail(&self, what: impl Into<String>) -> Error {
        fail(self.file, self.name, 8, what.into())
    }

    fn read(&self, entry: &Value) -> Result<Place> {
        let entry = entry.as_object().ok_or_else(|| self.fail("its entry is no object"))?;
        let shape = self.numbers(entry, "shape")?;
        let shape = shape.into_iter().map(usize::try_from).collect::<std::result::Result<_, _>>();
        let shape: Vec<usize> =
            shape.map_err(|_| self.fail("a shape past what memory can address"))?;
        let [start, end] = self.numbers(entry, "data_offsets")?[..] else {
            return Err(self.fail("data_offsets are two numbers, [start, end]"));
        };
        let there = self.data.end - self.data.start;
        if start > end || end > there {
            let what = format!("data_offsets [{start}, {end}] of {there} bytes of data");
            return Err(self.fail(what));
        }
        let dtype = entry.get("dtype").and_then(Value::as_str);
        let dtype =
            dtype.ok_or_else(|| self.fail("no dtype, expected a string such as \"F32\""))?;
        let known = match dtype {
            "F32" => Some(DType::F32),
            "F16" => Some(DType::F16),
            "BF16" => Some(DType::BF16),
            "I8" => Some(DType::Int8),
            _ => None,
        };
        let elements = shape.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim as u64));
        if let Some(dtype) = known {
            let needed = elements.and_then(|elements| dtype.bytes_needed(elements));
            if needed != Some(end - start) {
                let what = format!("{} bytes for the shape {shape:?} of {dtype}", end - start);
                return Err(self.fail(what));
            }
        }
        Ok(Place {
            info: TensorInfo {
                name: self.name.to_owned(),
                dtype: known.unwrap_or(DType::Int8),
                shape,
                bytes: self.data.start + start..self.data.start + end,
            },
            unknown: known.is_none().then(|| dtype.to_owned()),
        })
    }

    fn numbers(&self, entry: &Map<String, Value>, key: &str) -> Result<Vec<u64>> {
        let list = entry.get(key).and_then(Value::as_array);
        let numbers = list.and_then(|list| list.iter().map(Value::as_u64).collect());
        numbers.ok_or_else(|| self.fail(format!("{key} is no list of whole numbers")))
    }
}

fn fail(file: &str, tensor: &str, offset: u64, what: String) -> Error {
    Error::Tensor { file: file.to_owned(), tensor: tensor.to_owned(), offset, what }
}
