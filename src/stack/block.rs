//! The block. Encoder-only, decoder-only and encoder–decoder models are made of it and of nothing else:
//! the mask, the cross-attention and the positions are all that differs.

use super::attention::{HeadWeights, Lookup, MultiHeadAttention};
use super::kv_cache::LayerState;
use super::load::Loader;
use super::mlp::Mlp;
#[cfg(feature = "recurrent")]
use super::recurrent::Recurrent;
use super::recurrent::Ssru;
use crate::error::Result;
use crate::model::{BlockSpec, MixerSpec, StackConfig};
use crate::ops::{AttentionSegment, CacheKind, Ops, Residual};

/// What lets a position see others.
pub enum Mixer<O: Ops> {
    /// Self-attention over the positions the mask shows.
    SelfAttention(MultiHeadAttention<O>),
    /// A recurrent state.
    Ssru(Ssru<O>),
    /// Gated recurrent units.
    #[cfg(feature = "recurrent")]
    Recurrent(Recurrent<O>),
}

/// Mixer, cross-attention where there is an encoder, feed-forward; each added to the residual stream.
pub struct Block<O: Ops> {
    mixer: Mixer<O>,
    cross_attention: Option<MultiHeadAttention<O>>,
    mlp: Mlp<O>,
}

/// What a block looks at besides its stream.
pub struct BlockInput<'a, O: Ops> {
    /// The sequences of the stream, for self-attention.
    pub segments: &'a [AttentionSegment],
    /// Position of each row in its sequence.
    pub positions: &'a [usize],
    /// What the distance of two positions is worth to each head, `[num_heads, 2 · reach + 1]`.
    pub relative: Option<&'a O::Tensor>,
    /// Memory of the mixer, in decoding.
    pub state: Option<&'a mut LayerState<O>>,
    /// Keys and values of each encoded batch and which of them each row of the stream sees.
    pub cross: Option<(&'a [O::Tensor], &'a [AttentionSegment])>,
    /// Heads of mixer and cross-attention whose weights are wanted.
    pub weights_of: [&'a [usize]; 2],
}

/// Attention weights of a block's heads, where they were asked for and there are such.
pub struct BlockWeights<O: Ops> {
    /// Of self-attention.
    pub mixer: HeadWeights<O>,
    /// Of cross-attention.
    pub cross: HeadWeights<O>,
}

impl<O: Ops> Block<O> {
    /// Loads its weights.
    pub fn load(load: &Loader<'_, O>, spec: &BlockSpec, config: &StackConfig) -> Result<Self> {
        let mixer = match &spec.mixer {
            MixerSpec::SelfAttention(attention) => {
                Mixer::SelfAttention(MultiHeadAttention::load_self(load, attention, config)?)
            }
            MixerSpec::Ssru(ssru) => Mixer::Ssru(Ssru::load(load, ssru, config)?),
            #[cfg(feature = "recurrent")]
            MixerSpec::Recurrent(layer) => Mixer::Recurrent(Recurrent::load(load, layer)?),
        };
        let cross = spec.cross_attention.as_ref();
        Ok(Self {
            mixer,
            cross_attention: cross
                .map(|attention| MultiHeadAttention::load_cross(load, attention, config))
                .transpose()?,
            mlp: Mlp::load(load, &spec.mlp, config)?,
        })
    }

    /// Heads of self-attention and of cross-attention; 0 where there is none.
    pub fn heads(&self) -> [usize; 2] {
        let mixer = match &self.mixer {
            Mixer::SelfAttention(attention) => attention.num_heads(),
            _ => 0,
        };
        [mixer, self.cross_attention.as_ref().map_or(0, MultiHeadAttention::num_heads)]
    }

    /// The mixer's memory before the first token of `rows` sequences.
    pub fn empty_state(&self, ops: &mut O, kind: CacheKind, rows: usize) -> LayerState<O> {
        match &self.mixer {
            Mixer::SelfAttention(attention) => attention.empty_cache(ops, kind, rows),
            Mixer::Ssru(ssru) => ssru.empty_state(ops, rows),
            #[cfg(feature = "recurrent")]
            Mixer::Recurrent(layer) => layer.empty_state(ops, rows),
        }
    }

    /// What the mixer remembers of `rows` sequences before it reads them whole, if it remembers anything then.
    #[cfg(feature = "recurrent")]
    pub fn state_of_whole(&self, ops: &mut O, rows: usize) -> Option<LayerState<O>> {
        match &self.mixer {
            Mixer::Recurrent(layer) => Some(layer.empty_state(ops, rows)),
            Mixer::SelfAttention(_) | Mixer::Ssru(_) => None,
        }
    }

    /// Cross-attention's keys and values of an encoder's output; none in a block without.
    pub fn project_cross(
        &self,
        ops: &mut O,
        encoder_output: &O::Tensor,
    ) -> Result<Option<O::Tensor>> {
        let cross = self.cross_attention.as_ref();
        cross.map(|attention| attention.project_cross(ops, encoder_output)).transpose()
    }

    /// The normalisation that is pending after the block.
    pub fn pending_norm(&self) -> Option<&O::Norm> {
        self.mlp.pending_norm()
    }

    /// Moves the stream through the block; gives the weights of the heads asked for.
    pub fn forward<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        input: BlockInput<'_, O>,
    ) -> Result<BlockWeights<O>> {
        let [of_mixer, of_cross] = input.weights_of;
        let mixer = match &self.mixer {
            Mixer::SelfAttention(attention) => {
                let (segments, relative) = (input.segments, input.relative);
                let lookup = Lookup { segments, relative, weights_of: of_mixer };
                attention.forward_self(ops, stream, lookup, input.state, input.positions)?
            }
            Mixer::Ssru(ssru) => {
                ssru.forward(ops, stream, input.state)?;
                None
            }
            #[cfg(feature = "recurrent")]
            Mixer::Recurrent(layer) => {
                layer.forward(ops, stream, input.segments, input.state)?;
                None
            }
        };
        let mut cross = None;
        if let (Some(attention), Some((kv, segments))) = (&self.cross_attention, input.cross) {
            let lookup = Lookup { segments, relative: None, weights_of: of_cross };
            cross = attention.forward_cross(ops, stream, kv, lookup)?;
        }
        self.mlp.forward(ops, stream);
        Ok(BlockWeights { mixer, cross })
    }
}
