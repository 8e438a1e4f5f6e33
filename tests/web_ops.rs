//! Every op in a browser: scalar lanes, SIMD lanes and the slow reference of each.
#![cfg(target_arch = "wasm32")]

mod ops_body;

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
fn every_op_computes_what_its_reference_says() {
    ops_body::now(ops_body::check_all(|name| console_log!("{name}")));
}
