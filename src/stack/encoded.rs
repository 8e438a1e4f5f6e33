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
    /// Of each batch, what the encoder's mixers remember after its sources, for a decoder that begins with it: the first
    /// row of each source, and of each block `[sources, vectors · directions · hidden_size]`.
    #[cfg(feature = "recurrent")]
    states: Vec<(Vec<usize>, Vec<O::Tensor>)>,
}

impl<O: Ops> Encoded<O> {
    /// No batch, for a decoder of `num_layers` blocks.
    pub fn new(num_layers: usize) -> Self {
        Self {
            blocks: (0..num_layers).map(|_| Vec::new()).collect(),
            needed: Vec::new(),
            #[cfg(feature = "recurrent")]
            states: Vec::new(),
        }
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
            #[cfg(feature = "recurrent")]
            if let Some(states) = self.states.get_mut(batch) {
                *states = Default::default();
            }
            for kv in self.blocks.iter_mut().filter_map(|batches| batches.get_mut(batch)) {
                *kv = ops.zeros(0, 0);
            }
        }
    }

    /// Notes what the encoder remembers after the sources of a batch, whose first rows are `starts`.
    #[cfg(feature = "recurrent")]
    pub(super) fn remember(&mut self, batch: usize, starts: Vec<usize>, layers: Vec<O::Tensor>) {
        if self.states.len() <= batch {
            self.states.resize_with(batch + 1, Default::default);
        }
        if let Some(states) = self.states.get_mut(batch) {
            *states = (starts, layers);
        }
    }

    /// What the encoder remembers after a source: of each block a tensor, and its row there.
    #[cfg(feature = "recurrent")]
    pub(super) fn remembered(&self, source: &SourceRows) -> Option<(&[O::Tensor], usize)> {
        let (starts, layers) = self.states.get(source.batch)?;
        let row = starts.iter().position(|start| *start == source.rows.start)?;
        Some((layers, row))
    }

    /// Of each block, the tensors of all batches.
    pub(super) fn blocks(&self) -> &[Vec<O::Tensor>] {
        &self.blocks
    }
}
