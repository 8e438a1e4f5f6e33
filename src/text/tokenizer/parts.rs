//! What a tokenizer is made from: the `tokenizer.ggml.*` metadata of a GGUF file, as plain values.

use crate::error::{Error, Result};
use crate::text::sentencepiece::PieceKind;

/// The metadata, each value under its key `tokenizer.ggml.…`. Where a key is optional, its absence is `None` or an
/// empty list.
pub struct TokenizerParts<'a> {
    /// Name of the file, for errors.
    pub file: &'a str,
    /// `model`: `gpt2` for byte-level BPE, `llama` for SentencePiece's merged by scores.
    pub model: &'a str,
    /// `pre`: name of the pre-tokenizer; byte-level BPE needs it.
    pub pre_tokenizer: Option<&'a str>,
    /// `tokens`: texts in id order.
    pub tokens: Box<dyn Iterator<Item = &'a str> + 'a>,
    /// `token_type`: 1 ordinary, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. SentencePiece needs it.
    pub token_types: &'a [i64],
    /// `scores`; SentencePiece needs it.
    pub scores: &'a [f32],
    /// `merges`: `left right`, best first; byte-level BPE needs it.
    pub merges: Option<Box<dyn Iterator<Item = &'a str> + 'a>>,
    /// The ids of particular tokens.
    pub special_ids: SpecialIds,
    /// `add_bos_token`; absent, it depends on the model and the pre-tokenizer.
    pub add_bos: Option<bool>,
    /// `add_eos_token`; absent, no.
    pub add_eos: Option<bool>,
    /// `add_space_prefix`; absent, yes. Byte-level BPE does not ask.
    pub add_space_prefix: Option<bool>,
}

/// Ids of particular tokens, `tokenizer.ggml.…_token_id`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpecialIds {
    /// `bos`: the mark of the beginning.
    pub bos: Option<usize>,
    /// `eos`: the mark of the end.
    pub eos: Option<usize>,
    /// `eot`: the end of a turn.
    pub end_of_turn: Option<usize>,
    /// `eom`: the end of a message.
    pub end_of_message: Option<usize>,
    /// `unknown`: what stands for text without a token.
    pub unknown: Option<usize>,
}

impl SpecialIds {
    /// Beginning, end, end of a turn and end of a message, in a vocabulary of `vocab_size`. The largest u32, a
    /// -1 of some converters, says that there is none.
    ///
    /// # Errors
    /// [`Error::Metadata`] where another is outside of the vocabulary.
    pub(super) fn within(&self, file: &str, vocab_size: usize) -> Result<[Option<u32>; 4]> {
        let named = [
            ("bos", self.bos),
            ("eos", self.eos),
            ("eot", self.end_of_turn),
            ("eom", self.end_of_message),
        ];
        let mut ids = [None; 4];
        for ((name, id), slot) in named.into_iter().zip(&mut ids) {
            let Some(id) = id.filter(|&id| id != u32::MAX as usize) else { continue };
            if id >= vocab_size {
                return Err(Error::Metadata {
                    file: file.to_owned(),
                    key: format!("tokenizer.ggml.{name}_token_id"),
                    offset: None,
                    what: format!("{id}, but the vocabulary has {vocab_size} tokens"),
                });
            }
            *slot = u32::try_from(id).ok();
        }
        Ok(ids)
    }
}

/// The kinds by their numbers; what is none of them is unused.
pub(super) fn kinds(token_types: &[i64]) -> Vec<PieceKind> {
    let kind = |&number: &i64| match number {
        1 => PieceKind::Normal,
        2 => PieceKind::Unknown,
        3 => PieceKind::Control,
        4 => PieceKind::UserDefined,
        6 => PieceKind::Byte,
        _ => PieceKind::Unused,
    };
    token_types.iter().map(kind).collect()
}
