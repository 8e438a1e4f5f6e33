//! Emoji with all that is joined to them, and runs of other symbols.
//!
//! Blocks of the Unicode charts are enough to tell them, no table of single characters is carried; what
//! belongs to one emoji is its grapheme cluster.

use super::{char_at, run_end};
use crate::text::grapheme;

/// An emoji at `at`: flags, keycaps, families, skin tones and variation selectors included.
pub(super) fn emoji(text: &str, at: usize, first: char) -> Option<usize> {
    let keycap = matches!(first, '0'..='9' | '#' | '*');
    if first.is_ascii() && !keycap {
        return None;
    }
    let may_be = keycap || is_emoji(first) || is_symbol(first);
    if !may_be {
        return None;
    }
    let end = grapheme::cluster_end(text, at)?;
    let cluster = text.get(at..end)?;
    let shown_as_emoji = is_emoji(first) && !keycap
        || cluster.contains('\u{20e3}')
        || !keycap && cluster.contains('\u{fe0f}');
    shown_as_emoji.then_some(end)
}

/// Whether `c` is shown as an emoji by itself.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{231a}' | '\u{231b}'
        | '\u{23e9}'..='\u{23f3}' | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}')
}

/// Whether `c` is a symbol: no letter, digit, mark, white space or punctuation, and not ASCII.
pub fn is_symbol(c: char) -> bool {
    matches!(c,
        '\u{a6}' | '\u{a9}' | '\u{ac}' | '\u{ae}' | '\u{b0}' | '\u{b1}' | '\u{b6}' | '\u{d7}' | '\u{f7}'
        | '\u{2022}' | '\u{203b}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{214f}' | '\u{2190}'..='\u{245f}'
        | '\u{249c}'..='\u{2bff}' | '\u{3012}' | '\u{3013}' | '\u{3020}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{e000}'..='\u{f8ff}' | '\u{fffc}' | '\u{fffd}'
        | '\u{1d000}'..='\u{1d1ff}' | '\u{1f000}'..='\u{1fbff}' | '\u{f0000}'..='\u{10ffff}')
        && !c.is_alphanumeric()
        || is_emoji(c)
}

/// A run of symbols.
pub(super) fn symbols(text: &str, at: usize, first: char) -> Option<usize> {
    is_symbol(first).then(|| {
        run_end(text, at, |c| is_symbol(c) && !is_emoji(c) || c == '\u{fe0e}')
            .max(at + first.len_utf8())
    })
}

/// `:smile:`, `:+1:`.
pub(super) fn shortcode(text: &str, at: usize, first: char) -> Option<usize> {
    if first != ':' {
        return None;
    }
    let end = run_end(text, at + 1, |c| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '+')
    });
    let name = text.get(at + 1..end)?;
    let named =
        name.contains(|c: char| c.is_ascii_lowercase()) || matches!(name, "+1" | "-1" | "100");
    let alone = !char_at(text, end + 1).is_some_and(char::is_alphanumeric);
    (char_at(text, end)? == ':' && named && name.len() <= 40 && alone).then_some(end + 1)
}
