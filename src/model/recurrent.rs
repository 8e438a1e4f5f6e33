//! What models had before Transformers: gated recurrent units, additive scores, sublayers that are not added to a stream.

#[cfg(feature = "recurrent")]
use super::LinearSpec;

/// What becomes of the context of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextJoin {
    /// It is added to the stream (He et al. 2016).
    Add,
    /// It is put beside the stream, which is that much wider from there on.
    #[cfg(feature = "recurrent")]
    Beside,
}

/// What becomes of the result of a feed-forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MlpJoin {
    /// It is added to the stream (He et al. 2016).
    Add,
    /// It is the stream from there on.
    #[cfg(feature = "recurrent")]
    Replace,
}

/// What makes a score of a query and a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScoreSpec {
    /// `q · k` (Luong et al. 2015, Vaswani et al. 2017).
    DotProduct,
    /// `Σ_d w[d] · tanh(q[d] + k[d])` (Bahdanau et al. 2015).
    #[cfg(feature = "recurrent")]
    Additive {
        /// Name of w, `[num_heads · head_dim]`.
        weight: String,
    },
}

/// Which gates a recurrent unit has. σ is the logistic function, x and h the projected input and state.
#[cfg(feature = "recurrent")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecurrentKind {
    /// Gated recurrent unit (Cho et al. 2014), the reset gate after the product as cuDNN, torch and Keras have it:
    /// r = σ(xʳ + hʳ), z = σ(xᶻ + hᶻ), n = tanh(xⁿ + r∘hⁿ), state = (1 − z)∘n + z∘state.
    Gru,
    /// Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000):
    /// cell = σ(xᶠ + hᶠ)∘cell + σ(xⁱ + hⁱ)∘tanh(xᵍ + hᵍ), state = σ(xᵒ + hᵒ)∘tanh(cell).
    Lstm,
}

#[cfg(feature = "recurrent")]
impl RecurrentKind {
    /// Gates, of which each has `hidden_size` rows of a matrix: r, z, n or i, f, g, o.
    pub fn gates(self) -> usize {
        match self {
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }
}

/// Weights of one direction of a recurrent layer.
#[cfg(feature = "recurrent")]
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionSpec {
    /// Of the input, `[gates · hidden_size, in_features]`.
    pub input: LinearSpec,
    /// Of the state, `[gates · hidden_size, hidden_size]`.
    pub state: LinearSpec,
}

/// A recurrent layer. Its output, the states of all directions side by side, takes the place of the stream.
#[cfg(feature = "recurrent")]
#[derive(Debug, Clone, PartialEq)]
pub struct RecurrentSpec {
    /// The unit.
    pub kind: RecurrentKind,
    /// Width of the state of a direction.
    pub hidden_size: usize,
    /// One, which reads from the first token to the last, or a second, which reads from the last to the first (Schuster
    /// and Paliwal 1997).
    pub directions: Vec<DirectionSpec>,
}

/// What a decoder's recurrent mixers remember before the first token.
#[cfg(feature = "recurrent")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstState {
    /// Nothing: zeros.
    Zero,
    /// What the encoder's mixers of the same blocks remember after the source: without cross-attention, all that the
    /// decoder knows of it (Sutskever et al. 2014).
    Encoder,
}
