//! Beam search over a batch of sources, one decoder step at a time. No result depends on what else is in the batch.

use super::beam::{Beam, BeamOptions, Hypothesis};
use crate::error::Result;
use crate::ops::Ops;
use crate::stack::{DecoderState, Encoded, EncoderDecoder};

/// One source of a batch.
#[derive(Debug, Clone)]
pub struct SearchInput {
    /// Source tokens, the end token last.
    pub source: Vec<u32>,
    /// Target tokens to choose from, ascending (a lexical shortlist); all if `None`.
    pub candidates: Option<Vec<u32>>,
}

/// A search that moves on by [`Search::step`].
pub struct Search<O: Ops> {
    encoded: Encoded<O>,
    state: DecoderState<O>,
    /// Output projections; neighbouring sources with the same candidates share one.
    outputs: Vec<O::OutputProjection>,
    sources: Vec<Source>,
    with_alignment: bool,
}

struct Source {
    index: usize,  // in the batch as it was given
    output: usize, // in `outputs`
    beam: Beam,
}

impl<O: Ops> Search<O> {
    /// Encodes the sources and sets up their beams.
    pub fn start(
        ops: &mut O,
        model: &EncoderDecoder<O>,
        inputs: &[SearchInput],
        options: BeamOptions,
        with_alignment: bool,
    ) -> Result<Self> {
        let tokens: Vec<&[u32]> = inputs.iter().map(|input| input.source.as_slice()).collect();
        let encoded = model.encode(ops, &tokens)?;
        let mut sources = Vec::with_capacity(inputs.len());
        let mut outputs = Vec::new();
        let mut previous = None;
        for (index, input) in inputs.iter().enumerate() {
            if previous != Some(&input.candidates) {
                outputs.push(model.output_projection(ops, input.candidates.as_deref())?);
                previous = Some(&input.candidates);
            }
            sources.push(Source {
                index,
                output: outputs.len() - 1,
                beam: Beam::new(options, model.special().end, input.source.len()),
            });
        }
        let state = model.start(ops, sources.len());
        Ok(Self { encoded, state, outputs, sources, with_alignment })
    }

    /// Whether every source is finished.
    pub fn is_done(&self) -> bool {
        self.sources.is_empty()
    }

    /// Moves every live hypothesis one token on. Gives the sources that ended: their index and hypotheses, best first.
    pub async fn step(
        &mut self,
        ops: &mut O,
        model: &EncoderDecoder<O>,
    ) -> Result<Vec<(usize, Vec<Hypothesis>)>> {
        let mut tokens = Vec::new();
        let mut row_sources = Vec::new();
        for source in &self.sources {
            tokens.extend(source.beam.tokens());
            row_sources.resize(tokens.len(), source.index);
        }
        let (encoded, state) = (&self.encoded, &mut self.state);
        let step =
            model.decode_step(ops, encoded, state, &tokens, &row_sources, self.with_alignment)?;
        let mut chosen = Vec::with_capacity(self.sources.len());
        let mut row = 0;
        for alike in self.sources.chunk_by(|a, b| a.output == b.output) {
            let live: usize = alike.iter().map(|source| source.beam.live()).sum();
            let width = alike.iter().map(|source| source.beam.width()).max().unwrap_or(1);
            let output = alike.first().and_then(|source| self.outputs.get(source.output));
            let Some(output) = output else { continue };
            let logits = ops.logits(&step.hidden, row..row + live, output);
            chosen.push(ops.choose(&logits, output, width));
            row += live;
        }
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
                finished.push((source.index, source.beam.into_hypotheses()));
            } else {
                living.push(source);
            }
        }
        self.sources = living;
        self.state.reorder(ops, &kept_rows)?;
        Ok(finished)
    }
}
