//! Where a sentence that is too long for a model may be cut.

use crate::text::{grapheme, protect};
use std::ops::Range;

/// A place to cut, and how good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPoint {
    /// Byte offset: what is before it belongs to the first part.
    pub at: usize,
    /// How good the place is.
    pub rank: SplitRank,
}

/// How good a place to cut is; greater is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SplitRank {
    /// Between two characters as readers see them (grapheme clusters).
    Character,
    /// Before white space.
    Space,
    /// Behind a comma, bracket or dash.
    Phrase,
    /// Behind a semicolon, colon or stop.
    Clause,
}

/// The places strictly within `range` at which `text` may be cut, ascending; none inside a URL, number,
/// placeholder or other protected stretch, none inside a grapheme cluster. Where one stretch fills the
/// range, there are none.
pub fn split_points(text: &str, range: Range<usize>) -> Vec<SplitPoint> {
    let Some(part) = text.get(range.clone()) else { return Vec::new() };
    let spans = protect::spans(part);
    let mut spans = spans.iter().map(|span| &span.range).peekable();
    let mut points = Vec::new();
    for at in grapheme::ends(part) {
        while spans.next_if(|span| span.end <= at).is_some() {}
        let inside = spans.peek().is_some_and(|span| span.start < at);
        let Some((before, after)) = part.split_at_checked(at) else { break };
        if !inside && !after.is_empty() {
            points.push(SplitPoint { at: range.start + at, rank: rank(before, after) });
        }
    }
    points
}

fn rank(before: &str, after: &str) -> SplitRank {
    let spaced = after.starts_with(char::is_whitespace);
    let last = before.chars().next_back().unwrap_or_default();
    match last {
        '；' | '：' | '。' | '！' | '？' => SplitRank::Clause,
        '、' | '，' | '）' | '」' | '』' => SplitRank::Phrase,
        ';' | ':' | '.' | '!' | '?' | '…' if spaced => SplitRank::Clause,
        ',' | ')' | ']' | '–' | '—' | '،' | '؛' if spaced => SplitRank::Phrase,
        _ if spaced => SplitRank::Space,
        _ => SplitRank::Character,
    }
}
