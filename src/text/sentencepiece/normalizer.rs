//! Text as the model wants it: compiled replacement rules, white space rules, and where each byte came from.

use super::proto::NormalizerSpec;
use crate::error::Result;
use crate::text::charsmap::CharsMap;
use crate::text::trie::Trie;

/// U+2581, which stands for a space in pieces.
pub(super) const SPACE_SYMBOL: &str = "\u{2581}";

/// Replacement rules and white space rules of one model.
pub(super) struct Normalizer {
    rules: Option<CharsMap>,
    add_dummy_prefix: bool,
    remove_extra_whitespaces: bool,
    escape_whitespaces: bool,
    treat_whitespace_as_suffix: bool,
}

/// Normalised text and, for each of its bytes and its end, the byte of the original it came from.
pub(super) struct Normalized {
    pub text: String,
    /// `text.len() + 1` ascending offsets; empty when `text` is.
    pub origin: Vec<usize>,
}

impl Normalizer {
    pub fn new(spec: &NormalizerSpec, treat_whitespace_as_suffix: bool) -> Result<Self> {
        let charsmap = spec.charsmap.filter(|map| !map.bytes().is_empty());
        Ok(Self {
            rules: charsmap
                .map(|map| CharsMap::read(map.bytes()).map_err(|(at, what)| map.error(at, what)))
                .transpose()?,
            add_dummy_prefix: spec.add_dummy_prefix,
            remove_extra_whitespaces: spec.remove_extra_whitespaces,
            escape_whitespaces: spec.escape_whitespaces,
            treat_whitespace_as_suffix,
        })
    }

    /// Whether decoding has to take away the space that encoding put in front.
    pub fn strips_leading_space(&self) -> bool {
        self.add_dummy_prefix || self.remove_extra_whitespaces
    }

    /// Whether leading, trailing and repeated spaces are dropped.
    pub fn removes_extra_whitespaces(&self) -> bool {
        self.remove_extra_whitespaces
    }

    /// Normalises `text`; `whole` holds the symbols that no rule may touch.
    pub fn normalize(&self, text: &str, whole: &Trie) -> Normalized {
        let space = if self.escape_whitespaces { SPACE_SYMBOL } else { " " };
        let mut rest = text;
        if self.remove_extra_whitespaces {
            while let Some((" ", consumed)) = self.next_replacement(rest, whole) {
                rest = rest.get(consumed..).unwrap_or_default();
            }
        }
        let mut out = Normalized { text: String::new(), origin: Vec::new() };
        if rest.is_empty() {
            return out;
        }
        out.text.reserve(rest.len() + rest.len() / 4 + 3);
        out.origin.reserve(rest.len() + rest.len() / 4 + 4);
        let mut consumed = text.len() - rest.len();
        if !self.treat_whitespace_as_suffix && self.add_dummy_prefix {
            out.push(space, consumed);
        }
        let mut after_space = self.remove_extra_whitespaces;
        while let Some((mut replacement, length)) = self.next_replacement(rest, whole) {
            if after_space {
                replacement = replacement.trim_start_matches(' ');
            }
            if !replacement.is_empty() {
                for (index, part) in replacement.split(' ').enumerate() {
                    if index > 0 {
                        out.push(space, consumed);
                    }
                    out.push(part, consumed);
                }
                after_space = self.remove_extra_whitespaces && replacement.ends_with(' ');
            }
            consumed += length;
            rest = rest.get(length..).unwrap_or_default();
        }
        if self.remove_extra_whitespaces {
            while out.text.ends_with(space) {
                let len = out.text.len() - space.len();
                consumed = out.origin.get(len).copied().unwrap_or(consumed);
                out.text.truncate(len);
                out.origin.truncate(len);
            }
        }
        if self.treat_whitespace_as_suffix && self.add_dummy_prefix {
            out.push(space, consumed);
        }
        out.origin.push(consumed);
        out
    }

    /// What the start of `rest` becomes, and how many bytes of it that covers (at least 1).
    fn next_replacement<'a>(&'a self, rest: &'a str, whole: &Trie) -> Option<(&'a str, usize)> {
        let first = rest.chars().next()?;
        if let Some(symbol) = whole.longest_prefix(rest.as_bytes()).and_then(|len| rest.get(..len))
        {
            return Some((symbol, symbol.len()));
        }
        if let Some(found) = self.rules.as_ref().and_then(|rules| rules.longest_match(rest)) {
            return Some(found);
        }
        rest.get(..first.len_utf8()).map(|same| (same, same.len()))
    }
}

impl Normalized {
    fn push(&mut self, part: &str, origin: usize) {
        self.text.push_str(part);
        self.origin.resize(self.text.len(), origin);
    }
}
