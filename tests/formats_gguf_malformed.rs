//! Damaged GGUF files, field by field: each error names the key or tensor and the byte. What bytes at random do is
//! tested with the other formats.

#![cfg(not(target_arch = "wasm32"))] // no clock and no files there
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failing test may panic anywhere

#[path = "support/cost.rs"]
mod cost;
mod formats_files;

use cost::{Read, SECOND, measured};
use formats_files::gguf::{Tensor, aligned, array, entry, gguf, small, string, strings, text, u32};
use multihead::{
    error::Error,
    formats::{MemoryFile, gguf::GgufFile},
};

/// The error of opening `bytes`, which comes at once and takes little memory.
#[track_caller]
fn fails(bytes: &[u8]) -> Error {
    let file = || Box::new(MemoryFile::new("model.gguf", bytes.to_vec()));
    let Read { outcome, time, memory } = measured(file, |file| GgufFile::open(file).err());
    assert!(time < SECOND, "{time:?}");
    let limit = 10_000 + 16 * bytes.len() as u64;
    assert!(memory < limit, "{memory} bytes of memory, limit {limit}");
    let error = outcome.expect("the file should be refused");
    assert_eq!(error.file(), Some("model.gguf"), "{error}");
    assert!(error.offset().unwrap_or(0) <= bytes.len() as u64, "{error}");
    error
}

#[track_caller]
fn opens(bytes: Vec<u8>) -> GgufFile {
    GgufFile::open(Box::new(MemoryFile::new("model.gguf", bytes))).unwrap_or_else(|e| panic!("{e}"))
}

/// The refusal names the tensor and says this.
#[track_caller]
fn tensor_fails(bytes: &[u8], tensor: &str, says: &str) -> Error {
    let error = fails(bytes);
    assert_eq!(error.tensor(), Some(tensor), "{error}");
    assert_eq!(error.code(), "model-corrupt");
    assert!(error.to_string().contains(says), "{error}");
    error
}

/// The refusal names the key and says this.
#[track_caller]
fn key_fails(bytes: &[u8], key: &str, says: &str) -> Error {
    let error = fails(bytes);
    let found = error.to_string();
    assert!(found.contains(&format!("metadata key {key}: ")) && found.contains(says), "{found}");
    assert_eq!(error.code(), "model-corrupt");
    error
}

/// Counts and lengths that no file has.
const ABSURD: [u64; 7] = [1 << 31, 1 << 32, 1 << 59, 1 << 61, i64::MAX as u64, 1 << 63, u64::MAX];

/// `bytes` with `value` at `at`.
fn with(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
    changed
}

/// Where these bytes stand in the file, once.
fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    let mut found = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(wanted));
    let at = found.next().expect("the bytes are there");
    assert_eq!(found.next(), None, "the bytes are there once");
    at
}

#[test]
fn counts_of_keys_and_tensors() {
    let bytes = small();
    for value in ABSURD {
        for (at, name) in [(8, "the number of tensors"), (16, "the number of keys")] {
            let error = fails(&with(&bytes, at, value));
            let found = error.to_string();
            assert!(found.contains(name) && found.contains(&format!("of {value}")), "{found}");
            // the counts are looked at when what they count comes
            assert!(error.offset().is_some());
        }
    }
    // one more than there are: what follows is taken for one
    assert_eq!(fails(&with(&bytes, 16, 9)).code(), "model-corrupt");
    assert_eq!(fails(&with(&bytes, 8, 4)).code(), "model-corrupt");
}

#[test]
fn lengths_of_keys_values_names_and_arrays() {
    let bytes = small();
    let before = |wanted: &[u8]| find(&bytes, wanted) - 8;
    for value in ABSURD {
        let error = fails(&with(&bytes, before(b"x.i8"), value));
        assert!(error.to_string().contains("metadata entry 2"), "{error}");
        let error = fails(&with(&bytes, before(b"norm"), value));
        assert!(error.to_string().contains("tensor 0 of the head"), "{error}");
        let length = before(b"llama\x11\0\0\0\0\0\0\0llama.block"); // of the value, not of the key behind
        let at = length as u64 + 8;
        let error =
            key_fails(&with(&bytes, length, value), "general.architecture", "bytes expected");
        assert_eq!(error.offset(), Some(at));

        let count = find(&bytes, b"tokens") + 6 + 4 + 4;
        let error =
            key_fails(&with(&bytes, count, value), "tokens", &format!("a count of {value}"));
        assert_eq!(error.offset(), Some(count as u64));
        key_fails(&with(&bytes, count + 8, value), "tokens", "bytes expected");
        let count = find(&bytes, b"types") + 5 + 4 + 4;
        key_fails(&with(&bytes, count, value), "types", &format!("a count of {value}"));
        let count = find(&bytes, b"nested") + 6 + 4 + 4;
        key_fails(&with(&bytes, count, value), "nested", &format!("a count of {value}"));
        // that of the inner array
        key_fails(&with(&bytes, count + 12, value), "nested", &format!("a count of {value}"));
    }
    let long = "k".repeat(65_535);
    assert_eq!(opens(gguf(&[u32(&long, 7)], &[])).metadata().integer(&long).unwrap(), Some(7));
    let error = fails(&gguf(&[u32(&"k".repeat(65_536), 7)], &[]));
    assert!(error.to_string().contains("metadata entry 0: a name of 65536 bytes"), "{error}");
    let error = fails(&gguf(&[u32("", 7)], &[]));
    assert!(error.to_string().contains("a name of 0 bytes, expected 1 to 65535"), "{error}");
    let error = fails(&gguf(&[], &[Tensor::f32("", &[1], &[1.0])]));
    assert!(error.to_string().contains("tensor 0 of the head: a name of 0 bytes"), "{error}");
}

#[test]
fn values_that_are_none() {
    key_fails(&gguf(&[entry("a", 13, &[0; 8])], &[]), "a", "value type 13 found, expected 0 to 12");
    key_fails(&gguf(&[entry("a", u32::MAX, &[0; 8])], &[]), "a", "value type 4294967295");
    key_fails(&gguf(&[entry("a", 7, &[2])], &[]), "a", "a bool of Some(2) found");
    let bools = entry("a", 9, &array(7, 3, &[1, 0, 255]));
    let error = key_fails(&gguf(&[bools], &[]), "a", "expected 0 or 1");
    assert_eq!(error.offset(), Some(24 + 8 + 1 + 4 + 12 + 2));
    key_fails(&gguf(&[entry("a", 9, &array(99, 0, &[]))], &[]), "a", "value type 99");
    key_fails(&gguf(&[u32("a", 1), string("b", "x"), u32("a", 1)], &[]), "a", "key found twice");
}

#[test]
fn text_that_is_not_utf8() {
    let bad = b"ab\xFFcd";
    let error = fails(&gguf(&[[&text(bad)[..], &[0; 5]].concat()], &[]));
    assert!(error.to_string().contains("metadata entry 0: text that is not UTF-8"), "{error}");
    assert_eq!(error.offset(), Some(24 + 8 + 2));
    key_fails(&gguf(&[entry("a", 8, &text(bad))], &[]), "a", "text that is not UTF-8");
    // two halves of a letter, each in a text of its own
    let halves = [text(b"\xC3"), text(b"\xA7")].concat();
    key_fails(&gguf(&[entry("a", 9, &array(8, 2, &halves))], &[]), "a", "text that is not UTF-8");
    let mut tensor = Tensor::f32("a", &[1], &[1.0]);
    tensor.name = bad.to_vec();
    let error = fails(&gguf(&[], &[tensor]));
    assert!(error.to_string().contains("tensor 0 of the head: text that is not"), "{error}");
}

#[test]
fn arrays_in_arrays() {
    let nested = |levels: usize| {
        let mut value = array(0, 1, &[7]);
        for _ in 1..levels {
            value = array(9, 1, &value);
        }
        gguf(&[entry("deep", 9, &value)], &[])
    };
    assert!(opens(nested(4)).metadata().get("deep").is_some());
    key_fails(&nested(5), "deep", "arrays in arrays, deeper than 4");
    // as many levels as a stack would not survive
    let levels: Vec<u8> = array(9, 1, &[]).repeat(200_000);
    key_fails(&gguf(&[entry("deep", 9, &levels)], &[]), "deep", "deeper than 4");
}

#[test]
fn alignments_that_are_none() {
    let tensor = || [Tensor::f32("a", &[2], &[1.0, 2.0]), Tensor::f32("b", &[1], &[3.0])];
    for alignment in [1, 8, 64, 4096] {
        let entries = [u32("general.alignment", alignment)];
        let model = opens(aligned(&entries, &tensor(), alignment as usize));
        let b = model.find("b").unwrap();
        assert_eq!(b.bytes.start % u64::from(alignment), 0);
        assert_eq!(
            model.read(b).unwrap(),
            multihead::formats::TensorData::F32(vec![3.0]),
            "alignment {alignment}"
        );
    }
    for alignment in [0, 3, 48, u32::MAX] {
        let bytes = gguf(&[u32("general.alignment", alignment)], &tensor());
        key_fails(&bytes, "general.alignment", &format!("uint32 {alignment} found, expected a"));
    }
    let bytes = gguf(&[entry("general.alignment", 10, &32_u64.to_le_bytes())], &tensor());
    key_fails(&bytes, "general.alignment", "uint64 32 found, expected a uint32");
    // the data would start behind the end of the file
    let bytes = gguf(&[u32("general.alignment", 1 << 31)], &[Tensor::f32("a", &[1], &[1.0])]);
    tensor_fails(&bytes, "a", "but the file ends at byte");
}

#[test]
fn offsets_of_data() {
    let two = |first: u64, second: u64| {
        let [a, b] = ["a", "b"].map(|name| Tensor::new(name, 0, &[10], vec![0; 40]));
        gguf(&[], &[a.at(first), b.at(second)])
    };
    assert_eq!(opens(two(0, 64)).tensors().len(), 2);
    assert_eq!(opens(two(64, 0)).tensors()[1].bytes.end % 32, 8, "another order");
    tensor_fails(&two(0, 32), "b", "overlaps with that of tensor a");
    tensor_fails(&two(32, 0), "a", "overlaps with that of tensor b");
    tensor_fails(&two(0, 0), "b", "overlaps with that of tensor a");
    for offset in [1, 33, u64::MAX] {
        let error =
            tensor_fails(&two(0, offset), "b", &format!("offset {offset} of its data is no mult"));
        let bytes = two(0, offset);
        let at = error.offset().unwrap() as usize;
        assert_eq!(bytes[at..at + 8], offset.to_le_bytes());
    }
    for offset in [96, 128, 1 << 32, 1 << 63, u64::MAX - 31] {
        let error = tensor_fails(&two(0, offset), "b", "40 bytes of data would start");
        let bytes = two(0, offset);
        let at = error.offset().unwrap() as usize;
        assert_eq!(bytes[at..at + 8], offset.to_le_bytes());
    }
}

#[test]
fn dimensions() {
    let one =
        |type_code, dims: &[u64]| gguf(&[], &[Tensor::new("w", type_code, dims, vec![0; 400])]);
    assert_eq!(opens(one(0, &[2, 3, 4, 4])).tensors()[0].shape, [4, 4, 3, 2]);
    tensor_fails(&one(0, &[]), "w", "0 dimensions found, expected 1 to 4");
    tensor_fails(&one(0, &[1, 1, 1, 1, 1]), "w", "5 dimensions found");
    for dims in [&[0][..], &[5, 0], &[0, u64::MAX]] {
        tensor_fails(&one(0, dims), "w", "expected each at least 1");
    }
    for type_code in [0, 1, 8, 30] {
        for dims in [
            &[1 << 32, 1 << 32][..],
            &[1 << 32, 1 << 31],
            &[1 << 62, 2],
            &[32, 1 << 63],
            &[u64::MAX - 31, 2],
            &[u64::MAX - 31, u64::MAX],
            &[1 << 16, 1 << 16, 1 << 16, 1 << 16],
        ] {
            // too much for 64 bits, or for the file
            tensor_fails(&one(type_code, dims), "w", "bytes of");
        }
    }
    tensor_fails(&one(0, &[10, 11]), "w", "its 440 bytes of data would start 0 bytes behind");
    for (type_code, row, says) in [
        (8, 33, "rows of 33 values are no whole number of Q8_0 blocks of 32"),
        (2, 16, "rows of 16 values are no whole number of Q4_0 blocks of 32"),
        (12, 288, "rows of 288 values are no whole number of Q4_K blocks of 256"),
        (20, 1, "rows of 1 values are no whole number of IQ4_NL blocks of 32"),
    ] {
        let error = tensor_fails(&one(type_code, &[row, 32]), "w", says);
        assert!(error.to_string().contains(&format!("dimensions [{row}, 32]")), "{error}");
    }
}

#[test]
fn names_that_are_there_twice() {
    let tensors = ["b", "a", "b"].map(|name| Tensor::f32(name, &[1], &[1.0]));
    tensor_fails(&gguf(&[], &tensors), "b", "name found twice");
}

#[test]
fn types_that_are_not_read_are_named() {
    for (code, name) in [
        (17, "IQ2_XS"),
        (10, "Q2_K"),
        (15, "Q8_K"),
        (23, "IQ4_XS"),
        (26, "I32"),
        (39, "MXFP4"),
        (4, "Q4_2, given up in 2023"),
        (42, "unknown to this version"),
        (u32::MAX, "unknown to this version"),
    ] {
        let error = fails(&gguf(&[], &[Tensor::new("blk.0.w", code, &[256], vec![0; 100])]));
        assert_eq!(error.code(), "model-unsupported");
        let says = format!(
            "tensor blk.0.w has type {code} ({name}), which is not supported; known: float32, "
        );
        assert!(error.to_string().contains(&says), "{error}");
        assert!(error.to_string().contains("Q4_K, Q5_K, Q6_K, IQ4_NL, bfloat16"), "{error}");
    }
}

#[test]
fn versions_of_the_block_layout() {
    let quantised = |version| {
        let entries = [u32("general.quantization_version", version)];
        gguf(&entries, &[Tensor::new("w", 8, &[32], vec![0; 34])])
    };
    assert_eq!(opens(quantised(2)).tensors().len(), 1);
    let error = fails(&quantised(1));
    assert_eq!(error.code(), "model-unsupported");
    assert!(error.to_string().contains("general.quantization_version 1, by which"), "{error}");
}

#[test]
fn many_small_things_stay_within_the_memory_of_their_file() {
    let bytes =
        gguf(&(0..3000).map(|index| u32(&format!("{index}"), index)).collect::<Vec<_>>(), &[]);
    // the last key is there twice
    let last = find(&bytes, b"2999");
    let mut twice = bytes.clone();
    twice[last + 3] = b'8';
    key_fails(&twice, "2998", "key found twice");

    let empty = strings("texts", &vec![""; 100_000]);
    fails(&gguf(&[empty, entry("a", 99, &[])], &[]));
    let arrays: Vec<u8> = array(0, 0, &[]).repeat(100_000);
    fails(&gguf(&[entry("arrays", 9, &array(9, 100_000, &arrays)), entry("a", 99, &[])], &[]));
    let tensors: Vec<Tensor> =
        (0..3000).map(|index| Tensor::f32(&format!("{}", index % 2999), &[1], &[0.5])).collect();
    tensor_fails(&gguf(&[], &tensors), "0", "name found twice");
}
