//! Numbers: digits, their sign and currency, and the groups they come in.

use super::char_at;

/// Joins two groups of digits in one number.
fn is_separator(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ':'
            | '/'
            | '-'
            | '\''
            | '’'
            | '·'
            | '٫'
            | '٬'
            | '×'
            | '‐'
            | '‑'
            | '–'
            | '⁄'
            | '−'
    )
}

/// A space that may stand between thousands.
fn is_thin_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}')
}

fn is_sign(c: char) -> bool {
    matches!(c, '+' | '-' | '−' | '±' | '#' | '№' | '~' | '≈' | '$' | '€' | '£' | '¥' | '₹' | '.')
}

/// A number at `at`, sign and percent sign included. Digits inside a word (`B2B`, `COVID19`) count as
/// well, as a translation has to keep them; letters around them do not.
pub(super) fn number(text: &str, at: usize, first: char, before: Option<char>) -> Option<usize> {
    let mut start = at;
    if is_sign(first) {
        // In `3-4` and `x-1` the hyphen is no sign.
        if before.is_some_and(|c| c.is_alphanumeric() || c == '.') {
            return None;
        }
        start += first.len_utf8();
        // A currency may follow the sign, or the sign the currency.
        if let Some(second) = char_at(text, start).filter(|&c| is_sign(c) && c != first) {
            start += second.len_utf8();
        }
    }
    let phone = first == '+';
    if !char_at(text, start).is_some_and(char::is_numeric) {
        return None;
    }
    if let Some(end) = hexadecimal(text, start) {
        return Some(end);
    }
    let mut end = digits(text, start);
    let mut group = digit_count(text, start, end);
    // `1 000 000` needs groups of three behind a first of one to three.
    let mut spaced = group <= 3;
    while let Some(separator) = char_at(text, end) {
        let next = end + separator.len_utf8();
        if phone && matches!(separator, ' ' | '(' | ')' | '\u{a0}') {
            // Several of them may come together: `+1 (555) 123`.
            let digit =
                super::run_end(text, end, |c| matches!(c, ' ' | '(' | ')' | '\u{a0}' | '-'));
            if digit - end > 3 || !char_at(text, digit).is_some_and(char::is_numeric) {
                break;
            }
            end = digits(text, digit);
            continue;
        }
        if !char_at(text, next).is_some_and(char::is_numeric) {
            break;
        }
        let group_end = digits(text, next);
        group = digit_count(text, next, group_end);
        if is_thin_space(separator) {
            if !spaced || group != 3 {
                break;
            }
        } else if is_separator(separator) {
            spaced = false;
        } else {
            break;
        }
        end = group_end;
    }
    end = exponent(text, end).unwrap_or(end);
    Some(unit_sign(text, end))
}

fn digits(text: &str, at: usize) -> usize {
    super::run_end(text, at, char::is_numeric)
}

fn digit_count(text: &str, start: usize, end: usize) -> usize {
    text.get(start..end).unwrap_or_default().chars().count()
}

/// `0x1F`.
fn hexadecimal(text: &str, at: usize) -> Option<usize> {
    let start = super::after(text, at, "0x").or_else(|| super::after(text, at, "0X"))?;
    let end = super::run_end(text, start, |c| c.is_ascii_hexdigit());
    (end > start && !char_at(text, end).is_some_and(char::is_alphanumeric)).then_some(end)
}

/// `e-3` behind `1.5`.
fn exponent(text: &str, at: usize) -> Option<usize> {
    let mark = char_at(text, at).filter(|c| matches!(c, 'e' | 'E'))?;
    let mut start = at + mark.len_utf8();
    if let Some(sign) = char_at(text, start).filter(|c| matches!(c, '+' | '-')) {
        start += sign.len_utf8();
    }
    let end = digits(text, start);
    (end > start && !char_at(text, end).is_some_and(char::is_alphabetic)).then_some(end)
}

/// A percent or degree sign directly behind the number.
fn unit_sign(text: &str, at: usize) -> usize {
    match char_at(text, at) {
        Some(c) if matches!(c, '%' | '‰' | '°' | '′' | '″' | '€' | '£' | '¥') => {
            at + c.len_utf8()
        }
        _ => at,
    }
}
