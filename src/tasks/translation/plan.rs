//! A text taken apart: white space kept, passages without words copied, sentences cut to what the model takes.

use super::prepare::{Prepared, prepare};
use crate::text::segment::{self, SegmentKind, SplitPoint};
use crate::text::sentencepiece::SentencePiece;
use crate::text::{casing, protect};
use std::ops::Range;

/// Longest source the models see, in tokens without the end token: they were trained on little that is longer.
pub(super) const MAX_SOURCE_TOKENS: usize = 127;

/// A passage of the source that is translated on its own.
pub(super) struct Unit {
    /// Index of its text.
    pub text: usize,
    /// Bytes of its text.
    pub range: Range<usize>,
    /// What the model is shown of it first; ranges in bytes of the unit.
    pub prepared: Prepared,
    /// Whether that is in sentence case: models see few texts in capitals, and do badly on them.
    pub recased: bool,
}

/// A passage of a text, in order; together they are the text.
pub(super) enum Part {
    /// Copied: white space.
    Gap(Range<usize>),
    /// Copied as a sentence: nothing in it to translate.
    Copied(Range<usize>),
    /// Translated: index into [`Plan::units`].
    Unit(usize),
}

/// All texts taken apart.
pub(super) struct Plan {
    pub units: Vec<Unit>,
    /// The passages of each text.
    pub parts: Vec<Vec<Part>>,
}

impl Plan {
    pub fn new(texts: &[String], vocab: &SentencePiece) -> Self {
        let mut plan = Self { units: Vec::new(), parts: Vec::new() };
        for (index, text) in texts.iter().enumerate() {
            let parts = plan.take_apart(index, text, vocab);
            plan.parts.push(parts);
        }
        plan
    }

    fn take_apart(&mut self, index: usize, text: &str, vocab: &SentencePiece) -> Vec<Part> {
        let mut parts = Vec::new();
        for segment in segment::segments(text) {
            let passage = slice(text, &segment.range);
            if segment.kind == SegmentKind::Gap {
                parts.push(Part::Gap(segment.range));
                continue;
            }
            if protect::is_untranslatable(passage) {
                parts.push(Part::Copied(segment.range));
                continue;
            }
            for range in windows(passage, segment.range.start, vocab) {
                let trimmed = trim(text, &range);
                if trimmed.start > range.start {
                    parts.push(Part::Gap(range.start..trimmed.start));
                }
                let passage = slice(text, &trimmed);
                let recased = casing::is_shouting(passage);
                let prepared = if protect::is_untranslatable(passage) {
                    Prepared::default()
                } else {
                    prepare(vocab, passage, recased)
                };
                if prepared.pieces.is_empty() {
                    parts.push(Part::Copied(trimmed.clone()));
                } else {
                    parts.push(Part::Unit(self.units.len()));
                    let range = trimmed.clone();
                    self.units.push(Unit { text: index, range, prepared, recased });
                }
                if trimmed.end < range.end {
                    parts.push(Part::Gap(trimmed.end..range.end));
                }
            }
        }
        parts
    }
}

/// `text[range]`, empty if `range` is no range of it.
pub(super) fn slice<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    text.get(range.clone()).unwrap_or_default()
}

/// `range` without the white space at its ends.
pub(super) fn trim(text: &str, range: &Range<usize>) -> Range<usize> {
    let passage = slice(text, range);
    let start = range.start + (passage.len() - passage.trim_start().len());
    start..start + passage.trim().len()
}

/// Cuts a sentence that is too long where it can best be cut; ranges count from `offset` and tile the sentence.
fn windows(sentence: &str, offset: usize, vocab: &SentencePiece) -> Vec<Range<usize>> {
    let pieces = vocab.encode(sentence);
    let mut ranges = Vec::new();
    let mut start = 0; // in bytes of the sentence
    let mut first = 0; // piece that starts there or later
    if pieces.len() > MAX_SOURCE_TOKENS {
        // Of the whole sentence at once: a part of it may end inside a link or placeholder and not show it.
        let points = segment::split_points(sentence, 0..sentence.len());
        while pieces.len().saturating_sub(first) > MAX_SOURCE_TOKENS {
            // A little less than the limit: cut off from its left, a word may take more tokens.
            let last = pieces.get(first + MAX_SOURCE_TOKENS - 7);
            let limit = last.map_or(sentence.len(), |piece| piece.range.start);
            let end = best_cut(sentence, &points, start, limit);
            ranges.push(offset + start..offset + end);
            start = end;
            first += pieces
                .get(first..)
                .unwrap_or_default()
                .partition_point(|piece| piece.range.start < start);
        }
    }
    ranges.push(offset + start..offset + sentence.len());
    ranges
}

/// The best of the places `points` to cut `text` behind `start` and not behind `limit`.
fn best_cut(text: &str, points: &[SplitPoint], start: usize, limit: usize) -> usize {
    let points = points.get(points.partition_point(|point| point.at <= start)..);
    let points = points.unwrap_or_default();
    let (within, behind) = points.split_at(points.partition_point(|point| point.at <= limit));
    // Half a window is better than a cut in the middle of a clause.
    let middle = start + limit.saturating_sub(start) / 2;
    if let Some(best) = within.iter().max_by_key(|point| (point.at >= middle, point.rank, point.at))
    {
        return best.at;
    }
    // One stretch that must not be cut fills the window. A link ends somewhere behind and is copied; what a model
    // would have to read (letters joined to one endless cluster) is cut all the same.
    let end = behind.first().map_or(text.len(), |point| point.at);
    let cut = text.floor_char_boundary(limit);
    if cut <= start || protect::is_untranslatable(slice(text, &(start..end))) { end } else { cut }
}
