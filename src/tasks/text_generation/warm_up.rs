//! All pipelines of a language model, before it is used.

use super::job::{CHUNK, GenerationOptions};
use super::model::TextModel;
use crate::backend::gpu::Gpu;
use crate::error::Result;
use crate::tasks::REHEARSED_ROWS;
use std::rc::Rc;

const PARTS: usize = 4;

/// Tokens of the longest prompt that is rehearsed, and of those whose last part has few rows, which see many keys.
const LONG: [usize; 3] = [2048, 9 * CHUNK + 2, 9 * CHUNK + 5];

impl TextModel<Gpu> {
    /// Does the part `part` (from 0 on) of the warm-up; how many are left. After the last no use makes a pipeline.
    ///
    /// # Errors
    /// Whatever the device reports: that weights found no room on it, among others.
    pub async fn warm_up(self: &Rc<Self>, part: usize) -> Result<usize> {
        let most = self.info().context_len;
        let mut lengths = REHEARSED_ROWS.into_iter().filter(|length| *length < most);
        match part {
            0 => lengths.try_for_each(|length| self.ops.rehearse(self.write(length, 10))),
            1 => LONG
                .into_iter()
                .map(|length| length.min(most - 1))
                .try_for_each(|length| self.ops.rehearse(self.write(length, 10))),
            // A token less than are read gets a probability.
            2 => lengths.try_for_each(|length| self.ops.rehearse(self.rate(length + 1))),
            _ => self.write(1, 1).await,
        }?;
        self.ops.caught_up().await?;
        Ok(PARTS.saturating_sub(part + 1))
    }

    async fn write(self: &Rc<Self>, prompt: usize, new: usize) -> Result<()> {
        let options = GenerationOptions { max_new_tokens: new, ..Default::default() };
        let mut job = self.session().generate(vec![0; prompt], options)?;
        while !job.is_done() {
            job.step().await?;
        }
        Ok(())
    }

    async fn rate(self: &Rc<Self>, tokens: usize) -> Result<()> {
        let mut job = self.score(vec![0; tokens])?;
        while !job.is_done() {
            job.step().await?;
        }
        Ok(())
    }
}
