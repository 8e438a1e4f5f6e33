//! WordPiece: of a word the longest beginning that is in the vocabulary, and again of the rest (Wu et al. 2016,
//! arXiv:1609.08144).

use super::super::section::Section;
use super::super::vocabulary::Vocabulary;
use super::{Give, unknown};
use crate::error::Result;

pub(super) struct WordPiece {
    unknown: u32,
    /// In front of every token that does not begin a word.
    prefix: String,
    /// Characters of the longest word that is cut at all.
    longest: usize,
}

impl WordPiece {
    pub fn read(section: &Section, vocabulary: &Vocabulary) -> Result<Self> {
        Ok(Self {
            unknown: unknown(section, vocabulary)?,
            prefix: section.get("continuing_subword_prefix").text()?.to_owned(),
            longest: section.get("max_input_chars_per_word").number()? as usize,
        })
    }

    /// A word that is too long, or of which some part is in no token, is the unknown token as a whole.
    pub fn cut(&self, vocabulary: &Vocabulary, word: &str, give: Give) {
        if word.chars().count() > self.longest {
            return give(self.unknown, 0..word.len());
        }
        let mut found = Vec::new();
        let mut start = 0;
        // What is left of the word, with the prefix.
        let mut rest = String::with_capacity(self.prefix.len() + word.len());
        while start < word.len() {
            rest.clear();
            if start > 0 {
                rest.push_str(&self.prefix);
            }
            let prefix = rest.len();
            rest.push_str(word.get(start..).unwrap_or_default());
            let id = loop {
                if let Some(id) = vocabulary.id(&rest) {
                    break Some(id);
                }
                rest.pop();
                if rest.len() <= prefix {
                    break None;
                }
            };
            let Some(id) = id else { return give(self.unknown, 0..word.len()) };
            let end = start + rest.len() - prefix;
            found.push((id, start..end));
            start = end;
        }
        for (id, range) in found {
            give(id, range);
        }
    }
}
