//! What a decoder remembers of the tokens before: keys and values, or one recurrent state.

use crate::error::{Error, Result};
use crate::ops::{AttentionSegment, Ops};

/// How keys and values of a language model's tokens are remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KvCache {
    /// As they were computed.
    #[default]
    Float,
    /// As int8 with a scale for each token's key and value of each head: little more than a quarter of the memory.
    Int8,
}

/// Memory of one mixer over a batch of rows (one row a hypothesis).
pub enum LayerState<O: Ops> {
    /// One cache a row, `[past_len, 2 · num_kv_heads · head_dim]`: keys, then values.
    Kv(Vec<O::Cache>),
    /// `[rows, hidden_size]`.
    Recurrent(O::Tensor),
}

impl<O: Ops> LayerState<O> {
    /// Keeps the rows `rows`, in that order; a row may be kept several times (beams that split).
    pub fn reorder(&mut self, ops: &mut O, rows: &[usize]) -> Result<()> {
        match self {
            LayerState::Recurrent(state) => *state = ops.select_rows(state, rows),
            LayerState::Kv(caches) => {
                let count = caches.len();
                for row in rows {
                    let cache = caches.get(*row).ok_or_else(|| Error::Internal {
                        what: format!("row {row} of a cache of {count}"),
                    })?;
                    let cache = ops.copy_cache(cache);
                    caches.push(cache);
                }
                caches.drain(..count);
            }
        }
        Ok(())
    }

    /// Adds the rows of `other` after its own.
    fn append(&mut self, ops: &mut O, other: Self) -> Result<()> {
        match (self, other) {
            (LayerState::Kv(caches), LayerState::Kv(mut more)) => caches.append(&mut more),
            (LayerState::Recurrent(state), LayerState::Recurrent(more)) => {
                for row in 0..ops.shape(&more).0 {
                    ops.append_row(state, &more, row, 0);
                }
            }
            _ => return Err(Error::Internal { what: "states of different mixers".to_owned() }),
        }
        Ok(())
    }
}

/// Memory of a whole decoder over a batch of rows.
pub struct DecoderState<O: Ops> {
    /// One a block.
    pub layers: Vec<LayerState<O>>,
    /// Tokens each row has seen.
    pub past_len: Vec<usize>,
    /// What the rows see of themselves and of their sources: written by each step, in the room that the last one had.
    pub(super) segments: [Vec<AttentionSegment>; 2],
    /// Positions of the tokens of a step, likewise.
    pub(super) positions: Vec<usize>,
}

impl<O: Ops> DecoderState<O> {
    /// Forgets what every row has seen after its first `len` tokens.
    ///
    /// # Errors
    /// [`Error::Internal`] for a recurrent state, which cannot go back.
    pub fn truncate(&mut self, ops: &mut O, len: usize) -> Result<()> {
        for layer in &mut self.layers {
            match layer {
                LayerState::Kv(caches) => {
                    caches.iter_mut().for_each(|cache| ops.truncate_cache(cache, len));
                }
                LayerState::Recurrent(_) => {
                    return Err(Error::Internal {
                        what: "a recurrent state cannot go back".to_owned(),
                    });
                }
            }
        }
        for past_len in &mut self.past_len {
            *past_len = len.min(*past_len);
        }
        Ok(())
    }

    /// A copy that goes its own way from here.
    pub fn fork(&self, ops: &mut O) -> Self {
        let fork = |layer: &LayerState<O>| match layer {
            LayerState::Kv(caches) => {
                LayerState::Kv(caches.iter().map(|cache| ops.copy_cache(cache)).collect())
            }
            LayerState::Recurrent(state) => LayerState::Recurrent(ops.copy(state)),
        };
        Self {
            layers: self.layers.iter().map(fork).collect(),
            past_len: self.past_len.clone(),
            segments: Default::default(),
            positions: Vec::new(),
        }
    }

    /// Adds the rows of `other`, a state of the same decoder, after its own.
    pub fn append(&mut self, ops: &mut O, other: Self) -> Result<()> {
        for (layer, more) in self.layers.iter_mut().zip(other.layers) {
            layer.append(ops, more)?;
        }
        self.past_len.extend(other.past_len);
        Ok(())
    }

    /// Keeps the rows `rows`, in that order.
    pub fn reorder(&mut self, ops: &mut O, rows: &[usize]) -> Result<()> {
        if rows.iter().copied().eq(0..self.past_len.len()) {
            return Ok(());
        }
        for layer in &mut self.layers {
            layer.reorder(ops, rows)?;
        }
        let count = self.past_len.len();
        for row in rows {
            self.past_len.extend(self.past_len.get(*row).copied());
        }
        self.past_len.drain(..count);
        Ok(())
    }
}
