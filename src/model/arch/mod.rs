//! One file an architecture: its configuration and tensor names mapped to a description, and nothing else.

#[cfg(feature = "encoder")]
pub mod encoders;
mod families;
pub mod gguf;
#[cfg(feature = "encoder")]
pub mod letters;
pub mod marian;
mod marian_options;
