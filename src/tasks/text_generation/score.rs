//! Log-probabilities of a given text: each token after those before it.

use super::job::log_sum_exp;
use super::model::TextModel;
use super::session::{Memory, Session};
use crate::error::{Error, Result};
use crate::ops::Ops;
use std::rc::Rc;

/// Tokens read at once, each of which gets its logits over the whole vocabulary.
const CHUNK: usize = 16;

/// A text being scored; it leaves no trace in a session.
pub struct ScoreJob<O: Ops> {
    model: Rc<TextModel<O>>,
    memory: Memory<O>,
    tokens: Vec<u32>,
    logprobs: Vec<f32>,
}

impl<O: Ops + Clone> TextModel<O> {
    /// Begins to score `tokens`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a text longer than the model's context.
    pub fn score(self: &Rc<Self>, tokens: Vec<u32>) -> Result<ScoreJob<O>> {
        let limit = self.info().context_len;
        if tokens.len() > limit {
            let what = format!("has {} tokens, the model reads at most {limit}", tokens.len());
            return Err(Error::InvalidArgument { option: "text", what });
        }
        let Session { model, memory } = self.session();
        let Some(memory) = memory.take()?.keep() else {
            return Err(Error::Internal { what: "a new session without memory".to_owned() });
        };
        // Nothing comes before the first token, so it has no probability.
        let logprobs = if tokens.is_empty() { Vec::new() } else { vec![f32::NAN] };
        Ok(ScoreJob { model, memory, tokens, logprobs })
    }
}

impl<O: Ops> ScoreJob<O> {
    /// Whether every token has its log-probability.
    pub fn is_done(&self) -> bool {
        self.logprobs.len() == self.tokens.len()
    }

    /// Scores a few tokens.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn step(&mut self) -> Result<()> {
        let start = self.logprobs.len().saturating_sub(1);
        let end = (start + CHUNK).min(self.tokens.len().saturating_sub(1));
        let (Some(part), Some(next)) =
            (self.tokens.get(start..end), self.tokens.get(start + 1..end + 1))
        else {
            return Ok(());
        };
        if part.is_empty() {
            return Ok(());
        }
        let Memory { ops, continuation } = &mut self.memory;
        let decoder = &self.model.decoder;
        let hidden = continuation.read(ops, decoder, part)?;
        let logits = decoder.logits(ops, &hidden, 0..part.len());
        let mut values = Vec::new();
        ops.read(&logits, &mut values).await?;
        for (logits, id) in values.chunks_exact(decoder.vocab_size().max(1)).zip(next) {
            let logit = logits.get(*id as usize).copied().unwrap_or(f32::NAN);
            self.logprobs.push(logit - log_sum_exp(logits));
        }
        Ok(())
    }

    /// The log-probability of each token; the first is not a number.
    ///
    /// # Errors
    /// [`Error::Internal`] if the job is not done.
    pub fn finish(self) -> Result<Vec<f32>> {
        if !self.is_done() {
            return Err(Error::Internal {
                what: "a job was asked for its result early".to_owned(),
            });
        }
        Ok(self.logprobs)
    }
}
