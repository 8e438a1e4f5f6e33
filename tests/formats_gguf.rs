//! GGUF files: what the gguf package wrote and what it reads of that, and files made by hand.

#![cfg(not(target_arch = "wasm32"))] // no files there
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failing test may panic anywhere

mod formats_files;
mod support;

use formats_files::{LoggedFile, ShrinkingFile, gguf};
use multihead::{
    error::Error,
    formats::{
        DType, MemoryFile, TensorData, TensorFile,
        gguf::{Array, GgufFile, Metadata, Value},
    },
};
use serde_json::json;

fn open(bytes: Vec<u8>) -> Result<GgufFile, Error> {
    GgufFile::open(Box::new(MemoryFile::new("model.gguf", bytes)))
}

fn fails(bytes: Vec<u8>) -> Error {
    match open(bytes) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

/// A value as the fixtures have it.
fn to_json(value: &Value) -> serde_json::Value {
    let list = |array: &Array| match array {
        Array::U8(values) => json!(values),
        Array::I8(values) => json!(values),
        Array::U16(values) => json!(values),
        Array::I16(values) => json!(values),
        Array::U32(values) => json!(values),
        Array::I32(values) => json!(values),
        Array::F32(values) => json!(values),
        Array::Bool(values) => json!(values),
        Array::Strings(texts) => json!(texts.iter().collect::<Vec<_>>()),
        Array::U64(values) => json!(values),
        Array::I64(values) => json!(values),
        Array::F64(values) => json!(values),
        Array::Arrays(_) => panic!("the fixtures have none"),
    };
    let content = match value {
        Value::U8(value) => json!(value),
        Value::I8(value) => json!(value),
        Value::U16(value) => json!(value),
        Value::I16(value) => json!(value),
        Value::U32(value) => json!(value),
        Value::I32(value) => json!(value),
        Value::F32(value) => json!(value),
        Value::Bool(value) => json!(value),
        Value::String(value) => json!(value),
        Value::U64(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::F64(value) => json!(value),
        Value::Array(array) => {
            let of = array.value_type().to_string();
            return json!({ "type": "array", "of": of, "value": list(array) });
        }
    };
    json!({ "type": value.value_type().to_string(), "value": content })
}

#[test]
fn everything_the_package_wrote_is_read() {
    let wanted = support::json(&support::fixture("gguf/blocks.json"));
    let file = support::file(&support::fixture("gguf/blocks.gguf"));
    let model = GgufFile::open(Box::new(file)).unwrap();
    assert_eq!(model.version(), 3);
    let found: serde_json::Map<_, _> =
        model.metadata().iter().map(|(key, value)| (key.to_owned(), to_json(value))).collect();
    // architecture, alignment, 13 single values, an array of each type but arrays
    assert_eq!(found.len(), 2 + 13 + 12);
    assert_eq!(serde_json::Value::Object(found), wanted["metadata"]);

    let mut types = Vec::new();
    for (tensor, wanted) in model.tensors().iter().zip(wanted["tensors"].as_array().unwrap()) {
        let dims: Vec<usize> = tensor.shape.iter().rev().copied().collect();
        let found = json!({
            "name": tensor.name,
            "type": match tensor.dtype {
                DType::F32 => "F32".to_owned(),
                DType::F16 => "F16".to_owned(),
                DType::BF16 => "BF16".to_owned(),
                other => other.to_string(),
            },
            "dims": dims,
            "offset": tensor.bytes.start,
            "bytes": tensor.bytes.end - tensor.bytes.start,
        });
        assert_eq!(found, *wanted);
        assert_eq!(model.find(&tensor.name), Some(tensor));
        types.push(tensor.dtype);
    }
    assert_eq!(model.tensors().len(), wanted["tensors"].as_array().unwrap().len());
    types.sort_by_key(|dtype| dtype.to_string());
    types.dedup();
    assert_eq!(types.len(), 12, "{types:?}");
    assert_eq!(model.find("absent"), None);
}

#[test]
fn a_file_made_by_hand() {
    let model = open(gguf::small()).unwrap();
    let metadata = model.metadata();
    assert_eq!((metadata.len(), metadata.is_empty()), (8, false));
    assert_eq!(metadata.get("x.i8"), Some(&Value::I8(-128)));
    let nested = Array::Arrays(vec![Array::U8(vec![7, 9]), Array::Bool(vec![false])]);
    assert_eq!(metadata.get("nested"), Some(&Value::Array(nested)));
    let tokens = metadata.strings("tokens").unwrap().unwrap();
    assert_eq!(tokens.iter().collect::<Vec<_>>(), ["a", "", "ção"]);
    assert_eq!((tokens.len(), tokens.get(2), tokens.get(3)), (3, Some("ção"), None));

    assert_eq!(model.tensors().len(), 3);
    let [norm, q8, half] = ["norm", "q8", "half"].map(|name| model.find(name).unwrap());
    assert_eq!(model.read(norm).unwrap(), TensorData::F32(vec![0.5, -1.5]));
    // outermost first: two rows of 32 values, two planes of one row of three
    assert_eq!((q8.dtype, q8.shape.as_slice()), (DType::Q8_0, [2, 32].as_slice()));
    assert_eq!((half.dtype, half.shape.as_slice()), (DType::F16, [2, 1, 3].as_slice()));
    assert_eq!(model.read(q8).unwrap(), TensorData::Stored((0..68).collect()));
    let dynamic: &dyn TensorFile = &model;
    assert_eq!(*dynamic.read_part(q8, 34..36).unwrap(), [34, 35]);
    assert_eq!(dynamic.read_part(q8, 0..69).unwrap_err().code(), "internal");
    assert_eq!(dynamic.find("half"), Some(half));
}

#[test]
fn versions_and_byte_orders() {
    let mut bytes = gguf::small();
    bytes[4] = 2;
    assert_eq!(open(bytes.clone()).unwrap().version(), 2);
    for (version, says) in [
        ([1, 0, 0, 0], "GGUF version 1, of 2023"),
        ([0, 0, 0, 3], "a big-endian GGUF file (version 3)"),
        ([4, 0, 0, 0], "GGUF version 4; versions 2 and 3 are read"),
    ] {
        bytes[4..8].copy_from_slice(&version);
        let error = fails(bytes.clone());
        assert_eq!((error.code(), error.file()), ("model-unsupported", Some("model.gguf")));
        assert!(error.to_string().contains(says), "{error}");
    }
    bytes[4..8].copy_from_slice(&[0; 4]);
    let error = fails(bytes);
    assert_eq!((error.code(), error.offset()), ("model-corrupt", Some(4)));
    let error = fails(b"<!DOCTYPE html>".to_vec());
    assert!(error.to_string().contains("begins with \"<!DO\""), "{error}");
}

#[test]
fn one_file_of_several_says_so() {
    let split = |count: u16, no: u16| {
        gguf::gguf(
            &[
                gguf::entry("split.count", 2, &count.to_le_bytes()),
                gguf::entry("split.no", 2, &no.to_le_bytes()),
            ],
            &[],
        )
    };
    assert!(open(split(1, 0)).is_ok());
    let error = fails(split(3, 1));
    assert_eq!(error.code(), "model-unsupported");
    assert!(error.to_string().contains("file 2 of the 3 (split.count)"), "{error}");
    assert!(error.to_string().contains("llama-gguf-split --merge"), "{error}");
}

#[test]
fn getters_name_the_key_and_what_they_found() {
    let array = |code, count, bytes: &[u8]| gguf::array(code, count, bytes);
    let model = open(gguf::gguf(
        &[
            gguf::string("text", &"long ".repeat(100)),
            gguf::u32("llama.block_count", 30),
            gguf::entry("minus", 5, &(-5_i32).to_le_bytes()),
            gguf::entry("large", 10, &u64::MAX.to_le_bytes()),
            gguf::entry("small", 3, &7_i16.to_le_bytes()),
            gguf::entry("eps", 6, &1e-5_f32.to_le_bytes()),
            gguf::entry("double", 12, &0.1_f64.to_le_bytes()),
            gguf::entry("infinite", 6, &f32::INFINITY.to_le_bytes()),
            gguf::entry("past", 12, &1e300_f64.to_le_bytes()),
            gguf::entry("yes", 7, &[1]),
            gguf::strings("texts", &["a"]),
            gguf::entry("floats", 9, &array(6, 1, &0.5_f32.to_le_bytes())),
            gguf::entry("ints", 9, &array(1, 2, &[0xFF, 3])),
            gguf::entry("longs", 9, &array(10, 1, &u64::MAX.to_le_bytes())),
            gguf::entry("bools", 9, &array(7, 2, &[1, 0])),
            gguf::entry("none", 9, &array(5, 0, &[])),
        ],
        &[],
    ))
    .unwrap();
    let metadata = model.metadata();
    assert_eq!(metadata.required("llama.block_count", Metadata::integer).unwrap(), 30);
    assert_eq!(metadata.integer("small").unwrap(), Some(7));
    assert_eq!(metadata.integer("absent").unwrap(), None);
    assert_eq!(metadata.float("eps").unwrap(), Some(1e-5));
    assert_eq!(metadata.float("double").unwrap(), Some(0.1));
    assert_eq!(metadata.boolean("yes").unwrap(), Some(true));
    assert_eq!(metadata.string("text").unwrap().unwrap().len(), 500);
    assert_eq!(metadata.strings("texts").unwrap().unwrap().get(0), Some("a"));
    assert_eq!(metadata.floats("floats").unwrap(), Some([0.5].as_slice()));
    assert_eq!(metadata.integers("ints").unwrap(), Some(vec![-1, 3]));
    assert_eq!(metadata.integers("none").unwrap(), Some(vec![]));
    assert_eq!(metadata.booleans("bools").unwrap(), Some([true, false].as_slice()));

    let error = metadata.required("llama.head_count", Metadata::integer).unwrap_err();
    let found = error.to_string();
    assert!(found.contains("model.gguf, metadata key llama.head_count: missing"), "{found}");
    assert_eq!((error.code(), error.offset()), ("model-corrupt", None));
    let ten = metadata.integer("text").unwrap_err().to_string();
    assert!(ten.contains("string \"long long long long long long long long \"… found"), "{ten}");
    for (key, found, says) in [
        ("minus", metadata.integer("minus").map(|_| ()), "int32 -5 found, expected an integer"),
        ("yes", metadata.integer("yes").map(|_| ()), "bool true found, expected an integer"),
        ("infinite", metadata.float("infinite").map(|_| ()), "float32 inf found, expected a fin"),
        ("past", metadata.float("past").map(|_| ()), "expected a finite float"),
        ("eps", metadata.boolean("eps").map(|_| ()), "float32 0.00001 found, expected a bool"),
        ("texts", metadata.string("texts").map(|_| ()), "array of 1 string found, expected a str"),
        ("ints", metadata.floats("ints").map(|_| ()), "array of 2 int8 found, expected an array"),
        ("longs", metadata.integers("longs").map(|_| ()), "array of 1 uint64 found"),
        ("floats", metadata.booleans("floats").map(|_| ()), "expected an array of bool"),
        ("bools", metadata.strings("bools").map(|_| ()), "expected an array of string"),
    ] {
        let error = found.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("metadata key {key}: ")) && text.contains(says), "{text}");
        assert!(error.offset().is_some(), "{text}");
    }
    if usize::BITS == 64 {
        assert_eq!(metadata.integer("large").unwrap(), Some(usize::MAX));
    }
}

#[test]
fn a_long_head_takes_few_reads_and_little_memory() {
    let texts: Vec<String> = (0..200_000).map(|index| format!("token{index}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let entries = [gguf::strings("tokens", &texts), gguf::string("after", "it")];
    let bytes = gguf::gguf(&entries, &[gguf::Tensor::f32("a", &[2], &[1.0, 2.0])]);
    let len = bytes.len() as u64;
    assert!(len > 3 << 20);
    let file = LoggedFile::new("model.gguf", bytes);
    let reads = file.reads.clone();
    let model = GgufFile::open(Box::new(file)).unwrap();
    let reads = reads.lock().unwrap();
    assert!(reads.len() <= 5, "{} reads", reads.len());
    let total: u64 = reads.iter().map(|range| range.end - range.start).sum();
    assert!(total < len + 100, "{total} bytes read of {len}");
    let tokens = model.metadata().strings("tokens").unwrap().unwrap();
    assert!(tokens.iter().eq(texts), "every token, those across the reads' borders too");
    assert_eq!(model.metadata().string("after").unwrap(), Some("it"));
}

#[test]
fn a_file_that_shrinks_while_it_is_read() {
    let bytes = gguf::small();
    let claimed = bytes.len() as u64;
    for len in [0, 3, 20, 100, 300] {
        let file = MemoryFile::new("model.gguf", bytes[..len].to_vec());
        let result = GgufFile::open(Box::new(ShrinkingFile { claimed, file }));
        let error = result.err().expect("the head is not whole");
        assert_eq!((error.code(), error.file()), ("model-corrupt", Some("model.gguf")));
    }
    let file = MemoryFile::new("model.gguf", bytes[..bytes.len() - 1].to_vec());
    let Ok(model) = GgufFile::open(Box::new(ShrinkingFile { claimed, file })) else {
        // the head is read in pieces, and the first one is short already
        return;
    };
    let error = model.read(model.find("half").unwrap()).unwrap_err();
    assert_eq!(error.tensor(), Some("half"));
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    let tensor = gguf::Tensor::f32("norm", &[3], &[1.0, f32::NAN, 2.0]);
    let model = open(gguf::gguf(&[], &[tensor])).unwrap();
    let error = model.read(model.find("norm").unwrap()).unwrap_err();
    assert_eq!(error.tensor(), Some("norm"));
    assert_eq!(error.offset(), Some(model.find("norm").unwrap().bytes.start + 4));
}
