//! The real English–Portuguese model in float32, against independent float32 runs of the same weights.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::generate::{BeamOptions, Search, SearchInput};
use multihead::ops::Ops;
use multihead::stack::Precision;
use multihead::text::sentencepiece::SentencePiece;
use pollster::block_on;
use support::{fixture, flores, json, model_file, network};

fn vocabulary(id: &str) -> SentencePiece {
    let path = model_file(id, |name| name.ends_with(".spm"));
    SentencePiece::parse("vocab.spm", &std::fs::read(path).unwrap()).unwrap()
}

fn source_ids(vocab: &SentencePiece, line: &str) -> Vec<u32> {
    vocab.encode(line).iter().map(|piece| piece.id).chain([0]).collect()
}

#[test]
fn the_float_path_equals_the_float32_reference() {
    let (Some(lines), Some(expected)) = (flores("dev.en"), flores("dev.f32.pt")) else { return };
    let vocab = vocabulary("en-pt");
    let (model, _) =
        network(&model_file("en-pt", |name| name.starts_with("model.")), Precision::Float32);
    let options = BeamOptions { max_length_factor: 2.0, ..BeamOptions::default() };
    let mut ops = Cpu::new();
    let mut equal = 0;
    for (lines, expected) in lines.chunks(16).zip(expected.chunks(16)) {
        let inputs: Vec<_> = lines
            .iter()
            .map(|line| SearchInput {
                source: source_ids(&vocab, line),
                candidates: None,
                given: None,
            })
            .collect();
        let mut search = Search::new(&mut ops, &model, false);
        search.add(&mut ops, &model, &inputs, options).unwrap();
        while !search.is_done() {
            for (index, mut hypotheses) in block_on(search.step(&mut ops, &model)).unwrap() {
                let mut ids = hypotheses.remove(0).tokens;
                ids.retain(|id| *id != 0);
                equal += usize::from(vocab.decode(&ids) == expected[index]);
            }
        }
    }
    println!("{equal} of {} lines equal the float32 reference", lines.len());
    assert!(equal * 100 >= lines.len() * 99, "{equal} of {} lines equal", lines.len());
}

#[test]
fn logits_equal_the_numpy_reference() {
    let Some(lines) = flores("dev.en") else { return };
    let vocab = vocabulary("en-pt");
    let (model, _) =
        network(&model_file("en-pt", |name| name.starts_with("model.")), Precision::Float32);
    let reference = json(&fixture("marian/enpt_logits.json"));
    let ids = |value: &serde_json::Value| -> Vec<u32> {
        value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
    };
    let probes = ids(&reference["probe_ids"]);
    assert_eq!(probes.len(), 64);
    let sentences = reference["sentences"].as_array().unwrap();
    assert_eq!(sentences.len(), 20);
    let mut worst = 0.0_f64;
    for sentence in sentences {
        let line = sentence["line"].as_u64().unwrap() as usize;
        let source = source_ids(&vocab, &lines[line]);
        let mut ops = Cpu::new();
        let mut encoded = model.nothing_encoded();
        let rows = model.encode(&mut ops, &mut encoded, &[&source]).unwrap();
        let mut state = model.start(&mut ops, 1);
        let output = model.output_projection(&ops, Some(&probes)).unwrap();
        let mut previous = None;
        let mut logits = Vec::new();
        let targets = ids(&sentence["target_ids"]);
        let steps = sentence["logits"].as_array().unwrap();
        assert_eq!(targets.len(), steps.len());
        for (target, expected) in targets.into_iter().zip(steps) {
            let step = model
                .decode_step(&mut ops, &encoded, &mut state, &[previous], &rows, false)
                .unwrap();
            let of_probes = ops.logits(&step.hidden, 0..1, &output);
            block_on(ops.read(&of_probes, &mut logits)).unwrap();
            for (got, expected) in logits.iter().zip(expected.as_array().unwrap()) {
                worst = worst.max((f64::from(*got) - expected.as_f64().unwrap()).abs());
            }
            previous = Some(target);
        }
    }
    println!("largest difference of a logit: {worst:e}");
    assert!(worst <= 1e-3, "a logit differs by {worst}");
}
