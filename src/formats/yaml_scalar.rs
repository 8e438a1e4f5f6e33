//! One YAML scalar: plain, 'single-quoted' or "double-quoted" on one line.

use super::marian_config::Scalar;

/// A scalar and what follows it on the line.
pub(super) struct Scanned<'a> {
    pub scalar: Scalar,
    pub rest: &'a str,
}

/// Reads the scalar at the start of `text`. A plain one ends at a comment or where `stop` says so
/// of the text from there on.
pub(super) fn scan<'a>(
    text: &'a str,
    stop: impl Fn(&str) -> bool,
) -> Result<Scanned<'a>, &'static str> {
    let text = text.trim_start();
    let quoted = |(text, rest)| Scanned { scalar: Scalar { text, quoted: true }, rest };
    if let Some(inside) = text.strip_prefix('"') {
        return double_quoted(inside).map(quoted);
    }
    if let Some(inside) = text.strip_prefix('\'') {
        return single_quoted(inside).map(quoted);
    }
    if text.starts_with(['&', '*', '!', '|', '>', '{', '}', '[', '%', '@', '`']) && !stop(text) {
        return Err("an anchor, alias, tag, block scalar or map, which is not read");
    }
    let end = text
        .char_indices()
        .find(|(at, character)| {
            let (before, from) = text.split_at(*at);
            stop(from) || (*character == '#' && before.ends_with([' ', '\t']))
        })
        .map_or(text.len(), |(at, _)| at);
    let (plain, rest) = text.split_at(end);
    // so that the white space in front of a comment is still seen
    let (plain, rest) = match plain.trim_end() {
        trimmed if rest.starts_with('#') => text.split_at(trimmed.len()),
        trimmed => (trimmed, rest),
    };
    if plain.chars().any(|character| character.is_control() && character != '\t') {
        return Err("a control character in a value");
    }
    Ok(Scanned { scalar: Scalar { text: plain.to_owned(), quoted: false }, rest })
}

/// The text up to the closing quote, `''` standing for one quote, and the rest.
fn single_quoted(inside: &str) -> Result<(String, &str), &'static str> {
    let mut text = String::new();
    let mut rest = inside;
    while let Some((part, after)) = rest.split_once('\'') {
        text.push_str(part);
        match after.strip_prefix('\'') {
            Some(after) => {
                text.push('\'');
                rest = after;
            }
            None => return Ok((text, after)),
        }
    }
    Err("a single quote without its end on the line")
}

/// The text up to the closing quote with its escapes resolved, and the rest.
fn double_quoted(inside: &str) -> Result<(String, &str), &'static str> {
    let mut text = String::new();
    let mut rest = inside.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok((text, rest.as_str())),
            '\\' => {
                let escaped = match rest.next() {
                    Some('0') => Some('\0'),
                    Some('a') => Some('\x07'),
                    Some('b') => Some('\x08'),
                    Some('t' | '\t') => Some('\t'),
                    Some('n') => Some('\n'),
                    Some('v') => Some('\x0b'),
                    Some('f') => Some('\x0c'),
                    Some('r') => Some('\r'),
                    Some('e') => Some('\x1b'),
                    Some('N') => Some('\u{85}'),
                    Some('_') => Some('\u{a0}'),
                    Some('L') => Some('\u{2028}'),
                    Some('P') => Some('\u{2029}'),
                    Some(same @ ('"' | '/' | '\\' | ' ')) => Some(same),
                    Some('x') => code_point(&mut rest, 2),
                    Some('u') => code_point(&mut rest, 4),
                    Some('U') => code_point(&mut rest, 8),
                    _ => None,
                };
                text.push(escaped.ok_or("an escape that YAML does not have")?);
            }
            character => text.push(character),
        }
    }
    Err("a double quote without its end on the line")
}

/// The character whose code `digits` hexadecimal digits give.
fn code_point(rest: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut code = 0;
    for _ in 0..digits {
        code = code * 16 + rest.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}
