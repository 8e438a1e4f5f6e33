//! The classes for JavaScript, in a worker of a browser: Marian's own decoding of a small model, and typed errors.
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere
#![cfg(target_arch = "wasm32")]

use js_sys::{Array, Float32Array, JSON, Object, Reflect, Uint8Array};
use multihead::web::TranslationModel;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::Blob;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

const MODEL: &[u8] = include_bytes!("fixtures/marian/tiny-small-vocabulary.bin");
const VOCAB: &[u8] = include_bytes!("fixtures/marian/shared-80.spm");
/// What Marian makes of some sources at some settings.
const DECODED: &str = include_str!("fixtures/marian/tiny-small-vocabulary.json");

fn get(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(key)).unwrap()
}

fn list(object: &JsValue, key: &str) -> Array {
    get(object, key).unchecked_into()
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (key, value) in fields {
        Reflect::set(&object, &JsValue::from_str(key), value).unwrap();
    }
    object.into()
}

fn bytes(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

fn blob(bytes: &[u8]) -> JsValue {
    let parts = Array::of1(&Uint8Array::from(bytes));
    Blob::new_with_u8_array_sequence(&parts).unwrap().into()
}

fn load(wrap: fn(&[u8]) -> JsValue, model: &[u8]) -> Result<TranslationModel, JsValue> {
    let file =
        |name: &str, bytes| object(&[("name", JsValue::from_str(name)), ("data", wrap(bytes))]);
    let files =
        object(&[("model", file("tiny.bin", model)), ("sourceVocab", file("tiny.spm", VOCAB))]);
    TranslationModel::new(&files, &JsValue::UNDEFINED)
}

/// The object thrown by `result`.
fn thrown<T>(result: Result<T, JsValue>) -> JsValue {
    match result {
        Ok(_) => panic!("nothing was thrown"),
        Err(error) => error,
    }
}

fn text(object: &JsValue, key: &str) -> String {
    get(object, key).as_string().unwrap_or_default()
}

#[wasm_bindgen_test]
async fn files_from_memory_and_from_blobs_translate_as_marian_does() {
    let decoded = JSON::parse(DECODED).unwrap();
    let sources = list(&decoded, "sources");
    let texts: Vec<String> = sources.iter().map(|source| text(&source, "text")).collect();
    for wrap in [bytes as fn(&[u8]) -> JsValue, blob] {
        let model = load(wrap, MODEL).unwrap();
        assert_eq!(model.precision(), "float32");
        for setting in list(&decoded, "settings") {
            // Where the length limit cuts a translation, another attempt is made: not what Marian does.
            if get(&setting, "max_length_factor").as_f64().unwrap() < 1.0 {
                continue;
            }
            let options = object(&[
                ("beamSize", get(&setting, "beam_size")),
                ("lengthPenalty", get(&setting, "normalize")),
                ("wordPenalty", get(&setting, "word_penalty")),
                ("maxLengthFactor", get(&setting, "max_length_factor")),
            ]);
            let mut job = model.start(texts.clone(), &options).unwrap();
            while !job.done() {
                job.step(5.0).await.unwrap();
            }
            let translations = job.finish().unwrap();
            for (index, translation) in translations.iter().enumerate() {
                let sentences = list(&translation, "sentences");
                assert_eq!(sentences.length(), 1);
                let tokens = list(&sentences.get(0), "targetTokens");
                let ids: Vec<JsValue> = tokens.iter().map(|token| get(&token, "id")).collect();
                let best = Array::from(&list(&setting, "n_best").get(index as u32)).get(0);
                let expected: Vec<JsValue> =
                    list(&best, "ids").iter().filter(|id| *id != 0.0).collect();
                assert_eq!(ids, expected, "{}", texts[index]);
                let alignment: Float32Array = get(&sentences.get(0), "alignment").unchecked_into();
                let columns = list(&sentences.get(0), "sourceTokens").length() + 1;
                assert_eq!(alignment.length(), columns * (tokens.length() + 1));
            }
        }
    }
}

#[wasm_bindgen_test]
async fn pieces_joined_are_the_text_and_ranges_are_utf16() {
    let model = load(bytes, MODEL).unwrap();
    let input = "  🎉\n\npeldorlo vigrami. peldorlo vigrami.\n".to_owned();
    let run = async || {
        let mut job = model.start(vec![input.clone()], &JsValue::UNDEFINED).unwrap();
        let mut pieces = String::new();
        while !job.done() {
            job.step(0.0).await.unwrap();
            pieces.push_str(&job.take_text(0));
        }
        (job, pieces)
    };
    let (job, pieces) = run().await;
    assert_eq!(job.finish_texts().unwrap(), std::slice::from_ref(&pieces));
    let translation = run().await.0.finish().unwrap().get(0);
    assert_eq!(text(&translation, "text"), pieces);
    assert!(pieces.starts_with("  🎉\n\n") && pieces.ends_with('\n'));
    let units: Vec<u16> = input.encode_utf16().collect();
    for sentence in list(&translation, "sentences") {
        for token in list(&sentence, "sourceTokens") {
            let range = list(&token, "range");
            let end = |at| range.get(at).as_f64().unwrap() as usize;
            assert_eq!(String::from_utf16(&units[end(0)..end(1)]).unwrap(), text(&token, "text"));
        }
    }
}

#[wasm_bindgen_test]
fn faults_are_objects_that_say_where() {
    let error = thrown(load(blob, &MODEL[..MODEL.len() / 2]));
    assert_eq!(text(&error, "code"), "model-corrupt");
    assert_eq!(text(&error, "file"), "tiny.bin");
    assert!(text(&error, "message").contains("tiny.bin"));

    let error = thrown(TranslationModel::new(&object(&[]), &JsValue::UNDEFINED));
    assert_eq!(
        (text(&error, "code"), text(&error, "option")),
        ("invalid-argument".into(), "model".into())
    );

    let model = load(bytes, MODEL).unwrap();
    for (option, value) in [
        ("beam_size", JsValue::from(4)),
        ("beamSize", JsValue::from(1.5)),
        ("beamSize", JsValue::from(0)),
        ("beamSize", JsValue::from(1e9)),
        ("lengthPenalty", JsValue::from("high")),
        ("maxLengthFactor", JsValue::from(f64::NAN)),
    ] {
        let error = thrown(model.start(vec![], &object(&[(option, value)])));
        assert_eq!(text(&error, "code"), "invalid-argument");
        assert_eq!(text(&error, "option"), option);
    }
}
