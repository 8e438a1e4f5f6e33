//! Tiny models of every kind on a software GPU, beside the float32 path of the CPU and what transformers computes.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod gpu_runtime;
mod support;

use multihead::backend::cpu::{Cpu, lanes::Native};
use multihead::error::{Error, Result};
use multihead::formats::{gguf::GgufFile, marian::MarianFile};
use multihead::generate::{BeamOptions, Search, SearchInput};
use multihead::model::arch;
use multihead::ops::{
    AttentionArgs, AttentionSegment, CacheKind, Choices, KeysValues, Mask, Ops, Score, View,
};
use multihead::stack::{Decoder, EncoderDecoder, Precision};
use multihead::tasks::encoding::{Answer, EmbeddingOptions, EncodingModel, LoadOptions};
use pollster::block_on;
use std::rc::Rc;
use support::{encoders, file, fixture, gpu::device, json};

/// Of a logit or a vector's element, relative to the largest.
const TOLERANCE: f32 = 1e-4;

fn difference(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1.0f32, |scale, x| scale.max(x.abs()));
    got.iter().zip(want).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f32::max)
}

/// Logits of a text that is read in parts of the lengths given.
fn decoder_logits<O: Ops>(
    mut ops: O,
    name: &str,
    tokens: &[u32],
    parts: &[usize],
) -> Result<Vec<f32>> {
    let gguf = GgufFile::open(Box::new(file(&fixture(&format!("decoders/{name}.gguf"))))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    let model = Decoder::load(&ops, &gguf, &spec, Precision::Float32)?;
    let mut state = model.start(&mut ops);
    let (mut all, mut start) = (Vec::new(), 0);
    for part in parts {
        let hidden = model.forward(&mut ops, &mut state, &tokens[start..start + part])?;
        let logits = model.logits(&mut ops, &hidden, 0..*part);
        let mut values = Vec::new();
        block_on(ops.read(&logits, &mut values))?;
        all.extend(values);
        start += part;
    }
    Ok(all)
}

#[test]
fn decoders_give_the_logits_of_transformers() {
    let Some(gpu) = device(None) else { return };
    let tokens: Vec<u32> =
        serde_json::from_slice(&std::fs::read(fixture("decoders/sequence.json")).unwrap()).unwrap();
    let mut ran = 0;
    for name in [
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
    ] {
        let bytes = std::fs::read(fixture(&format!("decoders/{name}.logits"))).unwrap();
        let want: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        for parts in [&[14][..], &[1; 14], &[5, 1, 8]] {
            match decoder_logits(gpu.clone(), name, &tokens, parts) {
                Ok(got) => {
                    let difference = difference(&got, &want);
                    println!("{name} in {} parts: {difference:.1e}", parts.len());
                    assert!(difference <= TOLERANCE, "{name}: {difference}");
                    ran += 1;
                }
                Err(Error::Unsupported { what, .. }) => println!("{name}: {what}"),
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
    assert!(ran > 0);
}

/// Logits of a few steps that are told their tokens.
fn translation_logits<O: Ops>(mut ops: O, name: &str) -> Vec<f32> {
    let path = fixture(&format!("marian/{name}.bin"));
    let marian = MarianFile::open(Box::new(file(&path))).unwrap();
    let spec = arch::marian::describe(&marian).unwrap();
    let model = EncoderDecoder::load(&ops, &marian, &spec, Precision::Float32).unwrap();
    let mut encoded = model.nothing_encoded();
    let sources: [&[u32]; 2] = [&[5, 9, 7, 11, 0], &[8, 0]];
    let rows = model.encode(&mut ops, &mut encoded, &sources).unwrap();
    let mut state = model.start(&mut ops, 2);
    let output = model.output_projection(&ops, None).unwrap();
    let (mut all, mut tokens) = (Vec::new(), [None, None]);
    for step in 0..6 {
        let out = model
            .decode_step(&mut ops, &encoded, &mut state, &tokens, &rows, step % 2 == 0)
            .unwrap();
        let logits = ops.logits(&out.hidden, 0..2, &output);
        let mut values = Vec::new();
        block_on(ops.read(&logits, &mut values)).unwrap();
        all.append(&mut values);
        if let Some(alignment) = &out.alignment {
            block_on(ops.read(alignment, &mut values)).unwrap();
            all.append(&mut values);
        }
        tokens = [Some(3 + step), Some(9 - step)];
        if step == 2 {
            state.reorder(&mut ops, &[1, 0]).unwrap();
            state.reorder(&mut ops, &[1, 0]).unwrap();
        }
    }
    all
}

#[test]
fn encoder_decoders_give_the_float32_path() {
    let Some(gpu) = device(None) else { return };
    for name in [
        "base",
        "base-split",
        "every-norm",
        "int8",
        "prenorm-self-attention",
        "prenorm-ssru",
        "self-attention",
        "tied-layers",
        "tiny",
        "untied",
    ] {
        let want = translation_logits(Cpu::<Native>::new(), name);
        let difference = difference(&translation_logits(gpu.clone(), name), &want);
        println!("{name}: {difference:.1e}");
        assert!(difference <= TOLERANCE, "{name}: {difference}");
    }
}

/// Token ids and scores of up to four hypotheses of two sources each; what `after` gives is collected after each step.
fn hypotheses<O: Ops, T>(mut ops: O, after: impl Fn() -> T) -> (Vec<(Vec<u32>, f32)>, Vec<T>) {
    let path = fixture("marian/self-attention.bin");
    let marian = MarianFile::open(Box::new(file(&path))).unwrap();
    let spec = arch::marian::describe(&marian).unwrap();
    let model = EncoderDecoder::load(&ops, &marian, &spec, Precision::Float32).unwrap();
    let mut search = Search::new(&mut ops, &model, true);
    let input =
        |source: &[u32]| SearchInput { source: source.to_vec(), candidates: None, given: None };
    let options = BeamOptions { beam_size: 4, max_length_factor: 3.0, ..BeamOptions::default() };
    let inputs = [input(&[5, 9, 7, 11, 0]), input(&[8, 0])];
    search.add(&mut ops, &model, &inputs, options).unwrap();
    let (mut all, mut told) = (Vec::new(), vec![after()]);
    while !search.is_done() {
        for (_, hypotheses) in block_on(search.step(&mut ops, &model)).unwrap() {
            all.extend(hypotheses.into_iter().map(|one| (one.tokens, one.score)));
        }
        told.push(after());
    }
    (all, told)
}

/// Beams come back once a step, their alignments with them, and are those of the float32 path.
#[test]
fn a_step_of_beams_is_read_once() {
    let Some(gpu) = device(None) else { return };
    let (want, _) = hypotheses(Cpu::<Native>::new(), || ());
    let (got, reads) = hypotheses(gpu.clone(), || gpu.counts().read_backs);
    let steps = reads.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(reads.len() > 2 && steps.clone().all(|reads| reads == 1), "{reads:?}");
    assert!(got.len() >= 2);
    for ((got, got_score), (want, want_score)) in got.iter().zip(&want) {
        assert_eq!(got, want);
        assert!((got_score - want_score).abs() < 1e-3, "{got_score}, {want_score}");
    }
}

fn vectors<O: Ops + Clone>(ops: O, name: &str, texts: &[String]) -> Vec<f32> {
    let folder = encoders::folder(&fixture(&format!("encoders/{name}")));
    let options = LoadOptions { precision: Precision::Float32 };
    let model = Rc::new(EncodingModel::load(ops, folder, options).unwrap());
    let mut job = model.embed(texts.to_vec(), EmbeddingOptions::default());
    while !job.is_done() {
        block_on(job.step()).unwrap();
    }
    let Answer::Embeddings(embedded) = job.finish().unwrap() else { panic!() };
    embedded.vectors
}

#[test]
fn encoders_give_the_float32_path() {
    let Some(gpu) = device(None) else { return };
    for name in
        ["bert-embed", "distilbert-embed", "mpnet-embed", "roberta-embed", "xlm-roberta-embed"]
    {
        let expected = json(&fixture(&format!("encoders/{name}/expected.json")));
        let texts = expected["texts"].as_array().unwrap().iter();
        let texts: Vec<String> =
            texts.map(|text| text["text"].as_str().unwrap().to_owned()).collect();
        let want = vectors(Cpu::<Native>::new(), name, &texts);
        let difference = difference(&vectors(gpu.clone(), name, &texts), &want);
        println!("{name}: {difference:.1e}");
        assert!(difference <= TOLERANCE, "{name}: {difference}");
    }
}

/// With a binding limit that no table fits into, tables and matrices lie in several buffers, and products take several calls.
#[test]
fn a_small_binding_limit_splits_tables() {
    let Some(whole) = device(None) else { return };
    let Some(split) = device(Some(4 << 10)) else { return };
    let want = translation_logits(whole.clone(), "base");
    let difference = difference(&translation_logits(split.clone(), "base"), &want);
    assert!(difference <= TOLERANCE, "{difference}");
    let [whole, split] = [whole, split].map(|gpu| gpu.counts().dispatches);
    println!("{whole} calls with whole matrices, {split} with parts");
    assert!(split > whole);
}

#[test]
fn a_lost_device_is_an_error_and_stays_one() {
    let Some(mut gpu) = device(None) else { return };
    let x = gpu.upload(1, 2, &[1.0, 2.0]);
    let mut values = Vec::new();
    block_on(gpu.read(&x, &mut values)).unwrap();
    assert_eq!(values, [1.0, 2.0]);
    gpu.destroy();
    for _ in 0..2 {
        let x = gpu.zeros(3, 3);
        let error = block_on(gpu.read(&x, &mut values)).unwrap_err();
        assert_eq!(error.code(), "device-lost", "{error}");
    }
}

/// Once warm, a step of decoding makes no pipeline and no bind group, takes no memory, and is one submit.
#[test]
fn a_warm_step_makes_nothing() {
    let Some(mut gpu) = device(None) else { return };
    let gguf = GgufFile::open(Box::new(file(&fixture("decoders/llama.gguf")))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    let model = Decoder::load(&gpu, &gguf, &spec, Precision::Float32).unwrap();
    let mut state = model.start(&mut gpu);
    let mut values = Vec::new();
    let mut before = gpu.counts();
    for step in 0..40u32 {
        let hidden = model.forward(&mut gpu, &mut state, &[1 + step % 5]).unwrap();
        let logits = model.logits(&mut gpu, &hidden, 0..1);
        drop(hidden);
        block_on(gpu.read(&logits, &mut values)).unwrap();
        let now = gpu.counts();
        if step >= 3 {
            let made = (now.pipelines - before.pipelines, now.bind_groups - before.bind_groups);
            assert_eq!(made, (0, 0), "step {step}");
            assert_eq!(now.bytes, before.bytes, "step {step}");
            assert_eq!((now.submits - before.submits, now.read_backs - before.read_backs), (1, 1));
            // Copies would part it into several passes.
            assert_eq!(now.copies, before.copies, "step {step}");
        }
        if step == 39 {
            let (calls, layers) = (now.dispatches - before.dispatches, spec.stack.blocks.len());
            println!("a step of {layers} layers: {calls} calls");
        }
        before = now;
    }
}

/// Twelve likeliest tokens after one, each read back before the next step, or all at the end.
fn greedy<O: Ops>(mut ops: O, name: &str, ahead: bool) -> Vec<u32> {
    let gguf = GgufFile::open(Box::new(file(&fixture(&format!("decoders/{name}.gguf"))))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    let model = Decoder::load(&ops, &gguf, &spec, Precision::Float32).unwrap();
    let mut state = model.start(&mut ops);
    let (mut chosen, mut choices) = (O::Chosen::default(), Choices::default());
    let mut ids = Vec::new();
    let mut hidden = model.forward(&mut ops, &mut state, &[3, 1, 4]).unwrap();
    for step in 0..12 {
        let row = if step == 0 { 2 } else { 0 };
        model.choose_next(&mut ops, &hidden, row, &mut chosen);
        hidden = if ahead {
            model.forward_chosen(&mut ops, &mut state, &chosen).unwrap()
        } else {
            block_on(ops.read_chosen(&chosen, &mut choices)).unwrap();
            let id = choices.best_of_last(1).next().flatten().unwrap();
            ids.push(id);
            model.forward(&mut ops, &mut state, &[id]).unwrap()
        };
    }
    block_on(ops.read_chosen(&chosen, &mut choices)).unwrap();
    let all: Vec<u32> = choices.best_of_last(12).flatten().collect();
    assert!(ahead || ids == all);
    all
}

#[test]
fn choices_may_stay_on_the_device() {
    let Some(gpu) = device(None) else { return };
    for name in ["llama", "gemma2", "gpt2"] {
        let want = greedy(Cpu::<Native>::new(), name, false);
        assert_eq!(want.len(), 12);
        assert_eq!(greedy(Cpu::<Native>::new(), name, true), want, "{name}");
        assert_eq!(greedy(gpu.clone(), name, false), want, "{name}");
        let before = gpu.counts().read_backs;
        assert_eq!(greedy(gpu.clone(), name, true), want, "{name}");
        assert_eq!(gpu.counts().read_backs - before, 1, "all tokens in one");
    }
}

/// Caches double: so many tokens take few moves to a larger buffer, and no step but those takes memory.
#[test]
fn caches_grow_by_doubling() {
    let Some(mut gpu) = device(None) else { return };
    let mut cache = gpu.cache(CacheKind::Long, 2, 4);
    let from = gpu.upload(1, 16, &[0.5; 16]);
    let (mut grown, mut bytes) = (0, 0);
    for _ in 0..5000 {
        gpu.append_to_cache(&mut cache, &from, 0..1, 0);
        let now = gpu.counts().bytes;
        grown += usize::from(now > bytes);
        bytes = now;
    }
    // Room for 256 tokens, then 512, 1024, 2048, 4096, 8192: five moves, and the first buffer.
    assert!(grown <= 6, "{grown}");
    let mut values = Vec::new();
    block_on(gpu.read(&from, &mut values)).unwrap();
}

/// What attention takes besides the keys and values grows at most as they do, in a prompt's parts of 64 tokens and in decoding.
#[test]
fn attention_takes_room_linear_in_the_keys() {
    let (heads, kv_heads, head_dim) = (9, 3, 64);
    let width = kv_heads * head_dim;
    for rows in [1, 64] {
        let mut at_1k = 0;
        for keys in [1 << 10, 2 << 10, 4 << 10, 8 << 10] {
            // Each its own, so that no buffer was there before.
            let Some(mut gpu) = device(None) else { return };
            // Queries of zeros weigh all keys the same; the values are 0 in the first half, and 1.
            let q = gpu.upload(rows, heads * head_dim, &vec![0.0; rows * heads * head_dim]);
            let half = keys / 2 * 2 * width;
            let values: Vec<f32> =
                (0..2 * half).map(|i| if i < half { 0.0 } else { 1.0 }).collect();
            let kv = gpu.upload(keys, 2 * width, &values);
            let mut cache = gpu.cache(CacheKind::Long, kv_heads, head_dim);
            gpu.append_to_cache(&mut cache, &kv, 0..keys, 0);
            let segment = AttentionSegment {
                query_rows: 0..rows,
                kv: 0,
                kv_rows: 0..keys,
                past_len: keys - 1,
            };
            let before = gpu.counts().bytes;
            let args = AttentionArgs {
                q: View { tensor: &q, column: 0 },
                kv: KeysValues::Caches(std::slice::from_ref(&cache)),
                k_column: 0,
                v_column: width,
                segments: &[segment],
                num_heads: heads,
                num_kv_heads: kv_heads,
                head_dim,
                score: Score::DotProduct,
                scale: 1.0,
                score_cap: None,
                relative: None,
                mask: Mask::Causal,
                weights_of: &[],
            };
            let (context, _) = gpu.attention(&args).unwrap();
            let took = gpu.counts().bytes - before;
            println!("{rows} rows, {keys} keys: {took} bytes");
            if at_1k == 0 {
                at_1k = took;
            }
            assert!(took <= at_1k * (keys as u64 >> 10), "{rows} rows, {keys} keys: {took}");
            // A score of each row, head and key would take four bytes.
            let scores = 4 * (rows * heads * keys) as u64;
            assert!(keys < 8 << 10 || took < scores, "{took} of {scores}");
            let mut values = Vec::new();
            block_on(gpu.read(&context, &mut values)).unwrap();
            assert!(values.iter().all(|value| (value - 0.5).abs() < 1e-5), "{:?}", values.first());
        }
    }
}
