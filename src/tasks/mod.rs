//! What users ask for: text in, text out.

pub mod text_generation;
pub mod translation;
