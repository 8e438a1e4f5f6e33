//! What a translation returns. Ranges are byte ranges here; the JavaScript border turns them into UTF-16.

use super::plan::slice;
use std::ops::Range;

/// A translated text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Translation {
    /// The whole translation; white space around sentences is the source's.
    pub text: String,
    /// Its sentences in order.
    pub sentences: Vec<TranslatedSentence>,
}

/// One sentence, or a piece of one that was too long for the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TranslatedSentence {
    /// Bytes of the source text.
    pub source: Range<usize>,
    /// Bytes of the translation.
    pub target: Range<usize>,
    /// Source tokens without the end token; empty if the sentence was passed through.
    pub source_tokens: Vec<Token>,
    /// Target tokens without the end token; empty if the sentence was passed through.
    pub target_tokens: Vec<Token>,
    /// Weights of the alignment head, `[target_tokens + 1, source_tokens + 1]`: the last row and column are the
    /// end tokens'. Rows sum to 1. Empty if the sentence was passed through.
    pub alignment: Vec<f32>,
    /// Log-probability of the target, normalised as the decoding options say; 0 if passed through.
    pub score: f32,
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its id in the vocabulary.
    pub id: u32,
    /// The text at `range`.
    pub text: String,
    /// Bytes of the source or of the translation.
    pub range: Range<usize>,
}

/// Tokens of the passage of `text` that starts at `start`, by their ids and ranges in it.
pub(super) fn tokens(
    text: &str,
    start: usize,
    pieces: impl Iterator<Item = (u32, Range<usize>)>,
) -> Vec<Token> {
    let token = |(id, range): (u32, Range<usize>)| {
        let range = start + range.start..start + range.end;
        Token { id, text: slice(text, &range).to_owned(), range }
    };
    pieces.map(token).collect()
}

impl TranslatedSentence {
    /// The same sentence with its ranges moved by `source` and `target` bytes.
    pub(super) fn shifted(mut self, source: usize, target: usize) -> Self {
        let shift = |range: &mut Range<usize>, by: usize| *range = range.start + by..range.end + by;
        shift(&mut self.source, source);
        shift(&mut self.target, target);
        self.source_tokens.iter_mut().for_each(|token| shift(&mut token.range, source));
        self.target_tokens.iter_mut().for_each(|token| shift(&mut token.range, target));
        self
    }
}
