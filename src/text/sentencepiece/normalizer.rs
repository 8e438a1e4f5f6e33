//! Text as the model wants it: compiled replacement rules, white space rules, and where each byte came from.

use super::{proto::NormalizerSpec, wire::Message};
use crate::error::Result;
use crate::text::trie::Trie;

/// U+2581, which stands for a space in pieces.
pub(super) const SPACE_SYMBOL: &str = "\u{2581}";

/// Longest replacement of one match. Unicode's own longest has 33 bytes; a bound keeps a damaged
/// table from blowing the text up.
const MAX_REPLACEMENT: usize = 1024;

/// Units of a block of the double array; its size is always a multiple of this.
const BLOCK: usize = 256;

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
            rules: charsmap.map(CharsMap::read).transpose()?,
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

/// Compiled replacement rules: a double-array trie (darts-clone layout) from a sequence of bytes to
/// the offset of its replacement in one NUL-separated string.
struct CharsMap {
    units: Vec<u32>,
    replacements: String,
}

impl CharsMap {
    /// Reads `trie size: u32, trie, replacements` and checks every link, so that no walk leaves the array.
    fn read(map: Message) -> Result<Self> {
        let bytes = map.bytes();
        let Some((size, rest)) = bytes.split_first_chunk::<4>() else {
            return Err(map.error(0, "the normalisation table has no size"));
        };
        let size = u32::from_le_bytes(*size) as usize;
        let Some((trie, replacements)) = rest.split_at_checked(size) else {
            return Err(map.error(
                0,
                format!("the normalisation table announces {size} bytes, {} are left", rest.len()),
            ));
        };
        if trie.is_empty() || !trie.len().is_multiple_of(4 * BLOCK) {
            return Err(map.error(
                0,
                format!("the normalisation trie has {size} bytes, no multiple of {}", 4 * BLOCK),
            ));
        }
        let replacements_at = 4 + size;
        let replacements = std::str::from_utf8(replacements).map_err(|bad| {
            map.error(replacements_at + bad.valid_up_to(), "a replacement is not UTF-8")
        })?;
        let units: Vec<u32> = trie
            .chunks_exact(4)
            .map(|unit| unit.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)))
            .collect();
        let rules = Self { units, replacements: replacements.to_owned() };
        for (index, &unit) in rules.units.iter().enumerate() {
            let valid = match leaf_value(unit) {
                Some(value) => rules.replacement(value).is_some(),
                None => (index ^ offset(unit)) / BLOCK < rules.units.len() / BLOCK,
            };
            if !valid {
                return Err(
                    map.error(4 + 4 * index, "the normalisation trie points outside its tables")
                );
            }
        }
        Ok(rules)
    }

    /// The replacement at `value`: up to the next NUL.
    fn replacement(&self, value: usize) -> Option<&str> {
        let rest = self.replacements.get(value..)?;
        let length = rest.bytes().take(MAX_REPLACEMENT).position(|byte| byte == 0)?;
        rest.get(..length)
    }

    /// The replacement for the longest key that `text` starts with, and the length of that key.
    fn longest_match(&self, text: &str) -> Option<(&str, usize)> {
        let mut node = offset(*self.units.first()?);
        let mut longest = None;
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            node ^= usize::from(byte);
            let unit = *self.units.get(node)?;
            if label(unit) != u32::from(byte) {
                break;
            }
            node ^= offset(unit);
            // A key that ends inside a character could only come from a damaged table.
            if has_leaf(unit) && text.is_char_boundary(at + 1) {
                longest = Some((leaf_value(*self.units.get(node)?)?, at + 1));
            }
        }
        let (value, length) = longest?;
        Some((self.replacement(value)?, length))
    }
}

/// Whether the state behind this unit ends a key.
fn has_leaf(unit: u32) -> bool {
    unit >> 8 & 1 == 1
}

/// The value in a leaf, `None` for any other unit.
fn leaf_value(unit: u32) -> Option<usize> {
    (unit >> 31 == 1).then_some((unit & 0x7fff_ffff) as usize)
}

/// The byte on the edge into a unit. In a leaf, bit 31 is set as well, so that no byte equals it.
fn label(unit: u32) -> u32 {
    unit & 0x8000_00ff
}

/// Exclusive-or distance from a unit to its children.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
