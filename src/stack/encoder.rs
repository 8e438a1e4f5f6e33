//! An encoder-only model: one stack of the block, in which every position sees every other, and what reads its output.

use super::load::{Loader, Precision};
use super::mlp::activation;
use super::transformer::{Encoding, Transformer};
use super::watch::Watch;
use crate::error::Result;
use crate::formats::TensorFile;
use crate::model::{DenseSpec, EncoderSpec, HeadRows, HeadSpec, StackConfig, StackSpec};
use crate::ops::{Activation, Ops, Pooling};
use std::{ops::Range, rc::Rc};

/// A loaded encoder-only model.
pub struct Encoder<O: Ops> {
    stack: Transformer<O>,
    head: Option<Head<O>>,
    max_len: usize,
    hidden_size: usize,
}

/// A linear map with what follows it.
pub struct Dense<O: Ops> {
    linear: O::Linear,
    activation: Option<Activation>,
    norm: Option<O::Norm>,
}

/// What makes scores of the output.
struct Head<O: Ops> {
    rows: HeadRows,
    layers: Vec<Dense<O>>,
    output: Option<O::OutputProjection>,
}

impl<O: Ops> Encoder<O> {
    /// Loads the model `spec` describes from `file`.
    pub fn load(
        ops: &O,
        file: &dyn TensorFile,
        spec: &EncoderSpec,
        precision: Precision,
    ) -> Result<Self> {
        let load = Loader::new(ops, file, precision).keeping_outliers();
        load.require(&spec.tensor_names())?;
        let stack = &spec.stack;
        let hidden_size = stack.config.hidden_size;
        // The longest first: what reading it takes is there for the blocks then.
        let table = Rc::new(load.table(&stack.embedding, stack.vocab_size, hidden_size)?);
        let head = spec.head.as_ref();
        Ok(Self {
            head: head.map(|head| Head::load(&load, head, stack, &table)).transpose()?,
            stack: Transformer::load(&load, stack, table)?,
            max_len: spec.max_len,
            hidden_size,
        })
    }

    /// Loads maps that follow the pooled output, from a file of their own.
    pub fn load_dense(
        ops: &O,
        file: &dyn TensorFile,
        spec: &DenseSpec,
        config: &StackConfig,
        precision: Precision,
    ) -> Result<Dense<O>> {
        Dense::load(&Loader::new(ops, file, precision).keeping_outliers(), spec, config)
    }

    /// Tokens it can look at.
    pub fn max_len(&self) -> usize {
        self.max_len
    }

    /// Width of its output.
    pub fn hidden_size(&self) -> usize {
        self.hidden_size
    }

    /// `[layers, heads]` of its attention.
    pub fn attention(&self) -> [usize; 2] {
        let [own, _] = self.stack.attention();
        own
    }

    /// Begins to encode complete sequences.
    pub fn begin(&self, ops: &mut O, sequences: &[&[u32]]) -> Result<Encoding<O>> {
        self.stack.begin(ops, sequences)
    }

    /// Takes the sequences through one block more; whether there was one. Whoever watches gets its weights,
    /// `[all tokens · heads, longest sequence]`.
    pub fn advance(
        &self,
        ops: &mut O,
        encoding: &mut Encoding<O>,
        watch: Option<Watch<'_, O>>,
    ) -> Result<bool> {
        self.stack.advance(ops, encoding, watch)
    }

    /// The output, `[all tokens, hidden_size]`, and the rows of each sequence.
    pub fn end(&self, ops: &mut O, encoding: Encoding<O>) -> (O::Tensor, Vec<Range<usize>>) {
        self.stack.end(ops, encoding)
    }

    /// Scores of the tokens of `hidden` that the head looks at: of the first of each sequence, or of the rows `asked`,
    /// if there are such, or of all. None without a head.
    pub fn scores(
        &self,
        ops: &mut O,
        hidden: &O::Tensor,
        rows: &[Range<usize>],
        asked: Option<&[usize]>,
    ) -> Option<O::Tensor> {
        let head = self.head.as_ref()?;
        let mut chosen = match (head.rows, asked) {
            (HeadRows::First, _) => Some(ops.pool(hidden, rows, Pooling::First)),
            (HeadRows::Every, Some(asked)) => Some(ops.select_rows(hidden, asked)),
            (HeadRows::Every, None) => None,
        };
        for layer in &head.layers {
            chosen = Some(layer.forward(ops, chosen.as_ref().unwrap_or(hidden)));
        }
        let scores = chosen.as_ref().unwrap_or(hidden);
        match &head.output {
            None => chosen,
            Some(output) => {
                let (count, _) = ops.shape(scores);
                Some(ops.logits(scores, 0..count, output))
            }
        }
    }
}

impl<O: Ops> Head<O> {
    fn load(
        load: &Loader<'_, O>,
        spec: &HeadSpec,
        stack: &StackSpec,
        table: &Rc<O::Table>,
    ) -> Result<Self> {
        let dense = |spec: &DenseSpec| Dense::load(load, spec, &stack.config);
        let output = spec.output.as_ref().map(|output| {
            let own;
            let table = if output.table == stack.embedding {
                table
            } else {
                own = Rc::new(load.output_table(output)?);
                &own
            };
            let bias = output.bias.as_deref();
            let bias = bias.map(|bias| load.vector(bias, output.vocab_size)).transpose()?;
            let activation = load.output_activation(output)?;
            load.ops().output_projection(table, bias.as_deref(), activation, None, &[])
        });
        Ok(Self {
            rows: spec.rows,
            layers: spec.layers.iter().map(dense).collect::<Result<_>>()?,
            output: output.transpose()?,
        })
    }
}

impl<O: Ops> Dense<O> {
    fn load(load: &Loader<'_, O>, spec: &DenseSpec, config: &StackConfig) -> Result<Self> {
        let norm = spec.norm.as_ref();
        Ok(Self {
            linear: load.linear(&[&spec.linear])?,
            activation: spec.activation.map(activation),
            norm: norm.map(|norm| load.norm(norm, spec.linear.out_features, config)).transpose()?,
        })
    }

    /// Of `[rows, in_features]`, `[rows, out_features]`.
    pub fn forward(&self, ops: &mut O, input: &O::Tensor) -> O::Tensor {
        let mut output = match self.activation {
            Some(activation) => ops.mlp_middle(input, &self.linear, activation),
            None => ops.project(input, &self.linear),
        };
        if let Some(norm) = &self.norm {
            ops.normalize(&mut output, norm);
        }
        output
    }
}
