//! Tiny encoders that the lesson shows, trained on texts whose rule is known (`tests/fixtures/letters/texts.py`): they load as
//! any encoder does, answer as transformers' pipelines do, and follow the rule.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::tasks::encoding::{
    Answer, Cpu, EncodingJob, EncodingModel, Entity, LoadOptions, Precision, TooLong,
};
use serde_json::Value;
use std::path::Path;
use std::rc::Rc;
use support::{encoders, fixture, json};

/// Scores computed by torch in float32 lie this near to ours.
const TOLERANCE: f64 = 1e-3;
/// Held-out texts of a fixture that are labelled as the rule says.
const RIGHT: f64 = 0.95;

fn load(name: &str) -> (Rc<EncodingModel<Cpu>>, Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/lesson/models").join(name);
    let options = LoadOptions { precision: Precision::Float32 };
    let model = EncodingModel::load(Cpu::new(), encoders::folder(&folder), options);
    let model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
    (Rc::new(model), json(&fixture(&format!("letters/{name}.json"))))
}

fn run(mut job: EncodingJob<Cpu>) -> Answer {
    while !job.is_done() {
        pollster::block_on(job.step()).unwrap();
    }
    job.finish().unwrap()
}

/// Labels with their scores, best first.
fn classified(model: &Rc<EncodingModel<Cpu>>, text: &str) -> Vec<(String, f32)> {
    let job = model.classify(text.to_owned(), usize::MAX, TooLong::Error).unwrap();
    let Answer::Classification(got) = run(job) else { panic!("{text}") };
    got.labels.into_iter().map(|label| (label.label, label.score)).collect()
}

fn tagged(model: &Rc<EncodingModel<Cpu>>, text: &str) -> Vec<Entity> {
    let Answer::Tagged(got) = run(model.tag(text.to_owned(), TooLong::Error).unwrap()) else {
        panic!("{text}")
    };
    got.entities
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn assert_near(got: f32, want: &Value, what: &str) {
    let want = want.as_f64().unwrap();
    assert!((f64::from(got) - want).abs() <= TOLERANCE, "{what}: {got}, expected {want}");
}

fn assert_share(right: usize, of: usize, what: &str) {
    assert!(of >= 40, "{of} texts");
    assert!(right as f64 >= RIGHT * of as f64, "{what}: {right} of {of}");
}

#[test]
fn moods_are_those_of_the_pipeline() {
    let (model, expected) = load("moods");
    for case in list(&expected, "cases") {
        let text = string(&case["text"]);
        let got = classified(&model, text);
        let want = list(case, "answer");
        assert_eq!(got.len(), want.len());
        for ((label, score), want) in got.iter().zip(want) {
            assert_eq!(label, string(&want["label"]), "{text}");
            assert_near(*score, &want["score"], text);
        }
    }
}

#[test]
fn moods_follow_the_rule() {
    let (model, expected) = load("moods");
    let sample = list(&expected, "sample");
    let is_right = |pair: &&Value| classified(&model, string(&pair[0]))[0].0 == string(&pair[1]);
    assert_share(sample.iter().filter(is_right).count(), sample.len(), "moods");
}

#[test]
fn things_are_those_of_the_pipeline() {
    let (model, expected) = load("things");
    for case in list(&expected, "cases") {
        let text = string(&case["text"]);
        let got = tagged(&model, text);
        let want = list(case, "answer");
        assert_eq!(got.len(), want.len(), "{text}: {got:?}");
        for (got, want) in got.iter().zip(want) {
            assert_eq!(got.label, string(&want["label"]), "{text}");
            assert_eq!(&text[got.range.clone()], string(&want["text"]), "{text}");
            assert_near(got.score, &want["score"], text);
        }
    }
}

#[test]
fn things_follow_the_rule() {
    let (model, expected) = load("things");
    let sample = list(&expected, "sample");
    let mut right = 0;
    for pair in sample {
        let text = string(&pair[0]);
        let words: Vec<&str> = text.split(' ').collect();
        let mut want: Vec<(String, String)> = Vec::new();
        for (word, label) in words.iter().zip(pair[1].as_array().unwrap()) {
            match string(label).split_once('-') {
                Some(("B", kind)) => want.push((kind.to_owned(), (*word).to_owned())),
                Some(_) => {
                    let (_, entity) = want.last_mut().unwrap();
                    *entity = format!("{entity} {word}");
                }
                None => {}
            }
        }
        let got = tagged(&model, text).into_iter();
        let got = got.map(|entity| (entity.label, text[entity.range].to_owned()));
        right += usize::from(got.eq(want));
    }
    assert_share(right, sample.len(), "things");
}
