//! Sentence segmentation without loss: every byte of the text is in exactly one segment.
//!
//! Own rules rather than a crate: the sentence rules of UAX 29 (unicode-segmentation, icu_segmenter) know no
//! abbreviations, initials, list marks or lower-case continuations, and icu_segmenter's data weigh more than
//! this whole module.

mod abbreviations;
mod characters;
mod sentence;
mod split;

pub use split::{SplitPoint, SplitRank, split_points};

pub use characters::is_line_break;
use std::ops::Range;

/// A stretch of text. Segments in order, joined, are exactly the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Byte range in the text, never empty.
    pub range: Range<usize>,
    /// What it holds.
    pub kind: SegmentKind,
}

/// What a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// A sentence, heading or list item; starts and ends with a character that is no white space.
    Sentence,
    /// White space: line breaks, blank lines, indents, the space between sentences.
    Gap,
}

/// Splits `text` with the abbreviations of all known languages.
pub fn segments(text: &str) -> Vec<Segment> {
    segments_in(text, None)
}

/// Splits `text` with the abbreviations of one language (`en`, `pt-BR`, …); of all if it is none of the known.
///
/// A line break or tab always ends a segment. Within a line, a sentence ends behind a stop and the quotes and
/// brackets that close after it, if what follows can start a sentence.
pub fn segments_in(text: &str, language: Option<&str>) -> Vec<Segment> {
    let abbreviations = abbreviations::Abbreviations::of(language);
    let mut segments = Segments { text, list: Vec::new(), end: 0 };
    let opaque = sentence::opaque_spans(text);
    let mut opaque = opaque.as_slice();
    for line in lines(text) {
        // Spans come in the order of the lines; one that crosses lines stays for the next.
        let skip = opaque.partition_point(|span| span.end <= line.start);
        opaque = opaque.get(skip..).unwrap_or_default();
        let here = opaque.partition_point(|span| span.start < line.end);
        let spans = opaque.get(..here).unwrap_or_default();
        let mut start = line.start;
        for end in sentence::ends(text, line.clone(), spans, &abbreviations) {
            segments.push_sentence(start..end);
            start = end;
        }
        segments.push_sentence(start..line.end);
    }
    segments.push_gap(text.len());
    segments.list
}

/// Segments as they are found; what lies between sentences becomes gaps.
struct Segments<'a> {
    text: &'a str,
    list: Vec<Segment>,
    end: usize,
}

impl Segments<'_> {
    /// Adds the sentence within `range`, white space at its ends left to the gaps.
    fn push_sentence(&mut self, range: Range<usize>) {
        let Some(inner) = self.text.get(range.clone()) else { return };
        let start = range.start + (inner.len() - inner.trim_start().len());
        let end = start + inner.trim().len();
        if start < end {
            self.push_gap(start);
            self.list.push(Segment { range: start..end, kind: SegmentKind::Sentence });
            self.end = end;
        }
    }

    fn push_gap(&mut self, until: usize) {
        if self.end < until {
            self.list.push(Segment { range: self.end..until, kind: SegmentKind::Gap });
            self.end = until;
        }
    }
}

/// The ranges between line breaks.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split(is_line_break).map(move |line| {
        let range = start..start + line.len();
        // The break itself has one byte or more; the next line is found behind it.
        start = range.end
            + text.get(range.end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        range
    })
}
