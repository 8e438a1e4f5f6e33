//! Sources that were encoded: what a decoder's cross-attention looks at, for as long as it does.

use crate::ops::Ops;
use std::ops::Range;

/// A source that a decoder looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRows {
    /// Index of the batch that it was encoded in.
    pub batch: usize,
    /// Its rows there.
    pub rows: Range<usize>,
}

/// Keys and values of the sources under way, projected once a source.
pub struct Encoded<O: Ops> {
    /// Of each decoder block, a tensor a batch, `[source rows, 2 · num_kv_heads · head_dim]`: keys, then values.
    blocks: Vec<Vec<O::Tensor>>,
    /// Whether a batch is needed; the place of another is taken by the next that comes.
    needed: Vec<bool>,
}

impl<O: Ops> Encoded<O> {
    /// No batch, for a decoder of `num_layers` blocks.
    pub fn new(num_layers: usize) -> Self {
        Self { blocks: (0..num_layers).map(|_| Vec::new()).collect(), needed: Vec::new() }
    }

    /// Adds a batch, one tensor a block; gives its index.
    pub fn add(&mut self, batch: Vec<O::Tensor>) -> usize {
        let free = self.needed.iter().position(|needed| !needed);
        let index = free.unwrap_or(self.needed.len());
        for (batches, kv) in self.blocks.iter_mut().zip(batch) {
            match batches.get_mut(index) {
                Some(place) => *place = kv,
                None => batches.push(kv),
            }
        }
        match self.needed.get_mut(index) {
            Some(needed) => *needed = true,
            None => self.needed.push(true),
        }
        index
    }

    /// Gives up the batches that are not `needed`; the others keep their index.
    pub fn keep(&mut self, ops: &mut O, needed: impl Fn(usize) -> bool) {
        for (batch, was_needed) in self.needed.iter_mut().enumerate() {
            if !*was_needed || needed(batch) {
                continue;
            }
            *was_needed = false;
            for kv in self.blocks.iter_mut().filter_map(|batches| batches.get_mut(batch)) {
                *kv = ops.zeros(0, 0);
            }
        }
    }

    /// Of each block, the tensors of all batches.
    pub(super) fn blocks(&self) -> &[Vec<O::Tensor>] {
        &self.blocks
    }
}
