//! Attention of a text and of what is written for it.

use super::model::TransliterationModel;
use crate::error::{Error, Result};
use crate::ops::Ops;
use crate::tasks::attention::{Attention, AttentionRequest, OfKinds, Wanted};
use crate::tasks::rereading::Rereading;

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
        let mut rereading = self.look(source.to_vec(), written, &self.wanted(request)?)?;
        while !rereading.is_done() {
            rereading.step(&self.network).await?;
        }
        Ok(rereading.finish())
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

    /// Begins to look at what is known to be there.
    pub(super) fn look(
        &self,
        source: Vec<u32>,
        written: &[u32],
        wanted: &OfKinds<Wanted>,
    ) -> Result<Rereading<O>> {
        let start = [self.target.start];
        let read = start.iter().chain(written).map(|&symbol| Some(symbol)).take(written.len());
        Rereading::new(&self.ops, source, read.collect(), wanted.clone())
    }
}
