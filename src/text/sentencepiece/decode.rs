//! From ids back to text, with the range of text that each id wrote.

use super::{SentencePiece, normalizer::SPACE_SYMBOL, proto::PieceKind};
use crate::text::trie::Trie;
use std::ops::Range;

/// Decoded text and the byte range of it that each id wrote. The ranges tile the text; an id that
/// writes nothing (a control symbol, a byte within a character) has an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// One range per id, in order.
    pub ranges: Vec<Range<usize>>,
}

impl Decoded {
    fn push(&mut self, written: &str) {
        let start = self.text.len();
        self.text.push_str(written);
        self.ranges.push(start..self.text.len());
    }

    /// Writes a run of byte pieces: each character falls to its last byte, each byte that belongs to
    /// none becomes U+FFFD.
    fn push_bytes(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, 0),
                Err(error) => {
                    let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), 1)
                }
            };
            let mut buffer = [0; 4];
            for character in valid.chars() {
                for _ in 1..character.len_utf8() {
                    self.push("");
                }
                self.push(character.encode_utf8(&mut buffer));
            }
            for _ in 0..bad {
                self.push("\u{fffd}");
            }
            rest = rest.get(valid.len() + bad..).unwrap_or_default();
        }
    }
}

/// The decoder of `model`; see [`SentencePiece::decode_pieces`].
pub(super) fn decode(model: &SentencePiece, ids: &[u32]) -> Decoded {
    let vocabulary = &model.vocabulary;
    let mut out = Decoded { text: String::new(), ranges: Vec::with_capacity(ids.len()) };
    let mut bytes = Vec::new();
    // A space symbol in front of the first written piece is the one encoding put there.
    let mut at_start = true;
    let mut stripped = false;
    for &id in ids {
        if let Some(byte) = vocabulary.byte(id) {
            bytes.push(byte);
            continue;
        }
        out.push_bytes(&bytes);
        bytes.clear();
        if stripped || !out.text.is_empty() {
            at_start = false;
        }
        stripped = false;
        match vocabulary.kind(id) {
            Some(PieceKind::Control) => out.push(""),
            Some(PieceKind::Unknown) | None => out.push(&model.unk_surface),
            Some(_) => {
                let mut text = vocabulary.text(id).unwrap_or_default();
                if at_start
                    && model.normalizer.strips_leading_space()
                    && let Some(rest) = text.strip_prefix(SPACE_SYMBOL)
                {
                    text = rest;
                    // Where spaces never repeat, every leading one goes; else only the first.
                    stripped = !model.normalizer.removes_extra_whitespaces();
                }
                out.push(&text.replace(SPACE_SYMBOL, " "));
            }
        }
    }
    out.push_bytes(&bytes);
    match &model.denormalizer {
        Some(denormalizer) => {
            let new = denormalizer.normalize(&out.text, &Trie::default());
            out.moved_to(new.text, &new.origin)
        }
        None => out,
    }
}

impl Decoded {
    /// The same ranges in `text`, each byte of which came from byte `origin[..]` of the present text.
    fn moved_to(self, text: String, origin: &[usize]) -> Self {
        // The place in the new text of the first byte that came from `old` or later.
        let place = |old: usize| origin.partition_point(|&from| from < old).min(text.len());
        let mut start = 0;
        let last = self.ranges.len().saturating_sub(1);
        let ranges = self.ranges.iter().enumerate().map(|(index, range)| {
            let end = if index == last { text.len() } else { place(range.end).max(start) };
            let moved = start..end;
            start = end;
            moved
        });
        let ranges = ranges.collect();
        Self { text, ranges }
    }
}
