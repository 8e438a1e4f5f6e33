//! Errors as JavaScript objects: `{ code, message, file?, offset?, tensor?, option? }`.

use crate::error::Error;
use js_sys::{Object, Reflect};
use wasm_bindgen::JsValue;

/// The object that the package turns into its `MultiheadError`.
pub fn to_js(error: &Error) -> JsValue {
    let object = Object::new();
    set(&object, "code", error.code());
    set(&object, "message", error.to_string());
    if let Some(file) = error.file() {
        set(&object, "file", file);
    }
    if let Some(offset) = error.offset() {
        // Exact up to 2^53, past which no file goes.
        set(&object, "offset", offset as f64);
    }
    if let Some(tensor) = error.tensor() {
        set(&object, "tensor", tensor);
    }
    if let Some(option) = error.option() {
        set(&object, "option", option);
    }
    object.into()
}

/// 'invalid-argument' for an option whose name is the caller's.
pub fn invalid(option: &str, what: &str) -> JsValue {
    let object = Object::new();
    set(&object, "code", "invalid-argument");
    set(&object, "message", format!("{option}: {what}"));
    set(&object, "option", option);
    object.into()
}

/// Sets a property of a plain object, which cannot fail.
pub fn set(object: &Object, key: &str, value: impl Into<JsValue>) {
    let set = Reflect::set(object, &JsValue::from_str(key), &value.into());
    debug_assert!(set.is_ok(), "a plain object takes every property");
}
