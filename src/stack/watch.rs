//! Attention that is looked at: which heads of which layers, and who takes their weights.

use super::block::BlockWeights;
use crate::ops::Ops;

/// Which attention weights a stack gives away on its way. Where none are asked for, none are computed.
pub struct Watch<'a, O: Ops> {
    /// Blocks that are looked at, counted from 0.
    pub layers: &'a [usize],
    /// Heads of their self-attention.
    pub mixer: &'a [usize],
    /// Heads of their cross-attention.
    pub cross: &'a [usize],
    /// Takes a block's index and its weights, block after block.
    pub take: &'a mut dyn FnMut(usize, BlockWeights<O>),
}

impl<O: Ops> Watch<'_, O> {
    /// The same for one call more.
    pub(super) fn again(&mut self) -> Watch<'_, O> {
        Watch { take: &mut *self.take, ..*self }
    }

    /// Heads of mixer and cross-attention that are looked at in a block.
    pub(super) fn heads(&self, layer: usize) -> [&[usize]; 2] {
        match self.layers.contains(&layer) {
            true => [self.mixer, self.cross],
            false => [&[], &[]],
        }
    }
}
