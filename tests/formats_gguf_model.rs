//! The public SmolLM2 file: metadata and tensors equal what the gguf package reads there.

#![cfg(not(target_arch = "wasm32"))] // no files there
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod formats_files;
mod support;

use formats_files::LoggedFile;
use multihead::formats::{
    DType, TensorInfo,
    gguf::{Array, GgufFile, Metadata, Value},
};
use serde_json::{Value as Json, json};

const MODEL: &str = "smollm2-135m-instruct";

/// The file, and what the package found in it.
fn open() -> (GgufFile, Json) {
    let path = support::model_file(MODEL, |name| name.ends_with(".gguf"));
    let file = LoggedFile::new("model.gguf", std::fs::read(path).unwrap());
    let reads = file.reads.clone();
    let model = GgufFile::open(Box::new(file)).unwrap();
    let reads = reads.lock().unwrap();
    // the head has 1.8 MB
    assert!(reads.len() <= 3, "{reads:?}");
    assert!(reads.iter().all(|range| range.end < 4 << 20), "{reads:?}");
    (model, support::json(&support::fixture("gguf/smollm2.json")))
}

/// Sum over i of word[i] · (i + 1) mod 2^64, as in `tests/fixtures/gguf/make.py`.
fn digest(words: impl Iterator<Item = u64>) -> u64 {
    let products = words.zip(1_u64..).map(|(word, place)| word.wrapping_mul(place));
    products.fold(0, u64::wrapping_add)
}

fn digest_texts<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    digest(texts.flat_map(|text| text.bytes().chain([0xFF])).map(u64::from))
}

fn to_json(value: &Value) -> Json {
    let summary = |of: &str, len: usize, digest: u64| json!({ "type": "array", "of": of, "value": { "len": len, "digest": digest } });
    match value {
        Value::String(text) => json!({ "type": "string", "value": text }),
        Value::U32(value) => json!({ "type": "uint32", "value": value }),
        Value::F32(value) => json!({ "type": "float32", "value": value }),
        Value::Bool(value) => json!({ "type": "bool", "value": value }),
        Value::Array(Array::Strings(texts)) if texts.len() <= 10 => {
            json!({ "type": "array", "of": "string", "value": texts.iter().collect::<Vec<_>>() })
        }
        Value::Array(Array::Strings(texts)) => {
            summary("string", texts.len(), digest_texts(texts.iter()))
        }
        Value::Array(Array::I32(values)) => {
            let words = values.iter().map(|value| i64::from(*value).cast_unsigned());
            summary("int32", values.len(), digest(words))
        }
        other => panic!("the file has no {}", other.value_type()),
    }
}

#[test]
fn metadata_is_what_the_package_reads() {
    let (model, wanted) = open();
    assert_eq!(json!(model.version()), wanted["version"]);
    let wanted = wanted["metadata"].as_object().unwrap();
    assert_eq!((model.metadata().len(), wanted.len()), (33, 33));
    for (key, value) in model.metadata().iter() {
        assert_eq!(to_json(value), wanted[key], "{key}");
    }
    // as a model's description asks for them
    let metadata = model.metadata();
    assert_eq!(metadata.string("general.architecture").unwrap(), Some("llama"));
    assert_eq!(metadata.required("llama.attention.head_count_kv", Metadata::integer).unwrap(), 3);
    assert_eq!(metadata.float("llama.rope.freq_base").unwrap(), Some(100_000.0));
    assert_eq!(metadata.boolean("tokenizer.ggml.add_bos_token").unwrap(), Some(false));
    let merges = metadata.required("tokenizer.ggml.merges", Metadata::strings).unwrap();
    assert_eq!((merges.len(), merges.get(0), merges.get(4)), (48_900, Some("Ġ t"), Some("Ġ Ġ")));
    let types = metadata.integers("tokenizer.ggml.token_type").unwrap().unwrap();
    assert_eq!(types[..18], [[3; 17].as_slice(), &[1]].concat());
}

/// ggml's name of a type.
fn type_name(tensor: &TensorInfo) -> String {
    match tensor.dtype {
        DType::F32 => "F32".to_owned(),
        other => other.to_string(),
    }
}

#[test]
fn tensors_are_what_the_package_reads() {
    let (model, wanted) = open();
    let wanted = wanted["tensors"].as_array().unwrap();
    assert_eq!((model.tensors().len(), wanted.len()), (272, 272));
    for (tensor, wanted) in model.tensors().iter().zip(wanted) {
        let dims: Vec<usize> = tensor.shape.iter().rev().copied().collect();
        assert_eq!(json!(tensor.name), wanted["name"]);
        assert_eq!(json!(type_name(tensor)), wanted["type"], "{}", tensor.name);
        assert_eq!(json!(dims), wanted["dims"], "{}", tensor.name);
        assert_eq!(json!(tensor.bytes.start), wanted["offset"], "{}", tensor.name);
        assert_eq!(
            json!(tensor.bytes.end - tensor.bytes.start),
            wanted["bytes"],
            "{}",
            tensor.name
        );
        assert_eq!(model.find(&tensor.name), Some(tensor));
    }
}
