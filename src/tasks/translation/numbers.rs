//! Numbers in a source and its translation: the same digits, set as each language sets them.

use crate::text::protect::{self, ProtectedKind};
use std::ops::Range;

/// The numbers of a text.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let spans = protect::spans(text).into_iter().filter(|span| span.kind == ProtectedKind::Number);
    spans.filter_map(|span| text.get(span.range.clone()).map(|number| (span.range, number)))
}

/// A number from its first digit to its last, without signs and units.
pub(super) fn digit_core(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let number = text.get(range.clone())?;
    let first = number.find(char::is_numeric)?;
    let (last, digit) = number.char_indices().rfind(|(_, c)| c.is_numeric())?;
    Some(range.start + first..range.start + last + digit.len_utf8())
}

/// A number from its first digit to its last.
pub(super) fn core(number: &str) -> &str {
    digit_core(number, &(0..number.len())).and_then(|range| number.get(range)).unwrap_or(number)
}

/// Whether `target` is `source`, or the same digits with its groups and decimals set as other languages set them.
pub(super) fn same_number(source: &str, target: &str) -> bool {
    let set = |comma: char, point: char| -> String {
        let other = |c: char| match c {
            ',' => comma,
            '.' => point,
            other => other,
        };
        source.chars().map(other).collect()
    };
    source == target
        || [('.', ','), (' ', ','), ('\u{a0}', ','), ('\u{202f}', ','), (',', ' '), (',', '\u{a0}')]
            .iter()
            .any(|(comma, point)| set(*comma, *point) == target)
}

/// Whether `number` stands in `text`, and not as part of a longer one.
pub(super) fn stands_in(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, _)| {
        let (before, from) = text.split_at_checked(at).unwrap_or((text, ""));
        let behind = from.get(number.len()..).unwrap_or_default();
        !before.ends_with(char::is_numeric) && !behind.starts_with(char::is_numeric)
    })
}

/// The digits of a text, one after the other.
pub(super) fn digits(text: &str) -> String {
    text.chars().filter(|c| c.is_numeric()).collect()
}
