//! Every op natively: scalar lanes, native lanes and the slow reference of each.
#![cfg(not(target_arch = "wasm32"))]

mod ops_body;

#[test]
fn every_op_computes_what_its_reference_says() {
    ops_body::now(ops_body::check_all(|name| println!("{name}")));
}
