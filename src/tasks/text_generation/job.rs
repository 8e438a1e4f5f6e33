//! A generation under way: the prompt read a part at a time, then a token a step.

use super::model::TextModel;
use super::observe::Observation;
use super::session::{Session, Shared};
use crate::error::{Error, Result};
use crate::generate::{Sampler, SamplingOptions, StopStrings};
#[cfg(feature = "gpu")]
use crate::ops::Choices;
use crate::ops::Ops;
use crate::tasks::attention::{AttentionRequest, AttentionWeights};
use crate::text::tokenizer::TextStream;
use std::{ops::Range, rc::Rc};

/// Tokens of a prompt read at once: enough to read the weights once for many, few enough that a step stays short.
pub(super) const CHUNK: usize = 64;

/// Tokens chosen before they are read back, where that takes long.
#[cfg(feature = "gpu")]
const AHEAD: usize = 8;

/// How to go on after a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GenerationOptions {
    /// How tokens are drawn.
    pub sampling: SamplingOptions,
    /// Most tokens to write; 0: the prompt is read, and nothing is written.
    pub max_new_tokens: usize,
    /// Most tokens in all, prompt included; 0: as many as the model was trained for.
    pub context_window: usize,
    /// Strings that end the text.
    pub stop: Vec<String>,
    /// Whether the log-probability of each token is wanted.
    pub logprobs: bool,
}

/// Why a text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model or a stop string ended it.
    Stop,
    /// The limit of tokens or the context window did.
    Length,
}

/// A finished generation.
#[derive(Debug, Clone, PartialEq)]
pub struct Completed {
    /// The text, without what stopped it.
    pub text: String,
    /// Tokens written, each with the bytes of the text that it brought to an end; the token that ended the text is not
    /// among them. Ranges may go past a text that a stop string cut.
    pub tokens: Vec<(u32, Range<usize>)>,
    /// Log-probability of each, if they were wanted.
    pub logprobs: Option<Vec<f32>>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Tokens of prompt and answer, each of which is a query and a key, and their attention weights, if they were wanted.
    pub attention: Option<(Vec<u32>, AttentionWeights)>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Those of them that had been read before.
    pub cached_tokens: usize,
}

/// A generation under way; dropped, it is aborted, and its session keeps what was read.
pub struct GenerationJob<O: Ops> {
    model: Rc<TextModel<O>>,
    memory: Shared<O>,
    /// The prompt, then the tokens written.
    sequence: Vec<u32>,
    prompt_len: usize,
    window: usize,
    /// Tokens of the prompt that were read before, once the first step has looked.
    cached: Option<usize>,
    options: GenerationOptions,
    sampler: Sampler,
    /// Until the text ends.
    stream: Option<TextStream>,
    stops: StopStrings,
    /// Logits after the first so many tokens of the sequence.
    logits: (usize, Vec<f32>),
    /// Where in the text each written token ends what it writes.
    tokens: Vec<(u32, Range<usize>)>,
    logprobs: Vec<f32>,
    /// Bytes that the tokens' texts have.
    written: usize,
    text: String,
    /// Bytes of the text that were taken.
    taken: usize,
    finished: Option<FinishReason>,
    /// The attention that is wanted.
    observed: Option<Observation<O>>,
}

impl<O: Ops + Clone> Session<O> {
    /// Begins to write after `prompt`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an option out of range, an empty prompt, one that fills the context window, or a
    /// window larger than the model's.
    pub fn generate(
        &self,
        prompt: Vec<u32>,
        options: GenerationOptions,
    ) -> Result<GenerationJob<O>> {
        options.sampling.check()?;
        if prompt.is_empty() {
            let what = "is empty, and the model has no token to begin a text with".to_owned();
            return Err(Error::InvalidArgument { option: "prompt", what });
        }
        let most = self.model.decoder.context_len();
        let window = match options.context_window {
            0 => most,
            window if window <= most => window,
            window => {
                let what = format!("is {window}, the model has at most {most} tokens");
                return Err(Error::InvalidArgument { option: "contextWindow", what });
            }
        };
        if prompt.len() > window || (prompt.len() == window && options.max_new_tokens > 0) {
            let what = format!("has {} tokens, the context window {window}", prompt.len());
            return Err(Error::InvalidArgument { option: "prompt", what });
        }
        Ok(GenerationJob {
            stream: Some(TextStream::new(&self.model.tokenizer, false)),
            model: Rc::clone(&self.model),
            memory: self.memory.clone(),
            prompt_len: prompt.len(),
            sequence: prompt,
            window,
            cached: None,
            sampler: Sampler::new(options.sampling),
            stops: StopStrings::new(options.stop.clone()),
            options,
            logits: (0, Vec::new()),
            tokens: Vec::new(),
            logprobs: Vec::new(),
            written: 0,
            text: String::new(),
            taken: 0,
            finished: None,
            observed: None,
        })
    }
}

impl<O: Ops + Clone> GenerationJob<O> {
    /// Has the answer contain attention weights, of prompt and answer as they are at the end: of as many of their tokens, from
    /// the first on, as have room.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for what the model does not have; [`Error::TooMuch`] for what takes too much memory with the
    /// prompt already.
    pub fn watch(&mut self, request: &AttentionRequest) -> Result<()> {
        self.observed = Some(Observation::new(&self.model, request, self.sequence.len())?);
        Ok(())
    }
}

impl<O: Ops> GenerationJob<O> {
    /// Whether the text is at its end, and its attention known where that is wanted.
    pub fn is_done(&self) -> bool {
        let is_observed = |observed: &Observation<O>| observed.is_done(&self.sequence);
        self.finished.is_some() && self.observed.as_ref().is_none_or(is_observed)
    }

    /// Whether the text is at its end.
    pub fn is_written(&self) -> bool {
        self.finished.is_some()
    }

    /// Whether the whole prompt was read.
    pub fn is_prompt_read(&self) -> bool {
        self.logits.0 >= self.prompt_len
    }

    /// Tokens written so far.
    pub fn new_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Reads a part of the prompt, or writes a token. Another job of the session may have read something else in
    /// between: then what it put in the place of this one's tokens is read again.
    ///
    /// # Errors
    /// [`Error::Internal`] where the model gives no number; whatever the device reports. Nothing of the step's tokens
    /// counts as read then.
    pub async fn step(&mut self) -> Result<()> {
        if self.finished.is_some() {
            let Some(observed) = &mut self.observed else { return Ok(()) };
            return observed.step(&self.model.decoder, &self.sequence).await;
        }
        // What may wait there is part of this function's state, and would stay in modules that never do.
        #[cfg(feature = "gpu")]
        if O::READS_LATE && self.sampler.is_greedy() && !self.options.logprobs {
            return self.step_ahead().await;
        }
        if self.logits.0 == self.sequence.len() && !self.draw()? {
            return Ok(());
        }
        let mut taken = self.memory.take()?;
        let Some((ops, continuation)) = taken.parts() else { return Ok(()) };
        let start = continuation.rewind_to(ops, &self.sequence)?;
        self.cached.get_or_insert(start);
        let rest = self.sequence.get(start..).unwrap_or_default();
        let part = rest.get(..CHUNK).unwrap_or(rest);
        let (decoder, end) = (&self.model.decoder, start + part.len());
        let hidden = continuation.read(ops, decoder, part)?;
        let is_last = end == self.sequence.len();
        let outcome = if is_last && self.options.max_new_tokens > 0 {
            let logits = decoder.logits(ops, &hidden, part.len() - 1..part.len());
            ops.read(&logits, &mut self.logits.1).await
        } else {
            // What a device could not carry out it says when something is read.
            ops.read(&hidden, &mut self.logits.1).await
        };
        if let Err(error) = outcome {
            continuation.truncate(ops, start)?;
            return Err(error);
        }
        if is_last {
            self.logits.0 = end;
        }
        if is_last && self.options.max_new_tokens == 0 {
            self.finish(FinishReason::Length);
        }
        Ok(())
    }

    /// Draws the next token and adds it to the sequence; false if the text ends with it.
    fn draw(&mut self) -> Result<bool> {
        let (_, logits) = &mut self.logits;
        let raw = self.options.logprobs.then(|| (log_sum_exp(logits), logits.clone()));
        let id = self.sampler.next(logits, &self.sequence).ok_or_else(|| Error::Internal {
            what: "the model gives no number for any token".to_owned(),
        })?;
        if let Some((log_sum, raw)) = raw
            && !self.model.tokenizer.end_ids().contains(&id)
        {
            self.logprobs.push(raw.get(id as usize).map_or(f32::NAN, |logit| logit - log_sum));
        }
        Ok(self.accept(id))
    }

    /// [`GenerationJob::step`] of greedy decoding where what is read comes late: several tokens are chosen on the device,
    /// each read as the next step's, and are known at once. What was read past the end of the text is forgotten by the
    /// next that reads.
    #[cfg(feature = "gpu")]
    async fn step_ahead(&mut self) -> Result<()> {
        let mut taken = self.memory.take()?;
        let Some((ops, continuation)) = taken.parts() else { return Ok(()) };
        let start = continuation.rewind_to(ops, &self.sequence)?;
        self.cached.get_or_insert(start);
        let rest = self.sequence.get(start..).unwrap_or_default();
        let part = rest.get(..CHUNK).unwrap_or(rest);
        let (decoder, end, last) = (&self.model.decoder, start + part.len(), part.len() - 1);
        let mut hidden = continuation.read(ops, decoder, part)?;
        let most = self.options.max_new_tokens;
        // Who waits for the first token sees it as soon as the prompt is read.
        let ahead = if self.tokens.is_empty() { 1 } else { AHEAD };
        let count = match end == self.sequence.len() {
            true => ahead.min(most - self.tokens.len()).min(self.window - self.sequence.len()),
            false => 0,
        };
        let mut choices = Choices::default();
        let mut chosen = O::Chosen::default();
        for step in 0..count {
            if step > 0 {
                hidden = continuation.read_chosen(ops, decoder, &chosen)?;
            }
            decoder.choose_next(ops, &hidden, if step == 0 { last } else { 0 }, &mut chosen);
        }
        let outcome = match count {
            0 => ops.read(&hidden, &mut self.logits.1).await,
            _ => ops.read_chosen(&chosen, &mut choices).await,
        };
        if let Err(error) = outcome {
            continuation.truncate(ops, start)?;
            return Err(error);
        }
        let ids: Vec<u32> = choices.best_of_last(count).flatten().collect();
        continuation.learn(ids.iter().copied().take(count.saturating_sub(1)));
        drop(taken);
        if end == self.sequence.len() {
            self.logits.0 = end;
            if most == 0 {
                self.finish(FinishReason::Length);
            } else if ids.len() < count {
                let what = "the model gives no number for any token".to_owned();
                return Err(Error::Internal { what });
            }
        }
        for id in ids {
            if !self.accept(id) {
                break;
            }
        }
        Ok(())
    }

    /// Adds a token to the sequence; false if the text ends with it.
    fn accept(&mut self, id: u32) -> bool {
        let tokenizer = &self.model.tokenizer;
        if tokenizer.end_ids().contains(&id) {
            self.finish(FinishReason::Stop);
            return false;
        }
        let piece = self.stream.as_mut().map(|stream| stream.push(tokenizer, id));
        let piece = piece.unwrap_or_default();
        self.tokens.push((id, self.written..self.written + piece.len()));
        self.written += piece.len();
        self.text.push_str(&self.stops.push(&piece));
        self.sequence.push(id);
        if self.stops.found() {
            self.finished = Some(FinishReason::Stop);
            return false;
        }
        let is_full = self.sequence.len() >= self.window;
        if is_full || self.tokens.len() >= self.options.max_new_tokens {
            self.finish(FinishReason::Length);
            return false;
        }
        true
    }

    fn finish(&mut self, reason: FinishReason) {
        let rest = self.stream.take().map(TextStream::finish).unwrap_or_default();
        let rest = self.stops.push(&rest);
        self.text.push_str(&rest);
        let held = self.stops.finish();
        self.text.push_str(&held);
        self.finished = Some(reason);
    }

    /// Text that has come since the last call; all that it ever returns, joined, is the text of the result.
    pub fn take_text(&mut self) -> String {
        let new = self.text.get(self.taken..).unwrap_or_default().to_owned();
        self.taken = self.text.len();
        new
    }

    /// The result.
    ///
    /// # Errors
    /// [`Error::Internal`] if the job is not done.
    pub fn complete(self) -> Result<Completed> {
        let Some(finish_reason) = self.finished else {
            return Err(Error::Internal {
                what: "a job was asked for its result early".to_owned(),
            });
        };
        let mut looked = self.sequence;
        let attention = self.observed.map(|observed| {
            let weights = observed.finish();
            looked.truncate(weights.lens[0]);
            (looked, weights)
        });
        Ok(Completed {
            text: self.text,
            attention,
            tokens: self.tokens,
            logprobs: self.options.logprobs.then_some(self.logprobs),
            finish_reason,
            prompt_tokens: self.prompt_len,
            cached_tokens: self.cached.unwrap_or(0),
        })
    }
}

/// log Σ exp(x), so that `x − log_sum_exp(x)` are log-probabilities.
pub(super) fn log_sum_exp(logits: &[f32]) -> f32 {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| libm::exp(f64::from(logit - greatest))).sum();
    greatest + libm::log(sum) as f32
}
