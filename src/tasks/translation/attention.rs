//! Attention of a sentence and its translation.

use super::translator::Translator;
use crate::error::Result;
use crate::ops::Ops;
use crate::tasks::attention::{Attention, AttentionRequest, forced};

impl<O: Ops + Clone> Translator<O> {
    /// What the tokens of a sentence looked at, all ids without the end token, which is the last source token and the last
    /// that is written. Query t of decoder and cross-attention is the step that writes target token t; key t of the
    /// decoder is the token before, which that step reads: of the first one nothing.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidArgument`] for what the model does not have;
    /// [`crate::error::Error::TooMuch`] for what takes too much memory; whatever the device reports.
    pub async fn attention(
        &self,
        source: &[u32],
        target: &[u32],
        request: &AttentionRequest,
    ) -> Result<Attention> {
        let wanted = request.of(self.model.attention())?;
        let source: Vec<u32> = source.iter().copied().chain([self.model.special().end]).collect();
        let read: Vec<Option<u32>> =
            [None].into_iter().chain(target.iter().copied().map(Some)).collect();
        forced(&self.ops, &self.model, &source, &read, &wanted).await
    }
}
