//! Attention weights of every family on a software GPU, beside other people's (`tests/fixtures/attention`, `letters`).
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::formats::gguf::GgufFile;
use multihead::model::arch;
use multihead::stack::{BlockWeights, Decoder, Precision, Watch};
use support::{attention, file, fixture, gpu::device, letters_attention, order};

#[test]
fn attention_weights_are_those_of_other_libraries() {
    let Some(gpu) = device(None) else { return };
    attention::encoders_agree(&gpu);
    attention::decoders_agree(&gpu);
    attention::translations_agree(&gpu);
    letters_attention::trained_agree(&gpu);
    letters_attention::recurrent_agree(&gpu);
}

#[test]
fn words_that_change_places_are_told_apart_by_positions_alone() {
    let Some(gpu) = device(None) else { return };
    order::is_known_by_positions_alone(&gpu);
}

/// Weights cost a call for each layer that is looked at, and nothing where none is.
#[test]
fn only_what_is_looked_at_is_computed() {
    let Some(mut gpu) = device(None) else { return };
    let gguf = GgufFile::open(Box::new(file(&fixture("decoders/gemma3.gguf")))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    let model = Decoder::load(&gpu, &gguf, &spec, Precision::Float32).unwrap();
    let mut calls = |layers: &[usize], heads: &[usize]| {
        let mut state = model.start(&mut gpu);
        let (mut given, before) = (0, gpu.counts().dispatches);
        let mut take = |_, weights: BlockWeights<_>| given += usize::from(weights.mixer.is_some());
        let watch = Watch { layers, mixer: heads, cross: &[], take: &mut take };
        let watch = (!layers.is_empty()).then_some(watch);
        model.forward_watched(&mut gpu, &mut state, &[3, 1, 4, 1, 5], watch).unwrap();
        (gpu.counts().dispatches - before, given)
    };
    let (plain, _) = calls(&[], &[]);
    assert_eq!(calls(&[0, 4, 6], &[1]), (plain + 3, 3));
    assert_eq!(calls(&[2], &[]), (plain, 0));
    assert_eq!(calls(&[], &[]), (plain, 0));
}
