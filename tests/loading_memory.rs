//! What loading a language model takes of memory: its weights once, never a whole tensor beside them.
#![cfg(not(target_arch = "wasm32"))] // there `web_loading.rs`
#![allow(clippy::unwrap_used)] // as in any test

mod synthetic;

use multihead::formats::ByteSource;
use multihead::tasks::text_generation::{Cpu, LoadOptions, TextModel};
use synthetic::{Q4_0, Q5_0, Q6_K, Q8_0, Synthetic};

/// Beside the weights: what the file's metadata takes, and the piece that is being read.
const BESIDE: u64 = 4 << 20;

#[test]
fn weights_are_in_memory_once() {
    for types in [&[Q4_0][..], &[Q8_0], &[Q5_0], &[Q6_K]] {
        let file = Synthetic::new(120 << 20, types);
        let len = file.len();
        let mut model: Option<TextModel<Cpu>> = None;
        let memory = allocation_counter::measure(|| {
            let loaded = TextModel::load(Cpu::new(), Box::new(file), LoadOptions::default());
            model = Some(loaded.unwrap());
        });
        assert!(model.is_some());
        let (most, left) = (memory.bytes_max, memory.bytes_current.cast_unsigned());
        println!("{types:?}: {len} bytes of file, {most} bytes while loading, {left} after it");
        // Scales that are products of two numbers in the file are one here: 16 · 4 bytes for 16 + 2 of Q6_K.
        assert!(most as f64 <= 1.25 * len as f64, "{most}");
        assert!(most - left <= BESIDE, "{most} {left}");
    }
}
