//! Beam search over sources that come and go, one decoder step at a time. No result depends on what else is in the batch.

use super::beam::{Beam, BeamOptions, Hypothesis};
use crate::error::Result;
use crate::ops::{Choices, Ops, Pick, Wanted};
#[cfg(feature = "gpu")]
use crate::stack::StepOutput;
use crate::stack::{DecoderState, Encoded, EncoderDecoder, SourceRows};
use std::{ops::Range, sync::Arc};

/// Steps that are taken before what they chose is read, where that takes long.
#[cfg(feature = "gpu")]
const AHEAD: usize = 8;

/// One source.
#[derive(Debug, Clone)]
pub struct SearchInput {
    /// Source tokens, the end token last.
    pub source: Vec<u32>,
    /// Target tokens to choose from, ascending (a lexical shortlist); all if `None`.
    pub candidates: Option<Vec<u32>>,
    /// Target tokens to go through in place of searching, all of them candidates, the end token last.
    pub given: Option<Vec<u32>>,
}

/// A search that moves on by [`Search::step`] and takes further sources by [`Search::add`] while others are under way.
/// A step allocates nothing, unless a source came since the last one or goes with it.
pub struct Search<O: Ops> {
    state: DecoderState<O>,
    encoded: Encoded<O>,
    sources: Vec<Source<O>>,
    added: usize,
    with_alignment: bool,
    room: StepRoom<O>,
}

struct Source<O: Ops> {
    number: usize,
    rows: SourceRows,
    /// Sources added together share it where their candidates are the same.
    output: Arc<O::OutputProjection>,
    beam: Beam,
}

/// What a step puts together and reads, kept for the room that it takes. Rows are live hypotheses.
struct StepRoom<O: Ops> {
    tokens: Vec<Option<u32>>,     // [rows]
    row_sources: Vec<SourceRows>, // [rows]
    picks: Vec<Pick<O::OutputProjection>>,
    chosen: O::Chosen,
    choices: Choices,    // [rows]
    attention: Vec<f32>, // [rows, longest source]
    kept_rows: Vec<usize>,
}

impl<O: Ops> Search<O> {
    /// A search without sources.
    pub fn new(ops: &mut O, model: &EncoderDecoder<O>, with_alignment: bool) -> Self {
        Self {
            state: model.start(ops, 0),
            encoded: model.nothing_encoded(),
            sources: Vec::new(),
            added: 0,
            with_alignment,
            room: StepRoom {
                tokens: Vec::new(),
                row_sources: Vec::new(),
                picks: Vec::new(),
                chosen: O::Chosen::default(),
                choices: Choices::default(),
                attention: Vec::new(),
                kept_rows: Vec::new(),
            },
        }
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
        let rows = model.encode(ops, &mut self.encoded, &tokens)?;
        let numbers = self.added..self.added + inputs.len();
        let mut sources: Vec<Source<O>> = Vec::with_capacity(inputs.len());
        let mut previous = None;
        for ((number, input), rows) in numbers.clone().zip(inputs).zip(rows) {
            let shared = sources.last().filter(|_| previous == Some(&input.candidates));
            let output = match shared {
                Some(source) => Arc::clone(&source.output),
                None => Arc::new(model.output_projection(ops, input.candidates.as_deref())?),
            };
            previous = Some(&input.candidates);
            let (end, source_len) = (model.special().end, input.source.len());
            let with_alignment = self.with_alignment;
            let beam = match &input.given {
                Some(given) => {
                    Beam::of_given(given.clone(), options, end, source_len, with_alignment)
                }
                None => Beam::new(options, end, source_len, with_alignment),
            };
            sources.push(Source { number, rows, output, beam });
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
        // What may wait there is part of this function's state, and would stay in modules that never do.
        #[cfg(feature = "gpu")]
        {
            let is_greedy = || self.sources.iter().all(|source| source.beam.is_greedy());
            if O::READS_LATE && is_greedy() {
                return self.step_ahead(ops, model).await;
            }
        }
        let Self { state, encoded, sources, with_alignment, room, .. } = self;
        room.begin(sources);
        let (tokens, row_sources) = (&room.tokens, &room.row_sources);
        let step = model.decode_step(ops, encoded, state, tokens, row_sources, *with_alignment)?;
        let mut row = 0;
        for Source { output, beam, .. } in sources.iter() {
            let (rows, wanted) = (row..row + beam.live(), beam.wanted());
            row = rows.end;
            // Rows with the same candidates go through one product.
            match (room.picks.last_mut(), wanted) {
                (
                    Some(Pick { rows: shared, output: same, wanted: Wanted::Likeliest(most) }),
                    Wanted::Likeliest(k),
                ) if Arc::ptr_eq(same, output) => {
                    *most = k.max(*most);
                    shared.end = rows.end;
                }
                _ => room.picks.push(Pick { rows, output: Arc::clone(output), wanted }),
            }
        }
        ops.choose(&step.hidden, &room.picks, &mut room.chosen);
        room.picks.clear();
        let mut stride = 0;
        if let Some(weights) = &step.alignment {
            stride = ops.shape(weights).1;
            #[cfg(not(feature = "gpu"))]
            ops.read(weights, &mut room.attention).await?;
        }
        #[cfg(not(feature = "gpu"))]
        ops.read_chosen(&room.chosen, &mut room.choices).await?;
        // Where reading takes long, both come at once.
        #[cfg(feature = "gpu")]
        {
            let (choices, attention) = (&mut room.choices, &mut room.attention);
            let alignment = step.alignment.as_slice();
            ops.read_chosen_with(&room.chosen, alignment, choices, attention).await?;
        }
        room.kept_rows.clear();
        let mut first_row = 0;
        for Source { beam, .. } in sources.iter_mut() {
            let live = beam.live();
            let own = room.attention.get(first_row * stride..).unwrap_or_default();
            let continued = beam.advance(&room.choices, first_row, own, stride);
            room.kept_rows.extend(continued.iter().map(|row| first_row + row));
            first_row += live;
        }
        self.end_step(ops)
    }

    /// Several steps of beams of one where what is read comes late: each step's tokens are chosen on the device, read there
    /// as the next one's, and are known at once. What is chosen after a translation's end is not looked at.
    #[cfg(feature = "gpu")]
    async fn step_ahead(
        &mut self,
        ops: &mut O,
        model: &EncoderDecoder<O>,
    ) -> Result<Vec<(usize, Vec<Hypothesis>)>> {
        let Self { state, encoded, sources, with_alignment, room, .. } = self;
        let with_alignment = *with_alignment;
        room.begin(sources);
        let (rows, tokens, row_sources) = (room.tokens.len(), &room.tokens, &room.row_sources);
        let left = sources.iter().map(|source| source.beam.left()).max().unwrap_or(1);
        let steps = left.min(AHEAD);
        let mut chosen = O::Chosen::default();
        let mut alignments = Vec::new();
        for step in 0..steps {
            let StepOutput { hidden, alignment } = if step == 0 {
                model.decode_step(ops, encoded, state, tokens, row_sources, with_alignment)?
            } else {
                let last = (&chosen, rows);
                model.decode_chosen(ops, encoded, state, last, row_sources, with_alignment)?
            };
            alignments.extend(alignment);
            let mut first = 0;
            while let Some(source) = sources.get(first) {
                // Rows with the same candidates go through one product.
                let same = |other: &&Source<O>| Arc::ptr_eq(&other.output, &source.output);
                let count = sources.iter().skip(first).take_while(same).count();
                let output = Arc::clone(&source.output);
                let rows = first..first + count;
                let pick = Pick { rows, output, wanted: Wanted::Likeliest(1) };
                ops.choose_next(&hidden, &pick, &mut chosen);
                first += count;
            }
        }
        // Of every step the longest source is the same.
        let stride = alignments.first().map_or(0, |alignment| ops.shape(alignment).1);
        let (choices, attention) = (&mut room.choices, &mut room.attention);
        ops.read_chosen_with(&chosen, &alignments, choices, attention).await?;
        room.kept_rows.clear();
        for (row, Source { beam, .. }) in sources.iter_mut().enumerate() {
            for step in 0..steps {
                let at = step * rows + row;
                if beam.live() > 0 {
                    let own = room.attention.get(at * stride..).unwrap_or_default();
                    beam.advance(&room.choices, at, own, stride);
                }
            }
            room.kept_rows.extend((beam.live() > 0).then_some(row));
        }
        self.end_step(ops)
    }

    /// Takes the sources that ended out, and keeps the rows of the others.
    fn end_step(&mut self, ops: &mut O) -> Result<Vec<(usize, Vec<Hypothesis>)>> {
        let Self { state, encoded, sources, room, .. } = self;
        let ended = sources.extract_if(.., |source| source.beam.live() == 0);
        let finished: Vec<_> =
            ended.map(|source| (source.number, source.beam.into_hypotheses())).collect();
        if !finished.is_empty() {
            encoded.keep(ops, |batch| sources.iter().any(|source| source.rows.batch == batch));
        }
        state.reorder(ops, &room.kept_rows)?;
        Ok(finished)
    }
}

impl<O: Ops> StepRoom<O> {
    /// Puts together the tokens of a step, and the source of each row.
    fn begin(&mut self, sources: &[Source<O>]) {
        self.tokens.clear();
        self.row_sources.clear();
        for source in sources {
            self.tokens.extend(source.beam.tokens());
            self.row_sources.resize(self.tokens.len(), source.rows.clone());
        }
    }
}
