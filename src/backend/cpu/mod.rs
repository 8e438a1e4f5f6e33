//! The CPU: recycled buffers, SIMD lanes, matrix products on packed weights. One thread, no allocation once warm.

pub mod buffer;
pub mod gemm;
pub mod lanes;
pub mod math;
pub mod quantize;
pub mod tensor;

use crate::error::{Error, Result};
use lanes::{Lanes, Native};
use quantize::QuantizedRows;
use std::marker::PhantomData;

pub use tensor::Tensor;

/// The CPU as a device. `L` is how it computes; every choice gives the same bits.
#[derive(Debug)]
pub struct Cpu<L: Lanes = Native> {
    pub(crate) scratch: Scratch,
    fault: Option<Error>,
    lanes: PhantomData<L>,
}

/// Working memory of single calls, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Rows on their way into an int8 product.
    pub(crate) quantized: QuantizedRows,
    /// Scores of one query and head, then their softmax.
    pub(crate) scores: Vec<[f32; 4]>,
    /// Eight table rows, packed for one call.
    pub(crate) float_block: Vec<gemm::Floats>,
}

impl<L: Lanes> Cpu<L> {
    /// A device with empty working memory.
    pub fn new() -> Self {
        Self { scratch: Scratch::default(), fault: None, lanes: PhantomData }
    }

    /// Records that a call could not be carried out. Calls that only record work do not fail themselves;
    /// as on a GPU, the first fault is what the next read returns.
    pub(crate) fn record_fault(&mut self, error: Error) {
        self.fault.get_or_insert(error);
    }

    /// The fault recorded since the last call, if any.
    pub(crate) fn take_fault(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

impl<L: Lanes> Clone for Cpu<L> {
    /// Another user of the same device, with working memory of its own.
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<L: Lanes> Default for Cpu<L> {
    fn default() -> Self {
        Self::new()
    }
}
