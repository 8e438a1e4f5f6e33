//! A SentencePiece vocabulary from the metadata of a GGUF file, which has no `.spm` file in it.

use super::normalizer::{Normalizer, SPACE_SYMBOL};
use super::proto::{ModelKind, ModelProto, NormalizerSpec, PieceKind, ProtoPiece, TrainerSpec};
use super::{SentencePiece, vocabulary::Vocabulary};
use crate::error::{Error, Result};
use crate::text::trie::Trie;
use std::borrow::Cow;

/// What a vocabulary merged by scores is made from (Llama 2, Mistral, Gemma).
pub struct SentencePieceParts<'a> {
    /// Name of the file, for errors.
    pub file: &'a str,
    /// Texts of the pieces in id order, U+2581 for a space, `tokenizer.ggml.tokens`.
    pub tokens: Box<dyn Iterator<Item = &'a str> + 'a>,
    /// The score of each piece, `tokenizer.ggml.scores`.
    pub scores: &'a [f32],
    /// What each piece is, `tokenizer.ggml.token_type`.
    pub kinds: Vec<PieceKind>,
    /// The unknown piece, `tokenizer.ggml.unknown_token_id`; asked for where no piece is of that kind.
    pub unknown_id: Option<u32>,
    /// Whether a text gets a space in front, `tokenizer.ggml.add_space_prefix`.
    pub add_space_prefix: bool,
}

impl SentencePiece {
    /// A byte-pair model that changes nothing in a text but for its spaces.
    ///
    /// # Errors
    /// [`Error::Metadata`] where pieces, scores and kinds differ in number or a score is no number,
    /// [`Error::Format`] for a vocabulary that contradicts itself.
    pub fn from_parts(parts: SentencePieceParts) -> Result<Self> {
        let SentencePieceParts { file, tokens, scores, kinds, unknown_id, add_space_prefix } =
            parts;
        let mut pieces = Vec::with_capacity(kinds.len());
        for text in tokens {
            let at = pieces.len();
            let score = scores.get(at).copied().filter(|score| score.is_finite());
            let score =
                score.ok_or_else(|| lacks(file, "tokenizer.ggml.scores", at, scores.len()))?;
            let kind = kinds.get(at).copied();
            let kind =
                kind.ok_or_else(|| lacks(file, "tokenizer.ggml.token_type", at, kinds.len()))?;
            pieces.push(ProtoPiece { text: Cow::Borrowed(text), score, kind, offset: None });
        }
        if pieces.iter().map(|piece| piece.text.len() as u64).sum::<u64>() > u64::from(u32::MAX) {
            let what = "a vocabulary of 4 GiB; less is".to_owned();
            return Err(Error::Unsupported { file: file.to_owned(), what });
        }
        only_one_unknown(&mut pieces, unknown_id);
        write_spaces_as_pieces_do(&mut pieces);
        let byte_fallback = pieces.iter().any(|piece| piece.kind == PieceKind::Byte);
        let normalizer = NormalizerSpec {
            charsmap: None,
            add_dummy_prefix: add_space_prefix,
            remove_extra_whitespaces: false,
            escape_whitespaces: true,
        };
        let trainer =
            TrainerSpec { model: ModelKind::Bpe, byte_fallback, ..TrainerSpec::default() };
        let model = ModelProto { pieces, trainer, normalizer, denormalizer: None };
        Ok(Self {
            kind: ModelKind::Bpe,
            vocabulary: Vocabulary::new(file, &model)?,
            normalizer: Normalizer::new(&model.normalizer, false)?,
            denormalizer: None,
            unk_surface: model.trainer.unk_surface.to_owned(),
        })
    }
}

fn lacks(file: &str, key: &str, at: usize, count: usize) -> Error {
    let what = format!("no number for token {at}; the list has {count}");
    Error::Metadata { file: file.to_owned(), key: key.to_owned(), offset: None, what }
}

/// Converters mark several pieces as unknown, or none. An empty piece can be no text's.
fn only_one_unknown(pieces: &mut [ProtoPiece], unknown_id: Option<u32>) {
    let marked = pieces.iter().position(|piece| piece.kind == PieceKind::Unknown);
    let told = unknown_id.map(|id| id as usize).filter(|&id| id < pieces.len());
    let unknown = told.or(marked).unwrap_or(0);
    for (id, piece) in pieces.iter_mut().enumerate() {
        if id == unknown {
            piece.kind = PieceKind::Unknown;
        } else if piece.kind == PieceKind::Unknown {
            piece.kind = PieceKind::Control;
        }
        if piece.text.is_empty() {
            piece.text = Cow::Owned(format!("<empty {id}>"));
            piece.kind = PieceKind::Control;
        }
    }
}

/// Converters write user-defined runs of spaces with spaces: back to U+2581, as in the text when it is cut.
fn write_spaces_as_pieces_do(pieces: &mut [ProtoPiece]) {
    let is_to_change =
        |piece: &ProtoPiece| piece.kind == PieceKind::UserDefined && piece.text.contains(' ');
    let to_change = (0usize..).zip(pieces.iter()).filter(|(_, piece)| is_to_change(piece));
    let mut new: Vec<(usize, String)> =
        to_change.map(|(id, piece)| (id, piece.text.replace(' ', SPACE_SYMBOL))).collect();
    // A vocabulary that has both spellings keeps both.
    let keys = (0u32..).zip(&new).map(|(at, (_, text))| (text.as_bytes(), at)).collect();
    let spellings = Trie::build(keys).unwrap_or_default();
    let taken: Vec<u32> =
        pieces.iter().filter_map(|piece| spellings.get(piece.text.as_bytes())).collect();
    for at in taken {
        if let Some((_, text)) = new.get_mut(at as usize) {
            text.clear();
        }
    }
    for (id, text) in new.into_iter().filter(|(_, text)| !text.is_empty()) {
        if let Some(piece) = pieces.get_mut(id) {
            piece.text = Cow::Owned(text);
        }
    }
}
