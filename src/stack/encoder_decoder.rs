//! An encoder–decoder: two stacks of the same block and an output projection.

use super::attention::HeadWeights;
use super::encoded::{Encoded, SourceRows};
use super::kv_cache::DecoderState;
use super::load::{Loader, Precision};
use super::transformer::{DecoderInput, StepTokens, Transformer};
use super::watch::Watch;
use crate::error::Result;
use crate::formats::TensorFile;
use crate::model::{EncoderDecoderSpec, SpecialTokens};
use crate::ops::{ActivationQuant, CacheKind, Ops};
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
            Rc::new(load.output_table(output, spec.decoder.config.hidden_size)?)
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
            vocab_size: output.vocab_size,
        })
    }

    /// Tokens with a meaning of their own.
    pub fn special(&self) -> SpecialTokens {
        self.special
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
        let (output, rows) = self.encoder.encode(ops, sources)?;
        let batch = encoded.add(self.decoder.project_cross(ops, &output)?);
        Ok(rows.into_iter().map(|rows| SourceRows { batch, rows }).collect())
    }

    /// A decoder that has seen nothing, for `rows` hypotheses.
    pub fn start(&self, ops: &mut O, rows: usize) -> DecoderState<O> {
        self.decoder.empty_state(ops, CacheKind::Short, rows)
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
