//! What loading a language model from a Blob takes of wasm's memory, which never shrinks.
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere
#![cfg(target_arch = "wasm32")]

mod synthetic;

use js_sys::{Array, Object, Reflect, Uint8Array};
use multihead::formats::ByteSource;
use multihead::web::TextModel;
use synthetic::{Q4_0, Q8_0, Synthetic};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::Blob;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// `MULTIHEAD_SYNTHETIC_MB=600` builds the test for a file of that size.
fn size() -> u64 {
    option_env!("MULTIHEAD_SYNTHETIC_MB").map_or(120, |text| text.parse().unwrap()) * 1_000_000
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (key, value) in fields {
        Reflect::set(&object, &JsValue::from_str(key), value).unwrap();
    }
    object.into()
}

fn memory() -> f64 {
    (core::arch::wasm32::memory_size::<0>() << 16) as f64
}

#[wasm_bindgen_test]
fn a_file_is_loaded_within_its_size_and_three_tenths() {
    let file = Synthetic::new(size(), &[Q4_0, Q8_0]);
    let parts = Array::new();
    for start in (0..file.len()).step_by(4 << 20) {
        let bytes = file.read(start..file.len().min(start + (4 << 20))).unwrap();
        // A Blob of each part, or all of them lie in the worker's memory too.
        let part = Array::of1(&Uint8Array::from(&*bytes));
        parts.push(&Blob::new_with_u8_array_sequence(&part).unwrap());
    }
    let blob = Blob::new_with_blob_sequence(&parts).unwrap();
    let before = memory();
    let model = object(&[("name", "synthetic.gguf".into()), ("data", blob.into())]);
    let files = object(&[("model", model)]);
    let Ok(model) = TextModel::new(&files, &object(&[("kvCache", "int8".into())])) else {
        panic!("the model is refused");
    };
    let ratio = memory() / file.len() as f64;
    console_log!(
        "{} bytes: {before} before, {} after, {ratio:.3} of the file",
        file.len(),
        memory()
    );
    assert!(ratio <= 1.3, "{ratio}");
    let told = |name: &str| Reflect::get(&model.info(), &name.into()).unwrap().as_string();
    assert_eq!(told("kvCache").as_deref(), Some("int8"));
    // Options are looked at before anything is loaded.
    for (option, value) in [("kvCache", "int4"), ("cache", "int8")] {
        let Err(error) = TextModel::new(&files, &object(&[(option, value.into())])) else {
            panic!("{option}: {value} is taken");
        };
        let told = |name: &str| Reflect::get(&error, &name.into()).unwrap().as_string();
        assert_eq!(told("code").as_deref(), Some("invalid-argument"));
        assert_eq!(told("option").as_deref(), Some(option));
    }
}
