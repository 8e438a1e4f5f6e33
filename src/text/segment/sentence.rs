//! Where sentences end within one line.

use super::{
    abbreviations::{Abbreviation, Abbreviations},
    characters::{
        is_closer, is_opener, is_spaceless_letter, is_stop, is_turned_closer, is_wide_stop,
    },
};
use crate::text::protect;
use std::ops::Range;

/// Longest remark in brackets that is kept with its sentence, in bytes.
const MAX_ASIDE: usize = 200;

/// Stretches in which no sentence ends: code, URLs, placeholders and the like.
pub(super) fn opaque_spans(text: &str) -> Vec<Range<usize>> {
    let spans = protect::spans(text).into_iter();
    spans.filter(|span| span.kind.is_opaque()).map(|span| span.range).collect()
}

/// The ends of the sentences of `line` but the last, ascending. `opaque` holds the spans that meet the line.
pub(super) fn ends(
    text: &str,
    line: Range<usize>,
    opaque: &[Range<usize>],
    abbreviations: &Abbreviations,
) -> Vec<usize> {
    let Some(content) = text.get(line.clone()) else { return Vec::new() };
    let asides = asides(content);
    let mut asides = asides.iter().peekable();
    let mut opaque = opaque.iter().peekable();
    let mut ends = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(offset) = content.get(at..).and_then(|rest| rest.find(is_stop)) {
        let stop = at + offset;
        let after_stops = skip(content, stop, is_stop);
        at = after_stops;
        let spans_stop =
            |span: &Range<usize>| (span.start..span.end).contains(&(line.start + stop));
        while opaque.next_if(|span| span.end <= line.start + stop).is_some() {}
        if opaque.peek().is_some_and(|span| spans_stop(span)) {
            continue;
        }
        let end = closed(content, after_stops);
        while asides.next_if(|aside| aside.end <= stop).is_some() {}
        // A short remark in brackets stays whole, unless it is a sentence of its own.
        if asides
            .peek()
            .is_some_and(|aside| aside.start > start && aside.contains(&stop) && end < aside.end)
        {
            continue;
        }
        let candidate = Candidate { line: content, start, stop, after_stops, end, abbreviations };
        if candidate.ends_sentence() {
            ends.push(line.start + end);
            start = skip(content, end, char::is_whitespace);
            at = end.max(at);
        }
    }
    ends
}

/// A stop, or several, that may end a sentence.
struct Candidate<'a> {
    line: &'a str,
    /// Where the sentence starts.
    start: usize,
    /// First stop.
    stop: usize,
    /// Behind the last of the stops that stand together.
    after_stops: usize,
    /// Behind the quotes and brackets that close after the stops.
    end: usize,
    abbreviations: &'a Abbreviations,
}

impl Candidate<'_> {
    fn ends_sentence(&self) -> bool {
        let stops = self.line.get(self.stop..self.after_stops).unwrap_or_default();
        let rest = self.line.get(self.end..).unwrap_or_default();
        let Some(next) = rest.chars().next() else { return false };
        let wide = stops.contains(is_wide_stop);
        let spaced = next.is_whitespace();
        if !spaced && !wide && !is_spaceless_letter(next) {
            return false;
        }
        // An ellipsis between letters that need no space is a pause.
        if !spaced && !wide && stops.chars().all(|c| matches!(c, '.' | '…')) {
            return false;
        }
        let following = rest.trim_start();
        let Some(first) = following.chars().next() else { return false };
        // More stops, or what belongs to this sentence, are still to come.
        if is_stop(first) || matches!(first, ',' | ';' | ':' | '、' | '，' | '；' | '：') {
            return false;
        }
        if wide {
            // In Japanese, a particle behind the closing quote carries the sentence on.
            return spaced || self.end == self.after_stops || !('ぁ'..='ゖ').contains(&first);
        }
        let opened = following.trim_start_matches(|c: char| is_opener(c) || c.is_whitespace());
        let word: &str = opened
            .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
            .next()
            .unwrap_or_default();
        if continues_small(word) {
            return false;
        }
        stops != "." || self.plain_stop_ends_sentence(word, opened)
    }

    /// The rules for a single `.`, which has other uses; `next` is the word behind it.
    fn plain_stop_ends_sentence(&self, next: &str, opened: &str) -> bool {
        let before = self.line.get(self.start..self.stop).unwrap_or_default();
        let word = before
            .rsplit(|c: char| {
                c.is_whitespace() || is_opener(c) && c != '-' || matches!(c, '/' | ',')
            })
            .next()
            .unwrap_or_default();
        if word.is_empty() {
            // A lone stop, or one behind a bracket or quote.
            return !before.trim().is_empty();
        }
        let closed = self.end > self.after_stops;
        let first_word = word.len() == before.trim_start().len();
        let next_is_digit = next.starts_with(char::is_numeric);
        let is_number = word.chars().all(|c| c.is_numeric());
        if first_word && is_list_mark(word) {
            return false;
        }
        let starter = self.starts_sentence(next, opened);
        let german = is_german_month(next) || self.abbreviations.ordinal_stop && !starter;
        if is_number && word.len() <= 2 && german {
            return false;
        }
        let mut letters = word.chars();
        let single = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
        if single && !word.chars().all(is_spaceless_letter) {
            // An initial (`J. Smith`), a part of `d. h.`; or the end of `vitamin C. The …`, `than I. Then …`.
            return starter && !self.in_row_of_initials();
        }
        if self.abbreviations.is_plain(word) && self.in_row_of_initials() {
            // The second half of `p. ex.`.
            return false;
        }
        match self.abbreviations.find(word) {
            Some(Abbreviation::Leading) => closed && starter,
            Some(Abbreviation::Numeric) if next_is_digit || is_roman(next) => false,
            Some(Abbreviation::Numeric) => starter || self.abbreviations.is_plain(word),
            Some(Abbreviation::Ending) => starter || next.is_empty(),
            None if word.rsplit('-').next().is_some_and(is_dotted) => starter,
            None => true,
        }
    }

    /// Whether `next`, the start of `opened`, starts a sentence: no initial does (`Dr. A. Silva`).
    fn starts_sentence(&self, next: &str, opened: &str) -> bool {
        let initial = next.chars().count() == 1
            && opened.get(next.len()..).is_some_and(|behind| behind.starts_with('.'));
        !initial && next.starts_with(char::is_uppercase) && self.abbreviations.starts_sentence(next)
    }

    /// Whether the letter before the stop follows another initial, as in `J. R. Smith`.
    fn in_row_of_initials(&self) -> bool {
        let before = self.line.get(self.start..self.stop).unwrap_or_default();
        let mut words = before.split_whitespace().rev();
        words.next();
        words.next().is_some_and(|word| word.len() <= 5 && word.ends_with('.'))
    }
}

/// Remarks in round or square brackets that close again, short ones only; none within another.
fn asides(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    let mut depth = 0usize;
    for (at, c) in line.char_indices() {
        match c {
            '(' | '[' | '（' | '［' => {
                if depth == 0 {
                    open = Some(at);
                }
                depth += 1;
            }
            ')' | ']' | '）' | '］' if depth > 0 => {
                depth -= 1;
                let end = at + c.len_utf8();
                if let Some(start) = open.filter(|start| depth == 0 && end - start <= MAX_ASIDE) {
                    found.push(start..end);
                }
            }
            _ => {}
        }
        // An open bracket that nothing closes must not swallow the rest.
        if open.is_some_and(|start| depth > 0 && at - start > MAX_ASIDE) {
            depth = 0;
            open = None;
        }
    }
    found
}

/// The end of the closing quotes, brackets and note marks (`[1]`) from `at`.
fn closed(line: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let closers = skip(line, end, is_closer);
        let rest = line.get(closers..).unwrap_or_default();
        let note = rest.strip_prefix('[').and_then(|inner| {
            let digits = inner.find(|c: char| !c.is_ascii_digit())?;
            (digits > 0 && inner.get(digits..)?.starts_with(']')).then_some(digits + 2)
        });
        // French puts a space before the closing guillemet.
        let quote = rest
            .strip_prefix([' ', '\u{a0}', '\u{202f}'])
            .filter(|inner| inner.starts_with(['»', '›']));
        let behind = quote.unwrap_or(rest).strip_prefix(is_turned_closer);
        let turned = behind.filter(|behind| {
            !behind
                .starts_with(|c: char| !c.is_whitespace() && !is_closer(c) && !is_turned_closer(c))
        });
        match (note, turned) {
            (Some(length), _) => end = closers + length,
            (None, Some(behind)) => end = closers + (rest.len() - behind.len()),
            (None, None) => return closers,
        }
    }
}

fn skip(line: &str, at: usize, member: impl Fn(char) -> bool) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at + rest.find(|c| !member(c)).unwrap_or(rest.len())
}

/// Whether `word` starts small, as no sentence does: but `iPhone` does.
fn continues_small(word: &str) -> bool {
    word.starts_with(char::is_lowercase) && !word.chars().take(3).any(char::is_uppercase)
}

/// `1`, `12`, `a`, `iv`: what numbers the items of a list, at the start of a line.
fn is_list_mark(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| is_opener(c));
    let number = word.len() <= 3 && !word.is_empty() && word.chars().all(|c| c.is_numeric());
    let nested = word
        .split('.')
        .all(|part| !part.is_empty() && part.len() <= 3 && part.chars().all(char::is_numeric));
    number || nested || word.chars().count() == 1 || is_roman(word)
}

fn is_roman(word: &str) -> bool {
    let one_case = |digits: &str| word.chars().all(|c| digits.contains(c));
    !word.is_empty() && word.len() <= 6 && (one_case("IVXLC") || one_case("ivxlc"))
}

/// `U.S`, `Ph.D`, `z.B`: parts of at most two letters, joined by stops.
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| {
            matches!(part.chars().count(), 1..=2) && part.chars().all(char::is_alphabetic)
        })
}

fn is_german_month(word: &str) -> bool {
    [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ]
    .contains(&word)
}
