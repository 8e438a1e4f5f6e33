//! Transformers in the page: one attention block for encoder-only, decoder-only and encoder–decoder models.
//!
//! `ARCHITECTURE.md` has the map of the code and the direction of its imports.

pub mod backend;
pub mod error;
pub mod formats;
pub mod generate;
pub mod model;
pub mod ops;
pub mod stack;
pub mod tasks;
pub mod text;

#[cfg(target_arch = "wasm32")]
pub mod web;
