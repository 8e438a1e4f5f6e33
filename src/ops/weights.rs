//! Weights as files have them, on their way to a device.

use super::BlockBytes;
use crate::backend::cpu::blocks::BlockType;

/// How the rows that enter an int8 matrix product are quantised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActivationQuant {
    /// Not at all: a float32 product.
    None,
    /// `round(x · multiplier)`, clamped to ±127; the multiplier was measured when the model was made.
    Static(f32),
    /// As `Static`, with `127 / max |x|` of each row.
    PerRow,
    /// As `PerRow`, but for what is far from the rest of its row (eight times the root of the mean square), which stays
    /// float32. Not for logits over a whole table.
    Near,
    /// To int16 by the largest magnitude of each row: as fast where the product is of int16 pairs, and next to
    /// nothing is lost but what the weights lost.
    Wide,
    /// To int8 by the largest magnitude of each group of neighbours that share a scale in the weights, but for what is far
    /// from the rest of its row.
    PerGroup,
}

impl ActivationQuant {
    /// What messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "float32",
            Self::Static(_) => "int8 by a known multiplier",
            Self::PerRow => "int8 by row",
            Self::Near => "int8 by row without outliers",
            Self::Wide => "int16 by row",
            Self::PerGroup => "int8 by group",
        }
    }
}

/// Weights of one matrix as the file holds them.
#[derive(Debug, Clone)]
pub enum Weights<'a> {
    /// `[out_features, in_features]` float32 rows.
    F32(Vec<f32>),
    /// `[out_features, in_features]` int8 rows; value = int8 / multiplier.
    Int8 {
        /// Quantised values.
        values: Vec<i8>,
        /// Quantisation multiplier.
        multiplier: Multiplier,
    },
    /// Rows of blocks, as in GGUF files.
    Blocks {
        /// Their format.
        kind: BlockType,
        /// Row after row.
        bytes: BlockBytes<'a>,
    },
}

/// What int8 weights are divided by.
#[derive(Debug, Clone, PartialEq)]
pub enum Multiplier {
    /// One for all.
    One(f32),
    /// One a row.
    Rows(Vec<f32>),
}

impl Multiplier {
    /// That of a row.
    pub fn of(&self, row: usize) -> f32 {
        match self {
            Self::One(multiplier) => *multiplier,
            Self::Rows(multipliers) => multipliers.get(row).copied().unwrap_or(1.0),
        }
    }

    /// All that there are.
    pub fn all(&self) -> &[f32] {
        match self {
            Self::One(multiplier) => std::slice::from_ref(multiplier),
            Self::Rows(multipliers) => multipliers,
        }
    }
}

/// How the weights of a matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Float32.
    F32,
    /// Int8, with multipliers.
    Int8,
    /// Blocks.
    Blocks,
}

impl Weights<'_> {
    /// How they are stored.
    pub fn stored(&self) -> Stored {
        match self {
            Self::F32(_) => Stored::F32,
            Self::Int8 { .. } => Stored::Int8,
            Self::Blocks { .. } => Stored::Blocks,
        }
    }
}

/// One matrix of a linear map, `y = x · Wᵀ + b`.
#[derive(Debug, Clone)]
pub struct LinearPart<'a> {
    /// Its name, for errors.
    pub name: String,
    /// Columns of its output.
    pub out_features: usize,
    /// The matrix, `[out_features, in_features]`.
    pub weights: Weights<'a>,
    /// `[out_features]`.
    pub bias: Option<Vec<f32>>,
    /// Treatment of its input; `None` goes with float32 weights.
    pub activation: ActivationQuant,
}

/// A table of `[rows, columns]`: token embeddings, and the output projection that may be tied to them.
#[derive(Debug, Clone)]
pub struct TableSource<'a> {
    /// Its name, for errors.
    pub name: String,
    /// Number of rows (tokens).
    pub rows: usize,
    /// Width of a row (hidden size).
    pub columns: usize,
    /// The values, row after row.
    pub weights: Weights<'a>,
}
