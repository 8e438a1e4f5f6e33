//! A text under way: the tokens that a decoder-only model has read, and what it remembers of them.

use crate::error::{Error, Result};
use crate::ops::Ops;
use crate::stack::{Decoder, DecoderState};

/// Tokens read and their keys and values, which grow and are cut together.
pub struct Continuation<O: Ops> {
    state: DecoderState<O>,
    tokens: Vec<u32>,
}

impl<O: Ops> Continuation<O> {
    /// Nothing read.
    pub fn new(ops: &mut O, model: &Decoder<O>) -> Self {
        Self { state: model.start(ops), tokens: Vec::new() }
    }

    /// The tokens that were read.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// A copy that goes its own way from here.
    pub fn fork(&self, ops: &mut O) -> Self {
        Self { state: self.state.fork(ops), tokens: self.tokens.clone() }
    }

    /// Goes back to where what was read and `tokens` part, and at least to before the last of `tokens`, which has to
    /// be read (again) for what comes after it. Returns how many of `tokens` need no reading.
    ///
    /// # Errors
    /// [`Error::Internal`] for a model whose memory cannot go back.
    pub fn rewind_to(&mut self, ops: &mut O, tokens: &[u32]) -> Result<usize> {
        let same = self.tokens.iter().zip(tokens).take_while(|(a, b)| a == b).count();
        let kept = same.min(tokens.len().saturating_sub(1));
        self.truncate(ops, kept)?;
        Ok(kept)
    }

    /// Forgets all after the first `len` tokens.
    ///
    /// # Errors
    /// [`Error::Internal`] for a model whose memory cannot go back.
    pub fn truncate(&mut self, ops: &mut O, len: usize) -> Result<()> {
        self.tokens.truncate(len);
        self.state.truncate(ops, len)
    }

    /// Reads `tokens` on: their hidden states, `[tokens, hidden_size]`. After an error nothing of them was read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a token that the model does not have; whatever the device reports.
    pub fn read(&mut self, ops: &mut O, model: &Decoder<O>, tokens: &[u32]) -> Result<O::Tensor> {
        if let Some(id) = tokens.iter().find(|id| **id as usize >= model.vocab_size()) {
            let what = format!("has token {id}, the model has {}", model.vocab_size());
            return Err(Error::InvalidArgument { option: "ids", what });
        }
        match model.forward(ops, &mut self.state, tokens) {
            Ok(hidden) => {
                self.tokens.extend_from_slice(tokens);
                Ok(hidden)
            }
            Err(error) => {
                self.state.truncate(ops, self.tokens.len())?;
                Err(error)
            }
        }
    }

    /// Reads the token that was chosen last, which need not be known for it: its hidden state, `[1, hidden_size]`. What
    /// it was is to be told by [`Continuation::learn`].
    ///
    /// # Errors
    /// Whatever the device reports; the state is then that of the tokens known.
    pub fn read_chosen(
        &mut self,
        ops: &mut O,
        model: &Decoder<O>,
        chosen: &O::Chosen,
    ) -> Result<O::Tensor> {
        let outcome = model.forward_chosen(ops, &mut self.state, chosen);
        if outcome.is_err() {
            self.state.truncate(ops, self.tokens.len())?;
        }
        outcome
    }

    /// Tells the tokens that were read without being known.
    pub fn learn(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.tokens.extend(tokens);
    }
}
