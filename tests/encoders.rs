//! Encoders of every architecture and head against transformers, which loads the very same folders
//! (`tests/fixtures/encoders/write.py`): ids, embeddings, labels, entities, fillings.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::error::{Error, Result};
use multihead::tasks::encoding::{
    Answer, Cpu, Embedded, EmbeddingOptions, EncodingJob, EncodingModel, LoadOptions, Pooling,
    Precision, Task, TooLong,
};
use serde_json::Value;
use std::rc::Rc;
use support::encoders::{self, Files};
use support::{fixture, json};

/// The first tokens of what transformers computes in float32 lie this near to ours.
const TOLERANCE: f64 = 1e-3;

fn files(name: &str) -> Files {
    encoders::files(&fixture(&format!("encoders/{name}")))
}

fn load_files(files: Files, precision: Precision) -> Result<Rc<EncodingModel<Cpu>>> {
    let folder = encoders::as_folder(files);
    EncodingModel::load(Cpu::new(), folder, LoadOptions { precision }).map(Rc::new)
}

fn load(name: &str) -> Rc<EncodingModel<Cpu>> {
    load_files(files(name), Precision::Float32).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn run(mut job: EncodingJob<Cpu>) -> Result<Answer> {
    while !job.is_done() {
        pollster::block_on(job.step())?;
    }
    job.finish()
}

fn embed(
    model: &Rc<EncodingModel<Cpu>>,
    texts: &[&str],
    options: EmbeddingOptions,
) -> Result<Embedded> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    match run(model.embed(texts, options))? {
        Answer::Embeddings(embedded) => Ok(embedded),
        other => panic!("{other:?}"),
    }
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn texts(expected: &Value) -> impl Iterator<Item = (&str, &Value)> {
    expected["texts"].as_array().unwrap().iter().map(|text| (text["text"].as_str().unwrap(), text))
}

#[track_caller]
fn assert_close(got: &[f32], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    let scale = want.iter().fold(1.0f64, |scale, x| scale.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let difference = (f64::from(*got) - want).abs();
        assert!(difference <= TOLERANCE * scale, "{what}: value {i} is {got}, expected {want}");
    }
}

fn of_task(task: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(fixture("encoders")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name.ends_with(&format!("-{task}")) {
            found.push((name, json(&path.join("expected.json"))));
        }
    }
    assert_eq!(found.len(), 5, "an architecture each");
    found
}

/// Bytes of the `end` code points before.
fn byte(text: &str, characters: &Value) -> usize {
    let count = characters.as_u64().unwrap() as usize;
    text.char_indices().nth(count).map_or(text.len(), |(byte, _)| byte)
}

#[test]
fn embeddings_are_those_of_transformers() {
    for (name, expected) in of_task("embed") {
        let model = load(&name);
        let info = model.info();
        assert_eq!(info.tasks[0], Task::Embed, "{name}");
        assert_eq!(info.max_tokens as u64, expected["max_tokens"].as_u64().unwrap(), "{name}");
        for (text, expected) in texts(&expected) {
            let what = format!("{name}: {text:?}");
            let bare = EmbeddingOptions {
                normalize: Some(false),
                tokens: true,
                ..EmbeddingOptions::default()
            };
            let has_dense = name == "bert-embed";
            if !has_dense {
                for (key, pooling) in
                    [("mean", Pooling::Mean), ("cls", Pooling::First), ("max", Pooling::Max)]
                {
                    let options = EmbeddingOptions { pooling: Some(pooling), ..bare };
                    let got = embed(&model, &[text], options).unwrap();
                    assert_close(&got.vectors, &floats(&expected[key]), &format!("{what}, {key}"));
                }
            }
            let got =
                embed(&model, &[text], EmbeddingOptions { tokens: true, ..Default::default() });
            let got = got.unwrap();
            let ids: Vec<u64> = got.tokens[0].iter().map(|piece| u64::from(piece.id)).collect();
            let want: Vec<u64> =
                expected["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
            assert_eq!(ids, want, "{what}");
            assert_eq!(got.truncated, [expected["truncated"].as_bool().unwrap()], "{what}");
            if let Some(sentence) = expected.get("sentence") {
                assert_close(&got.vectors, &floats(sentence), &what);
            } else if let Some(unit) = expected.get("mean_normalized") {
                let options = EmbeddingOptions { normalize: Some(true), ..bare };
                let got = embed(&model, &[text], options).unwrap();
                assert_close(&got.vectors, &floats(unit), &what);
            }
        }
    }
}

#[test]
fn a_text_does_not_depend_on_its_batch() {
    for (name, expected) in of_task("embed") {
        for precision in [Precision::Float32, Precision::Int8] {
            let model = load_files(files(&name), precision).unwrap();
            let texts: Vec<&str> = texts(&expected).map(|(text, _)| text).collect();
            let together = embed(&model, &texts, EmbeddingOptions::default()).unwrap();
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let dimensions = model.info().dimensions;
            for (text, vector) in texts.iter().zip(together.vectors.chunks(dimensions)) {
                let alone = embed(&model, &[text], EmbeddingOptions::default()).unwrap();
                assert_eq!(bits(&alone.vectors), bits(vector), "{name}: {text:?}");
            }
        }
    }
}

#[test]
fn labels_of_texts_are_those_of_transformers() {
    for (name, expected) in of_task("classify") {
        let model = load(&name);
        for (text, expected_text) in texts(&expected) {
            let job = model.classify(text.to_owned(), usize::MAX, TooLong::Truncate).unwrap();
            let Answer::Classification(got) = run(job).unwrap() else { panic!("{name}") };
            let labels: Vec<&str> = expected["labels"]
                .as_array()
                .unwrap()
                .iter()
                .map(|l| l.as_str().unwrap())
                .collect();
            let by_name =
                |label: &&str| got.labels.iter().find(|got| got.label == **label).unwrap();
            let scores: Vec<f32> = labels.iter().map(|label| by_name(label).score).collect();
            assert_close(&scores, &floats(&expected_text["scores"]), &format!("{name}: {text:?}"));
            assert!(got.labels.is_sorted_by(|a, b| a.score >= b.score), "{name}: {text:?}");
            assert_eq!(got.truncated, expected_text["truncated"].as_bool().unwrap());
        }
    }
}

#[test]
fn entities_are_those_of_the_pipeline() {
    let mut compared = 0;
    for (name, expected) in of_task("tag") {
        let model = load(&name);
        // With others than WordPiece the pipeline has punctuation take the label of the word that it stands at.
        let is_word_piece = !name.contains("roberta");
        let is_plain =
            |text: &str| text.chars().all(|letter| letter.is_alphanumeric() || letter == ' ');
        for (text, expected) in texts(&expected) {
            if !is_word_piece && !is_plain(text) {
                continue;
            }
            let job = model.tag(text.to_owned(), TooLong::Truncate).unwrap();
            let Answer::Tagged(got) = run(job).unwrap() else { panic!("{name}") };
            let want = expected["first"].as_array().unwrap();
            let shown: Vec<_> = got
                .entities
                .iter()
                .map(|entity| (&entity.label, &text[entity.range.clone()]))
                .collect();
            assert_eq!(got.entities.len(), want.len(), "{name}: {text:?}: {shown:?} {want:?}");
            for (got, want) in got.entities.iter().zip(want) {
                let (start, end) = (byte(text, &want["start"]), byte(text, &want["end"]));
                let range = &text[start..end];
                let trimmed = start + (range.len() - range.trim_start().len());
                assert_eq!(got.label, want["label"].as_str().unwrap(), "{name}: {text:?}");
                assert_eq!(got.range, trimmed..end, "{name}: {text:?}");
                assert_close(&[got.score], &[want["score"].as_f64().unwrap()], &name);
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared} entities");
}

#[test]
fn fillings_are_those_of_the_pipeline() {
    for (name, expected) in of_task("fill") {
        let model = load(&name);
        assert_eq!(model.info().mask_token.as_deref(), expected["mask_token"].as_str(), "{name}");
        for (text, expected) in texts(&expected) {
            let job = model.fill(text.to_owned(), 5, TooLong::Truncate).unwrap();
            let Answer::Filled(got) = run(job).unwrap() else { panic!("{name}") };
            let want = expected["top"].as_array().unwrap();
            assert_eq!(got.candidates.len(), want.len());
            for (got, want) in got.candidates.iter().zip(want) {
                assert_eq!(u64::from(got.id), want["id"].as_u64().unwrap(), "{name}: {text:?}");
                assert_close(&[got.score], &[want["score"].as_f64().unwrap()], &name);
            }
        }
    }
}

#[test]
fn int8_stays_near_float32() {
    for (name, expected) in of_task("embed") {
        let (float, int8) = (load(&name), load_files(files(&name), Precision::Int8).unwrap());
        assert_eq!(
            (float.info().precision, int8.info().precision),
            (Precision::Float32, Precision::Int8)
        );
        let texts: Vec<&str> = texts(&expected).map(|(text, _)| text).collect();
        let of = |model| embed(model, &texts, EmbeddingOptions::default()).unwrap().vectors;
        let (a, b) = (of(&float), of(&int8));
        let dimensions = float.info().dimensions;
        for (a, b) in a.chunks(dimensions).zip(b.chunks(dimensions)) {
            assert!(cosine(a, b) > 0.98, "{name}: {}", cosine(a, b));
        }
    }
}

/// A float32 safetensors file with its matrices as int8 and a scale a row beside each, in the layout of compressed-tensors.
fn quantised(bytes: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let (mut entries, mut data) = (serde_json::Map::new(), Vec::new());
    let mut add = |name: &str, dtype: &str, shape: &[u64], bytes: &[u8]| {
        let offsets = [data.len(), data.len() + bytes.len()];
        let entry = serde_json::json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
        entries.insert(name.to_owned(), entry);
        data.extend_from_slice(bytes);
    };
    for (name, entry) in head.as_object().unwrap() {
        let Some(dtype) = entry["dtype"].as_str() else { continue };
        let number = |value: &Value| value.as_u64().unwrap();
        let shape: Vec<u64> = entry["shape"].as_array().unwrap().iter().map(number).collect();
        let at = |i: usize| 8 + length + number(&entry["data_offsets"][i]) as usize;
        let own = &bytes[at(0)..at(1)];
        if dtype != "F32" || shape.len() != 2 || name.contains("position") || name.contains("type")
        {
            add(name, dtype, &shape, own);
            continue;
        }
        let floats = own.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for row in floats.collect::<Vec<_>>().chunks(shape[1] as usize) {
            let scale = row.iter().fold(0.0f32, |most, x| most.max(x.abs())) / 127.0;
            codes.extend(row.iter().map(|x| ((x / scale).round() as i8).cast_unsigned()));
            scales.extend(scale.to_le_bytes());
        }
        add(name, "I8", &shape, &codes);
        add(&format!("{name}_scale"), "F32", &[shape[0], 1], &scales);
    }
    let text = serde_json::to_vec(&entries).unwrap();
    [&(text.len() as u64).to_le_bytes()[..], &text, &data].concat()
}

#[test]
fn int8_files_are_as_near_as_what_is_quantised_on_loading() {
    let expected = json(&fixture("encoders/bert-embed/expected.json"));
    let texts: Vec<&str> = texts(&expected).map(|(text, _)| text).collect();
    let mut files = files("bert-embed");
    let file = quantised(&files["model.safetensors"]);
    files.insert("model.safetensors".to_owned(), file);
    let of_file = load_files(files.clone(), Precision::Auto).unwrap();
    assert_eq!(of_file.info().precision, Precision::Int8);
    let on_loading = load_files(self::files("bert-embed"), Precision::Int8).unwrap();
    let expanded = load_files(files.clone(), Precision::Float32).unwrap();
    let of = |model| embed(model, &texts, EmbeddingOptions::default()).unwrap().vectors;
    let float = load("bert-embed");
    let (a, b, float) = (of(&of_file), of(&on_loading), of(&float));
    for (other, least) in [(&b, 0.999), (&float, 0.98), (&of(&expanded), 0.98)] {
        for (a, b) in a.chunks(20).zip(other.chunks(20)) {
            assert!(cosine(a, b) > least, "{}", cosine(a, b));
        }
    }
    // Without a scale, a matrix of integers says nothing.
    let name = b"0.attention.self.query.weight_scale";
    let file = files.get_mut("model.safetensors").unwrap();
    let at = file.windows(name.len()).position(|window| window == name).unwrap();
    file[at + name.len() - 5] = b'x';
    let error = load_files(files, Precision::Auto).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("query.weight_scale"), "{error}");
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn what_is_asked_of_the_wrong_model_or_text_is_refused() {
    let model = load("bert-classify");
    let error = model.fill("x".to_owned(), 5, TooLong::Truncate).err().unwrap();
    assert_eq!(error.code(), "invalid-argument");
    assert!(
        error.to_string().contains("ForMaskedLM") && error.to_string().contains("classify()"),
        "{error}"
    );
    let model = load("bert-fill");
    for (text, what) in [("no gap", "[MASK]"), ("[MASK] and [MASK]", "more than one")] {
        let job = model.fill(text.to_owned(), 5, TooLong::Truncate).unwrap();
        let error = run(job).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(matches!(error, Error::InvalidArgument { option: "text", .. }));
    }
    let model = load("mpnet-embed");
    let long = "word ".repeat(200);
    let options = EmbeddingOptions { too_long: TooLong::Error, ..EmbeddingOptions::default() };
    let error = embed(&model, &["short", &long], options).unwrap_err();
    assert!(error.to_string().contains("text 1 of the list"), "{error}");
    assert!(embed(&model, &["short", &long], EmbeddingOptions::default()).unwrap().truncated[1]);
    assert_eq!(embed(&model, &[], options).unwrap(), Embedded::default());
}
