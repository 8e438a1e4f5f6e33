//! Attention of a text and of what is written for it: both are read once more (forced decoding), while the weights are taken. A
//! search does nothing for it, and keeps of each hypothesis no more than its alignment.

use super::model::TransliterationModel;
use crate::error::{Error, Result};
use crate::ops::Ops;
use crate::stack::{BlockWeights, Watch};
use crate::tasks::attention::{Attention, AttentionRequest, OfKinds, Wanted, room};

/// `[queries, keys]` of each kind for so many symbols of a source and of what is written for it.
pub(super) fn lens(sources: usize, written: usize) -> OfKinds<[usize; 2]> {
    [[sources; 2], [written; 2], [written, sources]]
}

impl<O: Ops + Clone> TransliterationModel<O> {
    /// What the symbols of a text (`source`, as the model reads them: those around it and its padding included) and those
    /// written for it (`written`, without the start, with the end where it was reached) looked at. Query t of decoder and
    /// cross-attention is the step that writes symbol t; key t of the decoder is what that step reads: of the first one the
    /// start, of the others the symbol before.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for what the model does not have; [`Error::TooMuch`] for what takes too much memory; whatever
    /// the device reports.
    pub async fn attention(
        &self,
        source: &[u32],
        written: &[u32],
        request: &AttentionRequest,
    ) -> Result<Attention> {
        self.look(source, written, &self.wanted(request)?).await
    }

    /// What is wanted, of what the model has. A recurrent decoder looks at the source after its last layer only.
    pub(super) fn wanted(&self, request: &AttentionRequest) -> Result<OfKinds<Wanted>> {
        let has = self.network.attention();
        let mut wanted = request.of(has)?;
        let [_, [_, own], [layers, _]] = has;
        let [.., cross] = &mut wanted;
        if own == 0 && !cross.layers.is_empty() {
            let last = layers.saturating_sub(1);
            if let Some(other) = request.layers.iter().find(|layer| **layer != last) {
                let what =
                    format!("layer {other}: 'cross' is there after the last layer, {last}, only");
                return Err(Error::InvalidArgument { option: "attention", what });
            }
            cross.layers = vec![last];
        }
        Ok(wanted)
    }

    /// [`TransliterationModel::attention`] of what is known to be there.
    pub(super) async fn look(
        &self,
        source: &[u32],
        written: &[u32],
        wanted: &OfKinds<Wanted>,
    ) -> Result<Attention> {
        let (network, mut ops) = (&self.network, self.ops.clone());
        let mut attention = room(wanted, lens(source.len(), written.len()))?;
        let [encoder, decoder, cross] = wanted;
        // Kind, first query, layer and weights.
        let mut seen = Vec::new();
        let mut take = |layer, weights: BlockWeights<O>| {
            seen.extend(weights.mixer.map(|weights| (0, 0, (layer, weights))));
        };
        let watch =
            Watch { layers: &encoder.layers, mixer: &encoder.heads, cross: &[], take: &mut take };
        let mut encoded = network.nothing_encoded();
        let rows = network.encode_watched(&mut ops, &mut encoded, &[source], Some(watch))?;
        let layers = if cross.layers.is_empty() { &decoder.layers } else { &cross.layers };
        let mut state = network.start_at(&mut ops, &encoded, &rows)?;
        let read = [self.target.start].into_iter().chain(written.iter().copied());
        // Where only the source's own weights are wanted, nothing is written.
        let steps = if layers.is_empty() { 0 } else { written.len() };
        for (step, symbol) in read.take(steps).enumerate() {
            let mut take = |layer, weights: BlockWeights<O>| {
                seen.extend(weights.mixer.map(|weights| (1, step, (layer, weights))));
                seen.extend(weights.cross.map(|weights| (2, step, (layer, weights))));
            };
            let watch =
                Watch { layers, mixer: &decoder.heads, cross: &cross.heads, take: &mut take };
            let (state, symbol) = (&mut state, Some(symbol));
            network.decode_watched(&mut ops, &encoded, state, symbol, &rows, watch)?;
        }
        for (kind, first, weights) in seen {
            if let Some(to) = attention.get_mut(kind) {
                to.take(&mut ops, weights, first).await?;
            }
        }
        Ok(attention)
    }
}
