//! Byte-pair encoding: of all neighbours the pair that comes first in the list becomes one token, again and again
//! (Sennrich et al. 2016, arXiv:1508.07909).

use super::super::file;
use super::super::section::Section;
use super::super::vocabulary::Vocabulary;
use super::{Give, unknown};
use crate::error::Result;
use crate::text::byte_bpe::{Merger, Merges};

pub(super) struct Bpe {
    /// Of ranks of tokens, which are dense where ids are not.
    merges: Merges,
    unknown: Option<u32>,
    /// Whether unknown neighbours become one token.
    fuse_unknown: bool,
    byte_fallback: bool,
    /// Whether a word that is a token is taken whole, whatever the merges would make of it.
    ignore_merges: bool,
    /// In front of every token that does not begin a word.
    prefix: String,
    /// Behind every token that ends a word.
    suffix: String,
}

impl Bpe {
    pub fn read(
        section: &Section,
        vocabulary: &Vocabulary,
        merges: Option<file::Merges>,
    ) -> Result<Self> {
        let text = |key: &str| {
            let section = section.get(key);
            if section.is_there() { section.text() } else { Ok("") }
        };
        let prefix = text("continuing_subword_prefix")?;
        let key = section.get("merges");
        let merges = merges.ok_or_else(|| key.damaged("missing"))?;
        let mut found = Vec::new();
        let mut merged = String::new();
        for (rank, (left, right)) in merges.iter().enumerate() {
            let id = |text: &str| {
                vocabulary.index(text).ok_or_else(|| {
                    key.damaged(format!("merge {rank}, {left:?} {right:?}: {text:?} is no token"))
                })
            };
            let Some(tail) = right.get(prefix.len()..) else {
                let what = format!("merge {rank}: {right:?} is shorter than {prefix:?}");
                return Err(key.damaged(what));
            };
            merged.clear();
            merged.push_str(left);
            merged.push_str(tail);
            let pair = u64::from(id(left)?) << 32 | u64::from(id(right)?);
            found.push((pair, (rank as u64) << 32 | u64::from(id(&merged)?)));
        }
        // Of a pair given twice the last counts.
        found.sort_unstable_by_key(|&(pair, made)| (pair, std::cmp::Reverse(made)));
        found.dedup_by_key(|&mut (pair, _)| pair);
        let unk_token = section.get("unk_token");
        let dropout = section.get("dropout");
        if dropout.is_there() {
            return Err(dropout.unsupported("dropout", "without it is"));
        }
        Ok(Self {
            merges: Merges::of_sorted(found, vocabulary.len()),
            unknown: match unk_token.is_there() {
                true => Some(unknown(section, vocabulary)?),
                false => None,
            },
            fuse_unknown: section.get("fuse_unk").flag_or(false)?,
            byte_fallback: section.get("byte_fallback").flag_or(false)?,
            ignore_merges: section.get("ignore_merges").flag_or(false)?,
            prefix: prefix.to_owned(),
            suffix: text("end_of_word_suffix")?.to_owned(),
        })
    }

    pub fn cut(&self, vocabulary: &Vocabulary, word: &str, give: Give) {
        if self.ignore_merges
            && let Some(id) = vocabulary.id(word)
        {
            return give(id, 0..word.len());
        }
        let (symbols, end) = self.symbols(vocabulary, word);
        let mut start = 0;
        Merger::default().merge_symbols(&self.merges, symbols.into_iter(), end, |index, end| {
            if let Some(id) = vocabulary.id_at(index) {
                give(id, start..end);
            }
            start = end;
        });
    }

    /// The tokens of the characters, each with where it starts, and where the last ends. Characters that are left
    /// out have no length, so that what follows them is moved to the front, as in the reference.
    fn symbols(&self, vocabulary: &Vocabulary, word: &str) -> (Vec<(u32, u32)>, usize) {
        let unknown = self.unknown.and_then(|id| vocabulary.index(vocabulary.text(id)?));
        let mut symbols: Vec<(u32, u32)> = Vec::with_capacity(word.len());
        let mut end = 0u32;
        let mut push = |index: u32, length: usize| {
            symbols.push((end, index));
            end += length as u32;
        };
        // Bytes of an unknown token that waits: as in the reference, spelled bytes overtake it.
        let mut waiting = None::<usize>;
        let mut text = String::new();
        for (at, c) in word.char_indices() {
            let length = c.len_utf8();
            text.clear();
            if at > 0 {
                text.push_str(&self.prefix);
            }
            text.push(c);
            if at + length == word.len() {
                text.push_str(&self.suffix);
            }
            if let Some(index) = vocabulary.index(&text) {
                if let (Some(unknown), Some(length)) = (unknown, waiting.take()) {
                    push(unknown, length);
                }
                push(index, length);
            } else if let Some(bytes) = self.spelled(vocabulary, &text) {
                bytes.into_iter().for_each(|index| push(index, 1));
            } else if let Some(unknown) = unknown {
                waiting = Some(match waiting {
                    Some(before) if self.fuse_unknown => before + length,
                    Some(before) => {
                        push(unknown, before);
                        length
                    }
                    None => length,
                });
            }
        }
        if let (Some(unknown), Some(length)) = (unknown, waiting) {
            push(unknown, length);
        }
        (symbols, end as usize)
    }

    /// The tokens of the bytes, if that is asked for and there is one for each.
    fn spelled(&self, vocabulary: &Vocabulary, text: &str) -> Option<Vec<u32>> {
        let index = |byte: u8| vocabulary.index(&format!("<0x{byte:02X}>"));
        self.byte_fallback.then(|| text.bytes().map(index).collect()).flatten()
    }
}
