//! Attention of the trained models that the lesson shows, all layers and heads, beside torch (`tests/fixtures/letters`).
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::stack::Precision;
use multihead::tasks::attention::{AttentionKind, AttentionRequest, AttentionWeights};
use multihead::tasks::encoding::{Answer, EmbeddingOptions, EncodingModel, LoadOptions};
use multihead::tasks::transliteration::{
    self, Candidate, TransliterationModel, TransliterationOptions,
};
use pollster::block_on;
use serde::Deserialize;
use std::{path::PathBuf, rc::Rc};
use support::{encoders, fixture, json, root};

/// Weights, from 0 to 1, that torch computed in float32 lie this near to ours.
const TOLERANCE: f32 = 1e-4;

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

fn model(name: &str) -> Rc<TransliterationModel<Cpu>> {
    let folder = encoders::folder(&folder(name));
    let options = transliteration::LoadOptions::default();
    Rc::new(TransliterationModel::load(Cpu::new(), folder, options).unwrap())
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

/// What the search says of every candidate: of those that ended and of those that went on.
fn found(
    model: &Rc<TransliterationModel<Cpu>>,
    text: &str,
    request: Option<&AttentionRequest>,
) -> (Vec<u32>, Vec<Candidate>) {
    let options = TransliterationOptions { beam_size: 4, candidates: Some(6) };
    let mut job = model.transliterate(text, options).unwrap();
    if let Some(request) = request {
        job.watch(request).unwrap();
    }
    while !job.is_done() {
        block_on(job.step()).unwrap();
    }
    (job.source().iter().map(|symbol| symbol.id).collect(), job.finish().unwrap())
}

#[test]
fn every_candidate_comes_with_what_it_looked_at() {
    let all = AttentionRequest::default();
    for (name, text) in [("dates", "may 3rd, 2026"), ("reverse-additive", "attention")] {
        let model = model(name);
        let (source, candidates) = found(&model, text, Some(&all));
        assert_eq!(candidates.len(), 6);
        for candidate in &candidates {
            let written: Vec<u32> = candidate.symbols.iter().map(|symbol| symbol.id).collect();
            let attention = candidate.attention.as_ref().unwrap();
            assert_eq!(*attention, block_on(model.attention(&source, &written, &all)).unwrap());
            // The head that is shown as the alignment is one of them.
            let [.., cross] = attention;
            let [layer, head] = model.alignment();
            let place = layer * cross.of.heads.len() + head;
            let shown = candidate.alignment.len();
            assert_eq!(cross.lens, [written.len(), source.len()]);
            let own = &cross.weights[place * shown..(place + 1) * shown];
            for (a, b) in candidate.alignment.iter().zip(own) {
                assert!((a - b).abs() < 1e-6, "{name}: {a}, {b}");
            }
        }
        // To look changes nothing of what is found, and nobody looks unasked.
        let unwatched: Vec<_> = candidates
            .into_iter()
            .map(|candidate| Candidate { attention: None, ..candidate })
            .collect();
        assert_eq!(found(&model, text, None).1, unwatched);
    }
    assert!(found(&model("dates"), "", Some(&all)).1.is_empty());
}

#[test]
fn some_kinds_layers_and_heads_are_those_of_all() {
    let model = model("dates");
    let [Pair { source_ids, target_ids, .. }, ..] = &cases("dates")[..] else { panic!() };
    let of = |kinds: &[AttentionKind], layers: &[usize], heads: &[usize]| {
        let (kinds, layers, heads) = (kinds.to_vec(), layers.to_vec(), heads.to_vec());
        let request = AttentionRequest { kinds, layers, heads };
        block_on(model.attention(source_ids, target_ids, &request))
    };
    let all = of(&[], &[], &[]).unwrap();
    for (place, kind) in [AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross]
        .into_iter()
        .enumerate()
    {
        let some = of(&[kind], &[1], &[3, 0]).unwrap();
        for (other, weights) in some.iter().enumerate() {
            assert_eq!(weights.weights.is_empty(), other != place);
        }
        let size = all[place].lens.iter().product::<usize>();
        let head = |head: usize| &all[place].weights[(4 + head) * size..(5 + head) * size];
        assert_eq!(some[place].weights, [head(3), head(0)].concat());
    }
    let error = of(&[], &[2], &[]).unwrap_err();
    assert_eq!((error.code(), error.option()), ("invalid-argument", Some("attention")));
}

#[derive(Deserialize)]
struct Steps {
    word: String,
    ids: Vec<u32>,
    attention: Option<Vec<Vec<f32>>>,
}

/// Of two layers of units only the last looks at the source.
#[test]
fn recurrent_decoders_look_after_their_last_layer() {
    for name in ["gru-additive", "lstm-dot-product"] {
        let folder = encoders::folder(&fixture("letters").join(name));
        let options = transliteration::LoadOptions::default();
        let model = TransliterationModel::<Cpu>::load(Cpu::new(), folder, options).unwrap();
        let model = Rc::new(model);
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
            let want = attention.unwrap();
            compare(&format!("{name}: {word}"), &cross, &vec![vec![want]]);
        }
        let (layers, heads) = (vec![0], Vec::new());
        let first = AttentionRequest { kinds: vec![AttentionKind::Cross], layers, heads };
        let error = block_on(model.attention(&[1], &[1], &first)).unwrap_err();
        assert!(error.to_string().contains("after the last layer, 1, only"), "{error}");
    }
}

/// 64 candidates that each take 4 heads of 2 layers of 1000 by 1000 symbols are more than 256 MiB.
#[test]
fn candidates_are_held_to_the_limit_together() {
    let folder = encoders::folder(&fixture("letters/transformer-pre"));
    let options = transliteration::LoadOptions::default();
    let model = TransliterationModel::<Cpu>::load(Cpu::new(), folder, options).unwrap();
    let model = Rc::new(model);
    let begun = |beam_size| {
        let options = TransliterationOptions { beam_size, candidates: None };
        let mut job = model.transliterate(&"ab".repeat(500), options).unwrap();
        let kinds = vec![AttentionKind::Encoder];
        job.watch(&AttentionRequest { kinds, ..Default::default() }).unwrap();
        while !job.is_done() {
            block_on(job.step())?;
        }
        job.finish()
    };
    let error = begun(20).unwrap_err();
    assert_eq!((error.code(), error.option()), ("out-of-memory", Some("attention")));
    // 20 · 2 · 2 · 1000² · 4 bytes.
    assert!(error.to_string().contains("320000000"), "{error}");
    assert_eq!(begun(1).unwrap().len(), 1);
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
