//! What comes out.

use crate::tasks::attention::AttentionWeights;
use crate::text::json_tokenizer::Piece;
use std::ops::Range;

/// The answer of a job, of the kind that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Of an embedding.
    Embeddings(Embedded),
    /// Of a classification.
    Classification(Classification),
    /// Of tagging.
    Tagged(Tagged),
    /// Of filling a gap.
    Filled(MaskFill),
}

/// Vectors of texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embedded {
    /// `[texts, dimensions]`.
    pub vectors: Vec<f32>,
    /// Of each text, whether its end was left out.
    pub truncated: Vec<bool>,
    /// Of each text its tokens, if they were asked for.
    pub tokens: Vec<Vec<Piece>>,
    /// Of each text the attention weights of its tokens, if they were asked for.
    pub attention: Vec<AttentionWeights>,
}

/// A label and how likely it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// As the model's configuration calls it.
    pub label: String,
    /// Its probability; of a regression the value itself.
    pub score: f32,
}

/// Labels of a text, likeliest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// The labels.
    pub labels: Vec<Label>,
    /// Whether the end of the text was left out.
    pub truncated: bool,
}

/// Neighbouring words with the same label.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// The label, without the `B-` or `I-` that says where in an entity a word stands.
    pub label: String,
    /// Mean probability of its words.
    pub score: f32,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

/// Labelled passages of a text, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// The passages; what is labelled `O` is none.
    pub entities: Vec<Entity>,
    /// Whether the end of the text was left out.
    pub truncated: bool,
}

/// A token that fits into the gap of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub token: String,
    /// Its probability.
    pub score: f32,
    /// The whole text with it.
    pub text: String,
}

/// Tokens that fit into the gap of a text, likeliest first.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskFill {
    /// The tokens.
    pub candidates: Vec<Filled>,
    /// The gap's bytes in the text.
    pub range: Range<usize>,
    /// Whether the end of the text was left out.
    pub truncated: bool,
}
