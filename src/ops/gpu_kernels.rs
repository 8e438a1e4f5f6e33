//! The kernels of the GPU, so that all of them can be validated.

use crate::backend::gpu::Kernel;

/// Every kernel that there is.
pub static KERNELS: &[&Kernel] = &[
    &super::activation::gpu::GATE,
    &super::activation::gpu::SOFT_CAP,
    #[cfg(feature = "recurrent")]
    &super::attention::gpu_additive::ADDITIVE,
    &super::attention::gpu::FOURS,
    &super::attention::gpu::MERGE,
    &super::attention::gpu::ONES,
    &super::attention::gpu::WEIGHTS,
    &super::choose::gpu::CHOOSE,
    &super::embed::gpu::EMBED,
    &super::embed::gpu::EMBED_CHOSEN,
    &super::gpu_rows::ADD,
    &super::gpu_rows::SELECT,
    &super::linear::gpu::FEW_ROWS,
    &super::linear::gpu::TILED,
    &super::norm::gpu::APART,
    &super::norm::gpu::IN_PLACE,
    &super::output::gpu::CHOSEN,
    &super::pool::gpu::POOL,
    #[cfg(feature = "recurrent")]
    &super::recurrent::gpu::BESIDE,
    #[cfg(feature = "recurrent")]
    &super::recurrent::gpu::RECUR,
    &super::rotary::gpu::HEADS,
    &super::rotary::gpu::HEADS_KEPT,
    &super::ssru::gpu::STEP,
];
