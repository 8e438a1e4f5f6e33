//! The pieces of a model and the ways to find one: by id, by text, by prefix.

use super::normalizer::SPACE_SYMBOL;
use super::proto::{ModelProto, PieceKind};
use crate::error::{Error, Result};
use crate::text::trie::Trie;

/// Pieces in id order, with tries over those that can be met in text and those that cannot.
pub(super) struct Vocabulary {
    /// The texts of all pieces, one behind the other, and where each ends.
    texts: String,
    ends: Vec<u32>,
    scores: Vec<f32>,
    kinds: Vec<PieceKind>,
    /// Normal, user-defined and unused pieces.
    pub found: Trie,
    /// Unknown, control and byte pieces.
    reserved: Trie,
    /// User-defined symbols, which nothing may split or change.
    pub whole: Trie,
    pub unknown_id: u32,
    pub eos_id: Option<u32>,
    /// Ids of the 256 byte pieces, if unknown characters are spelled in bytes.
    byte_ids: Option<Vec<u32>>,
    /// Whether no piece goes on behind a space that follows something else. (An unused piece is taken apart as it
    /// was last put together anywhere in a text, so with these no word stands alone.)
    pub words_stand_alone: bool,
    /// Lowest and highest score of the normal pieces.
    pub min_score: f32,
    pub max_score: f32,
}

impl Vocabulary {
    /// The caller keeps the texts of all pieces together below 4 GiB.
    pub fn new(file: &str, model: &ModelProto) -> Result<Self> {
        let (mut found, mut reserved, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        let mut unknown_id = None;
        let mut byte_ids = vec![None; 256];
        let (mut min_score, mut max_score) = (f32::MAX, f32::MIN_POSITIVE);
        let error = |offset, what| Error::Format { file: file.to_owned(), offset, what };
        for (id, piece) in (0u32..).zip(&model.pieces) {
            let damaged = |what: &str| Err(error(piece.offset, what.to_owned()));
            let key = (piece.text.as_bytes(), id);
            match piece.kind {
                PieceKind::Normal => {
                    found.push(key);
                    min_score = min_score.min(piece.score);
                    max_score = max_score.max(piece.score);
                }
                PieceKind::Unused => found.push(key),
                PieceKind::UserDefined => {
                    found.push(key);
                    whole.push(key);
                }
                PieceKind::Control => reserved.push(key),
                PieceKind::Unknown => {
                    reserved.push(key);
                    if unknown_id.replace(id).is_some() {
                        return damaged("a second piece of type unknown");
                    }
                }
                PieceKind::Byte => {
                    reserved.push(key);
                    if !model.trainer.byte_fallback {
                        return damaged("a byte piece in a model without byte fallback");
                    }
                    let byte = byte_value(&piece.text);
                    let Some(slot) = byte.and_then(|byte| byte_ids.get_mut(usize::from(byte)))
                    else {
                        return damaged(&format!(
                            "byte piece {:?} is none of <0x00>..<0xFF>",
                            piece.text
                        ));
                    };
                    *slot = Some(id);
                }
            }
        }
        let byte_ids = if model.trainer.byte_fallback {
            let ids: Option<Vec<u32>> = byte_ids.into_iter().collect();
            let what = "byte fallback is on, but byte pieces are missing";
            Some(ids.ok_or_else(|| error(None, what.to_owned()))?)
        } else {
            None
        };
        let build = |keys| {
            Trie::build(keys).map_err(|(first, second)| {
                let offset = model.pieces.get(second as usize).and_then(|piece| piece.offset);
                error(offset, format!("piece {second} has the text of piece {first}"))
            })
        };
        let mut vocabulary = Self {
            texts: String::with_capacity(model.pieces.iter().map(|piece| piece.text.len()).sum()),
            ends: Vec::with_capacity(model.pieces.len()),
            scores: model.pieces.iter().map(|piece| piece.score).collect(),
            kinds: model.pieces.iter().map(|piece| piece.kind).collect(),
            found: build(found)?,
            reserved: build(reserved)?,
            whole: build(whole)?,
            unknown_id: unknown_id
                .ok_or_else(|| error(None, "no piece of type unknown".to_owned()))?,
            eos_id: None,
            byte_ids,
            words_stand_alone: model.pieces.iter().all(|piece| match piece.kind {
                PieceKind::Unused => false,
                PieceKind::Normal | PieceKind::UserDefined => {
                    !piece.text.trim_start_matches(SPACE_SYMBOL).contains(SPACE_SYMBOL)
                }
                _ => true,
            }),
            min_score,
            max_score,
        };
        for piece in &model.pieces {
            vocabulary.texts.push_str(&piece.text);
            vocabulary.ends.push(vocabulary.texts.len() as u32);
        }
        let eos = Some(model.trainer.eos_piece).filter(|piece| !piece.is_empty()).unwrap_or("</s>");
        vocabulary.eos_id =
            Some(vocabulary.id(eos)).filter(|&id| vocabulary.kind(id) == Some(PieceKind::Control));
        Ok(vocabulary)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = id.checked_sub(1).and_then(|before| self.ends.get(before));
        self.texts.get(start.map_or(0, |&start| start as usize)..end)
    }

    pub fn kind(&self, id: u32) -> Option<PieceKind> {
        self.kinds.get(id as usize).copied()
    }

    pub fn score(&self, id: u32) -> f32 {
        self.scores.get(id as usize).copied().unwrap_or(0.0)
    }

    pub fn is(&self, id: u32, kind: PieceKind) -> bool {
        self.kind(id) == Some(kind)
    }

    /// The id of a piece by its text; that of unknown if there is none.
    pub fn id(&self, text: &str) -> u32 {
        let key = text.as_bytes();
        self.reserved.get(key).or_else(|| self.found.get(key)).unwrap_or(self.unknown_id)
    }

    /// The id of a byte piece, in a model with byte fallback.
    pub fn byte_id(&self, byte: u8) -> Option<u32> {
        self.byte_ids.as_ref()?.get(usize::from(byte)).copied()
    }

    /// The byte that a piece of kind [`PieceKind::Byte`] stands for.
    pub fn byte(&self, id: u32) -> Option<u8> {
        let text = self.text(id).filter(|_| self.is(id, PieceKind::Byte));
        text.and_then(byte_value)
    }
}

/// The byte written `<0xNN>`, with capital digits.
fn byte_value(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let valid =
        digits.len() == 2 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
    u8::from_str_radix(digits, 16).ok().filter(|_| valid)
}
