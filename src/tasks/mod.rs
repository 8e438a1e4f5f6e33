//! What users ask for: text in, text out.

#[cfg(feature = "encoder")]
pub mod encoding;
pub mod text_generation;
pub mod translation;

#[cfg(feature = "gpu")]
pub use crate::backend::gpu::{Gpu, Request as GpuRequest};
