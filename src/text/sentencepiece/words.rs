//! The two simple kinds of model: one piece per word, one piece per character.

use super::{Part, normalizer::SPACE_SYMBOL, vocabulary::Vocabulary};

/// Splits before every space symbol.
pub(super) fn segment_words(vocabulary: &Vocabulary, text: &str) -> Vec<Part> {
    let starts = text.match_indices(SPACE_SYMBOL).map(|(at, _)| at).filter(|&at| at > 0);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(start, end)| part(vocabulary, text, start, end))
        .collect()
}

/// Splits into characters, user-defined symbols kept whole.
pub(super) fn segment_chars(vocabulary: &Vocabulary, text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut start = 0;
    while let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) {
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let length = vocabulary.whole.longest_prefix(rest).unwrap_or(first.len_utf8());
        parts.push(part(vocabulary, text, start, start + length));
        start += length;
    }
    parts
}

fn part(vocabulary: &Vocabulary, text: &str, start: usize, end: usize) -> Part {
    Part { id: vocabulary.id(text.get(start..end).unwrap_or_default()), start, end }
}
