//! The CPU: recycled buffers, SIMD lanes, matrix products on packed weights, threads. No allocation once warm.

pub mod blocks;
pub mod buffer;
pub mod cache;
pub mod gemm;
pub mod half;
pub mod lanes;
pub mod math;
pub mod pool;
pub mod quantize;
pub mod tensor;

use crate::error::{Error, Result};
use lanes::{Lanes, Native};
use pool::{MAX_THREADS, Pool};
use quantize::QuantizedRows;
use std::marker::PhantomData;
use std::sync::Arc;

pub use tensor::Tensor;

/// Multiply–adds from which on threads share an op: some 10 µs of work, as much as waking a thread takes.
/// A decoding step of one sentence stays below it.
const WORTH_SHARING: usize = 400_000;

/// The CPU as a device. `L` is how it computes; every choice gives the same bits, but for float32 products
/// ([`Lanes::mul_add`]).
#[derive(Debug)]
pub struct Cpu<L: Lanes = Native> {
    pub(crate) scratch: Scratch,
    /// Working memory of the other threads of a task.
    others: [Scratch; MAX_THREADS - 1],
    pool: Arc<Pool>,
    worth_sharing: usize,
    fault: Option<Error>,
    lanes: PhantomData<L>,
}

/// Working memory of single calls, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Rows on their way into an int8 product.
    pub(crate) quantized: QuantizedRows,
    /// Rows on their way into a product with grouped weights.
    pub(crate) grouped: gemm::grouped::GroupedRows,
    /// Scores of one query with its keys for all heads, `[num_heads, keys]` padded to whole fours, then their softmax.
    pub(crate) scores: Vec<[f32; 4]>,
    /// Some heads of keys or values on their way from int8 to float32.
    pub(crate) tile: Vec<f32>,
    /// Eight columns of weights, unpacked or as float32, for one call.
    pub(crate) block_room: gemm::grouped::BlockRoom,
}

impl<L: Lanes> Cpu<L> {
    /// A device with empty working memory, on one thread.
    pub fn new() -> Self {
        Self::with_pool(Arc::new(Pool::new()))
    }

    /// A device that works on the threads of a pool.
    pub fn with_pool(pool: Arc<Pool>) -> Self {
        Self {
            scratch: Scratch::default(),
            others: Default::default(),
            pool,
            worth_sharing: WORTH_SHARING,
            fault: None,
            lanes: PhantomData,
        }
    }

    /// The same device with another limit: multiply–adds from which on threads share an op.
    pub fn sharing_from(self, worth_sharing: usize) -> Self {
        Self { worth_sharing, ..self }
    }

    /// Rows that each thread takes of `rows`, each of which costs `cost` multiply–adds: all, unless together they
    /// are worth the call. Even parts are better than whole tiles.
    pub(crate) fn rows_each(&self, rows: usize, cost: usize) -> usize {
        let threads = self.pool.threads();
        if threads == 1 || rows.saturating_mul(cost) < self.worth_sharing {
            return rows.max(1);
        }
        rows.div_ceil(threads).max(1)
    }

    /// Calls `work` with each of `parts` and working memory of its own, on several threads at once. At most
    /// [`MAX_THREADS`] parts are done.
    pub(crate) fn share<P: Send>(
        &mut self,
        mut parts: impl Iterator<Item = P>,
        work: impl Fn(&mut P, &mut Scratch) + Sync,
    ) {
        let Some(mut first) = parts.next() else { return };
        let Some(second) = parts.next() else { return work(&mut first, &mut self.scratch) };
        let mut all = [first, second].into_iter().chain(parts);
        let mut memory = std::iter::once(&mut self.scratch).chain(&mut self.others);
        let mut shares: [_; MAX_THREADS] =
            std::array::from_fn(|_| memory.next().and_then(|memory| Some((all.next()?, memory))));
        debug_assert!(all.next().is_none(), "more parts than threads");
        let count = shares.iter().flatten().count();
        self.pool.for_each(&mut shares[..count], |share| {
            if let Some((part, memory)) = share {
                work(part, memory);
            }
        });
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
        Self::with_pool(Arc::clone(&self.pool)).sharing_from(self.worth_sharing)
    }
}

impl<L: Lanes> Default for Cpu<L> {
    fn default() -> Self {
        Self::new()
    }
}
