//! Beam search over sources that come and go, one decoder step at a time. No result depends on what else is in the batch.

use super::beam::{Beam, BeamOptions, Hypothesis};
use crate::error::Result;
use crate::ops::{Ops, Pick};
use crate::stack::{DecoderState, Encoded, EncodedSource, EncoderDecoder};
use std::{ops::Range, rc::Rc};

/// One source.
#[derive(Debug, Clone)]
pub struct SearchInput {
    /// Source tokens, the end token last.
    pub source: Vec<u32>,
    /// Target tokens to choose from, ascending (a lexical shortlist); all if `None`.
    pub candidates: Option<Vec<u32>>,
}

/// A search that moves on by [`Search::step`] and takes further sources by [`Search::add`] while others are under way.
pub struct Search<O: Ops> {
    state: DecoderState<O>,
    sources: Vec<Source<O>>,
    added: usize,
    with_alignment: bool,
}

struct Source<O: Ops> {
    number: usize,
    /// Sources added together share it: it is there until the last of them is done.
    batch: Rc<Encoded<O>>,
    /// Its place in the batch.
    index: usize,
    /// Sources added together share it where their candidates are the same.
    output: Rc<O::OutputProjection>,
    beam: Beam,
}

impl<O: Ops> Search<O> {
    /// A search without sources.
    pub fn new(ops: &mut O, model: &EncoderDecoder<O>, with_alignment: bool) -> Self {
        let state = model.start(ops, 0);
        Self { state, sources: Vec::new(), added: 0, with_alignment }
    }

    /// Encodes sources together and sets up their beams. Gives their numbers: sources are counted as they are added.
    pub fn add(
        &mut self,
        ops: &mut O,
        model: &EncoderDecoder<O>,
        inputs: &[SearchInput],
        options: BeamOptions,
    ) -> Result<Range<usize>> {
        let tokens: Vec<&[u32]> = inputs.iter().map(|input| input.source.as_slice()).collect();
        let batch = Rc::new(model.encode(ops, &tokens)?);
        let numbers = self.added..self.added + inputs.len();
        let mut sources: Vec<Source<O>> = Vec::with_capacity(inputs.len());
        let mut previous = None;
        for (index, (number, input)) in numbers.clone().zip(inputs).enumerate() {
            let shared = sources.last().filter(|_| previous == Some(&input.candidates));
            let output = match shared {
                Some(source) => Rc::clone(&source.output),
                None => Rc::new(model.output_projection(ops, input.candidates.as_deref())?),
            };
            previous = Some(&input.candidates);
            let beam = Beam::new(options, model.special().end, input.source.len());
            sources.push(Source { number, batch: Rc::clone(&batch), index, output, beam });
        }
        let state = model.start(ops, inputs.len());
        self.state.append(ops, state)?;
        self.sources.append(&mut sources);
        self.added = numbers.end;
        Ok(numbers)
    }

    /// Whether every source is finished.
    pub fn is_done(&self) -> bool {
        self.sources.is_empty()
    }

    /// Hypotheses that the next step moves on.
    pub fn live(&self) -> usize {
        self.state.past_len.len()
    }

    /// Moves every live hypothesis one token on. Gives the sources that ended: their number and hypotheses, best first.
    pub async fn step(
        &mut self,
        ops: &mut O,
        model: &EncoderDecoder<O>,
    ) -> Result<Vec<(usize, Vec<Hypothesis>)>> {
        let mut tokens = Vec::with_capacity(self.live());
        let mut row_sources = Vec::with_capacity(self.live());
        let mut encoded: Vec<&Encoded<O>> = Vec::new();
        for together in self.sources.chunk_by(|a, b| Rc::ptr_eq(&a.batch, &b.batch)) {
            let batch = encoded.len();
            encoded.extend(together.first().map(|source| source.batch.as_ref()));
            for source in together {
                tokens.extend(source.beam.tokens());
                row_sources.resize(tokens.len(), EncodedSource { batch, index: source.index });
            }
        }
        let state = &mut self.state;
        let step =
            model.decode_step(ops, &encoded, state, &tokens, &row_sources, self.with_alignment)?;
        let mut picks = Vec::with_capacity(self.sources.len());
        let mut row = 0;
        for alike in self.sources.chunk_by(|a, b| Rc::ptr_eq(&a.output, &b.output)) {
            let live: usize = alike.iter().map(|source| source.beam.live()).sum();
            let k = alike.iter().map(|source| source.beam.width()).max().unwrap_or(1);
            let Some(Source { output, .. }) = alike.first() else { continue };
            picks.push(Pick { rows: row..row + live, output: output.as_ref(), k });
            row += live;
        }
        let chosen = ops.choose_each(&step.hidden, &picks);
        let (attention, stride) = match &step.alignment {
            Some(weights) => (ops.read(weights).await?, ops.shape(weights).1),
            None => (Vec::new(), 0),
        };
        let mut choices = Vec::with_capacity(row);
        for chosen in chosen {
            choices.extend(ops.read_chosen(chosen).await?);
        }
        let mut kept_rows = Vec::with_capacity(row);
        let mut finished = Vec::new();
        let mut living = Vec::with_capacity(self.sources.len());
        let mut first_row = 0;
        for mut source in std::mem::take(&mut self.sources) {
            let live = source.beam.live();
            let own = attention.get(first_row * stride..).unwrap_or_default();
            let choices = choices.get(first_row..first_row + live).unwrap_or_default();
            let parents = source.beam.advance(choices, own, stride);
            kept_rows.extend(parents.into_iter().map(|parent| first_row + parent));
            first_row += live;
            if source.beam.live() == 0 {
                finished.push((source.number, source.beam.into_hypotheses()));
            } else {
                living.push(source);
            }
        }
        self.sources = living;
        self.state.reorder(ops, &kept_rows)?;
        Ok(finished)
    }
}
