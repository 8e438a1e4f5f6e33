//! Time.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// `performance.now()` of a page, a worker or Node: milliseconds.
    #[wasm_bindgen(js_namespace = performance)]
    pub fn now() -> f64;
}
