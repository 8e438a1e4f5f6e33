//! What scores say of a text: its labels, the labels of its words, the tokens for its gap.

use super::answer::{Classification, Entity, Filled, Label, MaskFill, Tagged};
use super::labels::{greatest, softmax};
use super::model::EncodingModel;
use crate::error::{Error, Result};
use crate::ops::Ops;
use crate::text::json_tokenizer::{Encoding, Piece};

impl<O: Ops + Clone> EncodingModel<O> {
    pub(super) fn classification(
        &self,
        mut scores: Vec<f32>,
        top: usize,
        encoding: &Encoding,
    ) -> Classification {
        self.labels.weigh(&mut scores);
        let label = |index: usize| {
            let label = self.labels.names.get(index).cloned().unwrap_or_default();
            Label { label, score: scores.get(index).copied().unwrap_or(0.0) }
        };
        let labels = greatest(&scores, top).into_iter().map(label).collect();
        Classification { labels, truncated: encoding.truncated }
    }

    /// Words take the label of their first token. Neighbours with the same label are one entity, unless the second says
    /// that it begins one.
    pub(super) fn tagged(&self, mut scores: Vec<f32>, text: &str, encoding: &Encoding) -> Tagged {
        let count = self.labels.names.len().max(1);
        let mut groups: Vec<Group> = Vec::new();
        let mut last: Option<&Piece> = None;
        for (piece, scores) in encoding.pieces.iter().zip(scores.chunks_exact_mut(count)) {
            if piece.word.is_none() {
                continue;
            }
            let is_inside = last.is_some_and(|last| goes_on(text, last, piece));
            last = Some(piece);
            if let Some(group) = groups.last_mut().filter(|_| is_inside) {
                group.entity.range.end = piece.range.end;
                continue;
            }
            softmax(scores);
            let best = greatest(scores, 1).first().copied().unwrap_or(0);
            let score = scores.get(best).copied().unwrap_or(0.0);
            let name = self.labels.names.get(best).map(String::as_str).unwrap_or_default();
            let (begins, label) = match name.split_once('-') {
                Some(("B", label)) => (true, label),
                Some(("I", label)) => (false, label),
                _ => (false, name),
            };
            match groups.last_mut() {
                Some(group) if !begins && group.entity.label == label => {
                    group.entity.range.end = piece.range.end;
                    group.scores.push(score);
                }
                _ => groups.push(Group {
                    entity: Entity { label: label.to_owned(), score, range: piece.range.clone() },
                    scores: vec![score],
                }),
            }
        }
        let entity = |group: Group| {
            let sum: f64 = group.scores.iter().map(|score| f64::from(*score)).sum();
            let range = trimmed(text, group.entity.range);
            Entity { score: (sum / group.scores.len() as f64) as f32, range, ..group.entity }
        };
        let entities = groups.into_iter().filter(|group| group.entity.label != "O");
        Tagged { entities: entities.map(entity).collect(), truncated: encoding.truncated }
    }

    /// The row of the gap.
    pub(super) fn gap(&self, encoding: &Encoding) -> Result<usize> {
        let is_mask = |piece: &Piece| Some(piece.id) == self.mask_id && piece.word.is_some();
        let mut gaps = encoding.pieces.iter().enumerate().filter(|(_, piece)| is_mask(piece));
        let (gap, second) = (gaps.next(), gaps.next());
        if let (Some((row, _)), None) = (gap, second) {
            return Ok(row);
        }
        let mask = self.info().mask_token.as_deref();
        let what = match (mask, gap) {
            (None, _) => "the model's files name no mask token".to_owned(),
            (Some(mask), None) if encoding.truncated => {
                format!("there is no {mask} in the part of the text that the model looks at")
            }
            (Some(mask), None) => format!("the text has no gap: write {mask} where one is"),
            (Some(mask), Some(_)) => {
                format!("the text has more than one {mask}; one gap is filled")
            }
        };
        Err(Error::InvalidArgument { option: "text", what })
    }

    pub(super) fn filled(
        &self,
        mut scores: Vec<f32>,
        top: usize,
        text: &str,
        encoding: &Encoding,
    ) -> MaskFill {
        let gap = self.gap(encoding).ok().and_then(|row| encoding.pieces.get(row));
        let range = trimmed(text, gap.map_or(0..0, |piece| piece.range.clone()));
        softmax(&mut scores);
        let candidate = |index: usize| {
            let id = index as u32;
            let token = self.tokenizer.decode(&[id], false).trim().to_owned();
            let (before, after) = (text.get(..range.start), text.get(range.end..));
            // A token that goes on with the word before it.
            let glued = self.tokenizer.token_text(id).and_then(|token| token.strip_prefix("##"));
            let (before, token) = match (before, glued) {
                (Some(before), Some(glued)) => (before.trim_end(), glued.to_owned()),
                (before, _) => (before.unwrap_or_default(), token),
            };
            let text = [before, &token, after.unwrap_or_default()].concat();
            Filled { id, token, score: scores.get(index).copied().unwrap_or(0.0), text }
        };
        let candidates = greatest(&scores, top).into_iter().map(candidate).collect();
        MaskFill { candidates, range, truncated: encoding.truncated }
    }
}

/// An entity that may grow, and the scores of its words.
struct Group {
    entity: Entity,
    scores: Vec<f32>,
}

/// Whether a token goes on with the word of the one before: both are of one word of the tokenizer's, and no punctuation
/// parts them, which some tokenizers leave at a word.
fn goes_on(text: &str, last: &Piece, piece: &Piece) -> bool {
    let inside = |piece: &Piece| text.get(piece.range.clone()).unwrap_or_default();
    let is_part = |letter: Option<char>| letter.is_none_or(|letter| !is_punctuation(letter));
    let is_one_word = last.word == piece.word
        && is_part(inside(last).chars().next_back())
        && is_part(inside(piece).chars().next());
    // Tokens may be parts of one character.
    is_one_word || last.range == piece.range
}

/// Of ASCII, of Unicode's general punctuation (but for the joiners) and of the Chinese, Japanese and full-width kind.
fn is_punctuation(letter: char) -> bool {
    let is_joiner = matches!(letter, '\u{200b}'..='\u{200f}');
    let is_general = matches!(letter, '\u{2010}'..='\u{205e}' | '\u{3001}'..='\u{3011}');
    let is_wide =
        matches!(letter, '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '«' | '»' | '¡' | '¿');
    !is_joiner && (letter.is_ascii_punctuation() || is_general || is_wide)
}

/// The range without white space at its ends, which some tokens have.
fn trimmed(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let Some(part) = text.get(range.clone()) else { return range };
    let start = range.start + (part.len() - part.trim_start().len());
    start..(range.end - (part.len() - part.trim_end().len())).max(start)
}
