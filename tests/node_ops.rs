//! Every op in Node: where a machine is to be had as a program that runs Node, but no browser.
#![cfg(target_arch = "wasm32")]

mod ops_body;

use wasm_bindgen_test::{console_log, wasm_bindgen_test};

#[wasm_bindgen_test]
fn every_op_computes_what_its_reference_says() {
    ops_body::now(ops_body::check_all(|name| console_log!("{name}")));
}
