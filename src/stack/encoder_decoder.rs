//! An encoder–decoder: two stacks of the same block and an output projection.

use super::attention::HeadWeights;
use super::encoded::{Encoded, SourceRows};
use super::kv_cache::DecoderState;
#[cfg(feature = "recurrent")]
use super::kv_cache::LayerState;
use super::load::{Loader, Precision};
use super::transformer::{DecoderInput, StepTokens, Transformer};
use super::watch::Watch;
use crate::error::Result;
use crate::formats::TensorFile;
use crate::model::{EncoderDecoderSpec, SpecialTokens};
use crate::ops::{ActivationQuant, CacheKind, Ops};
#[cfg(feature = "recurrent")]
use crate::{error::Error, model::FirstState};
use std::rc::Rc;

/// A loaded encoder–decoder model.
pub struct EncoderDecoder<O: Ops> {
    encoder: Transformer<O>,
    decoder: Transformer<O>,
    output_table: Rc<O::Table>,
    output_bias: Option<Vec<f32>>,
    output_activation: ActivationQuant,
    special: SpecialTokens,
    alignment: (usize, usize),
    #[cfg(feature = "recurrent")]
    first_state: FirstState,
    vocab_size: usize,
}

/// Result of one decoding step.
pub struct StepOutput<O: Ops> {
    /// `[rows, hidden_size]`.
    pub hidden: O::Tensor,
    /// Weights of the alignment head, `[rows, longest source]`.
    pub alignment: HeadWeights<O>,
}

impl<O: Ops> EncoderDecoder<O> {
    /// Loads the model `spec` describes from `file`.
    pub fn load(
        ops: &O,
        file: &dyn TensorFile,
        spec: &EncoderDecoderSpec,
        precision: Precision,
    ) -> Result<Self> {
        let load = Loader::new(ops, file, precision);
        load.require(&spec.tensor_names())?;
        let table = |stack: &crate::model::StackSpec| {
            load.table(&stack.embedding, stack.vocab_size, stack.config.hidden_size).map(Rc::new)
        };
        let source = table(&spec.encoder)?;
        let target = if spec.decoder.embedding == spec.encoder.embedding {
            Rc::clone(&source)
        } else {
            table(&spec.decoder)?
        };
        let output = &spec.output;
        let output_table = if output.table == spec.decoder.embedding {
            Rc::clone(&target)
        } else {
            Rc::new(load.output_table(output)?)
        };
        let output_bias =
            output.bias.as_deref().map(|bias| load.vector(bias, output.vocab_size)).transpose()?;
        Ok(Self {
            encoder: Transformer::load(&load, &spec.encoder, source)?,
            decoder: Transformer::load(&load, &spec.decoder, target)?,
            output_table,
            output_bias,
            output_activation: load.output_activation(output)?,
            special: spec.special,
            alignment: spec.alignment,
            #[cfg(feature = "recurrent")]
            first_state: spec.first_state,
            vocab_size: output.vocab_size,
        })
    }

    /// Tokens with a meaning of their own.
    pub fn special(&self) -> SpecialTokens {
        self.special
    }

    /// Decoder layer and head whose cross-attention is the alignment.
    #[cfg(feature = "recurrent")]
    pub fn alignment(&self) -> (usize, usize) {
        self.alignment
    }

    /// Target tokens there are.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Nothing encoded yet.
    pub fn nothing_encoded(&self) -> Encoded<O> {
        Encoded::new(self.decoder.num_layers())
    }

    /// Encodes sources (each with its end token) as one more batch of `encoded`; gives their rows in it.
    pub fn encode(
        &self,
        ops: &mut O,
        encoded: &mut Encoded<O>,
        sources: &[&[u32]],
    ) -> Result<Vec<SourceRows>> {
        self.encode_watched(ops, encoded, sources, None)
    }

    /// [`EncoderDecoder::encode`]; who watches gets the weights of the encoder's blocks, `[tokens · heads, longest source]`.
    pub fn encode_watched(
        &self,
        ops: &mut O,
        encoded: &mut Encoded<O>,
        sources: &[&[u32]],
        mut watch: Option<Watch<'_, O>>,
    ) -> Result<Vec<SourceRows>> {
        let mut encoding = self.encoder.begin(ops, sources)?;
        while self.encoder.advance(ops, &mut encoding, watch.as_mut().map(Watch::again))? {}
        #[cfg(feature = "recurrent")]
        let states = std::mem::take(&mut encoding.states);
        let (output, rows) = self.encoder.end(ops, encoding);
        let batch = encoded.add(self.decoder.project_cross(ops, &output)?);
        #[cfg(feature = "recurrent")]
        if self.first_state == FirstState::Encoder {
            let states = states.into_iter().filter_map(|state| match state {
                Some(LayerState::Recurrent(state)) => Some(state),
                _ => None,
            });
            let starts = rows.iter().map(|rows| rows.start).collect();
            encoded.remember(batch, starts, states.collect());
        }
        Ok(rows.into_iter().map(|rows| SourceRows { batch, rows }).collect())
    }

    /// A decoder that has seen nothing, for `rows` hypotheses.
    pub fn start(&self, ops: &mut O, rows: usize) -> DecoderState<O> {
        self.decoder.empty_state(ops, CacheKind::Short, rows)
    }

    /// A decoder that has seen nothing, for a hypothesis of each of `sources`: what it remembers at first is what the model
    /// says, nothing or what the encoder does.
    ///
    /// # Errors
    /// [`Error::Internal`] for a source that was not encoded, and for an encoder and a decoder whose states differ.
    #[cfg(feature = "recurrent")]
    pub fn start_at(
        &self,
        ops: &mut O,
        encoded: &Encoded<O>,
        sources: &[SourceRows],
    ) -> Result<DecoderState<O>> {
        if self.first_state == FirstState::Zero {
            return Ok(self.start(ops, sources.len()));
        }
        let mut state = self.start(ops, 0);
        for source in sources {
            let Some((layers, row)) = encoded.remembered(source) else {
                return Err(Error::Internal { what: format!("{source:?} was not encoded") });
            };
            for (index, layer) in state.layers.iter_mut().enumerate() {
                match (layer, layers.get(index)) {
                    (LayerState::Recurrent(to), Some(from))
                        if ops.shape(to).1 == ops.shape(from).1 =>
                    {
                        ops.append_row(to, from, row, 0);
                    }
                    _ => {
                        let what = format!("layer {index} cannot begin with the encoder's state");
                        return Err(Error::Internal { what });
                    }
                }
            }
            state.past_len.push(0);
        }
        Ok(state)
    }

    /// A decoder that has seen nothing, for a hypothesis of each of `sources`.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "recurrent"))]
    pub fn start_at(
        &self,
        ops: &mut O,
        _: &Encoded<O>,
        sources: &[SourceRows],
    ) -> Result<DecoderState<O>> {
        Ok(self.start(ops, sources.len()))
    }

    /// `[layers, heads]` of the encoder's attention, of the decoder's own and of that to the source; zeros where there is none.
    pub fn attention(&self) -> [[usize; 2]; 3] {
        let ([encoder, _], [decoder, cross]) = (self.encoder.attention(), self.decoder.attention());
        [encoder, decoder, cross]
    }

    /// Moves one hypothesis one token on, for what there is to see: the weights of each block, `[heads, tokens so far]` and
    /// `[heads, source]`.
    pub fn decode_watched<'a>(
        &self,
        ops: &mut O,
        encoded: &'a Encoded<O>,
        state: &'a mut DecoderState<O>,
        token: Option<u32>,
        sources: &'a [SourceRows],
        watch: Watch<'a, O>,
    ) -> Result<O::Tensor> {
        let input = DecoderInput { state, cross: encoded.blocks(), sources, watch: Some(watch) };
        self.decoder.decode(ops, StepTokens::Known(&[token]), input)
    }

    /// Moves every hypothesis one token on; `sources[row]` is its source in `encoded`.
    pub fn decode_step(
        &self,
        ops: &mut O,
        encoded: &Encoded<O>,
        state: &mut DecoderState<O>,
        tokens: &[Option<u32>],
        sources: &[SourceRows],
        with_alignment: bool,
    ) -> Result<StepOutput<O>> {
        self.step(ops, encoded, state, StepTokens::Known(tokens), sources, with_alignment)
    }

    /// [`EncoderDecoder::decode_step`] of the tokens chosen last, one a row, which need not be known for it.
    pub fn decode_chosen(
        &self,
        ops: &mut O,
        encoded: &Encoded<O>,
        state: &mut DecoderState<O>,
        (chosen, rows): (&O::Chosen, usize),
        sources: &[SourceRows],
        with_alignment: bool,
    ) -> Result<StepOutput<O>> {
        let tokens = StepTokens::Chosen(chosen, rows);
        self.step(ops, encoded, state, tokens, sources, with_alignment)
    }

    fn step(
        &self,
        ops: &mut O,
        encoded: &Encoded<O>,
        state: &mut DecoderState<O>,
        tokens: StepTokens<'_, O>,
        sources: &[SourceRows],
        with_alignment: bool,
    ) -> Result<StepOutput<O>> {
        let (layer, head) = self.alignment;
        let mut alignment = None;
        let watch = Watch {
            layers: &[layer],
            mixer: &[],
            cross: &[head],
            take: &mut |_, weights| alignment = weights.cross.or(alignment.take()),
        };
        let watch = with_alignment.then_some(watch);
        let input = DecoderInput { state, cross: encoded.blocks(), sources, watch };
        let hidden = self.decoder.decode(ops, tokens, input)?;
        Ok(StepOutput { hidden, alignment })
    }

    /// The output projection over the target tokens `ids`, or over all.
    pub fn output_projection(&self, ops: &O, ids: Option<&[u32]>) -> Result<O::OutputProjection> {
        let barred = [self.special.unknown];
        let bias = self.output_bias.as_deref();
        ops.output_projection(&self.output_table, bias, self.output_activation, ids, &barred)
    }
}
