//! What normalizers and pre-tokenizers take a character for.
//!
//! A table of 3 KB, written by `tests/fixtures/text/json_tokenizer/categories.py`, which asks the reference: its
//! components know different versions of Unicode, the oldest of 2015.

use crate::text::packed::{Numbers, value_in};
use std::sync::OnceLock;

const RUNS: &[u8] = include_bytes!("categories.bin");
/// Number of questions the table answers.
const BITS: u32 = 5;

/// Gone after BERT's `clean_text`: control, format and private characters.
pub(super) const UNCLEAN: u8 = 1;
/// Gone after BERT's `strip_accents`, once decomposed: nonspacing marks.
pub(super) const ACCENT: u8 = 2;
/// Gone after the normalizer `StripAccents`: all marks.
pub(super) const MARK: u8 = 4;
/// Stands alone for BERT and for the pre-tokenizer `Punctuation`.
pub(super) const PUNCTUATION: u8 = 8;
/// `\w` of the reference's regular expressions.
pub(super) const WORD: u8 = 16;

struct Categories {
    /// First character of each run `<< 8 |` its bits, ascending.
    runs: Vec<u32>,
    low: [u8; 0x100],
}

impl Categories {
    fn unpack() -> Self {
        let mut table = Self { runs: Vec::new(), low: [0; 0x100] };
        let mut start = 0;
        for number in Numbers::of(RUNS) {
            table.runs.push(start << 8 | number & ((1 << BITS) - 1));
            start += (number >> BITS) + 1;
        }
        let low: Vec<u8> = (0..0x100).map(|code| table.find(code)).collect();
        table.low.copy_from_slice(&low);
        table
    }

    fn find(&self, code: u32) -> u8 {
        value_in(&self.runs, code).unwrap_or(0)
    }
}

/// Whether `c` is of one of the kinds.
pub(super) fn is(c: char, kinds: u8) -> bool {
    static TABLE: OnceLock<Categories> = OnceLock::new();
    let table = TABLE.get_or_init(Categories::unpack);
    let code = c as u32;
    let bits = table.low.get(code as usize).copied().unwrap_or_else(|| table.find(code));
    bits & kinds != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_the_characters_that_its_name_says() {
        for (kind, members, others) in [
            (UNCLEAN, "\0\u{1}\u{ad}\u{200d}\u{e000}\u{fff9}", "a é日\u{301}\u{378}"),
            (ACCENT, "\u{301}\u{e31}\u{e0100}", "aé\u{903}^"),
            (MARK, "\u{301}\u{903}\u{20dd}", "aé^"),
            (PUNCTUATION, "!$+~`«。_\u{2026}", "aé €°\u{301}"),
            (WORD, "aé9_日\u{301}\u{200d}٣", " -.€½"),
        ] {
            assert!(members.chars().all(|c| is(c, kind)), "{kind} {members}");
            assert!(!others.chars().any(|c| is(c, kind)), "{kind} {others}");
        }
    }
}
