//! Models over letters with every kind of unit and score beside torch, which made the same files
//! (tests/fixtures/letters/write.py); searches, symbols, and files that are damaged.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod support;

use multihead::error::Error;
use multihead::tasks::transliteration::{
    Candidate, Cpu, LoadOptions, ModelFolder, Precision, TransliterationModel,
    TransliterationOptions,
};
use serde_json::Value;
use std::rc::Rc;
use support::encoders::{as_folder, files};
use support::letters::{Forced, forced, transliterated};
use support::{fixture, json};

const MODELS: [&str; 6] = [
    "gru-additive",
    "lstm-dot-product",
    "lstm-fixed-vector",
    "gru-wide-keys",
    "transformer-post",
    "transformer-pre",
];

/// The folder of a model, with its configuration changed.
fn folder(name: &str, change: impl FnOnce(&mut Value)) -> ModelFolder {
    let mut files = files(&fixture("letters").join(name));
    let mut config: Value = serde_json::from_slice(&files["config.json"]).unwrap();
    change(&mut config);
    files.insert("config.json".to_owned(), config.to_string().into_bytes());
    as_folder(files)
}

fn load(name: &str, change: impl FnOnce(&mut Value)) -> Result<TransliterationModel<Cpu>, Error> {
    TransliterationModel::load(Cpu::new(), folder(name, change), LoadOptions::default())
}

fn model(name: &str) -> Rc<TransliterationModel<Cpu>> {
    Rc::new(load(name, |_| {}).unwrap())
}

#[test]
fn probabilities_and_attention_are_those_of_torch() {
    let expected = json(&fixture("letters/expected.json"));
    for name in MODELS {
        let model = model(name);
        for case in expected[name].as_array().unwrap() {
            let case: Forced = serde_json::from_value(case.clone()).unwrap();
            let (probabilities, attention) = forced(&model, &case);
            println!("{name}: {probabilities:.1e}, {attention:.1e}");
            assert!(probabilities < 1e-5 && attention < 1e-5, "{name}, {}", case.word);
        }
    }
}

/// The product of the likeliest symbols' probabilities, one hypothesis: what a search of one must find.
#[test]
fn a_search_of_one_takes_the_likeliest_symbol() {
    const START: u32 = 4;
    for name in MODELS {
        let model = model(name);
        let found = transliterated(&model, "abach", 1);
        let mut ids = vec![START];
        let mut worth = 1.0;
        while ids.len() < 12 && *ids.last().unwrap() != 5 {
            let all = pollster::block_on(model.force("abach", &ids)).unwrap().probabilities;
            let last = &all[all.len() - 6..];
            let best = (0..6).max_by(|a, b| last[*a].total_cmp(&last[*b])).unwrap();
            worth *= f64::from(last[best]);
            ids.push(best as u32);
        }
        let Candidate { symbols, probability, text, .. } = &found[0];
        let written: Vec<u32> = symbols.iter().map(|symbol| symbol.id).collect();
        assert_eq!(written, ids[1..], "{name}");
        assert!((probability / worth - 1.0).abs() < 1e-4, "{name}: {probability} {worth}");
        let pieces: String = symbols.iter().map(|symbol| &text[symbol.range.clone()]).collect();
        assert_eq!(pieces, *text);
    }
}

#[test]
fn candidates_come_likeliest_first_and_look_at_what_sums_to_one() {
    let model = model("gru-additive");
    let options = TransliterationOptions { beam_size: 4, candidates: Some(3) };
    let mut job = model.transliterate("ABA", options).unwrap();
    let source = job.source().to_vec();
    // Upper case is read as lower; the rest is padding, which stands for nothing.
    let ranges: Vec<_> = source.iter().map(|symbol| symbol.range.clone()).collect();
    assert_eq!(ranges, [0..1, 1..2, 2..3, 3..3, 3..3, 3..3, 3..3]);
    while !job.is_done() {
        pollster::block_on(job.step()).unwrap();
    }
    let found = job.finish().unwrap();
    assert_eq!(found.len(), 3);
    assert!(found.is_sorted_by(|a, b| a.probability >= b.probability));
    for candidate in &found {
        assert_eq!(candidate.alignment.len(), candidate.symbols.len() * source.len());
        for row in candidate.alignment.chunks(source.len()) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        }
    }
    // Without cross-attention there is nothing to show.
    assert!(transliterated(&self::model("lstm-fixed-vector"), "ab", 2)[0].alignment.is_empty());
}

#[test]
fn texts_that_cannot_be_read_are_errors_or_nothing() {
    let model = model("gru-additive");
    let wrong = |text: &str, options| model.transliterate(text, options).err().unwrap().to_string();
    let plain = TransliterationOptions::default();
    assert!(wrong("abcabcab", plain).contains("8 symbols, the model reads 7"));
    assert!(wrong("ab!", plain).contains("'!'"));
    let none = TransliterationOptions { beam_size: 0, candidates: None };
    assert!(wrong("a", none).contains("beamSize") || wrong("a", none).contains("1 to 64"));
    assert!(transliterated(&model, "", 3).is_empty());
    let dropping = load("gru-additive", |config| config["source"]["unknown"] = "drop".into());
    let dropping = Rc::new(dropping.unwrap());
    assert!(transliterated(&dropping, "123 ?", 3).is_empty());
    assert_eq!(transliterated(&dropping, "a-b", 3), transliterated(&dropping, "ab", 3));
    let long = dropping.transliterate(&"1".repeat((1 << 16) + 1), plain).err().unwrap();
    assert!(long.to_string().contains("65537 bytes"), "{long}");
}

#[test]
fn wrong_files_are_errors_that_name_what_is_wrong() {
    type Change = (&'static str, fn(&mut Value), &'static str);
    let changes: [Change; 16] = [
        ("gru-additive", |c| c["model_type"] = "bert".into(), "multihead-letters"),
        ("gru-additive", |c| c["encoder"]["mixer"] = "rnn".into(), "mixer"),
        ("gru-additive", |c| c["encoder"]["layers"] = 0.into(), "layers"),
        ("gru-additive", |c| c["encoder"]["hidden_size"] = 5.into(), "bias_hh_l0"),
        ("gru-additive", |c| c["encoder"]["layers"] = 3.into(), "weight_ih_l2"),
        ("gru-additive", |c| c["decoder"]["initial_state"] = "encoder".into(), "initial_state"),
        ("gru-additive", |c| c["decoder"]["bidirectional"] = true.into(), "bidirectional"),
        ("gru-wide-keys", |c| c["decoder"]["cross_attention"]["projections"] = Value::Null, "wide"),
        ("gru-additive", |c| c["target"]["start"] = 6.into(), "start"),
        ("gru-additive", |c| c["target"]["symbols"] = Value::Null, "symbols"),
        ("gru-additive", |c| c["source"]["padding"]["length"] = 0.into(), "length"),
        ("gru-additive", |c| c["source"]["unknown"] = "guess".into(), "unknown"),
        ("transformer-post", |c| c["encoder"]["num_heads"] = 3.into(), "num_heads"),
        ("transformer-pre", |c| c["decoder"]["norm"] = "none".into(), "norm"),
        ("gru-additive", |c| c["decoder"]["alignment"] = vec![0, 1].into(), "alignment"),
        ("transformer-pre", |c| c["decoder"]["alignment"] = vec![9, 0].into(), "alignment"),
    ];
    for (name, change, named) in changes {
        let error = load(name, change).err().unwrap_or_else(|| panic!("{name}, {named}: no error"));
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
    let options = LoadOptions { precision: Precision::Int8 };
    let int8 = TransliterationModel::<Cpu>::load(Cpu::new(), folder(MODELS[0], |_| {}), options);
    assert!(int8.err().unwrap().to_string().contains("float32"));
}

/// A model that was trained by a script beside this fixture, with what torch makes of some texts.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trained {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    source: String,
    source_ids: Vec<u32>,
    target: String,
    /// Without the start.
    target_ids: Vec<u32>,
    probabilities: Vec<Vec<f32>>,
}

#[test]
fn trained_models_write_what_they_write_in_torch() {
    const START: u32 = 1;
    for name in ["dates", "reverse-additive", "reverse-fixed", "reverse-transformer"] {
        let folder = support::root().join("www/lesson/models").join(name);
        let folder = as_folder(files(&folder));
        let model = TransliterationModel::load(Cpu::new(), folder, LoadOptions::default());
        let model = Rc::new(model.unwrap());
        let trained: Trained =
            serde_json::from_value(json(&fixture(&format!("letters/{name}.json")))).unwrap();
        for case in trained.cases {
            let job = model.transliterate(&case.source, TransliterationOptions::default()).unwrap();
            let ids: Vec<u32> = job.source().iter().map(|symbol| symbol.id).collect();
            assert_eq!(ids, case.source_ids, "{name}: {}", case.source);
            let mut given = vec![START];
            given.extend(&case.target_ids[..case.target_ids.len() - 1]);
            let forced = Forced {
                word: case.source.clone(),
                ids: given,
                probabilities: case.probabilities,
                attention: None,
            };
            let (farthest, _) = self::forced(&model, &forced);
            println!("{name}, {}: {farthest:.1e}", case.source);
            assert!(farthest < 1e-4, "{name}: {}", case.source);
            let found = transliterated(&model, &case.source, 1);
            // What the fixed vector cannot hold is not written in torch either.
            let likeliest = forced.probabilities.iter().zip(&case.target_ids);
            let is_greedy =
                likeliest.clone().all(|(row, id)| row.iter().all(|p| *p <= row[*id as usize]));
            assert_eq!(found[0].text == case.target, is_greedy, "{name}: {}", found[0].text);
        }
    }
}
