//! A warm decoding step allocates nothing, whatever the model, its arithmetic, the beam and the number of threads.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::{Cpu, pool::Threads};
use multihead::formats::shortlist::Shortlist;
use multihead::generate::{BeamOptions, Search, SearchInput};
use multihead::stack::{EncoderDecoder, Precision};
use multihead::tasks::translation::DecodingOptions;
use multihead::text::sentencepiece::SentencePiece;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use support::{file, fixture, json, model_file, network, translator};

/// Counts on all threads, so this file has one test: others beside it would be counted too.
#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How often `call` asks for memory.
fn allocations(call: impl FnOnce()) -> usize {
    let before = Region::new(COUNTED);
    call();
    let made = before.change();
    made.allocations + made.reallocations
}

/// Runs a future that is ready at once, as the CPU's are, and allocates nothing for it.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the CPU is always ready"),
    }
}

const TEXTS: [&str; 12] = [
    "The committee has published its report on the state of the forests in the north of the country.",
    "The weather is nice today.",
    "She opened the window and looked at the river for a long time.",
    "How many people live in this town?",
    "No.",
    "We will meet at the station on Thursday evening, after the concert has ended.",
    "Water boils at a hundred degrees.",
    "I do not know where he put the keys.",
    "Both teams played well, but neither of them scored before the break.",
    "Please close the door.",
    "The museum was built in the eighteenth century and rebuilt after the fire.",
    "It was the best day of the whole summer.",
];

/// Source tokens and candidates of the texts, as a translation has them.
fn inputs(id: &str) -> Vec<SearchInput> {
    let vocab = model_file(id, |name| name.ends_with(".spm"));
    let vocab = SentencePiece::parse("vocab.spm", &std::fs::read(vocab).unwrap()).unwrap();
    let shortlist =
        Shortlist::open(&file(&model_file(id, |name| name.starts_with("lex.")))).unwrap();
    let input = |text: &&str| {
        let ids = vocab.encode(text).into_iter().map(|piece| piece.id);
        let source: Vec<u32> = ids.chain(vocab.eos_id()).collect();
        let candidates = shortlist.candidates_with_source(&source, vocab.vocab_size());
        SearchInput { source, candidates: Some(candidates), given: None }
    };
    TEXTS.iter().map(input).collect()
}

/// Sources of a fixture.
fn fixture_inputs(name: &str) -> Vec<SearchInput> {
    let sources = json(&fixture(&format!("marian/{name}.json")))["sources"].clone();
    let input = |source: &serde_json::Value| {
        let ids = source["ids"].as_array().unwrap();
        let source = ids.iter().map(|id| id.as_u64().unwrap() as u32).collect();
        SearchInput { source, candidates: None, given: None }
    };
    sources.as_array().unwrap().iter().take(12).map(input).collect()
}

/// Searches twice for the same; of the second time, the steps in which no source ended, and the most allocations in one.
fn warm_steps(
    ops: &mut Cpu,
    model: &EncoderDecoder<Cpu>,
    inputs: &[SearchInput],
    options: BeamOptions,
) -> (usize, usize) {
    let mut search = Search::new(ops, model, true);
    let mut steps = 0;
    let mut most = 0;
    for _ in 0..2 {
        search.add(ops, model, inputs, options).unwrap();
        (steps, most) = (0, 0);
        while !search.is_done() {
            let mut ended = Vec::new();
            let made = allocations(|| ended = now(search.step(ops, model)).unwrap());
            if ended.is_empty() {
                steps += 1;
                most = most.max(made);
            }
        }
    }
    (steps, most)
}

#[test]
fn a_warm_step_allocates_nothing() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8; 9]))), 1, "it is counted");
    let threads = Threads::start(2);
    let mut failures = Vec::new();
    let mut check = |name: &str, model: &EncoderDecoder<Cpu>, inputs: &[SearchInput]| {
        // On two threads each op is shared, however small it is.
        let two = Cpu::with_pool(threads.pool()).sharing_from(0);
        for (mut ops, threads) in [(Cpu::new(), 1), (two, 2)] {
            // A translation follows at most 16 hypotheses at once.
            for (beam_size, count) in [(1, 1), (1, inputs.len()), (4, 1), (4, 4)] {
                let options = BeamOptions { beam_size, ..BeamOptions::default() };
                let (steps, most) = warm_steps(&mut ops, model, &inputs[..count], options);
                let what = format!("{name}, {threads} threads, {count} sources, beam {beam_size}");
                println!("{what}: {steps} steps, at most {most} allocations");
                if steps < 3 || most > 0 {
                    failures.push(what);
                }
            }
        }
    };
    for precision in [Precision::Auto, Precision::Float32] {
        let (model, _) =
            network(&model_file("en-pt", |name| name.starts_with("model.")), precision);
        check(&format!("en-pt {precision:?}"), &model, &inputs("en-pt"));
    }
    // A decoder that keeps keys and values in place of a recurrent state.
    let path = fixture("marian/self-attention.bin");
    let (model, _) = network(&path, Precision::Float32);
    check("self-attention", &model, &fixture_inputs("self-attention"));
    assert!(failures.is_empty(), "{failures:?}");

    // What a translation does around its steps allocates nothing either, once its first token is decoded.
    let translator = translator("en-pt", Precision::Auto);
    for _ in 0..2 {
        let texts = vec![TEXTS[0].to_owned()];
        let mut job = translator.start(texts, DecodingOptions::default()).unwrap();
        let mut made = Vec::new();
        while !job.is_done() {
            made.push(allocations(|| now(job.step()).unwrap()));
        }
        // Encoded, first token; and the last step takes the translation.
        failures = made[2..made.len() - 1]
            .iter()
            .filter(|made| **made > 0)
            .map(usize::to_string)
            .collect();
    }
    assert!(failures.is_empty(), "a translation's steps: {failures:?}");
}
