//! The JavaScript border: classes over the tasks, files read from Blobs, errors and options as JavaScript objects.
//!
//! It runs in a worker only. Ranges are byte ranges inside the crate and UTF-16 offsets past this border.

mod attention;
mod blob_file;
mod clock;
#[cfg(not(feature = "gpu"))]
mod cpu;
#[cfg(feature = "encoder")]
mod encoder;
mod error;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "encoder")]
mod letters;
mod options;
#[cfg(feature = "text")]
mod text;
#[cfg(not(feature = "gpu"))]
mod threads;
mod token;
#[cfg(feature = "translation")]
mod translation;

use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(not(feature = "gpu"))]
use cpu as device;
#[cfg(feature = "gpu")]
use gpu as device;

pub use blob_file::BlobFile;
#[cfg(feature = "encoder")]
pub use encoder::{EncoderJob, EncoderModel};
#[cfg(feature = "gpu")]
pub use gpu::{gpu_bytes, start_gpu};
#[cfg(feature = "encoder")]
pub use letters::{LettersJob, LettersModel};
#[cfg(feature = "text")]
pub use text::{ScoreJob, TextJob, TextModel, TextSession};
#[cfg(not(feature = "gpu"))]
pub use threads::{lose_thread, serve_thread};
#[cfg(feature = "translation")]
pub use translation::{TranslationJob, TranslationModel};

/// Runs when the module is instantiated: a panic leaves its message on the console before the trap.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
