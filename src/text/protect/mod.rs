//! What a translation has to copy byte for byte: URLs, addresses, placeholders, code, paths, numbers,
//! emoji and other symbols, found by hand-written rules.

mod address;
mod number;
mod path;
mod placeholder;
mod symbol;

use std::ops::Range;

pub use symbol::is_symbol;

/// A stretch of text to be kept as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Byte range in the text, at character boundaries, never empty.
    pub range: Range<usize>,
    /// What was recognised.
    pub kind: ProtectedKind,
}

/// What a protected stretch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedKind {
    /// `https://example.com/a?b`, `www.example.com`, `example.com/a`, `mailto:a@b.org`.
    Url,
    /// `someone@example.com`.
    Email,
    /// Where a Markdown link leads: `](https://example.com)`, `](images/cat.png "A cat")`.
    Link,
    /// `@someone`, `#topic`.
    Mention,
    /// `{name}`, `{{x}}`, `${x}`, `%s`, `%1$d`, `%(x)s`, `%{x}`, `%NAME%`, `{% x %}`, `<0>`, `</b>`, `&amp;`.
    Placeholder,
    /// `` `code` ``, fenced code, `snake_case`, `call()`, `--option`, hashes and UUIDs.
    Code,
    /// `/usr/bin`, `~/notes.txt`, `C:\Users`, `src/main.rs`, `report.pdf`.
    Path,
    /// Digits with their signs and groups: `1,000.50`, `3-4`, `10:30`, `+351 912 345 678`, `-5`, `50%`.
    Number,
    /// An emoji with all that belongs to it: skin tones, joined families, flags, keycaps; also `:smile:`.
    Emoji,
    /// A run of symbols that are neither letters nor punctuation: `→`, `★`, `≤`, `™`.
    Symbol,
}

impl ProtectedKind {
    /// Whether another case would change the meaning.
    pub fn is_case_sensitive(self) -> bool {
        !matches!(self, Self::Number | Self::Emoji | Self::Symbol)
    }

    /// Whether the stretch may hold white space or stops that end no sentence.
    pub fn is_opaque(self) -> bool {
        !matches!(self, Self::Number | Self::Emoji | Self::Symbol | Self::Mention)
    }
}

/// All protected stretches of `text`, in order, none overlapping another.
pub fn spans(text: &str) -> Vec<Protected> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = char_at(text, at) {
        if let Some((kind, end)) = span_at(text, at, first) {
            found.push(Protected { range: at..end, kind });
            at = end;
        } else {
            at += first.len_utf8();
        }
    }
    found
}

/// Whether there is nothing in `text` to translate: no letter outside of protected stretches. Holds for
/// empty text, white space, control characters, punctuation, symbols, and a lone number or address.
pub fn is_untranslatable(text: &str) -> bool {
    if !text.chars().any(char::is_alphabetic) {
        return true;
    }
    let mut at = 0;
    // No further than the first letter: what calls this has cut a window off a text that may be long.
    while let Some(first) = char_at(text, at) {
        match span_at(text, at, first) {
            Some((_, end)) => at = end,
            None if first.is_alphabetic() => return false,
            None => at += first.len_utf8(),
        }
    }
    true
}

/// The protected stretch that starts at byte `at` of `text`, and where it ends.
fn span_at(text: &str, at: usize, first: char) -> Option<(ProtectedKind, usize)> {
    match_at(text, at, first).filter(|(_, end)| *end > at && text.is_char_boundary(*end))
}

/// What starts at byte `at` of `text`, and where it ends. The order decides among several readings.
fn match_at(text: &str, at: usize, first: char) -> Option<(ProtectedKind, usize)> {
    use ProtectedKind::*;
    let before = char_before(text, at);
    match first {
        '`' if before == Some('`') => return None,
        '`' => return placeholder::code(text, at).map(|end| (Code, end)),
        ']' => return placeholder::link(text, at).map(|end| (Link, end)),
        '{' | '$' | '%' | '<' | '&' | '#' => {
            if let Some(end) = placeholder::placeholder(text, at, first) {
                return Some((Placeholder, end));
            }
        }
        _ => {}
    }
    if let Some(end) = symbol::emoji(text, at, first) {
        return Some((Emoji, end));
    }
    if starts_word(before) {
        // An address may start with nearly anything, and holds what else would be a path or number.
        if first.is_alphanumeric() || matches!(first, '_' | '%' | '+' | '-' | '.') {
            if let Some(end) = address::email(text, at) {
                return Some((Email, end));
            }
            if let Some(end) = address::url(text, at) {
                return Some((Url, end));
            }
        }
        if let Some(end) = address::mention(text, at, first) {
            return Some((Mention, end));
        }
        if let Some(end) = symbol::shortcode(text, at, first) {
            return Some((Emoji, end));
        }
        if let Some(end) = path::path(text, at, first) {
            return Some((Path, end));
        }
        if let Some(end) = path::identifier(text, at, first) {
            return Some((Code, end));
        }
    }
    if let Some(end) = number::number(text, at, first, before) {
        return Some((Number, end));
    }
    symbol::symbols(text, at, first).map(|end| (Symbol, end))
}

/// Whether a word can start behind `before`. No character that an address may start with is let through,
/// so that a long run of them is looked at only once.
fn starts_word(before: Option<char>) -> bool {
    !before.is_some_and(|c| c.is_alphanumeric() && !address::is_cjk(c) || "_@.-+%/\\".contains(c))
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

fn char_before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// The end of the run of characters from `at` that `member` accepts.
fn run_end(text: &str, at: usize, member: impl Fn(char) -> bool) -> usize {
    // One loop for all callers: the module is shipped over the network.
    fn find_end(text: &str, at: usize, member: &dyn Fn(char) -> bool) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        at + rest.find(|c| !member(c)).unwrap_or(rest.len())
    }
    find_end(text, at, &member)
}

/// The end of `prefix`, if `text` has it at `at`.
fn after(text: &str, at: usize, prefix: &str) -> Option<usize> {
    text.get(at..)?.starts_with(prefix).then_some(at + prefix.len())
}
