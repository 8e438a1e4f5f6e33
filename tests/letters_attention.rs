//! Attention of the trained models that the lesson shows, all layers and heads, beside torch (`tests/fixtures/letters`).
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::formats::safetensors::SafetensorsFolder;
use multihead::model::arch::letters;
use multihead::stack::{BlockWeights, EncoderDecoder, Precision, Watch};
use multihead::tasks::attention::{Attention, AttentionRequest, AttentionWeights, room};
use multihead::tasks::encoding::{Answer, EmbeddingOptions, EncodingModel, LoadOptions};
use pollster::block_on;
use serde::Deserialize;
use std::{path::PathBuf, rc::Rc};
use support::{encoders, fixture, json, root};

/// Weights, from 0 to 1, that torch computed in float32 lie this near to ours.
const TOLERANCE: f32 = 1e-4;
/// The decoder's first input.
const START: u32 = 1;

/// `[layer][head][query][key]`
type Weights = Vec<Vec<Vec<Vec<f32>>>>;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Expected {
    encoder: Weights,
    decoder: Weights,
    cross: Weights,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    source: String,
    source_ids: Vec<u32>,
    target_ids: Vec<u32>,
    attention: Expected,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    attention: Option<Expected>,
}

#[derive(Deserialize)]
struct Cases<Case> {
    cases: Vec<Case>,
}

fn cases<Case: for<'de> Deserialize<'de>>(name: &str) -> Vec<Case> {
    let content = json(&fixture(&format!("letters/{name}.json")));
    serde_json::from_value::<Cases<Case>>(content).unwrap().cases
}

fn folder(name: &str) -> PathBuf {
    root().join("www/lesson/models").join(name)
}

fn model(name: &str) -> EncoderDecoder<Cpu> {
    let mut folder = encoders::folder(&folder(name));
    let spec = letters::describe(&folder.required_config("config.json").unwrap()).unwrap();
    let tensors = SafetensorsFolder::open(&mut folder, "").unwrap();
    EncoderDecoder::load(&Cpu::new(), &tensors, &spec, Precision::Float32).unwrap()
}

/// A given target, read step by step; all that there is to see.
fn forced(model: &EncoderDecoder<Cpu>, source: &[u32], target: &[u32]) -> Attention {
    let mut ops = Cpu::new();
    let wanted = AttentionRequest::default().of(model.attention()).unwrap();
    let (keys, steps) = (source.len(), target.len());
    let mut attention = room(&wanted, [[keys; 2], [steps; 2], [steps, keys]]).unwrap();
    let [encoder, decoder, cross] = &wanted;
    let mut seen = Vec::new();
    let mut take = |layer, weights: BlockWeights<Cpu>| {
        seen.extend(weights.mixer.map(|weights| (0, 0, (layer, weights))));
    };
    let watch =
        Watch { layers: &encoder.layers, mixer: &encoder.heads, cross: &[], take: &mut take };
    let mut encoded = model.nothing_encoded();
    let sources = model.encode_watched(&mut ops, &mut encoded, &[source], Some(watch)).unwrap();
    let mut state = model.start_at(&mut ops, &encoded, &sources).unwrap();
    for (step, token) in target.iter().enumerate() {
        let mut take = |layer, weights: BlockWeights<Cpu>| {
            seen.extend(weights.mixer.map(|weights| (1, step, (layer, weights))));
            seen.extend(weights.cross.map(|weights| (2, step, (layer, weights))));
        };
        let watch = Watch {
            layers: &cross.layers,
            mixer: &decoder.heads,
            cross: &cross.heads,
            take: &mut take,
        };
        let token = Some(*token);
        model.decode_watched(&mut ops, &encoded, &mut state, token, &sources, watch).unwrap();
    }
    for (kind, first, weights) in seen {
        block_on(attention[kind].take(&mut ops, weights, first)).unwrap();
    }
    attention
}

fn compare(what: &str, got: &AttentionWeights, want: &Weights) {
    let count = |weights: &AttentionWeights| [weights.of.layers.len(), weights.of.heads.len()];
    assert_eq!(count(got), [want.len(), want.first().map_or(0, Vec::len)], "{what}");
    let flat: Vec<f32> = want.iter().flatten().flatten().flatten().copied().collect();
    assert_eq!(got.weights.len(), flat.len(), "{what}");
    for (index, (got, want)) in got.weights.iter().zip(&flat).enumerate() {
        assert!((got - want).abs() <= TOLERANCE, "{what}, weight {index}: {got}, expected {want}");
        // What is masked has no weight at all.
        assert_eq!(*got == 0.0, *want == 0.0, "{what}, weight {index}: {got}, expected {want}");
    }
    for row in got.weights.chunks(got.lens[1].max(1)) {
        let sum: f32 = row.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{what}: {sum}");
    }
}

#[test]
fn models_over_letters_look_where_torch_has_them_look() {
    for (name, kinds) in [
        ("reverse-fixed", [false, false, false]),
        ("reverse-additive", [false, false, true]),
        ("reverse-transformer", [true, true, true]),
        ("dates", [true, true, true]),
    ] {
        let model = model(name);
        for Pair { source, source_ids, target_ids, attention } in cases(name) {
            let target: Vec<u32> = [START].into_iter().chain(target_ids).collect();
            let got = forced(&model, &source_ids, &target[..target.len() - 1]);
            let want = [attention.encoder, attention.decoder, attention.cross];
            for ((got, want), is_there) in got.iter().zip(&want).zip(kinds) {
                assert_eq!(want.is_empty(), !is_there, "{name}");
                compare(&format!("{name}: {source:?}"), got, want);
            }
        }
    }
}

#[test]
fn encoders_look_where_transformers_has_them_look() {
    for name in ["moods", "things"] {
        let options = LoadOptions { precision: Precision::Float32 };
        let model =
            EncodingModel::<Cpu>::load(Cpu::new(), encoders::folder(&folder(name)), options);
        let model = Rc::new(model.unwrap());
        let mut compared = 0;
        for Text { text, attention } in cases(name) {
            let Some(want) = attention else { continue };
            let mut job = model.embed(vec![text.clone()], EmbeddingOptions::default());
            job.watch(&AttentionRequest::default()).unwrap();
            while !job.is_done() {
                block_on(job.step()).unwrap();
            }
            let Answer::Embeddings(embedded) = job.finish().unwrap() else { panic!("{name}") };
            compare(&format!("{name}: {text:?}"), &embedded.attention[0], &want.encoder);
            compared += 1;
        }
        assert_eq!(compared, 2, "{name}");
    }
}
