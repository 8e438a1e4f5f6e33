//! Attention of the trained models that the lesson shows, all layers and heads, beside torch (`tests/fixtures/letters`).
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::stack::Precision;
use multihead::tasks::attention::{AttentionKind, AttentionRequest};
use multihead::tasks::encoding::{Answer, EmbeddingOptions, EncodingModel, LoadOptions};
use multihead::tasks::transliteration::{Candidate, TransliterationModel, TransliterationOptions};
use pollster::block_on;
use serde::Deserialize;
use std::rc::Rc;
use support::letters_attention::{self, Expected, Pair, cases, compare, lesson, load};
use support::{encoders, fixture, root};

#[derive(Deserialize)]
struct Text {
    text: String,
    attention: Option<Expected>,
}

fn cpu() -> Cpu {
    Cpu::new()
}

#[test]
fn models_over_letters_look_where_torch_has_them_look() {
    letters_attention::trained_agree(&cpu());
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
        let model = lesson(&cpu(), name);
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
    assert!(found(&lesson(&cpu(), "dates"), "", Some(&all)).1.is_empty());
}

#[test]
fn some_kinds_layers_and_heads_are_those_of_all() {
    let model = lesson(&cpu(), "dates");
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

/// Of two layers of units only the last looks at the source.
#[test]
fn recurrent_decoders_look_after_their_last_layer() {
    letters_attention::recurrent_agree(&cpu());
    let model = load(&cpu(), &fixture("letters/gru-additive"));
    let (layers, heads) = (vec![0], Vec::new());
    let first = AttentionRequest { kinds: vec![AttentionKind::Cross], layers, heads };
    let error = block_on(model.attention(&[1], &[1], &first)).unwrap_err();
    assert!(error.to_string().contains("after the last layer, 1, only"), "{error}");
}

/// 20 candidates that each take 2 heads of 2 layers of 1000 by 1000 symbols are more than 256 MiB.
#[test]
fn candidates_are_held_to_the_limit_together() {
    let model = load(&cpu(), &fixture("letters/transformer-pre"));
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
        let folder = root().join("www/lesson/models").join(name);
        let model = EncodingModel::load(cpu(), encoders::folder(&folder), options);
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
