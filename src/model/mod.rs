//! What a model is: a description in values, read by the one forward pass. Nothing after this folder knows a model's name.

pub mod arch;

/// Which mixer a block uses to bring information from other positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixerKind {
    /// Self-attention (Vaswani et al. 2017).
    SelfAttention,
    /// Simple recurrent unit with relu (Kim et al. 2019): a decoder's self-attention replaced by one state vector.
    Ssru,
}

/// How a token's position is told to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// Not at all.
    None,
    /// `[sin(p·w₀) … sin(p·wₙ), cos(p·w₀) … cos(p·wₙ)]` added to the embeddings,
    /// wᵢ = 10000^(−i/(n−1)), n = hidden_size / 2 (Vaswani et al. 2017, sines and cosines in two halves).
    SinusoidalHalves,
}

/// Widths of a stack of blocks, and what kind of blocks they are.
#[derive(Debug, Clone, PartialEq)]
pub struct StackConfig {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Heads of the queries.
    pub num_heads: usize,
    /// Heads of keys and values.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// What mixes positions.
    pub mixer: MixerKind,
    /// Whether a position sees only those before it.
    pub causal: bool,
    /// Non-linearity of the feed-forward layers.
    pub activation: ActivationKind,
    /// How positions are told.
    pub positions: Positions,
    /// Factor of the token embeddings.
    pub embedding_scale: f32,
    /// Added to the variance by layer normalisation.
    pub norm_eps: f32,
}

/// Non-linearity of a feed-forward layer, by its usual name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivationKind {
    /// max(x, 0)
    Relu,
    /// x · sigmoid(x)
    Swish,
    /// x · Φ(x)
    Gelu,
}

/// How a matrix lies in the file if it is float32; int8 matrices are rows of output features in all formats read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixLayout {
    /// `[in_features, out_features]`.
    InOut,
    /// `[out_features, in_features]`.
    OutIn,
}

/// Names and shape of one linear map.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearSpec {
    /// Name of the matrix.
    pub weight: String,
    /// Name of the bias, `[out_features]`.
    pub bias: Option<String>,
    /// Names under which the activation multiplier may stand, first found first; none of them: quantised by each row's maximum.
    pub activation_multiplier: Vec<String>,
    /// Width of the input.
    pub in_features: usize,
    /// Width of the output.
    pub out_features: usize,
    /// How a float32 matrix lies in the file.
    pub layout: MatrixLayout,
}

/// Names of one layer normalisation, `[hidden_size]` each.
#[derive(Debug, Clone, PartialEq)]
pub struct NormSpec {
    /// Name of the factors.
    pub scale: String,
    /// Name of the addends.
    pub bias: Option<String>,
}

/// Normalisations around a sublayer: before it (pre-norm), after its residual (post-norm), both or none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SublayerNorms {
    /// Of the sublayer's input.
    pub before: Option<NormSpec>,
    /// Of the stream after the sublayer was added.
    pub after: Option<NormSpec>,
}

/// Weights of one attention.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionSpec {
    /// Queries.
    pub q: LinearSpec,
    /// Keys.
    pub k: LinearSpec,
    /// Values.
    pub v: LinearSpec,
    /// Output projection; some models have none.
    pub out: Option<LinearSpec>,
    /// Normalisations around it.
    pub norms: SublayerNorms,
}

/// Weights of the mixer of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum MixerSpec {
    /// See [`MixerKind::SelfAttention`].
    SelfAttention(AttentionSpec),
    /// See [`MixerKind::Ssru`].
    Ssru {
        /// W, the candidate state.
        input: LinearSpec,
        /// Wf and bf, the forget gate.
        forget: LinearSpec,
        /// Output projection; some models have one.
        out: Option<LinearSpec>,
        /// Normalisations around it.
        norms: SublayerNorms,
    },
}

/// Weights of a feed-forward sublayer: one linear map after the other, the activation between them.
#[derive(Debug, Clone, PartialEq)]
pub struct MlpSpec {
    /// The maps, first to last.
    pub layers: Vec<LinearSpec>,
    /// Normalisations around it.
    pub norms: SublayerNorms,
}

/// Weights of one block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSpec {
    /// What mixes positions.
    pub mixer: MixerSpec,
    /// Attention to the encoder's output, in decoders of encoder–decoder models.
    pub cross_attention: Option<AttentionSpec>,
    /// Feed-forward sublayer.
    pub mlp: MlpSpec,
}

/// A stack: its embeddings, its blocks, a last normalisation.
#[derive(Debug, Clone, PartialEq)]
pub struct StackSpec {
    /// Widths and kinds.
    pub config: StackConfig,
    /// Name of the embedding table, `[vocab_size, hidden_size]`.
    pub embedding: String,
    /// Rows of the embedding table.
    pub vocab_size: usize,
    /// Normalisation of the embeddings.
    pub embedding_norm: Option<NormSpec>,
    /// The blocks, first to last.
    pub blocks: Vec<BlockSpec>,
    /// Whether the embeddings, positions included, are added after the last block as they were before their norm.
    pub final_residual: bool,
    /// Normalisation after the last block.
    pub final_norm: Option<NormSpec>,
}

/// The output projection onto the vocabulary.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSpec {
    /// Name of the table, `[vocab_size, hidden_size]` if `layout` is `OutIn`.
    pub table: String,
    /// How a float32 table lies in the file.
    pub layout: MatrixLayout,
    /// Name of the bias, `[vocab_size]`.
    pub bias: Option<String>,
    /// Names under which the activation multiplier may stand.
    pub activation_multiplier: Vec<String>,
    /// Rows of the table.
    pub vocab_size: usize,
}

/// Tokens with a meaning of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Ends a source and a target.
    pub end: u32,
    /// Stands for what the vocabulary lacks; never emitted.
    pub unknown: u32,
}

/// An encoder–decoder model.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderDecoderSpec {
    /// Reads the source.
    pub encoder: StackSpec,
    /// Writes the target.
    pub decoder: StackSpec,
    /// Its output projection.
    pub output: OutputSpec,
    /// Tokens with a meaning of their own.
    pub special: SpecialTokens,
    /// Decoder layer and head whose cross-attention is the word alignment (Chen et al. 2016).
    pub alignment: (usize, usize),
}

impl LinearSpec {
    /// Names of every tensor that must be there.
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.weight.as_str()).chain(self.bias.as_deref())
    }
}

impl NormSpec {
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.scale.as_str()).chain(self.bias.as_deref())
    }
}

impl SublayerNorms {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.before.iter().chain(&self.after).flat_map(NormSpec::names)
    }
}

impl AttentionSpec {
    fn names(&self) -> impl Iterator<Item = &str> {
        [&self.q, &self.k, &self.v]
            .into_iter()
            .chain(&self.out)
            .flat_map(LinearSpec::names)
            .chain(self.norms.names())
    }
}

impl BlockSpec {
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match &self.mixer {
            MixerSpec::SelfAttention(attention) => attention.names().collect(),
            MixerSpec::Ssru { input, forget, out, norms } => [input, forget]
                .into_iter()
                .chain(out)
                .flat_map(LinearSpec::names)
                .chain(norms.names())
                .collect(),
        };
        names.extend(self.cross_attention.iter().flat_map(AttentionSpec::names));
        names.extend(self.mlp.layers.iter().flat_map(LinearSpec::names));
        names.extend(self.mlp.norms.names());
        names
    }
}

impl StackSpec {
    fn names(&self) -> Vec<&str> {
        let mut names = vec![self.embedding.as_str()];
        let norms = self.embedding_norm.iter().chain(&self.final_norm);
        names.extend(norms.flat_map(NormSpec::names));
        names.extend(self.blocks.iter().flat_map(BlockSpec::names));
        names
    }
}

impl EncoderDecoderSpec {
    /// Names of every tensor that the file must hold, each once, in the order of use.
    pub fn tensor_names(&self) -> Vec<&str> {
        let mut names = self.encoder.names();
        names.extend(self.decoder.names());
        names.push(&self.output.table);
        names.extend(self.output.bias.as_deref());
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }
}
