//! Attention of a source and of what is written for it: both are read once more (forced decoding), while the weights are taken.
//! A search does nothing for it, and its hypotheses need not carry any.

use super::attention::{Attention, OfKinds, Wanted, room};
use crate::error::Result;
use crate::ops::Ops;
use crate::stack::{BlockWeights, DecoderState, Encoded, EncoderDecoder, SourceRows, Watch};

/// A pair that is read for its attention: the source first, then a token a step.
pub struct Rereading<O: Ops> {
    ops: O,
    wanted: OfKinds<Wanted>,
    source: Vec<u32>,
    read: Vec<Option<u32>>,
    begun: Option<Begun<O>>,
    attention: Attention,
}

/// The source, read, and what the decoder remembers of so many steps.
struct Begun<O: Ops> {
    encoded: Encoded<O>,
    rows: Vec<SourceRows>,
    state: DecoderState<O>,
    steps: usize,
}

/// `[queries, keys]` of each kind for so many tokens of a source and of what is written for it.
pub fn lens(sources: usize, written: usize) -> OfKinds<[usize; 2]> {
    [[sources; 2], [written; 2], [written, sources]]
}

impl<O: Ops + Clone> Rereading<O> {
    /// `source` are ids as the encoder reads them, `read` what each of the decoder's steps reads.
    ///
    /// # Errors
    /// [`crate::error::Error::TooMuch`] for what takes too much memory.
    pub fn new(
        ops: &O,
        source: Vec<u32>,
        mut read: Vec<Option<u32>>,
        wanted: OfKinds<Wanted>,
    ) -> Result<Self> {
        let attention = room(&wanted, lens(source.len(), read.len()))?;
        let [_, decoder, cross] = &wanted;
        if decoder.layers.is_empty() && cross.layers.is_empty() {
            // Where only the source's own weights are wanted, nothing is written.
            read.clear();
        }
        Ok(Self { ops: ops.clone(), wanted, source, read, begun: None, attention })
    }
}

impl<O: Ops> Rereading<O> {
    /// Whether all is read.
    pub fn is_done(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.steps == self.read.len())
    }

    /// Reads the source, or a token more.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn step(&mut self, model: &EncoderDecoder<O>) -> Result<()> {
        let Self { ops, wanted: [encoder, decoder, cross], source, read, begun, attention } = self;
        // Kind, first query, layer and weights.
        let mut seen = Vec::new();
        match begun {
            None => {
                let mut take = |layer, weights: BlockWeights<O>| {
                    seen.extend(weights.mixer.map(|weights| (0, 0, (layer, weights))));
                };
                let (layers, mixer) = (&encoder.layers, &encoder.heads);
                let watch = Watch { layers, mixer, cross: &[], take: &mut take };
                let mut encoded = model.nothing_encoded();
                let rows = model.encode_watched(ops, &mut encoded, &[source], Some(watch))?;
                let state = model.start_at(ops, &encoded, &rows)?;
                *begun = Some(Begun { encoded, rows, state, steps: 0 });
            }
            Some(Begun { encoded, rows, state, steps }) => {
                let Some(&token) = read.get(*steps) else { return Ok(()) };
                let mut take = |layer, weights: BlockWeights<O>| {
                    seen.extend(weights.mixer.map(|weights| (1, *steps, (layer, weights))));
                    seen.extend(weights.cross.map(|weights| (2, *steps, (layer, weights))));
                };
                let layers = if cross.layers.is_empty() { &decoder.layers } else { &cross.layers };
                let (mixer, cross) = (&decoder.heads, &cross.heads);
                let watch = Watch { layers, mixer, cross, take: &mut take };
                model.decode_watched(ops, encoded, state, token, rows, watch)?;
                *steps += 1;
            }
        }
        for (kind, first, weights) in seen {
            if let Some(to) = attention.get_mut(kind) {
                to.take(ops, weights, first).await?;
            }
        }
        Ok(())
    }

    /// The weights of what was read.
    pub fn finish(self) -> Attention {
        self.attention
    }
}
