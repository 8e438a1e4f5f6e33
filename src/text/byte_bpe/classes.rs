//! Which kind of character each one is, as the regular expressions of pre-tokenizers ask for it.
//!
//! A table of 4 KB, written by `tests/fixtures/text/tokenizer/classes.py`; the standard library knows neither
//! `\p{L}` nor `\p{P}`.

use crate::text::packed::{Numbers, value_in};
use std::sync::OnceLock;

/// A set of classes, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u32);

/// The class of one character: the index of its bit in a [`Set`]. Every character is in exactly one.
pub(super) type Class = u8;

/// In place of a class at the bytes within a character; in no set.
pub(super) const INSIDE: Class = 31;

const UPPER: Class = 0;
const LOWER: Class = 1;
const OTHER_LETTER: Class = 2;
const MARK: Class = 3;
const NUMBER: Class = 4;
const PUNCTUATION: Class = 5;
const SYMBOL: Class = 6;
const WHITE: Class = 7;
const OTHER: Class = 8;
/// The number of classes in the file; those that follow are carved out of them here.
const STORED: u32 = 9;
const SPACE: Class = 9;
const NEWLINE: Class = 10;
const SLASH: Class = 11;
const ASCII_UPPER: Class = 12;
const ASCII_LOWER: Class = 13;
const ASCII_DIGIT: Class = 14;
const ASCII_PUNCTUATION: Class = 15;
const ASCII_SYMBOL: Class = 16;
const CLASSES: u32 = 17;

impl Set {
    const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut rest = classes;
        while let [first, others @ ..] = rest {
            bits |= 1 << *first;
            rest = others;
        }
        Self(bits)
    }

    /// `[ab]`, either
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `[^a]`
    pub const fn not(self) -> Self {
        Self(!self.0 & ((1 << CLASSES) - 1))
    }

    #[inline]
    pub fn contains(self, class: Class) -> bool {
        self.0 >> class & 1 == 1
    }
}

/// `[\p{Lu}\p{Lt}]`
pub(super) const UPPERCASE: Set = Set::of(&[UPPER, ASCII_UPPER]);
/// `\p{Ll}`
pub(super) const LOWERCASE: Set = Set::of(&[LOWER, ASCII_LOWER]);
/// `[\p{Lm}\p{Lo}]`
pub(super) const CASELESS: Set = Set::of(&[OTHER_LETTER]);
/// `\p{L}`
pub(super) const LETTERS: Set = UPPERCASE.or(LOWERCASE).or(CASELESS);
/// `\p{M}`
pub(super) const MARKS: Set = Set::of(&[MARK]);
/// `\p{N}`
pub(super) const NUMBERS: Set = Set::of(&[NUMBER, ASCII_DIGIT]);
/// `\p{P}`
pub(super) const PUNCTUATIONS: Set = Set::of(&[PUNCTUATION, ASCII_PUNCTUATION, SLASH]);
/// `\p{S}`
pub(super) const SYMBOLS: Set = Set::of(&[SYMBOL, ASCII_SYMBOL]);
/// `\s`
pub(super) const WHITES: Set = Set::of(&[WHITE, SPACE, NEWLINE]);
/// The space, U+0020.
pub(super) const SPACES: Set = Set::of(&[SPACE]);
/// `[\r\n]`
pub(super) const NEWLINES: Set = Set::of(&[NEWLINE]);
/// `/`
pub(super) const SLASHES: Set = Set::of(&[SLASH]);
/// `[A-Za-z]`
pub(super) const ASCII_LETTERS: Set = Set::of(&[ASCII_UPPER, ASCII_LOWER]);
/// `[0-9]`
pub(super) const ASCII_DIGITS: Set = Set::of(&[ASCII_DIGIT]);
/// The marks of ASCII that are symbols: `$+<=>^|~` and the grave accent.
pub(super) const ASCII_SYMBOLS: Set = Set::of(&[ASCII_SYMBOL]);
/// All 32 marks of ASCII.
pub(super) const ASCII_MARKS: Set = Set::of(&[ASCII_PUNCTUATION, ASCII_SYMBOL, SLASH]);

const RUNS: &[u8] = include_bytes!("classes.bin");

/// The table, unpacked once.
pub(super) struct Classes {
    /// Of the characters below U+0800.
    low: Vec<Class>,
    /// First character of each run `<< 8 |` class, ascending.
    runs: Vec<u32>,
}

impl Classes {
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<Classes> = OnceLock::new();
        TABLE.get_or_init(Self::unpack)
    }

    fn unpack() -> Self {
        let mut table = Self { low: Vec::with_capacity(0x800), runs: Vec::new() };
        let mut start = 0;
        for number in Numbers::of(RUNS) {
            let (length, class) = (number / STORED + 1, number % STORED);
            table.runs.push(start << 8 | class);
            for code in start..(start + length).min(0x800) {
                let c = char::from_u32(code).unwrap_or_default();
                table.low.push(carved(c, class as Class));
            }
            start += length;
        }
        table
    }

    #[inline]
    pub fn of(&self, c: char) -> Class {
        let code = c as u32;
        match self.low.get(code as usize) {
            Some(&class) => class,
            None => value_in(&self.runs, code).unwrap_or(OTHER),
        }
    }
}

/// The narrower class of some ASCII characters.
fn carved(c: char, stored: Class) -> Class {
    match (c, stored) {
        (' ', _) => SPACE,
        ('\r' | '\n', _) => NEWLINE,
        ('/', _) => SLASH,
        (_, stored) if !c.is_ascii() => stored,
        (_, UPPER) => ASCII_UPPER,
        (_, LOWER) => ASCII_LOWER,
        (_, NUMBER) => ASCII_DIGIT,
        (_, PUNCTUATION) => ASCII_PUNCTUATION,
        (_, SYMBOL) => ASCII_SYMBOL,
        (_, stored) => stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_cover_every_character() {
        let table = Classes::get();
        assert_eq!(table.low.len(), 0x800);
        assert!(table.runs.windows(2).all(|pair| pair[0] >> 8 < pair[1] >> 8));
        // Plane 16 ends in two code points that are no characters.
        assert_eq!(table.of(char::MAX), OTHER);
    }

    #[test]
    fn white_space_and_numbers_are_those_of_the_standard_library() {
        // The two tables may know different versions of Unicode: numbers newer than 16 are let off.
        let table = Classes::get();
        for c in '\0'..=char::MAX {
            let class = table.of(c);
            assert_eq!(WHITES.contains(class), c.is_whitespace(), "{c:?}");
            if NUMBERS.contains(class) {
                assert!(c.is_numeric(), "{c:?}");
            }
            if LETTERS.contains(class) {
                assert!(c.is_alphabetic(), "{c:?}");
            }
        }
    }

    #[test]
    fn sets_hold_what_their_names_say() {
        let table = Classes::get();
        let holds = |set: Set, c: char| set.contains(table.of(c));
        for (set, members) in [
            (UPPERCASE, "AÀΩДǅ"),
            (LOWERCASE, "aßωд"),
            (CASELESS, "ªʰ日ก한"),
            (MARKS, "\u{301}\u{93f}"),
            (NUMBERS, "5٣Ⅷ½²"),
            (PUNCTUATIONS, "!-/_«。"),
            (SYMBOLS, "$+~`€©🙂"),
            (WHITES, " \t\r\n\u{b}\u{a0}\u{3000}\u{85}"),
            (ASCII_MARKS, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
            (ASCII_SYMBOLS, "$+<=>^`|~"),
        ] {
            for c in members.chars() {
                assert!(holds(set, c) && !holds(set.not(), c), "{c:?}");
            }
        }
        let ascii = |set| ('\0'..'\u{80}').filter(|&c| holds(set, c)).count();
        assert_eq!([ascii(ASCII_MARKS), ascii(ASCII_SYMBOLS), ascii(ASCII_DIGITS)], [32, 9, 10]);
        assert!(
            !holds(WHITES.not(), ' ') && !WHITES.contains(INSIDE) && !WHITES.not().contains(INSIDE)
        );
    }
}
