//! Attention of models over letters beside torch's (`tests/fixtures/letters`), on any device.

use super::{encoders, fixture, json, root};
use multihead::ops::Ops;
use multihead::tasks::attention::{AttentionRequest, AttentionWeights};
use multihead::tasks::transliteration::{
    LoadOptions, TransliterationModel, TransliterationOptions,
};
use pollster::block_on;
use serde::Deserialize;
use std::{path::Path, rc::Rc};

/// Weights, from 0 to 1, that torch computed in float32 lie this near to ours.
const TOLERANCE: f32 = 1e-4;

/// `[layer][head][query][key]`
pub type Weights = Vec<Vec<Vec<Vec<f32>>>>;

/// What torch looks at.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Expected {
    pub encoder: Weights,
    decoder: Weights,
    cross: Weights,
}

/// A source, and what is written for it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    pub source: String,
    pub source_ids: Vec<u32>,
    pub target_ids: Vec<u32>,
    attention: Expected,
}

#[derive(Deserialize)]
struct Cases<Case> {
    cases: Vec<Case>,
}

/// What torch made of texts with a trained model.
pub fn cases<Case: for<'de> Deserialize<'de>>(name: &str) -> Vec<Case> {
    let content = json(&fixture(&format!("letters/{name}.json")));
    serde_json::from_value::<Cases<Case>>(content).unwrap().cases
}

/// A model of the folder of a lesson or a fixture.
pub fn load<O: Ops + Clone>(ops: &O, folder: &Path) -> Rc<TransliterationModel<O>> {
    let folder = encoders::folder(folder);
    Rc::new(TransliterationModel::load(ops.clone(), folder, LoadOptions::default()).unwrap())
}

/// A model of the lesson.
pub fn lesson<O: Ops + Clone>(ops: &O, name: &str) -> Rc<TransliterationModel<O>> {
    load(ops, &root().join("www/lesson/models").join(name))
}

/// Shape, every weight, exact zeros, and that rows sum to 1.
pub fn compare(what: &str, got: &AttentionWeights, want: &Weights) {
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

/// The trained models of the lesson, given targets.
pub fn trained_agree<O: Ops + Clone>(ops: &O) {
    for (name, kinds) in [
        ("reverse-fixed", [false, false, false]),
        ("reverse-additive", [false, false, true]),
        ("reverse-transformer", [true, true, true]),
        ("dates", [true, true, true]),
    ] {
        let model = lesson(ops, name);
        for Pair { source, source_ids, target_ids, attention } in cases(name) {
            let all = AttentionRequest::default();
            let got = block_on(model.attention(&source_ids, &target_ids, &all)).unwrap();
            let want = [attention.encoder, attention.decoder, attention.cross];
            for ((got, want), is_there) in got.iter().zip(&want).zip(kinds) {
                assert_eq!(want.is_empty(), !is_there, "{name}");
                compare(&format!("{name}: {source:?}"), got, want);
            }
        }
    }
}

#[derive(Deserialize)]
struct Steps {
    word: String,
    ids: Vec<u32>,
    attention: Option<Vec<Vec<f32>>>,
}

/// Units of two layers, with additive scores and with dot products, of which only the last layer looks at the source.
pub fn recurrent_agree<O: Ops + Clone>(ops: &O) {
    for name in ["gru-additive", "lstm-dot-product"] {
        let model = load(ops, &fixture("letters").join(name));
        let steps: Vec<Steps> =
            serde_json::from_value(json(&fixture("letters/expected.json"))[name].clone()).unwrap();
        for Steps { word, ids, attention } in steps {
            let job = model.transliterate(&word, TransliterationOptions::default()).unwrap();
            let source: Vec<u32> = job.source().iter().map(|symbol| symbol.id).collect();
            let all = AttentionRequest::default();
            // One of each step: what is written after the start, and the last is not read.
            let written: Vec<u32> = ids.iter().skip(1).copied().chain([0]).collect();
            let [encoder, decoder, cross] =
                block_on(model.attention(&source, &written, &all)).unwrap();
            assert!(encoder.weights.is_empty() && decoder.weights.is_empty());
            assert_eq!((&cross.of.layers[..], &cross.of.heads[..]), (&[1][..], &[0][..]));
            compare(&format!("{name}: {word}"), &cross, &vec![vec![attention.unwrap()]]);
        }
    }
}
