//! What a model is: a description in values, read by the one forward pass. Nothing after this folder knows a model's name.

pub mod arch;
mod names;
mod recurrent;

pub use recurrent::{ContextJoin, MlpJoin, ScoreSpec};
#[cfg(feature = "recurrent")]
pub use recurrent::{DirectionSpec, FirstState, RecurrentKind, RecurrentSpec};

/// Which mixer a block uses to bring information from other positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixerKind {
    /// Self-attention (Vaswani et al. 2017).
    SelfAttention,
    /// Simple recurrent unit with relu (Kim et al. 2019): a decoder's self-attention replaced by one state vector.
    Ssru,
    /// Gated recurrent units ([`RecurrentKind`]), as there were before attention.
    #[cfg(feature = "recurrent")]
    Recurrent,
}

/// How a token's position is told to the model where it enters. Rotary positions ([`Rotary`]) come in at each attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Positions {
    /// Not at all, or not here.
    None,
    /// `[sin(p·w₀) … sin(p·wₙ), cos(p·w₀) … cos(p·wₙ)]` added to the embeddings,
    /// wᵢ = 10000^(−i/(n−1)), n = hidden_size / 2 (Vaswani et al. 2017, sines and cosines in two halves).
    SinusoidalHalves,
    /// Rows of a trained table added to the embeddings (Gehring et al. 2017).
    Learned {
        /// Its name, `[first + len, hidden_size]`.
        table: String,
        /// The row of the first position.
        first: usize,
        /// Positions there are.
        len: usize,
        /// Name and rows of a table, `[rows, hidden_size]`, whose first row is added to every token: it tells a text that is
        /// alone from the second of a pair (segment embeddings, Devlin et al. 2019).
        segments: Option<(String, usize)>,
    },
}

/// Relative positions in buckets (Raffel et al. 2020): what the distance from a query to a key is worth to each head.
/// Half of the buckets are of the keys after the query. Of each half, the first half are of one distance each, the others
/// of distances that grow by a factor up to `max_distance`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelativePositions {
    /// Name of the table, `[buckets, num_heads]`.
    pub table: String,
    /// Its rows.
    pub buckets: usize,
    /// Distances from this one on share a bucket.
    pub max_distance: usize,
}

/// Which two elements of a head are rotated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotaryPairs {
    /// 2i and 2i + 1, as the paper has it.
    Neighbours,
    /// i and i + dims / 2.
    Halves,
}

/// Rotary positions (Su et al. 2021): the first `dims` elements of each query and key head, in pairs, are turned by
/// position · wᵢ, wᵢ = base^(−2i / dims) / factorᵢ · scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotary {
    /// Base of the frequencies.
    pub base: f32,
    /// Elements that are rotated; the others of a head stay.
    pub dims: usize,
    /// Which are rotated together.
    pub pairs: RotaryPairs,
    /// Factor of all frequencies: 1, or less where a model was stretched to longer texts (Chen et al. 2023).
    pub scale: f32,
    /// Name of divisors of the single frequencies, `[dims / 2]` (Llama 3).
    pub factors: Option<String>,
}

/// What is normalised over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// Mean and variance (Ba et al. 2016).
    Layer,
    /// The root of the mean square alone (Zhang and Sennrich 2019).
    Rms,
}

/// Widths of a stack of blocks, and what kind of blocks they are.
#[derive(Debug, Clone, PartialEq)]
pub struct StackConfig {
    /// Width of the residual stream, where it enters; recurrent mixers change it.
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
    /// What normalisations divide by.
    pub norm: NormKind,
    /// Added to what they take the root of.
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
    /// x · Φ(x), with tanh for the error function
    GeluTanh,
    /// tanh(x)
    Tanh,
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

/// Normalisations around a sublayer: of its input (pre-norm), of its output, of the stream (post-norm), or none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SublayerNorms {
    /// Of the sublayer's input.
    pub before: Option<NormSpec>,
    /// Of the sublayer's output, before it is added to the stream.
    pub output: Option<NormSpec>,
    /// Of the stream after the sublayer was added.
    pub after: Option<NormSpec>,
}

/// Where queries, keys and values come from.
#[derive(Debug, Clone, PartialEq)]
pub enum QkvSpec {
    /// A matrix each.
    Separate {
        /// Queries.
        q: LinearSpec,
        /// Keys.
        k: LinearSpec,
        /// Values.
        v: LinearSpec,
    },
    /// One matrix; its outputs are queries, keys and values side by side.
    Fused(LinearSpec),
    /// A matrix for some; the others are what they are made of, as it is.
    #[cfg(feature = "recurrent")]
    Some {
        /// Queries.
        q: Option<LinearSpec>,
        /// Keys.
        k: Option<LinearSpec>,
        /// Values.
        v: Option<LinearSpec>,
    },
}

/// One attention: its weights, and what it does beside softmax(q·kᵀ·scale)·v.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionSpec {
    /// Queries, keys and values.
    pub qkv: QkvSpec,
    /// Output projection; some models have none.
    pub out: Option<LinearSpec>,
    /// Normalisations around it.
    pub norms: SublayerNorms,
    /// Normalisations of each query head and of each key head, `[head_dim]`.
    pub head_norms: Option<(NormSpec, NormSpec)>,
    /// Rotation of queries and keys by their positions.
    pub rotary: Option<Rotary>,
    /// What makes a score of a query and a key.
    pub score: ScoreSpec,
    /// What becomes of the context.
    pub join: ContextJoin,
    /// Factor of the scores, usually 1/√head_dim.
    pub scale: f32,
    /// Scores become cap · tanh(score / cap).
    pub score_cap: Option<f32>,
    /// Keys that a position sees, itself and those right before it; none: all before it.
    pub window: Option<usize>,
}

/// Weights of the mixer of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum MixerSpec {
    /// See [`MixerKind::SelfAttention`].
    SelfAttention(Box<AttentionSpec>),
    /// See [`MixerKind::Ssru`].
    Ssru(Box<SsruSpec>),
    /// See [`MixerKind::Recurrent`].
    #[cfg(feature = "recurrent")]
    Recurrent(Box<RecurrentSpec>),
}

/// Weights of a simple recurrent unit.
#[derive(Debug, Clone, PartialEq)]
pub struct SsruSpec {
    /// W, the candidate state.
    pub input: LinearSpec,
    /// Wf and bf, the forget gate.
    pub forget: LinearSpec,
    /// Output projection; some models have one.
    pub out: Option<LinearSpec>,
    /// Normalisations around it.
    pub norms: SublayerNorms,
}

/// Weights of a feed-forward sublayer: one linear map after the other, the activation between them.
#[derive(Debug, Clone, PartialEq)]
pub struct MlpSpec {
    /// A second first map: its outputs, through the activation, multiply those of the first, which has none then
    /// (gated linear units, Shazeer 2020).
    pub gate: Option<LinearSpec>,
    /// The maps, first to last; none in a block without feed-forward.
    pub layers: Vec<LinearSpec>,
    /// Normalisations around it.
    pub norms: SublayerNorms,
    /// What becomes of its result.
    pub join: MlpJoin,
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
    /// What distances are worth to the heads of all blocks.
    pub relative: Option<RelativePositions>,
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
    /// Name of the table, `[vocab_size, in_features]` if `layout` is `OutIn`.
    pub table: String,
    /// How a float32 table lies in the file.
    pub layout: MatrixLayout,
    /// Name of the bias, `[vocab_size]`.
    pub bias: Option<String>,
    /// Names under which the activation multiplier may stand.
    pub activation_multiplier: Vec<String>,
    /// Rows of the table.
    pub vocab_size: usize,
    /// Columns of the table: width of what it is given.
    pub in_features: usize,
    /// Logits become cap · tanh(logit / cap).
    pub cap: Option<f32>,
}

/// A decoder-only model.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderSpec {
    /// Its blocks.
    pub stack: StackSpec,
    /// Its output projection.
    pub output: OutputSpec,
    /// Positions it was trained for.
    pub context_len: usize,
}

/// A linear map with what follows it.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseSpec {
    /// The map.
    pub linear: LinearSpec,
    /// Non-linearity of its outputs.
    pub activation: Option<ActivationKind>,
    /// Normalisation of what comes of that.
    pub norm: Option<NormSpec>,
}

/// Which tokens a head looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadRows {
    /// The first one, which stands for the text.
    First,
    /// Each.
    Every,
}

/// What makes scores of an encoder's output.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadSpec {
    /// The tokens scored.
    pub rows: HeadRows,
    /// Maps, first to last.
    pub layers: Vec<DenseSpec>,
    /// The scores are logits over the vocabulary; otherwise they are what the last map gives.
    pub output: Option<OutputSpec>,
}

/// An encoder-only model.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderSpec {
    /// Its blocks.
    pub stack: StackSpec,
    /// What makes scores of its output, if it has that.
    pub head: Option<HeadSpec>,
    /// Tokens it can look at.
    pub max_len: usize,
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
    /// What the decoder's recurrent mixers remember before the first token.
    #[cfg(feature = "recurrent")]
    pub first_state: FirstState,
}
