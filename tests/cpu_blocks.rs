//! Blocks of GGUF files equal what the gguf package makes of them, bit for bit: random ones of every type with scales of
//! every kind, and all values of the public SmolLM2 file.

#![cfg(not(target_arch = "wasm32"))] // no files there
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod support;

use multihead::{
    backend::cpu::blocks::{BlockType, bf16_to_f32, f16_to_f32, quantize_q8_0},
    formats::{DType, TensorData, TensorInfo, gguf::GgufFile},
};
use std::path::Path;

/// Which blocks a type of a file is made of.
const BLOCKS: [(DType, BlockType); 9] = [
    (DType::Q8_0, BlockType::Q8_0),
    (DType::Q4_0, BlockType::Q4_0),
    (DType::Q4_1, BlockType::Q4_1),
    (DType::Q5_0, BlockType::Q5_0),
    (DType::Q5_1, BlockType::Q5_1),
    (DType::Iq4Nl, BlockType::Iq4Nl),
    (DType::Q4K, BlockType::Q4K),
    (DType::Q5K, BlockType::Q5K),
    (DType::Q6K, BlockType::Q6K),
];

fn open(path: &Path) -> GgufFile {
    GgufFile::open(Box::new(support::file(path))).unwrap()
}

fn stored(model: &GgufFile, name: &str) -> Vec<u8> {
    match model.read(model.find(name).unwrap()).unwrap() {
        TensorData::Stored(bytes) => bytes,
        other => panic!("{name} is {other:?}"),
    }
}

fn floats(model: &GgufFile, name: &str) -> Vec<f32> {
    match model.read(model.find(name).unwrap()).unwrap() {
        TensorData::F32(values) => values,
        other => panic!("{name} is {other:?}"),
    }
}

/// All values of a tensor.
fn dequantized(model: &GgufFile, tensor: &TensorInfo) -> Vec<f32> {
    if tensor.dtype == DType::F32 {
        return floats(model, &tensor.name);
    }
    let bytes = stored(model, &tensor.name);
    let halves = || bytes.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two));
    match tensor.dtype {
        DType::F16 => return halves().map(f16_to_f32).collect(),
        DType::BF16 => return halves().map(bf16_to_f32).collect(),
        _ => {}
    }
    let (_, blocks) = BLOCKS.iter().find(|(dtype, _)| *dtype == tensor.dtype).unwrap();
    let mut values = vec![f32::NAN; tensor.num_elements()];
    blocks.dequantize(&bytes, &mut values);
    values
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn files_and_kernels_mean_the_same_blocks() {
    for (dtype, blocks) in BLOCKS {
        assert_eq!(dtype.block_len(), blocks.values() as u64, "{dtype}");
        assert_eq!(dtype.block_bytes(), blocks.bytes() as u64, "{dtype}");
    }
    assert_eq!(BLOCKS.map(|(_, blocks)| blocks), BlockType::ALL);
}

#[test]
fn random_blocks_have_the_packages_values() {
    let model = open(&support::fixture("gguf/blocks.gguf"));
    let names = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "q4_k", "q5_k", "q6_k"];
    for name in names.into_iter().chain(["f16", "bf16"]) {
        let tensor = model.find(name).unwrap();
        let wanted = floats(&model, &format!("{name}.f32"));
        let found = dequantized(&model, tensor);
        assert_eq!(found.len(), tensor.num_elements());
        for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert_eq!(found.to_bits(), wanted.to_bits(), "{name}[{at}]: {found} {wanted}");
        }
        // the fixture has zeros of both signs, denormals and large numbers
        let any = |is: fn(f32) -> bool| wanted.iter().any(|value| is(*value));
        assert!(any(|value| value == 0.0) && any(|value| value > 1000.0), "{name}");
        assert!(any(|value| value < 0.0), "{name}");
    }
}

#[test]
fn rows_are_quantised_as_the_package_does_it() {
    let model = open(&support::fixture("gguf/blocks.gguf"));
    let rows = floats(&model, "rows.f32");
    let wanted = stored(&model, "rows.q8_0");
    let mut found = vec![0xEE; wanted.len()];
    quantize_q8_0(&rows, &mut found);
    for (at, (found, wanted)) in found.chunks(34).zip(wanted.chunks(34)).enumerate() {
        assert_eq!(found, wanted, "block {at}: {:?}", &rows[32 * at..][..32]);
    }
    // by hand: 127 keeps its size, 30.5 and −31.5 go away from zero; zeros have scale 0
    assert_eq!((found[2 * 34 + 2] as i8, found[3 * 34 + 33] as i8), (-127, 127));
    assert_eq!((found[2 * 34 + 3] as i8, found[3 * 34 + 32] as i8), (-31, 31));
    assert!(found[..68].iter().all(|byte| *byte == 0));
}

#[test]
fn the_public_model_has_the_packages_values() {
    let model = open(&support::model_file("smollm2-135m-instruct", |name| name.ends_with(".gguf")));
    let wanted = support::json(&support::fixture("gguf/smollm2.json"));
    let wanted = wanted["tensors"].as_array().unwrap();
    assert_eq!(model.tensors().len(), wanted.len());
    let mut total = 0;
    for (tensor, wanted) in model.tensors().iter().zip(wanted) {
        let values = dequantized(&model, tensor);
        total += values.len();
        for (value, wanted) in values.iter().zip(wanted["first"].as_array().unwrap()) {
            assert_eq!(*value, wanted.as_f64().unwrap() as f32, "{}", tensor.name);
        }
        // sum over i of bits[i] · (i + 1) mod 2^64, as in tests/fixtures/gguf/make.py
        let words = bits(&values).into_iter().map(u64::from);
        let products = words.zip(1_u64..).map(|(word, place)| word.wrapping_mul(place));
        let digest = products.fold(0, u64::wrapping_add);
        assert_eq!(Some(digest), wanted["digest"].as_u64(), "{}", tensor.name);
    }
    assert_eq!(total, 134_515_008);
}
