//! Decompositions, compositions and combining classes, from a table of 11 KB that
//! `tests/fixtures/text/tokenizer/compose.py` writes.

use crate::text::packed::Numbers;
use std::sync::OnceLock;

const TABLE: &[u8] = include_bytes!("compose.bin");

const SYLLABLES: u32 = 0xac00;
const LEADS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
/// The first tail is one less: none.
const TAILS: u32 = 0x11a7;
const VOWEL_COUNT: u32 = 21;
const TAIL_COUNT: u32 = 28;
const LEAD_COUNT: u32 = 19;
const SYLLABLE_COUNT: u32 = LEAD_COUNT * VOWEL_COUNT * TAIL_COUNT;

/// The unpacked table.
pub(crate) struct Table {
    /// Character, its parts (the second 0 where there is one part), and whether they compose again; ascending.
    parts: Vec<(u32, u32, u32, bool)>,
    /// Second part `<< 32 |` first part, and what they compose to; ascending.
    pairs: Vec<(u64, u64)>,
    /// First mark, the one behind the last, and the class of both; ascending.
    marks: Vec<(u32, u32, u8)>,
}

impl Table {
    pub fn get() -> &'static Self {
        static UNPACKED: OnceLock<Table> = OnceLock::new();
        UNPACKED.get_or_init(Self::unpack)
    }

    fn unpack() -> Self {
        let mut numbers = Numbers::of(TABLE);
        let count = numbers.next().unwrap_or_default();
        let mut table = Self { parts: Vec::new(), pairs: Vec::new(), marks: Vec::new() };
        let mut code = 0;
        for _ in 0..count {
            code += numbers.next().unwrap_or_default();
            let first = numbers.next().unwrap_or_default();
            let word = numbers.next().unwrap_or_default();
            let (second, composes) = (word >> 1, word & 1 == 1);
            table.parts.push((code, first, second, composes));
            if composes {
                table.pairs.push((pair(first, second), code.into()));
            }
        }
        table.pairs.sort_unstable();
        let mut end = 0;
        while let (Some(step), Some(length), Some(class)) =
            (numbers.next(), numbers.next(), numbers.next())
        {
            let start = end + step;
            end = start + length;
            table.marks.push((start, end, class as u8));
        }
        table
    }

    /// Canonical combining class: 0 for all but marks.
    pub fn class(&self, c: char) -> u8 {
        let code = c as u32;
        let next = self.marks.partition_point(|&(start, ..)| start <= code);
        let run = next.checked_sub(1).and_then(|last| self.marks.get(last));
        run.filter(|&&(_, end, _)| code < end).map_or(0, |&(.., class)| class)
    }

    /// Whether the character may compose with what is in front of it, or go in front of it.
    pub fn joins(&self, c: char) -> bool {
        let code = c as u32;
        if (0x3400..0xa000).contains(&code)
            || (SYLLABLES..SYLLABLES + SYLLABLE_COUNT).contains(&code)
        {
            return false;
        }
        (VOWELS..VOWELS + VOWEL_COUNT).contains(&code)
            || (TAILS..TAILS + TAIL_COUNT).contains(&code)
            || self.is_second(code)
            || self.class(c) != 0
            || self.entry(code).is_some_and(|&(_, first, ..)| {
                char::from_u32(first).is_some_and(|first| self.joins(first))
            })
    }

    /// Whether composed text never holds the character.
    pub fn changes(&self, c: char) -> bool {
        self.entry(c as u32).is_some_and(|&(.., composes)| !composes)
    }

    fn is_second(&self, code: u32) -> bool {
        let next = self.pairs.partition_point(|&(parts, _)| parts < pair(0, code));
        self.pairs.get(next).is_some_and(|&(parts, _)| (parts >> 32) as u32 == code)
    }

    fn entry(&self, code: u32) -> Option<&(u32, u32, u32, bool)> {
        let at = self.parts.binary_search_by_key(&code, |&(code, ..)| code).ok()?;
        self.parts.get(at)
    }

    /// Appends the parts of `c` that have none themselves.
    pub fn decompose(&self, c: char, out: &mut Vec<char>) {
        let code = c as u32;
        let syllable = code.wrapping_sub(SYLLABLES);
        if syllable < SYLLABLE_COUNT {
            let (lead, rest) =
                (syllable / (VOWEL_COUNT * TAIL_COUNT), syllable % (VOWEL_COUNT * TAIL_COUNT));
            let tail = rest % TAIL_COUNT;
            out.extend(char::from_u32(LEADS + lead));
            out.extend(char::from_u32(VOWELS + rest / TAIL_COUNT));
            out.extend(char::from_u32(TAILS + tail).filter(|_| tail > 0));
            return;
        }
        let Some(&(_, first, second, _)) = self.entry(code) else { return out.push(c) };
        for part in [first, second].into_iter().filter(|&part| part != 0) {
            if let Some(part) = char::from_u32(part) {
                self.decompose(part, out);
            }
        }
    }

    /// What the two compose to.
    pub fn compose(&self, first: char, second: char) -> Option<char> {
        let (first, second) = (first as u32, second as u32);
        let (lead, vowel) = (first.wrapping_sub(LEADS), second.wrapping_sub(VOWELS));
        if lead < LEAD_COUNT && vowel < VOWEL_COUNT {
            return char::from_u32(SYLLABLES + (lead * VOWEL_COUNT + vowel) * TAIL_COUNT);
        }
        let (syllable, tail) = (first.wrapping_sub(SYLLABLES), second.wrapping_sub(TAILS));
        if syllable < SYLLABLE_COUNT
            && syllable % TAIL_COUNT == 0
            && (1..TAIL_COUNT).contains(&tail)
        {
            return char::from_u32(first + tail);
        }
        let parts = pair(first, second);
        let at = self.pairs.binary_search_by_key(&parts, |&(parts, _)| parts).ok()?;
        self.pairs.get(at).and_then(|&(_, code)| char::from_u32(code as u32))
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(second) << 32 | u64::from(first)
}
