//! The JavaScript border: classes over the tasks, files read from Blobs, errors and options as JavaScript objects.
//!
//! It runs in a worker only. Ranges are byte ranges inside the crate and UTF-16 offsets past this border.

mod blob_file;
mod error;
mod options;
mod threads;
mod translation;

use wasm_bindgen::prelude::wasm_bindgen;

pub use blob_file::BlobFile;
pub use threads::{lose_thread, serve_thread};
pub use translation::{TranslationJob, TranslationModel};

/// Runs when the module is instantiated: a panic leaves its message on the console before the trap.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
