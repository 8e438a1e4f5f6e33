//! Decoder-only models: tiny GGUF files of every family and type against the logits of transformers, which loads the
//! same files (tests/fixtures/decoders).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failing test may panic anywhere
#![cfg(not(target_arch = "wasm32"))]

use multihead::backend::cpu::Cpu;
use multihead::error::Error;
use multihead::formats::{DType, MemoryFile, gguf::GgufFile};
use multihead::model::arch::gguf::describe;
use multihead::ops::Ops;
use multihead::stack::{Decoder, DecoderState, Precision};
use std::{fs, path::PathBuf};

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/decoders");
    fs::read(folder.join(name)).unwrap()
}

fn sequence() -> Vec<u32> {
    serde_json::from_slice(&fixture("sequence.json")).unwrap()
}

fn load(name: &str, precision: Precision) -> Decoder<Cpu> {
    let bytes = fixture(&format!("{name}.gguf"));
    let file = GgufFile::open(Box::new(MemoryFile::new(name, bytes))).unwrap();
    let spec = describe(&file).unwrap();
    Decoder::load(&Cpu::new(), &file, &spec, precision).unwrap()
}

/// Logits of every position of a text that is read in parts of the lengths given.
fn logits(model: &Decoder<Cpu>, tokens: &[u32], parts: &[usize]) -> Vec<f32> {
    let mut ops: Cpu = Cpu::new();
    let mut state = model.start(&mut ops);
    read_on(model, &mut ops, &mut state, tokens, parts)
}

fn read_on(
    model: &Decoder<Cpu>,
    ops: &mut Cpu,
    state: &mut DecoderState<Cpu>,
    tokens: &[u32],
    parts: &[usize],
) -> Vec<f32> {
    let (mut all, mut start) = (Vec::new(), 0);
    for part in parts {
        let hidden = model.forward(ops, state, &tokens[start..start + part]).unwrap();
        let logits = model.logits(ops, &hidden, 0..*part);
        let mut values = Vec::new();
        pollster::block_on(ops.read(&logits, &mut values)).unwrap();
        all.extend(values);
        start += part;
    }
    assert_eq!(start, tokens.len());
    all
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

const MODELS: [&str; 11] = [
    "llama",
    "llama-tied",
    "llama-linear",
    "llama3",
    "llama-types",
    "llama-k-types",
    "qwen2",
    "qwen3",
    "gemma2",
    "gemma3",
    "gpt2",
];

fn reference(name: &str) -> Vec<f32> {
    let bytes = fixture(&format!("{name}.logits"));
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

#[test]
fn logits_are_those_of_transformers() {
    let tokens = sequence();
    for name in MODELS {
        let want = reference(name);
        let scale = want.iter().fold(1.0f32, |scale, x| scale.max(x.abs()));
        let got = logits(&load(name, Precision::Float32), &tokens, &[tokens.len()]);
        let difference = largest_difference(&got, &want);
        println!("{name}: {difference:e} of {scale}");
        assert!(difference <= 1e-4 * scale, "{name}: {difference} of {scale}");
    }
}

#[test]
fn reading_at_once_or_token_by_token_is_the_same() {
    let tokens = sequence();
    for name in MODELS {
        for precision in [Precision::Float32, Precision::Auto] {
            let model = load(name, precision);
            let at_once = logits(&model, &tokens, &[14]);
            assert_eq!(at_once, logits(&model, &tokens, &[1; 14]), "{name}");
            assert_eq!(at_once, logits(&model, &tokens, &[5, 1, 8]), "{name}");
        }
    }
}

#[test]
fn going_back_and_forking_change_nothing() {
    let tokens = sequence();
    let model = load("gemma3", Precision::Auto);
    let mut ops = Cpu::new();
    let mut state = model.start(&mut ops);
    let whole = read_on(&model, &mut ops, &mut state, &tokens, &[14]);
    let vocab = model.vocab_size();
    // Back to the fourth token, on with others, back again.
    state.truncate(&mut ops, 4).unwrap();
    let mut fork = state.fork(&mut ops);
    let other: Vec<u32> = tokens[4..].iter().rev().copied().collect();
    let others = read_on(&model, &mut ops, &mut fork, &other, &[10]);
    let again = read_on(&model, &mut ops, &mut state, &tokens[4..], &[3, 7]);
    assert_eq!(again, whole[4 * vocab..]);
    assert_ne!(others, again);
    let fresh: Vec<u32> = [&tokens[..4], &other].concat();
    assert_eq!(others, logits(&model, &fresh, &[14])[4 * vocab..]);
}

#[test]
fn int8_activations_stay_near() {
    let tokens = sequence();
    for name in ["llama-types", "llama-k-types"] {
        let float = logits(&load(name, Precision::Float32), &tokens, &[14]);
        let int8 = logits(&load(name, Precision::Auto), &tokens, &[14]);
        let scale = float.iter().fold(1.0f32, |scale, x| scale.max(x.abs()));
        let difference = largest_difference(&float, &int8);
        // A rounding error of 1/254 of the largest of 32, averaged over each sum and two layers.
        assert!(difference > 0.0 && difference < 0.03 * scale, "{name}: {difference} of {scale}");
    }
}

#[test]
fn what_is_not_there_is_named_at_once() {
    let mut bytes = fixture("llama.gguf");
    let name = b"blk.1.ffn_gate.weight";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at] = b'x';
    let file = GgufFile::open(Box::new(MemoryFile::new("llama.gguf", bytes))).unwrap();
    let spec = describe(&file).unwrap();
    let error = Decoder::<Cpu>::load(&Cpu::new(), &file, &spec, Precision::Auto).err().unwrap();
    let Error::MissingTensor { tensors, .. } = &error else { panic!("{error}") };
    assert_eq!(*tensors, ["blk.1.ffn_gate.weight"]);
}

#[test]
fn scales_that_are_no_numbers_are_refused() {
    for name in ["llama-types", "llama-k-types"] {
        let bytes = fixture(&format!("{name}.gguf"));
        let open = |bytes: Vec<u8>| GgufFile::open(Box::new(MemoryFile::new(name, bytes))).unwrap();
        let file = open(bytes.clone());
        for tensor in file.tensors() {
            // where the first block has a float16, or its own first value
            let at = tensor.bytes.start
                + match tensor.dtype {
                    DType::F32 => continue,
                    DType::Q6K => 208,
                    _ => 0,
                };
            let mut bad = bytes.clone();
            let infinity = if tensor.dtype == DType::BF16 { [0x80, 0x7f] } else { [0x00, 0x7c] };
            bad[at as usize..at as usize + 2].copy_from_slice(&infinity);
            let file = open(bad);
            let spec = describe(&file).unwrap();
            let loaded = Decoder::<Cpu>::load(&Cpu::new(), &file, &spec, Precision::Auto);
            let error = loaded.err().unwrap_or_else(|| panic!("{} was loaded", tensor.name));
            assert_eq!(error.tensor(), Some(tensor.name.as_str()), "{error}");
            assert_eq!(error.offset(), Some(tensor.bytes.start), "{error}");
            assert_eq!(error.code(), "model-corrupt");
        }
    }
}
