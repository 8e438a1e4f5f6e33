//! What users ask for: text in, text out.

pub mod translation;
