//! A decoder-only model: one stack of the block, causal, without an encoder to look at, and an output projection.

use super::kv_cache::{DecoderState, KvCache};
use super::load::{Loader, Precision};
use super::transformer::{DecoderInput, StepTokens, Transformer};
use super::watch::Watch;
use crate::error::Result;
use crate::formats::TensorFile;
use crate::model::DecoderSpec;
use crate::ops::{CacheKind, Ops, Pick, Wanted};
use std::{ops::Range, rc::Rc, sync::Arc};

/// A loaded decoder-only model.
pub struct Decoder<O: Ops> {
    stack: Transformer<O>,
    output: Arc<O::OutputProjection>,
    logit_cap: Option<f32>,
    context_len: usize,
    vocab_size: usize,
    kv_cache: KvCache,
}

impl<O: Ops> Decoder<O> {
    /// Loads the model `spec` describes from `file`.
    pub fn load(
        ops: &O,
        file: &dyn TensorFile,
        spec: &DecoderSpec,
        precision: Precision,
    ) -> Result<Self> {
        let load = Loader::new(ops, file, precision);
        load.require(&spec.tensor_names())?;
        let (stack, output) = (&spec.stack, &spec.output);
        let hidden_size = stack.config.hidden_size;
        // The tables first: what reading them takes is there for the blocks then.
        let table = Rc::new(load.table(&stack.embedding, stack.vocab_size, hidden_size)?);
        let output_table = if output.table == stack.embedding {
            Rc::clone(&table)
        } else {
            Rc::new(load.output_table(output)?)
        };
        let bias =
            output.bias.as_deref().map(|bias| load.vector(bias, output.vocab_size)).transpose()?;
        let activation = load.output_activation(output)?;
        Ok(Self {
            output: ops
                .output_projection(&output_table, bias.as_deref(), activation, None, &[])?
                .into(),
            stack: Transformer::load(&load, stack, table)?,
            logit_cap: output.cap,
            context_len: spec.context_len,
            vocab_size: output.vocab_size,
            kv_cache: KvCache::default(),
        })
    }

    /// The same with another way to remember keys and values, from the next [`Decoder::start`] on.
    pub fn with_kv_cache(self, kv_cache: KvCache) -> Self {
        Self { kv_cache, ..self }
    }

    /// Positions it was trained for.
    pub fn context_len(&self) -> usize {
        self.context_len
    }

    /// Tokens there are.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// `[layers, heads]` of its attention.
    pub fn attention(&self) -> [usize; 2] {
        let [own, _] = self.stack.attention();
        own
    }

    /// The memory of a sequence of which nothing was seen.
    pub fn start(&self, ops: &mut O) -> DecoderState<O> {
        let kind = match self.kv_cache {
            KvCache::Float => CacheKind::Long,
            KvCache::Int8 => CacheKind::LongInt8,
        };
        self.stack.empty_state(ops, kind, 1)
    }

    /// Reads `tokens` after what `state` has seen: `[tokens, hidden_size]`. All at once or one after the other, the
    /// result is the same.
    pub fn forward(
        &self,
        ops: &mut O,
        state: &mut DecoderState<O>,
        tokens: &[u32],
    ) -> Result<O::Tensor> {
        self.forward_watched(ops, state, tokens, None)
    }

    /// [`Decoder::forward`]; whoever watches gets the weights of each block, `[tokens · heads, tokens seen]`.
    pub fn forward_watched<'a>(
        &self,
        ops: &mut O,
        state: &'a mut DecoderState<O>,
        tokens: &[u32],
        watch: Option<Watch<'a, O>>,
    ) -> Result<O::Tensor> {
        let tokens: Vec<Option<u32>> = tokens.iter().copied().map(Some).collect();
        let input = DecoderInput { state, cross: &[], sources: &[], watch };
        self.stack.decode(ops, StepTokens::Known(&tokens), input)
    }

    /// Reads the token that was chosen last, which need not be known for it: `[1, hidden_size]`.
    pub fn forward_chosen(
        &self,
        ops: &mut O,
        state: &mut DecoderState<O>,
        chosen: &O::Chosen,
    ) -> Result<O::Tensor> {
        let input = DecoderInput { state, cross: &[], sources: &[], watch: None };
        self.stack.decode(ops, StepTokens::Chosen(chosen, 1), input)
    }

    /// Chooses the likeliest token after the row `row` of what was read, in a row after those of `chosen`.
    pub fn choose_next(&self, ops: &mut O, hidden: &O::Tensor, row: usize, chosen: &mut O::Chosen) {
        // A bound on logits changes no order of them.
        let output = Arc::clone(&self.output);
        let pick = Pick { rows: row..row + 1, output, wanted: Wanted::Likeliest(1) };
        ops.choose_next(hidden, &pick, chosen);
    }

    /// Logits of the rows `rows` of what [`Decoder::forward`] gave, `[rows, vocab_size]`.
    pub fn logits(&self, ops: &mut O, hidden: &O::Tensor, rows: Range<usize>) -> O::Tensor {
        let mut logits = ops.logits(hidden, rows, &self.output);
        if let Some(cap) = self.logit_cap {
            ops.soft_cap(&mut logits, cap);
        }
        logits
    }
}
