//! Patterns of pre-tokenizers: what of regular expressions they use, as data, and the scanner that follows them.
//!
//! The published expressions are alternatives of a few repeated character sets. Written as such they need no crate:
//! `regex` has no look-ahead, and `fancy-regex`, which has, adds 376 KB to the compressed module.

use super::classes::{Class, Set};
use std::ops::Range;

/// One part of an alternative.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// `[set]{min,max}`, as many as there are and fewer if what follows asks for it.
    Repeat { set: Set, min: usize, max: usize },
    /// `'s|'t|'re|'ve|'m|'ll|'d`
    Contraction { any_case: bool, optional: bool },
    /// `(?![set])`
    NotBefore(Set),
}

/// Alternatives in order of preference: the first that fits is taken.
pub(super) type Pattern = &'static [&'static [Item]];

/// `[set]?`
pub(super) const fn optional(set: Set) -> Item {
    Item::Repeat { set, min: 0, max: 1 }
}

/// `[set]`
pub(super) const fn one(set: Set) -> Item {
    Item::Repeat { set, min: 1, max: 1 }
}

/// `[set]{1,max}`
pub(super) const fn up_to(max: usize, set: Set) -> Item {
    Item::Repeat { set, min: 1, max }
}

/// `[set]{count}`
pub(super) const fn exactly(count: usize, set: Set) -> Item {
    Item::Repeat { set, min: count, max: count }
}

/// `[set]*`
pub(super) const fn any(set: Set) -> Item {
    Item::Repeat { set, min: 0, max: usize::MAX }
}

/// `[set]+`
pub(super) const fn some(set: Set) -> Item {
    Item::Repeat { set, min: 1, max: usize::MAX }
}

/// A text and, for each of its bytes, the class of the character that starts there.
pub(super) struct Scanner<'a> {
    pub text: &'a [u8],
    pub classes: &'a [Class],
}

impl Scanner<'_> {
    /// Cuts `piece`: each match is a piece of its own, and so is what lies between two. Pushes the ends.
    pub fn split(&self, pattern: Pattern, piece: Range<usize>, ends: &mut Vec<usize>) {
        let (mut at, mut unmatched) = (piece.start, piece.start);
        while at < piece.end {
            let found = pattern.iter().find_map(|items| self.match_end(items, at, piece.end));
            match found.filter(|&end| end > at) {
                Some(end) => {
                    if unmatched < at {
                        ends.push(at);
                    }
                    ends.push(end);
                    (at, unmatched) = (end, end);
                }
                None => at = self.after(at, piece.end),
            }
        }
        if unmatched < piece.end {
            ends.push(piece.end);
        }
    }

    /// Where a match of all `items` from `at` on ends.
    fn match_end(&self, items: &[Item], at: usize, limit: usize) -> Option<usize> {
        let Some((first, rest)) = items.split_first() else { return Some(at) };
        match *first {
            Item::Repeat { set, min, max } => {
                let (mut count, mut end) = (0, at);
                while count < max && end < limit && self.is_in(set, end) {
                    end = self.after(end, limit);
                    count += 1;
                }
                loop {
                    if count < min {
                        return None;
                    }
                    if let Some(found) = self.match_end(rest, end, limit) {
                        return Some(found);
                    }
                    if count == 0 {
                        return None;
                    }
                    end = self.before(end);
                    count -= 1;
                }
            }
            Item::Contraction { any_case, optional } => {
                let text = self.text.get(at..limit).unwrap_or_default();
                match contraction(text, any_case) {
                    Some(length) => self.match_end(rest, at + length, limit),
                    None if optional => self.match_end(rest, at, limit),
                    None => None,
                }
            }
            Item::NotBefore(set) => {
                let blocked = at < limit && self.is_in(set, at);
                if blocked { None } else { self.match_end(rest, at, limit) }
            }
        }
    }

    #[inline]
    fn is_in(&self, set: Set, at: usize) -> bool {
        self.classes.get(at).is_some_and(|&class| set.contains(class))
    }

    /// Where the character behind the one at `at` starts.
    #[inline]
    fn after(&self, at: usize, limit: usize) -> usize {
        let mut next = at + 1;
        while next < limit && self.classes.get(next) == Some(&super::classes::INSIDE) {
            next += 1;
        }
        next
    }

    /// Where the character in front of `at` starts.
    #[inline]
    fn before(&self, at: usize) -> usize {
        let mut previous = at.saturating_sub(1);
        while self.classes.get(previous) == Some(&super::classes::INSIDE) {
            previous -= 1;
        }
        previous
    }
}

/// Bytes of the contraction that `text` starts with.
fn contraction(text: &[u8], any_case: bool) -> Option<usize> {
    let [b'\'', rest @ ..] = text else { return None };
    let letter = |at: usize| {
        let byte = rest.get(at).copied().unwrap_or_default();
        if any_case { byte.to_ascii_lowercase() } else { byte }
    };
    match (letter(0), letter(1)) {
        (b's' | b't' | b'm' | b'd', _) => Some(2),
        (b'r' | b'v', b'e') | (b'l', b'l') => Some(3),
        // The long s is an s to whoever takes no heed of case.
        _ if any_case && rest.starts_with("ſ".as_bytes()) => Some(3),
        _ => None,
    }
}
