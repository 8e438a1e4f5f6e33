//! Placeholders of message formats and templates, tags, entities, code in back-ticks, and where links lead.

use super::{after, char_at, char_before, run_end};

/// Longest placeholder, in bytes: a brace that closes later than this is prose.
const MAX_LENGTH: usize = 256;

/// Brackets within brackets: message formats and addresses nest, but not far.
const MAX_DEPTH: u32 = 6;

/// Longest code in back-ticks and longest address of a link, in bytes.
const MAX_CODE: usize = 4096;

/// Code between back-ticks: as many at the end as at the start. A single line unless fenced by three.
pub(super) fn code(text: &str, at: usize) -> Option<usize> {
    let start = run_end(text, at, |c| c == '`');
    let fence = start - at;
    let limit = text.floor_char_boundary(start.saturating_add(MAX_CODE));
    let mut from = start;
    while let Some(offset) = text.get(from..limit)?.find(['`', '\n']) {
        let found = from + offset;
        if char_at(text, found) == Some('\n') {
            if fence < 3 {
                return None;
            }
            from = found + 1;
            continue;
        }
        let end = run_end(text, found, |c| c == '`');
        if end - found == fence {
            return Some(end);
        }
        from = end;
        if from > limit {
            return None;
        }
    }
    None
}

/// Where a Markdown link leads, from the bracket that closes its words: an address without white space, and perhaps
/// a title in quotes.
pub(super) fn link(text: &str, at: usize) -> Option<usize> {
    let start = after(text, at, "](")?;
    let limit = text.floor_char_boundary(start.saturating_add(MAX_CODE));
    let text = text.get(..limit)?;
    let mut depth = 0;
    let mut end = run_end(text, start, |c| !c.is_whitespace() && !"()".contains(c));
    while let Some(c) = char_at(text, end) {
        match c {
            '(' if depth == MAX_DEPTH => return None,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => break,
        }
        end = run_end(text, end + 1, |c| !c.is_whitespace() && !"()".contains(c));
    }
    if end == start {
        return None;
    }
    if char_at(text, end) == Some(' ') {
        let quote = char_at(text, end + 1).filter(|c| matches!(c, '"' | '\''))?;
        end = run_end(text, end + 2, |c| c != quote && c != '\n') + 1;
        char_at(text, end - 1).filter(|c| *c == quote)?;
    }
    (depth == 0 && char_at(text, end) == Some(')')).then_some(end + 1)
}

/// A placeholder that starts with `first`.
pub(super) fn placeholder(text: &str, at: usize, first: char) -> Option<usize> {
    match first {
        '{' => braces(text, at),
        '$' => {
            after(text, at, "${").and_then(|_| braces(text, at + 1)).or_else(|| variable(text, at))
        }
        '#' => after(text, at, "#{").and_then(|_| braces(text, at + 1)),
        '%' => percent(text, at),
        '<' => tag(text, at),
        '&' => entity(text, at),
        _ => None,
    }
}

/// `{name}`, `{0}`, `{{ x.y }}`, `{% if x %}`, `{count, plural, one {#} other {#}}`; not `{some words}`.
fn braces(text: &str, at: usize) -> Option<usize> {
    let limit = text.floor_char_boundary(at.saturating_add(MAX_LENGTH));
    let mut depth = 0;
    let mut end = None;
    for (offset, c) in text.get(at..limit)?.char_indices() {
        match c {
            '{' if depth == MAX_DEPTH => return None,
            '{' => depth += 1,
            '}' => depth -= 1,
            '\n' if depth == 1 => return None,
            _ => {}
        }
        if depth == 0 {
            end = Some(at + offset + 1);
            break;
        }
    }
    let end = end?;
    let inner = text.get(at + 1..end - 1)?;
    let inner = inner.strip_prefix('{').and_then(|x| x.strip_suffix('}')).unwrap_or(inner);
    let template =
        |mark: char| inner.len() >= 2 && inner.starts_with(mark) && inner.ends_with(mark);
    if template('%') || template('#') || template('-') {
        return Some(end);
    }
    let inner = inner.trim_matches([' ', '-', '~']);
    let name = inner.split([',', '|', ':', '!', '?']).next().unwrap_or_default().trim_end();
    let is_name = name.chars().all(|c| c.is_alphanumeric() || "_.-$@#[]'\"()/^&>=+*".contains(c));
    // A format may follow the name, behind a comma, bar or colon: `{0, number}`, `{x | upper}`.
    let format = inner.get(name.len()..).unwrap_or_default();
    let short = format.is_empty() || format.contains('{') || format.split_whitespace().count() <= 4;
    (is_name && short && (!inner.is_empty() || text.get(at..end) == Some("{}"))).then_some(end)
}

/// `$name`, with no word before it.
fn variable(text: &str, at: usize) -> Option<usize> {
    let first = char_at(text, at + 1)?;
    let start = first.is_ascii_alphabetic() || first == '_';
    let in_word = char_before(text, at).is_some_and(|c| c.is_alphanumeric() || c == '$');
    let end = run_end(text, at + 1, |c| c.is_ascii_alphanumeric() || c == '_');
    (start && !in_word && end - at > 2).then_some(end)
}

/// `%s`, `%-5.2f`, `%1$s`, `%(name)s`, `%{name}`, `%<name>d`, `%@`, `%NAME%`; not the sign of `50% de`.
fn percent(text: &str, at: usize) -> Option<usize> {
    if char_before(text, at).is_some_and(|c| c.is_alphanumeric() || c == '%') {
        return None;
    }
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ' ');
    let mut from = at + 1;
    match char_at(text, from)? {
        '{' => return braces(text, from),
        '@' => return Some(from + 1),
        open @ ('(' | '<') => {
            let close = if open == '(' { ')' } else { '>' };
            let end = run_end(text, from + 1, is_name);
            if end == from + 1 || char_at(text, end) != Some(close) {
                return None;
            }
            from = end + 1;
        }
        c if c.is_ascii_alphabetic() || c == '_' => {
            let end = run_end(text, from, |c| c.is_ascii_alphanumeric() || "_.-".contains(c));
            if char_at(text, end) == Some('%') && end - from > 1 {
                return Some(end + 1);
            }
        }
        _ => {}
    }
    let digits = run_end(text, from, |c| c.is_ascii_digit());
    if digits > from && char_at(text, digits) == Some('$') {
        from = digits + 1;
    }
    from = run_end(text, from, |c| c.is_ascii_digit() || "-+#.*".contains(c));
    from = run_end(text, from, |c| matches!(c, 'l' | 'h' | 'z' | 'j' | 'q'));
    let conversion = char_at(text, from)?;
    let end = from + conversion.len_utf8();
    // A unit of one or two letters may follow (`%dpx`), a word may not (`%discount`).
    let letters = run_end(text, end, |c| c.is_alphabetic()) - end;
    let known = "diouxXeEfFgGaAcspn@".contains(conversion);
    (known && letters <= 2).then_some(end)
}

/// `<0>`, `</0>`, `<0/>`, `<br>`, `<a href="x">`, `<!-- x -->`; not the sign of `a < b`.
fn tag(text: &str, at: usize) -> Option<usize> {
    let limit = text.floor_char_boundary(at.saturating_add(2 * MAX_LENGTH));
    let body = text.get(at..limit)?;
    if body.starts_with("<!--") {
        return body.find("-->").map(|end| at + end + 3);
    }
    let end = at + body.find('>')?;
    let inner = text.get(at + 1..end)?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let inner = inner.strip_suffix('/').unwrap_or(inner).trim_end();
    let name_len = inner.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.!?".contains(c)));
    let (name, attributes) = inner.split_at_checked(name_len.unwrap_or(inner.len()))?;
    let first = name.chars().next()?;
    let named = first.is_ascii_alphanumeric() || matches!(first, '!' | '?');
    let separated = attributes.is_empty() || attributes.starts_with(char::is_whitespace);
    let plausible = attributes.trim().is_empty() || attributes.contains('=') || first == '!';
    (named && separated && plausible && !inner.contains('<')).then_some(end + 1)
}

/// `&amp;`, `&#8211;`, `&#x2014;`.
fn entity(text: &str, at: usize) -> Option<usize> {
    let numeric = after(text, at, "&#");
    let end = run_end(text, numeric.unwrap_or(at + 1), |c| c.is_ascii_alphanumeric());
    let length = end - at;
    (char_at(text, end)? == ';' && (3..=12).contains(&length)).then_some(end + 1)
}
