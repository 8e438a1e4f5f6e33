//! The tokens of a byte-level vocabulary: one buffer of bytes, and a hash table of ids that holds no text.

use super::alphabet::Alphabet;
use crate::error::{Error, Result};
use crate::text::sentencepiece::PieceKind;
use hashbrown::HashTable;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

/// Tokens in id order, as the bytes that each one writes.
pub(super) struct Vocabulary {
    bytes: Vec<u8>,
    /// Where each token's bytes end.
    ends: Vec<u32>,
    kinds: Vec<PieceKind>,
    /// The tokens by their bytes.
    found: HashTable<u32>,
}

impl Vocabulary {
    /// `kinds` says of each token what it is; where it is empty, all are ordinary.
    pub fn new<'a>(
        file: &str,
        tokens: impl Iterator<Item = &'a str>,
        kinds: &[PieceKind],
        alphabet: &Alphabet,
    ) -> Result<Self> {
        let mut vocabulary = Self {
            bytes: Vec::new(),
            ends: Vec::with_capacity(kinds.len()),
            kinds: Vec::with_capacity(kinds.len()),
            found: HashTable::with_capacity(kinds.len()),
        };
        for (index, text) in tokens.enumerate() {
            let kind = match kinds.get(index) {
                Some(&kind) => kind,
                None if kinds.is_empty() => PieceKind::Normal,
                None => {
                    return Err(damaged(
                        file,
                        "token_type",
                        format!("token {index} has no type: there are {}", kinds.len()),
                    ));
                }
            };
            vocabulary.push(file, text, kind, alphabet)?;
        }
        if vocabulary.len() < kinds.len() {
            let what = format!("{} token types for {} tokens", kinds.len(), vocabulary.len());
            return Err(damaged(file, "token_type", what));
        }
        Ok(vocabulary)
    }

    fn push(&mut self, file: &str, text: &str, kind: PieceKind, alphabet: &Alphabet) -> Result<()> {
        let id = self.len() as u32;
        let start = self.bytes.len();
        let ordinary = matches!(kind, PieceKind::Normal | PieceKind::Unused);
        let byte = (kind == PieceKind::Byte).then(|| byte_value(text)).flatten();
        let mut is_found = byte.is_none();
        if let Some(byte) = byte {
            self.bytes.push(byte);
        } else if !ordinary {
            self.bytes.extend_from_slice(text.as_bytes());
        } else if !alphabet.decode(text, &mut self.bytes) {
            // No words are spelled that way: it can be read, but never be met.
            self.bytes.extend_from_slice(text.as_bytes());
            is_found = false;
        }
        let Ok(end) = u32::try_from(self.bytes.len()) else {
            let what = "a vocabulary of 4 GiB; less is".to_owned();
            return Err(Error::Unsupported { file: file.to_owned(), what });
        };
        self.ends.push(end);
        self.kinds.push(kind);
        if is_found && end as usize > start {
            let Self { bytes, ends, kinds, found } = self;
            let entry = found.entry(
                hash(bytes.get(start..).unwrap_or_default()),
                |&other| spelled(bytes, ends, other) == bytes.get(start..),
                |&other| hash(spelled(bytes, ends, other).unwrap_or_default()),
            );
            // Of tokens with the same bytes the first ordinary one counts.
            let mut entry = entry.or_insert(id);
            if kinds.get(*entry.get() as usize) != Some(&PieceKind::Normal) {
                *entry.get_mut() = id;
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes that a token writes; of a control token its name.
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        spelled(&self.bytes, &self.ends, id)
    }

    pub fn kind(&self, id: u32) -> Option<PieceKind> {
        self.kinds.get(id as usize).copied()
    }

    pub fn set_kind(&mut self, id: u32, kind: PieceKind) {
        if let Some(slot) = self.kinds.get_mut(id as usize) {
            *slot = kind;
        }
    }

    /// The ordinary token that writes exactly these bytes.
    pub fn id(&self, bytes: &[u8]) -> Option<u32> {
        self.any_id(bytes).filter(|&id| self.kind(id) == Some(PieceKind::Normal))
    }

    /// The token of any kind that writes exactly these bytes.
    pub fn any_id(&self, bytes: &[u8]) -> Option<u32> {
        self.found.find(hash(bytes), |&id| self.bytes(id) == Some(bytes)).copied()
    }
}

/// An error of a list in the metadata, `tokenizer.ggml.<list>`.
pub(super) fn damaged(file: &str, list: &str, what: String) -> Error {
    let key = format!("tokenizer.ggml.{list}");
    Error::Metadata { file: file.to_owned(), key, offset: None, what }
}

fn spelled<'a>(bytes: &'a [u8], ends: &[u32], id: u32) -> Option<&'a [u8]> {
    let id = id as usize;
    let end = *ends.get(id)? as usize;
    let start = id.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    bytes.get(Range { start: start as usize, end })
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The byte written `<0xNN>`.
fn byte_value(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2)
}
