//! What users ask for: text in, text out.

pub mod attention;
#[cfg(feature = "encoder")]
pub mod encoding;
mod rereading;
pub mod text_generation;
pub mod translation;
#[cfg(feature = "encoder")]
pub mod transliteration;

/// Rows with which everything is rehearsed on a GPU: one of each kind for which products have kernels of their own, up to
/// the longest text that is encoded at once.
#[cfg(feature = "gpu")]
const REHEARSED_ROWS: [usize; 15] = [1, 2, 3, 5, 9, 17, 33, 64, 96, 128, 160, 192, 256, 384, 512];

#[cfg(feature = "gpu")]
pub use crate::backend::gpu::{Gpu, Request as GpuRequest};
