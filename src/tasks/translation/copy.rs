//! What must not be translated is put back byte for byte: addresses, placeholders, code, emoji, characters the
//! vocabulary lacks. A number keeps its digits; the way they are grouped is the target language's.

use super::numbers::{core, digit_core, digits, numbers, same_number, stands_in};
use crate::text::fold;
use crate::text::protect::{self, ProtectedKind};
use std::ops::Range;

/// A translation before it is checked. Ranges count from the start of the sentence.
pub(super) struct Draft<'a> {
    pub source: &'a str,
    /// Bytes of each source token.
    pub source_ranges: Vec<Range<usize>>,
    /// What the model was not shown.
    pub left_out: &'a [Range<usize>],
    /// Words the model was shown without the marks of their letters, and how they read so.
    pub plain_words: &'a [(Range<usize>, String)],
    pub target: String,
    /// Bytes of each target token.
    pub target_ranges: Vec<Range<usize>>,
    /// `[target tokens + 1, source tokens + 1]`.
    pub alignment: &'a [f32],
}

/// A change to the target: `range` becomes `text`.
struct Edit {
    range: Range<usize>,
    text: String,
}

/// A passage of the source to be found again in the target.
struct Copy {
    range: Range<usize>,
    number: bool,
    /// Whether the model may have written a garbled copy of it: it knows some of its characters.
    readable: bool,
}

/// The target with every protected passage in it, and the ranges of its tokens.
pub(super) fn restore(draft: &Draft<'_>) -> (String, Vec<Range<usize>>) {
    let copies = copies(draft);
    if copies.is_empty() && draft.plain_words.is_empty() {
        return (draft.target.clone(), draft.target_ranges.clone());
    }
    let looked_at = looked_at(draft);
    let mut edits: Vec<Edit> = Vec::new();
    for copy in missing(draft, &copies) {
        let edit = if copy.number {
            renumber(draft, copy, &looked_at)
        } else {
            garbled(draft, copy, &looked_at).or_else(|| Some(insert(draft, copy, &looked_at)))
        };
        let Some(edit) = edit else { continue };
        let overlaps =
            |other: &Edit| edit.range.start < other.range.end && other.range.start < edit.range.end;
        if !edits.iter().any(overlaps) {
            edits.push(edit);
        } else if !copy.number {
            edits.push(insert(draft, copy, &looked_at));
        }
    }
    for edit in marks(draft) {
        if !edits
            .iter()
            .any(|other| edit.range.start < other.range.end && other.range.start < edit.range.end)
        {
            edits.push(edit);
        }
    }
    apply(draft, edits)
}

/// Gives names back the marks of their letters where the model copied them without.
fn marks<'a>(draft: &'a Draft<'_>) -> impl Iterator<Item = Edit> + 'a {
    draft.plain_words.iter().filter_map(|(range, plain)| {
        let text = draft.source.get(range.clone())?;
        let (at, _) = draft
            .target
            .match_indices(plain.as_str())
            .find(|(at, _)| fold::word_at(&draft.target, *at) == (*at..at + plain.len()))?;
        Some(Edit { range: at..at + plain.len(), text: text.to_owned() })
    })
}

/// Protected passages of the source and what the model was not shown, in order.
fn copies(draft: &Draft<'_>) -> Vec<Copy> {
    let left_out = draft.left_out.iter();
    let mut copies: Vec<Copy> = left_out
        .map(|range| Copy { range: range.clone(), number: false, readable: false })
        .collect();
    for span in protect::spans(draft.source) {
        let overlaps =
            |copy: &Copy| copy.range.start < span.range.end && span.range.start < copy.range.end;
        if !copies.iter().any(overlaps) {
            let text = draft.source.get(span.range.clone()).unwrap_or_default();
            // The sign of a telephone number is part of it, and no language groups it in another way.
            let phone = text.starts_with('+') && digits(text).len() >= 7;
            let number = span.kind == ProtectedKind::Number && !phone;
            let before = |copy: &Copy| copy.range.start <= span.range.start;
            let place = copies.partition_point(before);
            copies.insert(place, Copy { range: span.range, number, readable: true });
        }
    }
    copies
}

/// The copies that the target lacks. One that stands twice in the source is wanted twice.
fn missing<'c>(draft: &Draft<'_>, copies: &'c [Copy]) -> Vec<&'c Copy> {
    let text = |copy: &Copy| draft.source.get(copy.range.clone()).unwrap_or_default();
    let mut target_numbers: Vec<&str> = numbers(&draft.target).map(|number| number.1).collect();
    let mut lacking = Vec::new();
    for (index, copy) in copies.iter().enumerate() {
        if copy.number {
            let wanted = core(text(copy));
            match target_numbers.iter().position(|number| same_number(wanted, core(number))) {
                Some(found) => drop(target_numbers.swap_remove(found)),
                None if stands_in(&draft.target, wanted) => {}
                None => lacking.push(copy),
            }
        } else {
            let earlier =
                copies.iter().take(index).filter(|other| text(other) == text(copy)).count();
            if draft.target.matches(text(copy)).count() <= earlier {
                lacking.push(copy);
            }
        }
    }
    lacking
}

/// For each target token, the source token it looked at most; one past the last is the end token.
fn looked_at(draft: &Draft<'_>) -> Vec<usize> {
    let width = draft.source_ranges.len() + 1;
    let rows = draft.alignment.chunks_exact(width).take(draft.target_ranges.len());
    rows.map(|row| {
        let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(0, |(index, _)| index)
    })
    .collect()
}

/// Source tokens of a passage.
fn tokens_of(draft: &Draft<'_>, range: &Range<usize>) -> Range<usize> {
    let start = draft.source_ranges.partition_point(|token| token.end <= range.start);
    let end = draft.source_ranges.partition_point(|token| token.start < range.end);
    start..end.max(start)
}

/// The longest run of target tokens that looked at the passage, without white space before it.
fn run(draft: &Draft<'_>, copy: &Copy, looked_at: &[usize]) -> Option<Range<usize>> {
    let tokens = tokens_of(draft, &copy.range);
    let mut longest = 0..0;
    let mut start = 0;
    for (index, source) in looked_at.iter().enumerate() {
        if !tokens.contains(source) {
            start = index + 1;
        } else if index + 1 - start > longest.len() {
            longest = start..index + 1;
        }
    }
    let first = draft.target_ranges.get(longest.start)?;
    let last = draft.target_ranges.get(longest.end.checked_sub(1)?)?;
    let range = first.start..last.end;
    let text = draft.target.get(range.clone())?;
    let start = range.start + (text.len() - text.trim_start().len());
    (start < range.end).then(|| start..start + text.trim().len())
}

/// Replaces the model's own, faulty copy.
fn garbled(draft: &Draft<'_>, copy: &Copy, looked_at: &[usize]) -> Option<Edit> {
    if !copy.readable {
        return None;
    }
    let range = run(draft, copy, looked_at)?;
    let wanted = draft.source.get(copy.range.clone())?;
    let found = draft.target.get(range.clone())?;
    // A faulty copy has much in common with the original; anything else is a word of its own.
    let mut left: Vec<char> = found.chars().collect();
    let common = wanted
        .chars()
        .filter(|c| left.iter().position(|l| l == c).map(|at| left.swap_remove(at)).is_some())
        .count();
    let similar = 5 * common >= 2 * wanted.chars().count();
    similar.then(|| Edit { range, text: wanted.to_owned() })
}

/// Replaces a wrong number. One that became a word ("100 mil") stays, and so does a number that the source has too.
fn renumber(draft: &Draft<'_>, copy: &Copy, looked_at: &[usize]) -> Option<Edit> {
    let wanted = core(draft.source.get(copy.range.clone())?);
    let wanted_digits = digits(wanted);
    let mut found = numbers(&draft.target).find(|(_, number)| digits(number) == wanted_digits);
    if found.is_none() {
        let run = run(draft, copy, looked_at)?;
        found = numbers(&draft.target)
            .find(|(range, _)| range.start < run.end && run.start < range.end)
            .filter(|(_, number)| {
                let of_source =
                    numbers(draft.source).any(|(_, of)| same_number(core(of), core(number)));
                let zeros = |rest: &str| rest.chars().all(|c| c == '0');
                !of_source && !wanted_digits.strip_prefix(&digits(number)).is_some_and(zeros)
            });
    }
    let range = digit_core(&draft.target, &found?.0)?;
    Some(Edit { range, text: wanted.to_owned() })
}

/// Puts a passage where it stood: after the translation of what came before it.
fn insert(draft: &Draft<'_>, copy: &Copy, looked_at: &[usize]) -> Edit {
    let tokens = tokens_of(draft, &copy.range);
    let after = draft.source.get(copy.range.end..).unwrap_or_default();
    let at_end = !after.chars().any(char::is_alphanumeric);
    let last_of = |sources: Range<usize>| {
        let token = looked_at.iter().rposition(|at| sources.contains(at));
        token.and_then(|token| draft.target_ranges.get(token))
    };
    let before = draft.source.get(..copy.range.start).unwrap_or_default();
    // Where a link leads stands behind all of its words, whatever their order has become.
    let is_link = draft.source.get(copy.range.start..).is_some_and(|rest| rest.starts_with("]("));
    let words = before.rfind('[').filter(|_| is_link).map(|open| open + 1..copy.range.start);
    let place = words
        .and_then(|words| last_of(tokens_of(draft, &words)))
        .or_else(|| (0..tokens.start).rev().find_map(|source| last_of(source..source + 1)));
    let at = match place {
        _ if at_end && after.trim().is_empty() => draft.target.len(),
        Some(token) => token.end,
        None => 0,
    };
    let mut text = draft.source.get(copy.range.clone()).unwrap_or_default().to_owned();
    let (left, right) = draft.target.split_at_checked(at).unwrap_or((&draft.target, ""));
    let spaced = |side: &str, end: bool| {
        let edge = if end { side.chars().next_back() } else { side.chars().next() };
        edge.is_none_or(char::is_whitespace)
    };
    if spaced(before, true) && !spaced(left, true) {
        text.insert(0, ' ');
    }
    let open = right.chars().next().is_some_and(char::is_alphanumeric);
    if open {
        text.push(' ');
    }
    Edit { range: at..at, text }
}

/// The edited target and its tokens' ranges: a token inside a replacement keeps what is left of it, which is
/// nothing but for the first, which takes the whole.
fn apply(draft: &Draft<'_>, unordered: Vec<Edit>) -> (String, Vec<Range<usize>>) {
    // They are few, and each instance of the library's sort is 2 KB of a module.
    let mut edits: Vec<Edit> = Vec::with_capacity(unordered.len());
    for edit in unordered {
        let place = |edit: &Edit| (edit.range.start, edit.range.end);
        edits.insert(edits.partition_point(|other| place(other) <= place(&edit)), edit);
    }
    let mut target = String::with_capacity(draft.target.len());
    // For a byte of the old target, its place in the new one: before an insertion at it, or after.
    let mut moves: Vec<(Range<usize>, Range<usize>)> = Vec::with_capacity(edits.len());
    let mut copied = 0;
    for edit in &edits {
        target.push_str(draft.target.get(copied..edit.range.start).unwrap_or_default());
        let start = target.len();
        target.push_str(&edit.text);
        moves.push((edit.range.clone(), start..target.len()));
        copied = edit.range.end;
    }
    target.push_str(draft.target.get(copied..).unwrap_or_default());
    let moved = |at: usize, is_end: bool| {
        let mut offset = 0_isize;
        for (old, new) in &moves {
            if old.start < at && at < old.end {
                return new.end;
            }
            if at < old.end || (at <= old.start && is_end) || (at == old.start && !old.is_empty()) {
                break;
            }
            offset = new.end as isize - old.end as isize;
        }
        at.saturating_add_signed(offset)
    };
    let ranges = draft
        .target_ranges
        .iter()
        .map(|token| {
            let start = moved(token.start, false);
            start..moved(token.end, true).max(start)
        })
        .collect();
    (target, ranges)
}

/// Whether a space is missing between two translations whose sources touch: scripts without spaces put none
/// between sentences, and a long sentence may have been cut in two.
pub(super) fn needs_space(source: &str, at: usize, before: &str, next: &str) -> bool {
    let (left, right) = source.split_at_checked(at).unwrap_or((source, ""));
    let (last, first) = (left.chars().next_back(), right.chars().next());
    let inside_word = last.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c))
        && first.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c));
    let open = |c: char| !c.is_whitespace() && !is_cjk(c);
    !inside_word
        && before.chars().next_back().is_some_and(open)
        && next.chars().next().is_some_and(open)
}

/// Scripts written without spaces: kana, Chinese characters, their punctuation and full-width forms.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A draft whose target token i looked at source token `looked_at[i]`; words are tokens.
    fn restored(source: &str, target: &str, looked_at: &[usize], left_out: &[&str]) -> String {
        let words = |text: &str| -> Vec<Range<usize>> {
            let mut at = 0;
            text.split_inclusive(' ')
                .map(|word| {
                    at += word.len();
                    at - word.len()..at
                })
                .collect()
        };
        let (source_ranges, target_ranges) = (words(source), words(target));
        assert_eq!(looked_at.len(), target_ranges.len());
        let width = source_ranges.len() + 1;
        let mut alignment = vec![0.0; width * (looked_at.len() + 1)];
        for (row, &column) in looked_at.iter().enumerate() {
            alignment[row * width + column] = 1.0;
        }
        let left_out: Vec<Range<usize>> = left_out
            .iter()
            .map(|part| source.find(part).map(|at| at..at + part.len()).unwrap())
            .collect();
        let (text, ranges) = restore(&Draft {
            source,
            source_ranges,
            left_out: &left_out,
            plain_words: &[],
            target: target.to_owned(),
            target_ranges,
            alignment: &alignment,
        });
        assert!(ranges.iter().all(|range| text.get(range.clone()).is_some()), "{ranges:?}");
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
        text
    }

    #[test]
    fn a_garbled_copy_is_replaced() {
        let target = "veja https://exemplo.com/a agora";
        let text = restored("see https://example.com/a now", target, &[0, 1, 2], &[]);
        assert_eq!(text, "veja https://example.com/a agora");
    }

    #[test]
    fn what_was_dropped_or_not_shown_is_put_where_it_stood() {
        let text = restored("press {key} twice", "prima duas", &[0, 2], &[]);
        assert_eq!(text, "prima {key} duas");
        assert_eq!(restored("hello 😀 world", "olá mundo", &[0, 2], &["😀"]), "olá 😀 mundo");
        let link =
            restored("a [big house](x.org/a)", "uma [casa grande", &[0, 2, 1], &["](x.org/a)"]);
        assert_eq!(link, "uma [casa grande](x.org/a)");
        assert_eq!(restored("good night ★", "boa noite", &[0, 1], &["★"]), "boa noite ★");
    }

    #[test]
    fn numbers_keep_their_digits() {
        let price = |target: &str| restored("it costs 1,234.50 today", target, &[0, 2, 3], &[]);
        assert_eq!(price("custa 1.234,50 hoje"), "custa 1.234,50 hoje");
        assert_eq!(price("custa 1.234.50 hoje"), "custa 1,234.50 hoje");
        assert_eq!(price("custa 1.243,50 hoje"), "custa 1,234.50 hoje");
        assert_eq!(restored("3 cats", "três gatos", &[0, 1], &[]), "três gatos");
        let thousands = restored("100,000 people", "100 mil pessoas", &[0, 0, 1], &[]);
        assert_eq!(thousands, "100 mil pessoas");
        let phone = restored(
            "call +351 912 345 678 now",
            "ligue 0351 912 345 678 agora",
            &[0, 1, 2, 3, 4, 5],
            &[],
        );
        assert_eq!(phone, "ligue +351 912 345 678 agora");
        assert_eq!(restored("1 of 10", "01 de 10", &[0, 1, 2], &[]), "1 de 10");
    }

    #[test]
    fn a_space_is_put_where_only_the_target_needs_one() {
        assert!(needs_space("你好。世界", 9, "Hello.", "World"));
        assert!(!needs_space("你好。世界", 9, "今日は。", "World"));
        assert!(!needs_space("abcdef", 3, "xyz", "uvw"));
        assert!(needs_space("so, then", 3, "então,", "depois"));
    }
}
