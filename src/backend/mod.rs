//! Devices: where activations lie and how they are computed on.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
