//! A word on its way: a step writes a symbol of every hypothesis.

use super::model::TransliterationModel;
use super::search::{Beam, Hypothesis, softmax};
use super::symbols::SourceSymbol;
use crate::error::{Error, Result};
use crate::ops::Ops;
use crate::stack::{DecoderState, Encoded, SourceRows};
use crate::tasks::attention::{Attention, AttentionRequest, OfKinds, Wanted, check_room};
use crate::tasks::rereading::{Rereading, lens};
use std::{ops::Range, rc::Rc};

/// Most hypotheses at once.
const WIDEST: usize = 64;

/// How a word is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransliterationOptions {
    /// Hypotheses that go on at once.
    pub beam_size: usize,
    /// Candidates that are given at most; as many as hypotheses if nothing is said.
    pub candidates: Option<usize>,
}

impl Default for TransliterationOptions {
    fn default() -> Self {
        Self { beam_size: 3, candidates: None }
    }
}

/// A symbol that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenSymbol {
    /// Its id.
    pub id: u32,
    /// Bytes of the candidate's text that it wrote; empty for the end.
    pub range: Range<usize>,
}

/// What may be meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What was written.
    pub text: String,
    /// Product of the probabilities of all symbols.
    pub probability: f64,
    /// The symbols, the end included where it was reached.
    pub symbols: Vec<WrittenSymbol>,
    /// What each of them looked at, `[symbols, source symbols]`, rows sum to 1; empty for a model without attention to the
    /// source.
    pub alignment: Vec<f32>,
    /// The attention weights, if they were asked for.
    pub attention: Option<Attention>,
}

/// The attention that is wanted, that of the candidates so far, and the one that is looked at.
struct Watched<O: Ops> {
    wanted: OfKinds<Wanted>,
    seen: Vec<Attention>,
    looking: Option<Rereading<O>>,
}

/// What is under way once the source was read.
struct Running<O: Ops> {
    encoded: Encoded<O>,
    source: SourceRows,
    state: DecoderState<O>,
}

/// A text being transliterated.
pub struct TransliterationJob<O: Ops> {
    model: Rc<TransliterationModel<O>>,
    ops: O,
    source: Vec<SourceSymbol>,
    beam: Beam,
    candidates: usize,
    running: Option<Running<O>>,
    logits: Vec<f32>,
    weights: Vec<f32>,
    watched: Option<Watched<O>>,
}

impl<O: Ops + Clone> TransliterationModel<O> {
    /// Begins to transliterate a text; one in which no symbol stands for anything has no candidates.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a text that is too long, and for an option out of its range.
    pub fn transliterate(
        self: &Rc<Self>,
        text: &str,
        options: TransliterationOptions,
    ) -> Result<TransliterationJob<O>> {
        let TransliterationOptions { beam_size, candidates } = options;
        if !(1..=WIDEST).contains(&beam_size) {
            let what = format!("{beam_size} found, expected 1 to {WIDEST}");
            return Err(Error::InvalidArgument { option: "beamSize", what });
        }
        let source = self.source.encode(text)?;
        let target = &self.target;
        Ok(TransliterationJob {
            beam: Beam::new(beam_size, target.until, target.start, target.end, target.max_length),
            candidates: candidates.unwrap_or(beam_size),
            source,
            ops: self.ops.clone(),
            model: Rc::clone(self),
            running: None,
            logits: Vec::new(),
            weights: Vec::new(),
            watched: None,
        })
    }
}

/// What a model thinks of a given target.
#[derive(Debug, Clone, PartialEq)]
pub struct Forced {
    /// Probabilities of all symbols after each symbol of the target, `[symbols given, symbols there are]`.
    pub probabilities: Vec<f32>,
    /// What each step looked at, `[symbols given, source symbols]`; empty for a model without attention to the source.
    pub alignment: Vec<f32>,
}

impl<O: Ops + Clone> TransliterationModel<O> {
    /// Reads a text and, one after the other, the symbols of a given target, the start included: nothing is searched.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a text that is too long or of no symbol; whatever the device reports.
    pub async fn force(&self, text: &str, target: &[u32]) -> Result<Forced> {
        let source = self.source.encode(text)?;
        if source.is_empty() {
            let what = "no symbol of the model stands for anything in it".to_owned();
            return Err(Error::InvalidArgument { option: "text", what });
        }
        let (network, mut ops) = (&self.network, self.ops.clone());
        let ids: Vec<u32> = source.iter().map(|symbol| symbol.id).collect();
        let mut encoded = network.nothing_encoded();
        let sources = network.encode(&mut ops, &mut encoded, &[&ids])?;
        let mut state = network.start_at(&mut ops, &encoded, &sources)?;
        let mut forced = Forced { probabilities: Vec::new(), alignment: Vec::new() };
        let mut values = Vec::new();
        for &id in target {
            let (ops, state) = (&mut ops, &mut state);
            let output = network.decode_step(ops, &encoded, state, &[Some(id)], &sources, true)?;
            if let Some(alignment) = &output.alignment {
                ops.read(alignment, &mut values).await?;
                forced.alignment.append(&mut values);
            }
            let logits = ops.logits(&output.hidden, 0..1, &self.output);
            ops.read(&logits, &mut values).await?;
            forced.probabilities.extend(softmax(&values).into_iter().map(|p| p as f32));
        }
        Ok(forced)
    }
}

impl<O: Ops + Clone> TransliterationJob<O> {
    /// Has every candidate come with its attention weights. Those of all candidates are held to the limit together.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for what the model does not have.
    pub fn watch(&mut self, request: &AttentionRequest) -> Result<()> {
        let wanted = self.model.wanted(request)?;
        self.watched = Some(Watched { wanted, seen: Vec::new(), looking: None });
        Ok(())
    }

    /// Whether all is written and, where it was asked for, looked at.
    pub fn is_done(&self) -> bool {
        self.source.is_empty() || (self.beam.is_done() && !self.has_unseen())
    }

    /// Whether there are candidates whose attention is wanted and not there.
    fn has_unseen(&self) -> bool {
        let count = self.candidates.min(self.beam.count());
        self.watched.as_ref().is_some_and(|watched| watched.seen.len() < count)
    }

    /// The symbols of the text as the model reads it, padding included.
    pub fn source(&self) -> &[SourceSymbol] {
        &self.source
    }

    /// Reads the source, or writes one symbol more; at the end looks at a symbol of a candidate more, where that was asked for.
    ///
    /// # Errors
    /// [`Error::TooMuch`] for attention of all candidates that takes too much memory; whatever the device reports. The job is of
    /// no use after it.
    pub async fn step(&mut self) -> Result<()> {
        if self.beam.is_done() {
            return self.look().await;
        }
        let network = &self.model.network;
        let Some(running) = &mut self.running else {
            let ids: Vec<u32> = self.source.iter().map(|symbol| symbol.id).collect();
            let mut encoded = network.nothing_encoded();
            let sources = network.encode(&mut self.ops, &mut encoded, &[&ids])?;
            let state = network.start_at(&mut self.ops, &encoded, &sources)?;
            let source = sources.into_iter().next();
            let source =
                source.ok_or_else(|| Error::Internal { what: "no source was read".to_owned() })?;
            self.running = Some(Running { encoded, source, state });
            return Ok(());
        };
        let live = &self.beam.live;
        let tokens: Vec<Option<u32>> = live.iter().map(|one| one.ids.last().copied()).collect();
        let parents: Vec<usize> = live.iter().map(|one| one.parent).collect();
        let sources = vec![running.source.clone(); tokens.len()];
        running.state.reorder(&mut self.ops, &parents)?;
        let (encoded, state) = (&running.encoded, &mut running.state);
        let ops = &mut self.ops;
        let output = network.decode_step(ops, encoded, state, &tokens, &sources, true)?;
        let logits = ops.logits(&output.hidden, 0..tokens.len(), &self.model.output);
        self.weights.clear();
        if let Some(alignment) = &output.alignment {
            ops.read(alignment, &mut self.weights).await?;
        }
        ops.read(&logits, &mut self.logits).await?;
        if let Some(value) = self.logits.iter().find(|value| !value.is_finite()) {
            let what =
                format!("{value} comes out: its weights take float32 past its largest number");
            return Err(Error::Format { file: "model.safetensors".to_owned(), offset: None, what });
        }
        self.beam.step(&self.logits, &self.weights);
        Ok(())
    }

    /// Takes the attention of the next candidate, a symbol a step.
    async fn look(&mut self) -> Result<()> {
        let Some(Watched { wanted, seen, looking }) = &mut self.watched else { return Ok(()) };
        let found = self.beam.ranked(self.candidates);
        let rereading = match looking {
            Some(rereading) => rereading,
            None => {
                let source: Vec<u32> = self.source.iter().map(|symbol| symbol.id).collect();
                if seen.is_empty() {
                    let lens =
                        |one: &&Hypothesis| lens(source.len(), one.ids.len().saturating_sub(1));
                    check_room(wanted, found.iter().map(lens))?;
                }
                let ids = found.get(seen.len()).map(|one| one.ids.as_slice());
                let Some([_, written @ ..]) = ids else { return Ok(()) };
                looking.insert(self.model.look(source, written, wanted)?)
            }
        };
        rereading.step(&self.model.network).await?;
        if rereading.is_done() {
            seen.extend(looking.take().map(Rereading::finish));
        }
        Ok(())
    }

    /// The candidates, the likeliest first.
    ///
    /// # Errors
    /// [`Error::Internal`] if the job is not done.
    pub fn finish(self) -> Result<Vec<Candidate>> {
        if !self.is_done() {
            return Err(Error::Internal {
                what: "a job was asked for its result early".to_owned(),
            });
        }
        if self.source.is_empty() {
            return Ok(Vec::new());
        }
        let mut attention = self.watched.map(|watched| watched.seen).into_iter().flatten();
        let found = self.beam.ranked(self.candidates).into_iter();
        Ok(found.map(|one| candidate(&self.model, one, attention.next())).collect())
    }
}

fn candidate<O: Ops>(
    model: &TransliterationModel<O>,
    hypothesis: &Hypothesis,
    attention: Option<Attention>,
) -> Candidate {
    let mut text = String::new();
    let symbol = |&id: &u32| {
        let start = text.len();
        text.push_str(model.target.text(id));
        WrittenSymbol { id, range: start..text.len() }
    };
    let symbols = hypothesis.ids.iter().skip(1).map(symbol).collect();
    let alignment = hypothesis.weights.clone();
    Candidate { text, probability: hypothesis.probability, symbols, alignment, attention }
}
