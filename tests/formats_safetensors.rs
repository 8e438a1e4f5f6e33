//! Safetensors by hand and by the library's own writer: what is read, and every way in which a file can contradict itself.
#![cfg(not(target_arch = "wasm32"))] // no clock and no files there
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failing test may panic anywhere

#[path = "support/cost.rs"]
mod cost;
mod support;

use cost::{Read, SECOND, measured};
use multihead::error::Error;
use multihead::formats::safetensors::{SafetensorsFile, SafetensorsFolder};
use multihead::formats::{DType, MemoryFile, TensorData, TensorFile};
use proptest::prelude::*;
use support::encoders::{Files, as_folder};
use support::fixture;

fn file(head: &str, data: &[u8]) -> Vec<u8> {
    [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), data].concat()
}

fn open(bytes: &[u8]) -> Result<SafetensorsFile, Error> {
    SafetensorsFile::open(Box::new(MemoryFile::new("model.safetensors", bytes.to_vec())))
}

const TWO: &str = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"I8","shape":[2],"data_offsets":[8,10]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"i":{"dtype":"I64","shape":[1],"data_offsets":[10,18]}}"#;

fn two() -> Vec<u8> {
    let data = [&1.5f32.to_le_bytes()[..], &(-2.0f32).to_le_bytes(), &[3, 0xff], &[0; 8]].concat();
    file(TWO, &data)
}

#[test]
fn tensors_are_found_where_the_head_says() {
    let model = open(&two()).unwrap();
    let names: Vec<&str> = model.tensors().iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["a", "b"], "in the order of their data");
    let a = model.find("a").unwrap();
    assert_eq!((a.dtype, &a.shape[..]), (DType::F32, &[1, 2][..]));
    assert_eq!(model.read(a).unwrap(), TensorData::F32(vec![1.5, -2.0]));
    let b = model.read(model.find("b").unwrap()).unwrap();
    assert_eq!(b, TensorData::Int8 { values: vec![3, -1], multiplier: 1.0 });
    // What is of another type is no tensor of ours, but known.
    assert!(model.find("i").is_none());
    assert_eq!((model.others()[0].name.as_str(), model.others()[0].dtype.as_str()), ("i", "I64"));
}

#[test]
fn files_of_the_library_are_read() {
    // Written by safetensors for transformers; three shards with an index.
    let mut folder = as_folder(support::encoders::files(&fixture("encoders/roberta-embed")));
    let model = SafetensorsFolder::open(&mut folder, "").unwrap();
    let table = model.find("embeddings.word_embeddings.weight").unwrap();
    assert_eq!(table.shape[1], 24);
    let TensorData::F32(values) = model.read(table).unwrap() else { panic!() };
    assert_eq!(values.len(), table.shape[0] * 24);
    assert!(model.tensors().count() > 30);
}

#[track_caller]
fn fails(bytes: &[u8], says: &str) {
    let Read { outcome, time, memory } = measured(|| bytes, |bytes| open(bytes).err());
    assert!(time < SECOND, "{time:?}");
    let error = outcome.expect("the file should be refused");
    assert!(memory < 20_000 + 64 * bytes.len() as u64, "{memory}");
    assert_eq!((error.code(), error.file()), ("model-corrupt", Some("model.safetensors")));
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn heads_that_contradict_the_file() {
    let bytes = two();
    for length in [1 << 31, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX, bytes.len() as u64] {
        fails(&[&length.to_le_bytes()[..], &bytes[8..]].concat(), "a head of");
    }
    fails(&[], "0 bytes");
    fails(&bytes[..7], "7 bytes");
    fails(&bytes[..20], "a head of");
    fails(&bytes[..bytes.len() - 1], "data_offsets");
    fails(&file("[]", &[]), "no JSON object");
    fails(&file("{", &[]), "no JSON");
    fails(&file(&"[".repeat(100_000), &[]), "no JSON");
    fails(b"version https://git-lfs.github.com/spec/v1", "a head of");
    fails(b"<!doctype html><title>404</title>", "a head of");
}

#[test]
fn tensors_that_contradict_their_head() {
    let entry = |entry: &str| file(&format!("{{\"w\":{entry}}}"), &[0; 8]);
    for (head, says) in [
        (r#"{"shape":[2],"data_offsets":[0,8]}"#, "no dtype"),
        (r#"{"dtype":5,"shape":[2],"data_offsets":[0,8]}"#, "no dtype"),
        (r#"{"dtype":"F32","data_offsets":[0,8]}"#, "shape is no list"),
        (r#"{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}"#, "shape is no list"),
        (r#"{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}"#, "shape is no list"),
        (r#"{"dtype":"F32","shape":[2],"data_offsets":[0]}"#, "two numbers"),
        (r#"{"dtype":"F32","shape":[2],"data_offsets":[8,0]}"#, "[8, 0] of 8 bytes"),
        (r#"{"dtype":"F32","shape":[2],"data_offsets":[0,16]}"#, "[0, 16] of 8 bytes"),
        (r#"{"dtype":"F32","shape":[3],"data_offsets":[0,8]}"#, "8 bytes for the shape [3]"),
        (r#"{"dtype":"F16","shape":[2],"data_offsets":[0,8]}"#, "8 bytes for the shape [2]"),
        (
            r#"{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}"#,
            "for the shape",
        ),
        (r#"[]"#, "no object"),
    ] {
        fails(&entry(head), says);
    }
    let one = r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#;
    fails(&file(&format!("{{\"v\":{one},\"w\":{one}}}"), &[0; 8]), "inside of what ends at");
    let nan = file(&format!("{{\"w\":{one}}}"), &[0, 0, 0x80, 0x7f, 0, 0, 0, 0]);
    let model = open(&nan).unwrap();
    let error = model.read(&model.tensors()[0]).unwrap_err();
    assert_eq!(error.tensor(), Some("w"));
}

#[test]
fn a_missing_shard_and_a_damaged_index_are_named() {
    let files = || support::encoders::files(&fixture("encoders/roberta-embed"));
    let fails =
        |files: Files| SafetensorsFolder::open(&mut as_folder(files), "").map(|_| ()).unwrap_err();
    let mut without = files();
    without.retain(|name, _| !name.contains("-00002-") && !name.contains("-00003-"));
    let error = fails(without);
    assert_eq!(error.code(), "model-unsupported");
    let said = error.to_string();
    assert!(said.contains("2 of 3 files missing") && said.contains("-00003-of-00003"), "{said}");
    // An index may name any number of them.
    let names: Vec<String> =
        (10..60).map(|shard| format!("\"t{shard}\":\"{shard}.safetensors\"")).collect();
    let mut many = files();
    let index = format!("{{\"weight_map\":{{{}}}}}", names.join(","));
    many.insert("model.safetensors.index.json".to_owned(), index.into_bytes());
    let said = fails(many).to_string();
    assert!(said.ends_with("50 of 50 files missing: 10.safetensors, 11.safetensors, 12.safetensors, 13.safetensors, 14.safetensors, 15.safetensors, 16.safetensors, 17.safetensors, 18.safetensors, 19.safetensors, 20.safetensors, 21.safetensors, …"), "{said}");
    for (index, says) in [
        ("{}", "weight_map"),
        (r#"{"weight_map":{"a":5}}"#, "a file name for each tensor"),
        (r#"{"weight_map":7}"#, "an object"),
        ("{]", "no JSON"),
    ] {
        let mut damaged = files();
        damaged.insert("model.safetensors.index.json".to_owned(), index.as_bytes().to_vec());
        let error = fails(damaged);
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.file(), Some("model.safetensors.index.json"));
    }
    let error = fails(Files::new());
    assert!(error.to_string().contains("there is no model.safetensors"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// One byte changed anywhere: the file opens or is refused, and what opens can be read.
    #[test]
    fn a_changed_byte_does_no_harm(at in 0..220usize, byte: u8) {
        let mut bytes = two();
        let at = at % bytes.len();
        bytes[at] = byte;
        match open(&bytes) {
            Ok(model) => {
                for tensor in model.tensors() {
                    prop_assert!(tensor.bytes.end <= bytes.len() as u64);
                    let _ = model.read(tensor);
                }
            }
            Err(error) => prop_assert_eq!(error.file(), Some("model.safetensors")),
        }
    }
}
