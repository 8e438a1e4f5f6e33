//! Whole models against Marian itself: n-best lists, scores and alignments of small models it trained.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::formats::shortlist::Shortlist;
use multihead::generate::{BeamOptions, Hypothesis, Search, SearchInput};
use multihead::stack::{EncoderDecoder, Precision};
use serde_json::Value;
use support::{fixture, json, network};

const TOLERANCE: f64 = 1e-3;
/// An activation near a half may round the other way.
const INT8_TOLERANCE: f64 = 5e-3;
/// Loss of activations of 13 to 15 bits, summed over a hypothesis.
const WIDE_TOLERANCE: f64 = 5e-3;
/// Marian keeps the embeddings in float32, `Int8AsMarian` makes them int8.
const QUANTISED_EMBEDDINGS_TOLERANCE: f64 = 0.1;

fn numbers<T>(value: &Value, get: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    value.as_array().unwrap().iter().map(|v| get(v).unwrap()).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    numbers(value, |v| v.as_u64().map(|id| id as u32))
}

/// Tokens of a source, and the target tokens it may become if not all.
type Source = (Vec<u32>, Option<Vec<u32>>);

/// Hypotheses of each source; all at once, or `one_by_one`: one more source before each step.
fn search(
    model: &EncoderDecoder<Cpu>,
    sources: &[Source],
    options: BeamOptions,
    one_by_one: bool,
) -> Vec<Vec<Hypothesis>> {
    let mut ops = Cpu::new();
    let inputs: Vec<_> = sources
        .iter()
        .map(|(source, candidates)| SearchInput {
            source: source.clone(),
            candidates: candidates.clone(),
            given: None,
        })
        .collect();
    let mut search = Search::new(&mut ops, model, true);
    let mut waiting = inputs.chunks(if one_by_one { 1 } else { inputs.len() });
    let mut results = vec![Vec::new(); sources.len()];
    let mut is_complete = false;
    while !(is_complete && search.is_done()) {
        match waiting.next() {
            Some(inputs) => drop(search.add(&mut ops, model, inputs, options).unwrap()),
            None => is_complete = true,
        }
        for (index, hypotheses) in pollster::block_on(search.step(&mut ops, model)).unwrap() {
            results[index] = hypotheses;
        }
    }
    results
}

/// Compares every setting of one fixture under `key`; gives the number of hypotheses compared.
fn check(name: &str, key: &str, precision: Precision, tolerance: f64) -> usize {
    let fixture_json = json(&fixture(&format!("marian/{name}.json")));
    let model_file = fixture_json["model"].as_str().unwrap();
    let (model, _) = network(&fixture(&format!("marian/{model_file}")), precision);
    let sources: Vec<Source> = fixture_json["sources"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(index, source)| {
            let candidates = fixture_json.get("candidates").map(|of| ids(&of[index]));
            (ids(&source["ids"]), candidates)
        })
        .collect();
    let mut compared = 0;
    for setting in fixture_json[key].as_array().unwrap() {
        let float = |key: &str| setting[key].as_f64().unwrap() as f32;
        let options = BeamOptions {
            beam_size: setting["beam_size"].as_u64().unwrap() as usize,
            length_penalty: float("normalize"),
            word_penalty: float("word_penalty"),
            max_length_factor: float("max_length_factor"),
        };
        // Alone and together: no result may depend on the batch.
        let together = search(&model, &sources, options, false);
        let joining = search(&model, &sources, options, true);
        assert_eq!(joining, together, "{name}, {options:?}: sources that join later");
        for (index, expected) in setting["n_best"].as_array().unwrap().iter().enumerate() {
            let place = format!("{name}, {options:?}, source {index}");
            let alone = search(&model, &sources[index..=index], options, false).remove(0);
            assert_eq!(alone, together[index], "{place}: the batch changes the result");
            let expected = expected.as_array().unwrap();
            assert_eq!(alone.len(), expected.len(), "{place}: length of the n-best list");
            for (rank, (got, expected)) in alone.iter().zip(expected).enumerate() {
                let place = format!("{place}, rank {rank}");
                assert_eq!(got.tokens, ids(&expected["ids"]), "{place}");
                let score = expected["score"].as_f64().unwrap();
                assert!(
                    (f64::from(got.score) - score).abs() <= tolerance,
                    "{place}: score {} for {score}",
                    got.score
                );
                if let Some(rows) = expected.get("alignment").and_then(Value::as_array) {
                    let expected: Vec<f64> =
                        rows.iter().flat_map(|row| numbers(row, Value::as_f64)).collect();
                    assert_eq!(got.alignment.len(), expected.len(), "{place}: alignment");
                    for (got, expected) in got.alignment.iter().zip(expected) {
                        assert!(
                            (f64::from(*got) - expected).abs() <= tolerance,
                            "{place}: alignment {got} for {expected}"
                        );
                    }
                }
                compared += 1;
            }
        }
    }
    compared
}

/// Fixtures that have results under `key`.
fn names(key: &str) -> Vec<String> {
    let only = std::env::var("MULTIHEAD_FIXTURE").ok(); // one model alone: MULTIHEAD_FIXTURE=tiny
    let mut names = Vec::new();
    for entry in std::fs::read_dir(fixture("marian")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        if is_json
            && json(&path).get(key).is_some()
            && only.as_ref().is_none_or(|only| *only == name)
        {
            names.push(name);
        }
    }
    names.sort();
    names
}

#[test]
fn float_models_decode_as_marian_does() {
    let names = names("settings");
    for name in &names {
        // Marian's decoder departs from the model it trained here (tests/fixtures/README.md);
        // the model as it was trained stands in `prenorm-self-attention-scorer`.
        if name == "prenorm-self-attention" {
            continue;
        }
        let compared = check(name, "settings", Precision::Float32, TOLERANCE);
        assert!(compared > 0, "{name}: nothing to compare");
        println!("{name}: {compared} hypotheses equal");
    }
    assert!(!names.is_empty());
}

#[test]
fn int8_weights_with_int16_activations_decode_as_float32_does() {
    for name in names("int8_settings") {
        let compared = check(&name, "settings", Precision::Int16Activations, WIDE_TOLERANCE);
        assert!(compared > 0, "{name}: nothing to compare");
        println!("{name}: {compared} hypotheses equal");
    }
}

#[test]
fn int8_models_decode_as_the_reference_does() {
    let names = names("int8_settings");
    for name in &names {
        let path = fixture(&format!("marian/{name}.bin"));
        let has_multipliers = std::fs::read(path).unwrap().windows(11).any(|w| w == b"_QuantMultA");
        // Without multipliers ours are each row's own, Marian's those of a whole sentence.
        let key = if has_multipliers { "int8_settings" } else { "int8_per_row_settings" };
        let tolerance =
            if name == "int8-marian" { QUANTISED_EMBEDDINGS_TOLERANCE } else { INT8_TOLERANCE };
        let compared = check(name, key, Precision::Int8AsMarian, tolerance);
        assert!(compared > 0, "{name}: nothing to compare");
        println!("{name}: {compared} hypotheses equal");
    }
}

#[test]
fn candidates_are_those_of_marian() {
    let reference = json(&fixture("marian/tiny-shortlist.json"));
    let path = fixture(&format!("marian/{}", reference["shortlist"].as_str().unwrap()));
    let shortlist = Shortlist::open(&support::file(&path)).unwrap();
    let sources = reference["sources"].as_array().unwrap();
    for (source, expected) in sources.iter().zip(reference["candidates"].as_array().unwrap()) {
        let ours = shortlist.candidates_with_source(&ids(&source["ids"]), 128);
        let expected = ids(expected);
        assert!(ours.iter().all(|id| expected.contains(id)), "{ours:?} in {expected:?}");
        // Marian fills up to a multiple of eight with the next frequent tokens.
        assert!(expected.len() - ours.len() < 8, "{} of {}", ours.len(), expected.len());
    }
}
