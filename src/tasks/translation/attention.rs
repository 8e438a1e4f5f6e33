//! Attention of a sentence and its translation.

use super::translator::Translator;
use crate::error::Result;
use crate::ops::Ops;
use crate::tasks::attention::{Attention, AttentionRequest};
use crate::tasks::rereading::Rereading;
use std::rc::Rc;

/// A sentence and its translation on their way through the model.
pub struct AttentionJob<O: Ops> {
    translator: Rc<Translator<O>>,
    rereading: Rereading<O>,
}

impl<O: Ops + Clone> Translator<O> {
    /// Begins to look at what the tokens of a sentence look at, all ids without the end token, which is the last source token
    /// and the last that is written. Query t of decoder and cross-attention is the step that writes target token t; key t of
    /// the decoder is the token before, which that step reads: of the first one nothing.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidArgument`] for what the model does not have;
    /// [`crate::error::Error::TooMuch`] for what takes too much memory.
    pub fn start_attention(
        self: &Rc<Self>,
        source: &[u32],
        target: &[u32],
        request: &AttentionRequest,
    ) -> Result<AttentionJob<O>> {
        let wanted = request.of(self.model.attention())?;
        let source = source.iter().copied().chain([self.model.special().end]).collect();
        let read = [None].into_iter().chain(target.iter().copied().map(Some)).collect();
        let rereading = Rereading::new(&self.ops, source, read, wanted)?;
        Ok(AttentionJob { translator: Rc::clone(self), rereading })
    }
}

impl<O: Ops> AttentionJob<O> {
    /// Whether all is read.
    pub fn is_done(&self) -> bool {
        self.rereading.is_done()
    }

    /// Reads the source, or a token of the translation.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn step(&mut self) -> Result<()> {
        self.rereading.step(&self.translator.model).await
    }

    /// The weights of what was read.
    pub fn finish(self) -> Attention {
        self.rereading.finish()
    }
}
