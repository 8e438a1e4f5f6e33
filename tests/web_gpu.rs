//! The GPU of a browser: every op beside the CPU's float32 path, and the classes for JavaScript over it.
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere
#![cfg(target_arch = "wasm32")]

mod ops_body;
#[path = "support/tiny_gguf.rs"]
mod tiny_gguf;
mod web_gpu_runtime;

use js_sys::{Array, Float32Array, JSON, Object, Reflect, Uint8Array};
use multihead::backend::gpu::Request;
use multihead::formats::{MemoryFile, gguf::GgufFile};
use multihead::model::arch;
use multihead::ops::Ops;
use multihead::stack::{Decoder, Precision};
use multihead::web::{EncoderModel, TranslationModel, gpu_bytes, start_gpu};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

fn get(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(key)).unwrap()
}

fn text(object: &JsValue, key: &str) -> String {
    get(object, key).as_string().unwrap_or_default()
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

fn file(name: &str, bytes: &[u8]) -> JsValue {
    object(&[("name", name.into()), ("data", Uint8Array::from(bytes).into())])
}

/// The files of a tiny translation model.
fn tiny_translator() -> JsValue {
    let model = include_bytes!("fixtures/marian/tiny-small-vocabulary.bin");
    let vocab = include_bytes!("fixtures/marian/shared-80.spm");
    object(&[("model", file("tiny.bin", model)), ("sourceVocab", file("tiny.spm", vocab))])
}

/// The files of a tiny encoder.
fn encoder_files() -> JsValue {
    macro_rules! files {
        ($($path:literal),*) => {
            object(&[$(($path, file(
                $path, include_bytes!(concat!("fixtures/encoders/bert-embed/", $path))
            ))),*])
        };
    }
    files![
        "config.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "1_Pooling/config.json",
        "2_Dense/config.json",
        "2_Dense/model.safetensors"
    ]
}

/// Whether there is a GPU; says loudly if there is none.
async fn started() -> bool {
    web_gpu_runtime::watch();
    match start_gpu(JsValue::UNDEFINED).await {
        Ok(told) => {
            console_log!("adapter: {}", String::from(JSON::stringify(&told).unwrap()));
            assert!(get(&told, "maxBinding").as_f64().unwrap() >= f64::from(128 << 20));
            true
        }
        Err(error) => {
            assert_eq!(text(&error, "code"), "gpu-unavailable");
            let message = text(&error, "message");
            assert!(message.contains("no GPU") && !message.contains("computes wrong"), "{message}");
            console_log!("skipped: no adapter ({})", text(&error, "message"));
            false
        }
    }
}

#[wasm_bindgen_test]
async fn every_op_gives_the_float32_path_of_the_cpu() {
    let announce = |line: &str| console_log!("{line}");
    let Some(gpu) = ops_body::gpu::device(Request::default(), announce).await else { return };
    // Firefox takes a tenth of a second to read back, a thousand of which are too many.
    let start = js_sys::Date::now();
    ops_body::gpu::check_the_rest(&mut gpu.clone()).await;
    let round_trip = (js_sys::Date::now() - start) / gpu.counts().read_backs as f64;
    // All of them run natively, on another software GPU; here one in eight does for the browser's compiler.
    let stride = if round_trip > 30.0 { 16 } else { 8 };
    console_log!("{round_trip:.1} ms a read-back: every run of {stride}");
    ops_body::gpu::also_on(gpu.clone(), stride);
    ops_body::check_all(announce).await;
    let counts = gpu.counts();
    console_log!("{counts:?}");
    let reads = 1000 / stride as u64;
    assert!(counts.dispatches > 2 * reads && counts.read_backs > reads, "{counts:?}");
}

/// Greedy and with beams.
#[wasm_bindgen_test]
async fn translations_are_those_of_marian() {
    let decoded = JSON::parse(include_str!("fixtures/marian/tiny-small-vocabulary.json")).unwrap();
    if !started().await {
        return;
    }
    let before = gpu_bytes();
    let model = TranslationModel::new(&tiny_translator(), &JsValue::UNDEFINED).unwrap();
    assert!(gpu_bytes() > before, "the weights are on the GPU");
    let texts: Vec<String> =
        list(&decoded, "sources").iter().map(|source| text(&source, "text")).collect();
    let mut compared = 0;
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
            job.step(50.0).await.unwrap();
        }
        for (index, translation) in job.finish().unwrap().iter().enumerate() {
            let sentence = list(&translation, "sentences").get(0);
            let tokens = list(&sentence, "targetTokens");
            let ids: Vec<JsValue> = tokens.iter().map(|token| get(&token, "id")).collect();
            let best = Array::from(&list(&setting, "n_best").get(index as u32)).get(0);
            let expected: Vec<JsValue> =
                list(&best, "ids").iter().filter(|id| *id != 0.0).collect();
            assert_eq!(ids, expected, "{}", texts[index]);
            compared += 1;
        }
    }
    assert!(compared > 0);
}

/// Logits of a text that is read in parts.
#[wasm_bindgen_test]
async fn logits_are_those_of_transformers() {
    let announce = |line: &str| console_log!("{line}");
    let Some(mut gpu) = ops_body::gpu::device(Request::default(), announce).await else { return };
    let want = include_bytes!("fixtures/decoders/llama.logits").as_chunks::<4>().0;
    let want: Vec<f32> = want.iter().map(|four| f32::from_le_bytes(*four)).collect();
    let ids = JSON::parse(include_str!("fixtures/decoders/sequence.json")).unwrap();
    let ids: Vec<u32> = Array::from(&ids).iter().map(|id| id.as_f64().unwrap() as u32).collect();
    let bytes = include_bytes!("fixtures/decoders/llama.gguf").to_vec();
    let gguf = GgufFile::open(Box::new(MemoryFile::new("llama.gguf", bytes))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    let model = Decoder::load(&gpu, &gguf, &spec, Precision::Float32).unwrap();
    let mut state = model.start(&mut gpu);
    let (mut got, mut values) = (Vec::new(), Vec::new());
    for part in [0..5, 5..6, 6..ids.len()] {
        let count = part.len();
        let hidden = model.forward(&mut gpu, &mut state, &ids[part]).unwrap();
        let logits = model.logits(&mut gpu, &hidden, 0..count);
        gpu.read(&logits, &mut values).await.unwrap();
        got.append(&mut values);
    }
    ops_body::assert_close(&got, &want, 1e-4, "logits");
}

/// Texts have the vectors of sentence-transformers.
#[wasm_bindgen_test]
async fn vectors_are_those_of_transformers() {
    if !started().await {
        return;
    }
    let options = object(&[("precision", "float32".into())]);
    let model = EncoderModel::new(&encoder_files(), &options).unwrap();
    let expected = include_str!("fixtures/encoders/bert-embed/expected.json");
    let expected = list(&JSON::parse(expected).unwrap(), "texts");
    let texts: Vec<String> = expected.iter().map(|expected| text(&expected, "text")).collect();
    let mut job = model.embed(texts.clone(), &JsValue::UNDEFINED).unwrap();
    while !job.done() {
        job.step(50.0).await.unwrap();
    }
    let vectors: Float32Array = get(&job.finish().unwrap(), "vectors").unchecked_into();
    let vectors = vectors.to_vec();
    let columns = vectors.len() / texts.len();
    for ((vector, expected), text) in vectors.chunks(columns).zip(expected).zip(texts) {
        let want = list(&expected, "sentence");
        assert_eq!(want.length() as usize, columns);
        for (got, want) in vector.iter().zip(want) {
            let want = want.as_f64().unwrap();
            // Five digits are written.
            assert!((f64::from(*got) - want).abs() < 1e-4, "{text}: {got}, expected {want}");
        }
    }
}

#[wasm_bindgen_test]
async fn unknown_options_are_refused() {
    let Err(error) = start_gpu(object(&[("adapter", 1.into())])).await else {
        panic!("nothing was thrown");
    };
    assert_eq!(text(&error, "code"), "invalid-argument");
    assert_eq!(text(&error, "option"), "adapter");
}
