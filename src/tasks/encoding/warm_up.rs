//! All pipelines of an encoder, before it is used.

use super::model::EncodingModel;
use crate::backend::gpu::Gpu;
use crate::error::Result;
use crate::ops::{Ops, Pooling};
use crate::tasks::REHEARSED_ROWS;

const PARTS: usize = 3;

impl EncodingModel<Gpu> {
    /// Does the part `part` (from 0 on) of the warm-up; how many are left. After the last no use makes a pipeline.
    ///
    /// # Errors
    /// Whatever the device reports: that weights found no room on it, among others.
    pub async fn warm_up(&self, part: usize) -> Result<usize> {
        let rows = REHEARSED_ROWS.into_iter();
        match part {
            0 => rows
                .filter(|tokens| *tokens <= self.info().max_tokens)
                .try_for_each(|tokens| self.ops.rehearse(self.encode(1, tokens))),
            1 => rows
                .filter(|texts| *texts <= super::job::GROUP)
                .try_for_each(|texts| self.ops.rehearse(self.encode(texts, 1))),
            _ => self.encode(1, 3.min(self.info().max_tokens)).await,
        }?;
        self.ops.caught_up().await?;
        Ok(PARTS.saturating_sub(part + 1))
    }

    /// Vectors, and scores by the head, of some texts.
    async fn encode(&self, texts: usize, tokens: usize) -> Result<()> {
        let (mut ops, ids) = (self.ops.clone(), vec![0; tokens]);
        let mut blocks = self.encoder.begin(&mut ops, &vec![ids.as_slice(); texts])?;
        while self.encoder.advance(&mut ops, &mut blocks, None)? {}
        let (hidden, rows) = self.encoder.end(&mut ops, blocks);
        for pooling in [Pooling::Mean, Pooling::First, Pooling::Max] {
            let mut pooled = ops.pool(&hidden, &rows, pooling);
            for dense in &self.pipeline.dense {
                pooled = dense.forward(&mut ops, &pooled);
            }
        }
        // A gap is one row, words to be tagged are all.
        for asked in [Some(&[0][..]), None] {
            self.encoder.scores(&mut ops, &hidden, &rows, asked);
        }
        Ok(())
    }
}
