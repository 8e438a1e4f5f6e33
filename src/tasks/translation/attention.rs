//! Attention of a sentence and its translation: both are read once more (forced decoding), while the weights are taken. A
//! search does nothing for it, and its hypotheses need not carry any.

use super::translator::Translator;
use crate::error::Result;
use crate::ops::Ops;
use crate::stack::{BlockWeights, Watch};
use crate::tasks::attention::{Attention, AttentionRequest, room};

impl<O: Ops + Clone> Translator<O> {
    /// What the tokens of a sentence looked at, all ids without the end token, which is the last source token and the last
    /// that is written. Query t of decoder and cross-attention is the step that writes target token t; key t of the
    /// decoder is the token before, which that step reads: of the first one nothing.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidArgument`] for what the model does not have;
    /// [`crate::error::Error::TooMuch`] for what takes too much memory; whatever the device reports.
    pub async fn attention(
        &self,
        source: &[u32],
        target: &[u32],
        request: &AttentionRequest,
    ) -> Result<Attention> {
        let (model, mut ops) = (&self.model, self.ops.clone());
        let wanted = request.of(model.attention())?;
        let (sources, targets) = (source.len() + 1, target.len() + 1);
        let lens = [[sources; 2], [targets; 2], [targets, sources]];
        let mut attention = room(&wanted, lens)?;
        let [encoder, decoder, cross] = &wanted;
        // Kind, first query, layer and weights.
        let mut seen = Vec::new();
        let mut take = |layer, weights: BlockWeights<O>| {
            seen.extend(weights.mixer.map(|weights| (0, 0, (layer, weights))));
        };
        let source: Vec<u32> = source.iter().copied().chain([model.special().end]).collect();
        let mut encoded = model.nothing_encoded();
        let watch =
            Watch { layers: &encoder.layers, mixer: &encoder.heads, cross: &[], take: &mut take };
        let rows = model.encode_watched(&mut ops, &mut encoded, &[&source], Some(watch))?;
        let layers = if cross.layers.is_empty() { &decoder.layers } else { &cross.layers };
        let mut state = model.start(&mut ops, 1);
        let tokens = std::iter::once(None).chain(target.iter().copied().map(Some));
        for (first, token) in tokens.enumerate() {
            let mut take = |layer, weights: BlockWeights<O>| {
                seen.extend(weights.mixer.map(|weights| (1, first, (layer, weights))));
                seen.extend(weights.cross.map(|weights| (2, first, (layer, weights))));
            };
            let watch =
                Watch { layers, mixer: &decoder.heads, cross: &cross.heads, take: &mut take };
            model.decode_watched(&mut ops, &encoded, &mut state, token, &rows, watch)?;
        }
        for (kind, first, weights) in seen {
            if let Some(to) = attention.get_mut(kind) {
                to.take(&mut ops, weights, first).await?;
            }
        }
        Ok(attention)
    }
}
