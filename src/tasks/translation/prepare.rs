//! What a model is shown of a passage: characters its vocabulary lacks are written another way, or left out and put
//! back into the translation later.

use super::plan::slice;
use crate::text::protect::{self, ProtectedKind};
use crate::text::sentencepiece::{Piece, SentencePiece};
use crate::text::{casing, fold};
use std::ops::Range;

/// The longest words of German and Finnish are half as long, in bytes.
const LONGEST_WORD: usize = 120;

/// A passage as tokens. All ranges are bytes of the passage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Prepared {
    /// What the model is shown; empty if nothing is left to translate.
    pub pieces: Vec<Piece>,
    /// What it is not shown: emoji, where links lead, words with characters the vocabulary lacks.
    pub left_out: Vec<Range<usize>>,
    /// Words shown without the marks of their letters, and how they read so.
    pub plain_words: Vec<(Range<usize>, String)>,
}

/// Prepares a passage, in sentence case if `recase`.
pub(super) fn prepare(vocab: &SentencePiece, passage: &str, recase: bool) -> Prepared {
    let (shown, unknown) = show(vocab, passage, recase);
    let mut left_out: Vec<Range<usize>> = unknown
        .into_iter()
        .map(|range| {
            fold::word_at(passage, range.start).start..fold::word_at(passage, range.end).end
        })
        .collect();
    let spans = protect::spans(passage);
    for range in &mut left_out {
        // A price without its currency, a link without a letter: rather the whole.
        let touched = spans
            .iter()
            .filter(|span| span.range.start < range.end && range.start < span.range.end);
        for span in touched.map(|span| span.range.clone()).collect::<Vec<_>>() {
            *range = range.start.min(span.start)..range.end.max(span.end);
        }
    }
    left_out.extend(endless_words(passage));
    let unread = |kind| matches!(kind, ProtectedKind::Emoji | ProtectedKind::Link);
    left_out.extend(spans.into_iter().filter(|span| unread(span.kind)).map(|span| span.range));
    if left_out.is_empty() {
        return shown;
    }
    let left_out = merge(left_out);
    let rest = Rest::of(passage, &left_out);
    if protect::is_untranslatable(&rest.text) {
        return Prepared { left_out, ..Prepared::default() };
    }
    let (mut shown, _) = show(vocab, &rest.text, recase);
    for piece in &mut shown.pieces {
        piece.range = rest.range_to_old(piece.range.clone());
    }
    for (range, _) in &mut shown.plain_words {
        *range = rest.range_to_old(range.clone());
    }
    Prepared { left_out, ..shown }
}

/// Runs of letters too long for a word of a script that puts spaces between words: nothing a model could translate.
fn endless_words(passage: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    // Latin, Greek and Cyrillic come before this in the charts.
    let is_letter = |c: char| c.is_alphabetic() && c < '\u{530}';
    passage.split(move |c| !is_letter(c)).filter(|word| word.len() > LONGEST_WORD).map(|word| {
        let start = word.as_ptr() as usize - passage.as_ptr() as usize;
        start..start + word.len()
    })
}

/// Tokens of `text`, nothing left out, and the ranges of those that are still unknown.
fn show(vocab: &SentencePiece, text: &str, recase: bool) -> (Prepared, Vec<Range<usize>>) {
    let recased = recase.then(|| casing::to_sentence_case(text));
    let written = recased.as_ref().map_or(text, |recased| &recased.text);
    let to_text = |range: Range<usize>| match &recased {
        Some(recased) => recased.range_to_old(range),
        None => range,
    };
    let pieces = vocab.encode(written);
    let lacking = unknown(vocab, &pieces, written);
    if lacking.is_empty() {
        let pieces = pieces.into_iter().map(|piece| Piece { range: to_text(piece.range), ..piece });
        return (Prepared { pieces: pieces.collect(), ..Prepared::default() }, Vec::new());
    }
    let folded = fold::fold(written, &lacking);
    let back = |range: Range<usize>| to_text(folded.range_to_old(range));
    let pieces = vocab.encode(&folded.text);
    let still_unknown = unknown(vocab, &pieces, &folded.text).into_iter().map(back).collect();
    let plain_words =
        folded.words.iter().map(|(range, plain)| (to_text(range.clone()), plain.clone())).collect();
    let pieces = pieces.into_iter().map(|piece| Piece { range: back(piece.range), ..piece });
    (Prepared { pieces: pieces.collect(), left_out: Vec::new(), plain_words }, still_unknown)
}

/// Ranges of the unknown tokens, without white space. Of a character that is several tokens (½ is 1, a bar and 2),
/// one unknown makes all of it unknown.
fn unknown(vocab: &SentencePiece, pieces: &[Piece], text: &str) -> Vec<Range<usize>> {
    let of_unknown = pieces.iter().filter(|piece| piece.id == vocab.unknown_id());
    let trimmed = of_unknown.map(|piece| {
        let Range { start, end } = piece.range;
        // The range of such a character is its last token's; those before it have empty ones at its start.
        let first = text.get(start..).and_then(|rest| rest.chars().next());
        let end = if start == end { end + first.map_or(0, char::len_utf8) } else { end };
        let passage = slice(text, &(start..end));
        let start = start + (passage.len() - passage.trim_start().len());
        start..start + passage.trim().len()
    });
    trimmed.filter(|range| !range.is_empty()).collect()
}

/// The same ranges in order, those that touch as one.
fn merge(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// A text without some of its parts.
struct Rest {
    text: String,
    /// `(old, new)` offsets at which each kept part starts.
    parts: Vec<(usize, usize)>,
}

impl Rest {
    fn of(text: &str, left_out: &[Range<usize>]) -> Self {
        let mut rest = Self { text: String::new(), parts: Vec::new() };
        let mut start = 0;
        for range in left_out.iter().cloned().chain(std::iter::once(text.len()..text.len())) {
            let mut part = text.get(start..range.start).unwrap_or_default();
            let spaced = rest.text.is_empty() || rest.text.ends_with(char::is_whitespace);
            if spaced && part.starts_with(char::is_whitespace) {
                // One space is enough where two are left side by side.
                let trimmed = part.trim_start();
                start += part.len() - trimmed.len();
                part = trimmed;
            } else if part.starts_with(|c: char| c.is_ascii_punctuation() && !"([{<#$@".contains(c))
            {
                // A stop or comma follows the word before now.
                let kept = rest.text.trim_end().len();
                rest.text.truncate(kept);
                rest.parts.iter_mut().for_each(|(_, at)| *at = kept.min(*at));
            }
            rest.parts.push((start, rest.text.len()));
            rest.text.push_str(part);
            start = range.end;
        }
        rest
    }

    fn to_old(&self, new: usize) -> usize {
        let part = self.parts.partition_point(|(_, at)| *at <= new);
        let last = part.checked_sub(1).and_then(|last| self.parts.get(last));
        last.map_or(new, |(old, at)| old + (new - at))
    }

    fn range_to_old(&self, range: Range<usize>) -> Range<usize> {
        let start = self.to_old(range.start);
        let end = if range.is_empty() { start } else { self.to_old(range.end - 1) + 1 };
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_leads_back() {
        let text = "I love you ♥ so much ♥!";
        let heart = |n: usize| text.match_indices('♥').nth(n).map(|(at, _)| at..at + 3).unwrap();
        let rest = Rest::of(text, &[heart(0), heart(1)]);
        assert_eq!(rest.text, "I love you so much!");
        for word in ["love", "so", "much", "!"] {
            let at = rest.text.find(word).unwrap();
            assert_eq!(&text[rest.range_to_old(at..at + word.len())], word);
        }
    }

    #[test]
    fn only_what_is_longer_than_any_word_is_endless() {
        let word =
            "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
        let text = format!("{word} {} 你好世界", "a".repeat(200));
        let endless: Vec<_> = endless_words(&text).collect();
        assert_eq!(endless, std::slice::from_ref(&(word.len() + 1..word.len() + 201)));
        assert_eq!(endless_words(&"世界".repeat(100)).count(), 0);
    }

    #[test]
    fn what_is_left_between_symbols_leads_back() {
        let text = "é ♥ ♥ ♥, ♥ à ♥ ♥.";
        let hearts: Vec<_> = text.match_indices('♥').map(|(at, _)| at..at + 3).collect();
        let rest = Rest::of(text, &hearts);
        assert_eq!(rest.text, "é, à.");
        for kept in ["é", ",", "à", "."] {
            let (at, old) = (rest.text.find(kept).unwrap(), text.find(kept).unwrap());
            assert_eq!(rest.range_to_old(at..at + kept.len()), old..old + kept.len(), "{kept}");
        }
    }

    #[test]
    fn ranges_that_touch_become_one() {
        assert_eq!(merge(vec![5..7, 0..2, 2..4, 6..9]), [0..4, 5..9]);
    }
}
