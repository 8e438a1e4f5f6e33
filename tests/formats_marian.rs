//! The Marian reader on files whose every byte is written in the test.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod formats_files;

use formats_files::{LoggedFile, ShrinkingFile, Tensor, marian};
use multihead::{
    error::Error,
    formats::{DType, MemoryFile, TensorData, marian::MarianFile},
};

const CONFIG: &str = "dim-emb: 2\ndim-vocabs:\n  - 3\n  - 3\n";

fn tensors() -> Vec<Tensor> {
    vec![
        Tensor::intgemm8("Wemb", &[3, 2], &[1, -2, 3, 127, -127, -128], 63.5).padded(),
        Tensor::f32("b", &[1, 4], &[0.0, -1.5, 3.25, f32::MIN_POSITIVE]).padded(),
        Tensor::f32("alpha", &[1, 1], &[12.0]),
        Tensor::config(CONFIG),
    ]
}

fn open(tensors: &[Tensor]) -> Result<MarianFile, Error> {
    MarianFile::open(Box::new(MemoryFile::new("m.bin", marian(tensors))))
}

fn refusal(tensors: &[Tensor]) -> Error {
    match open(tensors) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

#[test]
fn reads_values_shapes_and_configuration() {
    let model = open(&tensors()).unwrap();
    assert_eq!(model.name(), "m.bin");
    assert_eq!(model.config().integer("dim-emb").unwrap(), Some(2));
    assert_eq!(model.config().integers("dim-vocabs").unwrap(), Some(vec![3, 3]));

    // 16 + 4·32 + (5 + 2 + 6 + 18) + 7·4 + 8 bytes of head = 211: the data starts at 256
    let wemb = model.find("Wemb").unwrap();
    assert_eq!((wemb.dtype, wemb.shape.as_slice()), (DType::Intgemm8, [3, 2].as_slice()));
    assert_eq!(wemb.bytes, 256..512);
    assert_eq!(model.find("b").unwrap().bytes, 512..768);
    assert_eq!(model.find("alpha").unwrap().bytes, 768..772);
    assert_eq!(model.find("special:model.yml").unwrap().bytes, 772..772 + CONFIG.len() as u64 + 1);
    assert_eq!(model.find("c"), None);
    assert_eq!(model.find(""), None);
    let names: Vec<_> = model.tensors().iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["Wemb", "b", "alpha", "special:model.yml"]);

    let read = |name| model.read(model.find(name).unwrap()).unwrap();
    let values = vec![1, -2, 3, 127, -127, -128];
    assert_eq!(read("Wemb"), TensorData::Int8 { values, multiplier: 63.5 });
    assert_eq!(read("b"), TensorData::F32(vec![0.0, -1.5, 3.25, f32::MIN_POSITIVE]));
    assert_eq!(read("alpha"), TensorData::F32(vec![12.0]));
    let TensorData::Int8 { values, multiplier: 1.0 } = read("special:model.yml") else {
        panic!("plain bytes have no multiplier")
    };
    assert_eq!(values[..4], [b'd' as i8, b'i' as i8, b'm' as i8, b'-' as i8]);
}

#[test]
fn reads_both_type_codes_of_intgemm8() {
    let mut tensors = tensors();
    tensors[0].type_code = 0x1_0001;
    let model = open(&tensors).unwrap();
    let wemb = model.find("Wemb").unwrap();
    assert_eq!(wemb.dtype, DType::Intgemm8);
    let values = vec![1, -2, 3, 127, -127, -128];
    assert_eq!(model.read(wemb).unwrap(), TensorData::Int8 { values, multiplier: 63.5 });
}

#[test]
fn reads_data_only_when_it_is_asked_for() {
    let file = LoggedFile::new("m.bin", marian(&tensors()));
    let reads = file.reads.clone();
    let model = MarianFile::open(Box::new(file)).unwrap();
    let config = model.find("special:model.yml").unwrap().bytes.clone();
    let opening = std::mem::take(&mut *reads.lock().unwrap());
    assert!(opening.iter().all(|range| range.end <= 256 || *range == config), "{opening:?}");
    assert_eq!(opening.len(), 6);
    let values = vec![1, -2, 3, 127, -127, -128];
    let data = model.read(model.find("Wemb").unwrap()).unwrap();
    assert_eq!(data, TensorData::Int8 { values, multiplier: 63.5 });
    // six values and the multiplier, none of the alignment
    let reads = std::mem::take(&mut *reads.lock().unwrap());
    assert_eq!((reads.len(), reads.first()), (1, Some(&(256..266))));
}

#[test]
fn refuses_element_types_it_cannot_read() {
    for (code, name) in [
        (0x402, "float16"),
        (0x408, "float64"),
        (0x4102, "intgemm16"),
        (0x802, "packed16"),
        (0x1801, "packed8avx2"),
        (0x2801, "packed8avx512"),
        (0x5101, "intgemm packed for one processor"),
        (0x1_0002, "intgemm16"),
        (0x1_9001, "intgemm packed for one processor"),
        (0x104, "int32"),
        (0, "unknown"),
        (u64::MAX, "unknown"),
    ] {
        let mut tensors = tensors();
        tensors[1].type_code = code;
        let error = refusal(&tensors);
        assert_eq!((error.code(), error.file()), ("model-unsupported", Some("m.bin")));
        let text = error.to_string();
        // the type field of the second record: 16 + 32 + 8
        for part in ["tensor b ", &format!("{code:#x} ({name})"), "byte 56"] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }
}

/// A change to the tensors, and what the error must say: offset, tensor, text.
type Case = (fn(&mut Vec<Tensor>), u64, Option<&'static str>, &'static str);

#[test]
fn names_offset_and_cause_of_what_is_wrong() {
    // offsets: records at 16, 48, 80, 112; names at 144, 149, 151, 157; shapes at 175, 183, 191, 199
    let cases: [Case; 19] = [
        (|t| t.clear(), 8, None, "0 tensors announced"),
        (|t| t[1].name = b"b".to_vec(), 48, None, "1 bytes, expected 2 to 4096"),
        (|t| t[1].name = vec![b'x'; 5000], 48, None, "5000 bytes"),
        (|t| t[1].name = b"bc".to_vec(), 149, None, "does not end in NUL: \"bc\""),
        (|t| t[1].name = b"\xFF\0".to_vec(), 149, None, "not UTF-8"),
        (|t| t[1].name = b"\0\0".to_vec(), 149, None, "NUL inside"),
        (|t| t[2].name = b"b\0".to_vec(), 80, Some("b"), "found twice"),
        (|t| t[1].shape = vec![], 48 + 16, None, "0 dimensions"),
        (|t| t[1].shape = vec![1; 9], 48 + 16, None, "9 dimensions"),
        (|t| t[1].shape = vec![1, 0], 187, Some("b"), "dimension 0 found"),
        (|t| t[1].shape = vec![-4, 1], 183, Some("b"), "dimension -4 found"),
        (|t| t[1].shape = vec![i32::MAX; 3], 48 + 24, Some("b"), "more than 2^64"),
        (|t| t[1].shape = vec![1, 65], 48 + 24, Some("b"), "needs 260"),
        (|t| t[0].shape = vec![253, 1], 16 + 24, Some("Wemb"), "needs 257"),
        (|t| t[2].data = vec![0; 260], 80 + 24, Some("alpha"), "260 bytes of data found"),
        (|t| t[3].type_code = 0x404, 112 + 24, Some("special:model.yml"), "of float32 needs"),
        (|t| t[3].data[1] = 0xFF, 773, Some("special:model.yml"), "not UTF-8"),
        (|t| t[3].data[7] = b'x', 772, None, "line 1"),
        (|t| t[3].data[11] = b'&', 783, None, "line 2"),
    ];
    for (index, (change, offset, tensor, text)) in cases.into_iter().enumerate() {
        let mut tensors = tensors();
        change(&mut tensors);
        let error = refusal(&tensors);
        assert_eq!(error.code(), "model-corrupt", "case {index}: {error}");
        assert_eq!(error.file(), Some("m.bin"), "case {index}: {error}");
        assert_eq!(error.offset(), Some(offset), "case {index}: {error}");
        assert_eq!(error.tensor(), tensor, "case {index}: {error}");
        assert!(error.to_string().contains(text), "case {index}: {error}");
    }
}

#[test]
fn refuses_a_file_without_configuration() {
    let mut without = tensors();
    without.pop();
    let error = refusal(&without);
    assert_eq!(error.tensor(), Some("special:model.yml"));
    assert!(matches!(error, Error::MissingTensor { .. }), "{error}");

    let mut as_floats = tensors();
    as_floats[3] = Tensor::f32("special:model.yml", &[1], &[1.0]);
    let error = refusal(&as_floats);
    assert_eq!(error.tensor(), Some("special:model.yml"));
    assert!(error.to_string().contains("stored as float32, expected int8"), "{error}");
}

#[test]
fn refuses_garbage_behind_the_data_and_another_version() {
    let opened = |bytes| MarianFile::open(Box::new(MemoryFile::new("m.bin", bytes))).map(|_| ());
    let good = marian(&tensors());
    opened(good.clone()).unwrap();
    let error = opened([good.as_slice(), &[0]].concat()).unwrap_err();
    assert_eq!(error.offset(), Some(good.len() as u64));
    let mut other = good.clone();
    other[0] = 2;
    let error = opened(other).unwrap_err();
    assert_eq!(error.offset(), Some(0));
    assert!(error.to_string().contains("version 2 found, expected 1"), "{error}");
    for bytes in [vec![], vec![1; 15], b"hello, this is no model at all".to_vec()] {
        assert_eq!(opened(bytes).unwrap_err().offset(), Some(0));
    }
}

#[test]
fn refuses_values_that_are_no_numbers() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut tensors = tensors();
        tensors[1] = Tensor::f32("b", &[1, 4], &[0.0, 1.0, bad, 2.0]).padded();
        let model = open(&tensors).unwrap();
        let error = model.read(model.find("b").unwrap()).unwrap_err();
        assert_eq!((error.tensor(), error.offset()), (Some("b"), Some(512 + 8)), "{error}");
    }
    for bad in [f32::NAN, f32::INFINITY, 0.0, -0.0, -1.0] {
        let mut tensors = tensors();
        tensors[0] = Tensor::intgemm8("Wemb", &[3, 2], &[0; 6], bad).padded();
        let model = open(&tensors).unwrap();
        let error = model.read(model.find("Wemb").unwrap()).unwrap_err();
        assert_eq!((error.tensor(), error.offset()), (Some("Wemb"), Some(256 + 6)), "{error}");
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let bytes = marian(&tensors());
    for len in 0..bytes.len() {
        let file = MemoryFile::new("m.bin", bytes[..len].to_vec());
        let file = ShrinkingFile { claimed: bytes.len() as u64, file };
        match MarianFile::open(Box::new(file)) {
            Err(error) => assert_eq!(error.file(), Some("m.bin")),
            Ok(model) => {
                for tensor in model.tensors() {
                    let used = match tensor.dtype {
                        DType::F32 => 4 * tensor.num_elements(),
                        DType::Intgemm8 => tensor.num_elements() + 4,
                        DType::Int8 => tensor.num_elements(),
                        other => panic!("{other} is no type of Marian's"),
                    };
                    let whole = tensor.bytes.start + used as u64 <= len as u64;
                    assert_eq!(model.read(tensor).is_ok(), whole, "{len} bytes, {tensor:?}");
                }
            }
        }
    }
}
