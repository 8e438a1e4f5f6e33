//! SentencePiece `.spm` models: text to piece ids and back, exactly as the reference library
//! (Kudo & Richardson 2018, arXiv:1808.06226), with every range in the original text kept.

mod bpe;
mod decode;
mod normalizer;
mod parts;
mod proto;
mod unigram;
mod vocabulary;
mod wire;
mod words;

pub use decode::Decoded;
pub use parts::SentencePieceParts;
pub use proto::PieceKind;

use crate::error::{Error, Result};
use normalizer::{Normalized, Normalizer, SPACE_SYMBOL};
use proto::{ModelKind, ModelProto};
use std::borrow::Cow;
use std::ops::Range;
use vocabulary::Vocabulary;

/// One token of an encoded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its id in the vocabulary.
    pub id: u32,
    /// Byte range in the original text. The ranges of one text tile it: no gap, no overlap; white
    /// space belongs to the piece that follows, at the end of the text to the last.
    pub range: Range<usize>,
}

/// A model read from a `.spm` file.
pub struct SentencePiece {
    kind: ModelKind,
    vocabulary: Vocabulary,
    normalizer: Normalizer,
    denormalizer: Option<Normalizer>,
    unk_surface: String,
}

/// A stretch of normalised text and the piece it was given.
struct Part {
    id: u32,
    start: usize,
    end: usize,
}

impl SentencePiece {
    /// Reads the bytes of a `.spm` file; `file` names it in errors.
    ///
    /// # Errors
    /// [`Error::Format`] with the offset where the bytes are no such model, [`Error::Unsupported`] for
    /// an unknown kind of model. What is allocated is linear in the length of the file.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        if u32::try_from(bytes.len()).is_err() {
            let what = format!("a vocabulary of {} bytes; less than 4 GiB is", bytes.len());
            return Err(Error::Unsupported { file: file.to_owned(), what });
        }
        let model = ModelProto::read(file, bytes)?;
        let denormalizer = model.denormalizer.as_ref().filter(|spec| spec.charsmap.is_some());
        Ok(Self {
            kind: model.trainer.model,
            vocabulary: Vocabulary::new(file, &model)?,
            normalizer: Normalizer::new(
                &model.normalizer,
                model.trainer.treat_whitespace_as_suffix,
            )?,
            denormalizer: denormalizer.map(|spec| Normalizer::new(spec, false)).transpose()?,
            unk_surface: model.trainer.unk_surface.to_owned(),
        })
    }

    /// Number of pieces: ids are `0..vocab_size`.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// Id of the unknown piece.
    pub fn unknown_id(&self) -> u32 {
        self.vocabulary.unknown_id
    }

    /// Id of the end-of-sentence mark, if the model has one.
    pub fn eos_id(&self) -> Option<u32> {
        self.vocabulary.eos_id
    }

    /// Text of a piece, with U+2581 for a space.
    pub fn piece(&self, id: u32) -> Option<&str> {
        self.vocabulary.text(id)
    }

    /// What a piece stands for.
    pub fn kind(&self, id: u32) -> Option<PieceKind> {
        self.vocabulary.kind(id)
    }

    /// The byte that a piece of kind [`PieceKind::Byte`] stands for.
    pub(crate) fn byte(&self, id: u32) -> Option<u8> {
        self.vocabulary.byte(id)
    }

    /// What a piece that stands for no byte writes; `at_start`, without the space that encoding put in front.
    pub(crate) fn written(&self, id: u32, at_start: bool) -> Cow<'_, str> {
        match self.vocabulary.kind(id) {
            Some(PieceKind::Control) => Cow::Borrowed(""),
            Some(PieceKind::Unknown) | None => Cow::Borrowed(&self.unk_surface),
            Some(_) => {
                let text = self.vocabulary.text(id).unwrap_or_default();
                let strips = at_start && self.normalizer.strips_leading_space();
                let rest = text.strip_prefix(SPACE_SYMBOL).filter(|_| strips);
                Cow::Owned(rest.unwrap_or(text).replace(SPACE_SYMBOL, " "))
            }
        }
    }

    /// Splits `text` into pieces; no end mark is added. Text of white space only has no pieces.
    pub fn encode(&self, text: &str) -> Vec<Piece> {
        let normalized = self.normalizer.normalize(text, &self.vocabulary.whole);
        if normalized.text.is_empty() {
            return Vec::new();
        }
        let parts = match self.kind {
            ModelKind::Unigram => unigram::segment(&self.vocabulary, &normalized.text),
            ModelKind::Bpe => bpe::segment(&self.vocabulary, &normalized.text),
            ModelKind::Word => words::segment_words(&self.vocabulary, &normalized.text),
            ModelKind::Char => words::segment_chars(&self.vocabulary, &normalized.text),
        };
        let mut pieces = self.pieces_of(&parts, &normalized);
        // Dropped white space at both ends falls to the outermost pieces.
        if let Some(first) = pieces.first_mut() {
            first.range.start = 0;
        }
        if let Some(last) = pieces.last_mut() {
            last.range.end = text.len();
        }
        pieces
    }

    /// Gives parts their ranges in the original, joins unknown neighbours, or spells them in bytes.
    fn pieces_of(&self, parts: &[Part], normalized: &Normalized) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
        let mut after_unknown = false;
        let origin = |at: usize| normalized.origin.get(at).copied().unwrap_or_default();
        for part in parts {
            let (start, end) = (origin(part.start), origin(part.end));
            let unknown = part.id == self.vocabulary.unknown_id;
            let spelled = normalized.text.as_bytes().get(part.start..part.end).unwrap_or_default();
            let byte_ids: Option<Vec<u32>> = if unknown {
                spelled.iter().map(|&byte| self.vocabulary.byte_id(byte)).collect()
            } else {
                None
            };
            match (byte_ids, pieces.last_mut()) {
                (Some(ids), _) => {
                    // The last byte holds the range of the character, those before an empty one.
                    pieces.extend(ids.into_iter().map(|id| Piece { id, range: start..start }));
                    if let Some(last) = pieces.last_mut() {
                        last.range.end = end;
                    }
                }
                (None, Some(last)) if unknown && after_unknown => last.range.end = end,
                _ => pieces.push(Piece { id: part.id, range: start..end }),
            }
            after_unknown = unknown;
        }
        pieces
    }

    /// Joins pieces to text: U+2581 becomes a space, the one in front that encoding added goes, control
    /// symbols write nothing, byte pieces are joined to UTF-8 (U+FFFD for what is none), and the unknown
    /// piece writes ` ⁇ `, as does an id outside the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.decode_pieces(ids).text
    }

    /// As [`SentencePiece::decode`], with the range each id wrote.
    pub fn decode_pieces(&self, ids: &[u32]) -> Decoded {
        decode::decode(self, ids)
    }
}
