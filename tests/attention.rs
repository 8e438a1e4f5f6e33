//! Attention weights of every family, beside other people's (`tests/fixtures/attention`): what transformers gives with eager
//! attention, and of Marian's models an independent transformer in numpy.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::error::Result;
use multihead::stack::Precision;
use multihead::tasks::attention::{AttentionKind, AttentionRequest};
use multihead::tasks::encoding::{Answer, EmbeddingOptions, EncodingModel, LoadOptions};
use std::rc::Rc;
use support::{
    attention::{self, decoder_weights, encoder_weights, expected, translation_weights},
    order,
};

fn cpu() -> Cpu {
    Cpu::new()
}

#[test]
fn encoders_look_where_those_of_transformers_do() {
    attention::encoders_agree(&cpu());
}

#[test]
fn decoders_look_where_those_of_transformers_do() {
    attention::decoders_agree(&cpu());
}

#[test]
fn translations_look_where_those_of_numpy_do() {
    attention::translations_agree(&cpu());
}

/// A recurrent decoder looks at nothing of its own, which is no error where all is wanted, and one where it is named.
#[test]
fn kinds_that_a_translation_lacks() {
    let all = AttentionRequest::default();
    let [encoder, decoder, cross] = translation_weights(&cpu(), "tiny", &all).unwrap();
    assert!(decoder.weights.is_empty() && !encoder.weights.is_empty() && !cross.weights.is_empty());
    let kinds = vec![AttentionKind::Decoder];
    let named = AttentionRequest { kinds, ..all };
    let error = translation_weights(&cpu(), "tiny", &named).unwrap_err();
    assert_eq!((error.code(), error.option()), ("invalid-argument", Some("attention")));
    let [encoder, decoder, cross] = translation_weights(&cpu(), "self-attention", &named).unwrap();
    assert!(encoder.weights.is_empty() && !decoder.weights.is_empty() && cross.weights.is_empty());
}

#[test]
fn words_that_change_places_are_told_apart_by_positions_alone() {
    order::is_known_by_positions_alone(&cpu());
}

#[test]
fn read_at_once_or_token_by_token_weights_are_the_same() {
    for name in ["llama", "gemma2", "gpt2"] {
        let all = AttentionRequest::default();
        let at_once = decoder_weights(&cpu(), name, &[14], &all);
        assert_eq!(at_once, decoder_weights(&cpu(), name, &[1; 14], &all), "{name}");
    }
}

#[test]
fn some_layers_and_heads_are_those_of_all() {
    let all = encoder_weights(&cpu(), "bert-embed", &AttentionRequest::default());
    let [queries, keys] = all.lens;
    let some = AttentionRequest {
        kinds: vec![AttentionKind::Encoder],
        layers: vec![1],
        heads: vec![3, 0],
    };
    let some = encoder_weights(&cpu(), "bert-embed", &some);
    assert_eq!((&some.of.layers[..], &some.of.heads[..]), (&[1][..], &[3, 0][..]));
    let of = |layer: usize, head: usize| {
        let start = (layer * 4 + head) * queries * keys;
        &all.weights[start..start + queries * keys]
    };
    assert_eq!(some.weights, [of(1, 3), of(1, 0)].concat());
}

/// With a window and without, tokens to come are looked at with exactly 0, and so are those behind the window.
#[test]
fn what_is_masked_is_exactly_zero() {
    for (name, window) in [("llama", 14), ("gemma2", 4)] {
        let got = decoder_weights(&cpu(), name, &[5, 9], &AttentionRequest::default());
        let [queries, keys] = got.lens;
        // Of gemma2's layers the first and the third have a window.
        let of_layers = got.weights.chunks(got.of.heads.len() * queries * keys).enumerate();
        for (layer, weights) in of_layers {
            let window = if layer % 2 == 0 { window } else { 14 };
            for (index, row) in weights.chunks(keys).enumerate() {
                let query = index % queries;
                for (key, weight) in row.iter().enumerate() {
                    let is_visible = key <= query && query - key < window;
                    assert_eq!(is_visible, *weight != 0.0, "{name}: {layer}, {query}, {key}");
                }
                let sum: f32 = row.iter().sum();
                assert!((sum - 1.0).abs() < 1e-5, "{name}: {sum}");
            }
        }
    }
}

#[test]
fn a_text_alone_or_in_a_list_has_the_same_weights() -> Result<()> {
    let path = support::fixture("encoders/bert-embed");
    let options = LoadOptions { precision: Precision::Float32 };
    let model = EncodingModel::load(cpu(), support::encoders::folder(&path), options)?;
    let model = Rc::new(model);
    let texts = ["the old town", "a river", ""].map(str::to_owned);
    let of = |texts: &[String], watched: bool| {
        let mut job = model.embed(texts.to_vec(), EmbeddingOptions::default());
        if watched {
            job.watch(&AttentionRequest::default()).unwrap();
        }
        while !job.is_done() {
            pollster::block_on(job.step()).unwrap();
        }
        let Answer::Embeddings(embedded) = job.finish().unwrap() else { panic!() };
        embedded
    };
    let together = of(&texts, true);
    assert_eq!(together.attention.len(), 3);
    for (text, attention) in texts.iter().zip(&together.attention) {
        assert_eq!(of(std::slice::from_ref(text), true).attention, std::slice::from_ref(attention));
    }
    // To look changes nothing of what is looked at.
    assert_eq!(of(&texts, false).vectors, together.vectors);
    assert!(expected("bert-embed")["ids"].is_array());
    Ok(())
}
