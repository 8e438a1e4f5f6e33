//! Attention of a finished text: it is read once more, beside the session, while its weights are taken. So a generation
//! that nobody looks at does nothing for it, and its weights are those that its steps had, bit for bit on the CPU.

use super::job::CHUNK;
use super::model::TextModel;
use crate::error::Result;
use crate::ops::Ops;
use crate::stack::{BlockWeights, Decoder, DecoderState, Watch};
use crate::tasks::attention::{
    Attention, AttentionRequest, AttentionWeights, OfKinds, Wanted, check_room, most_tokens, room,
};

const NONE: [usize; 2] = [0, 0];

/// A text that is read for its attention.
pub(super) struct Observation<O: Ops> {
    ops: O,
    wanted: OfKinds<Wanted>,
    /// Once it has begun: what was read, and the weights so far.
    begun: Option<(DecoderState<O>, Attention)>,
    read: usize,
    /// Tokens whose weights have room: an answer is not lost for being longer, its last tokens are not looked at.
    most: usize,
}

impl<O: Ops + Clone> Observation<O> {
    /// Of a text of at least so many tokens.
    pub fn new(model: &TextModel<O>, request: &AttentionRequest, tokens: usize) -> Result<Self> {
        let wanted = request.of([NONE, model.decoder.attention(), NONE])?;
        // Whether there is room for the prompt is known before anything is written.
        check_room(&wanted, [[NONE, [tokens; 2], NONE]])?;
        let most = most_tokens(&wanted[1]);
        Ok(Self { ops: model.ops.clone(), wanted, begun: None, read: 0, most })
    }
}

impl<O: Ops> Observation<O> {
    pub fn is_done(&self, sequence: &[u32]) -> bool {
        self.read == self.seen(sequence).len()
    }

    /// What of the text is looked at.
    fn seen<'a>(&self, sequence: &'a [u32]) -> &'a [u32] {
        sequence.get(..self.most).unwrap_or(sequence)
    }

    /// Reads a part of the text.
    pub async fn step(&mut self, decoder: &Decoder<O>, sequence: &[u32]) -> Result<()> {
        let sequence = self.seen(sequence);
        let Self { ops, wanted, begun, read, .. } = self;
        let (state, [_, attention, _]) = match begun {
            Some(begun) => begun,
            None => {
                let attention = room(wanted, [NONE, [sequence.len(); 2], NONE])?;
                begun.insert((decoder.start(ops), attention))
            }
        };
        let rest = sequence.get(*read..).unwrap_or_default();
        let part = rest.get(..CHUNK).unwrap_or(rest);
        let mut seen = Vec::new();
        let mut take = |layer, weights: BlockWeights<O>| {
            seen.extend(weights.mixer.map(|weights| (layer, weights)));
        };
        let [_, Wanted { layers, heads }, _] = wanted;
        let watch = Watch { layers, mixer: heads, cross: &[], take: &mut take };
        decoder.forward_watched(ops, state, part, Some(watch))?;
        for seen in seen {
            attention.take(ops, seen, *read).await?;
        }
        *read += part.len();
        Ok(())
    }

    /// The weights of the tokens looked at, `[layers, heads, tokens, tokens]`.
    pub fn finish(self) -> AttentionWeights {
        let [_, decoder, _] = self.begun.map(|(_, attention)| attention).unwrap_or_default();
        decoder
    }
}
