//! BERT's normalizer: control characters out, CJK apart, accents and capitals out where the model has none.

use super::super::aligned::Aligned;
use super::super::categories::{self, ACCENT, UNCLEAN};
use super::super::section::Section;
use super::forms;
use crate::error::Result;

pub(in super::super) struct Bert {
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: bool,
    lowercase: bool,
}

impl Bert {
    pub fn read(section: &Section) -> Result<Self> {
        let lowercase = section.get("lowercase").flag()?;
        Ok(Self {
            clean_text: section.get("clean_text").flag()?,
            handle_chinese_chars: section.get("handle_chinese_chars").flag()?,
            // Where the file does not say, capitals and accents go together.
            strip_accents: section.get("strip_accents").flag_or(lowercase)?,
            lowercase,
        })
    }

    pub fn apply(&self, text: &mut Aligned) {
        if self.clean_text || self.handle_chinese_chars {
            text.each(|c, give| self.clean(c, give));
        }
        if self.strip_accents && !text.text().is_ascii() {
            forms::decompose(text);
            text.keep(|c| !categories::is(c, ACCENT));
        }
        if self.lowercase {
            text.lowercase();
        }
    }

    fn clean(&self, mut c: char, give: &mut dyn FnMut(char)) {
        if self.clean_text {
            if matches!(c, '\t' | '\n' | '\r') {
                c = ' ';
            } else if c == '\0' || c == '\u{fffd}' || categories::is(c, UNCLEAN) {
                return;
            } else if c.is_whitespace() {
                c = ' ';
            }
        }
        if self.handle_chinese_chars && is_ideograph(c) {
            give(' ');
            give(c);
            give(' ');
        } else {
            give(c);
        }
    }
}

/// Whether BERT sets `c` apart as a word: the ideographs of Chinese, Japanese and Korean, but no kana and hangul.
/// Plane 2 has gaps, as the reference has them.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}')
}
