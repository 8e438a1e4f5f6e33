//! Byte-level byte-pair encoding, the tokenizer of GPT-2, Llama 3, Qwen, SmolLM and most others (Radford et al.
//! 2019): a text is cut into words, a word's bytes are merged in the order the vocabulary gives.

mod alphabet;
mod classes;
mod merges;
mod pattern;
mod pre_tokenizers;
mod vocabulary;

use crate::error::Result;
use crate::text::compose::compose;
use crate::text::sentencepiece::{Piece, PieceKind};
#[cfg(not(feature = "encoder"))]
use alphabet::Alphabet;
#[cfg(not(feature = "encoder"))]
use merges::{Merger, Merges};
use pre_tokenizers::PreTokenizer;
use vocabulary::Vocabulary;

#[cfg(feature = "encoder")]
pub(crate) use {
    alphabet::{Alphabet, stand_in},
    merges::{Merger, Merges},
    pre_tokenizers::gpt2_words,
};

/// What a vocabulary of byte-level BPE is made from; all of it stands in the metadata of a GGUF file.
pub struct ByteBpeParts<'a> {
    /// Name of the file, for errors.
    pub file: &'a str,
    /// Name of the pre-tokenizer, `tokenizer.ggml.pre`.
    pub pre_tokenizer: &'a str,
    /// Texts of the tokens in id order, `tokenizer.ggml.tokens`.
    pub tokens: Box<dyn Iterator<Item = &'a str> + 'a>,
    /// What each token is; all are ordinary where this is empty.
    pub kinds: Vec<PieceKind>,
    /// `left right`, best first, `tokenizer.ggml.merges`.
    pub merges: Box<dyn Iterator<Item = &'a str> + 'a>,
}

/// A byte-level vocabulary with its merges.
pub struct ByteBpe {
    vocabulary: Vocabulary,
    merges: Merges,
    pre_tokenizer: &'static PreTokenizer,
    /// The token of each byte; some vocabularies lack some.
    byte_ids: Box<[Option<u32>; 256]>,
}

impl ByteBpe {
    /// Takes the parts together.
    ///
    /// # Errors
    /// [`crate::error::Error::Unsupported`] for a pre-tokenizer that is not known (the known ones are listed),
    /// [`crate::error::Error::Metadata`] where types and tokens differ in number or a merge is of no known tokens.
    pub fn new(parts: ByteBpeParts) -> Result<Self> {
        let pre_tokenizer = PreTokenizer::named(parts.file, parts.pre_tokenizer)?;
        let alphabet = Alphabet::new();
        let vocabulary = Vocabulary::new(parts.file, parts.tokens, &parts.kinds, &alphabet)?;
        let merges = Merges::new(parts.file, parts.merges, &vocabulary, &alphabet)?;
        let mut byte_ids = Box::new([None; 256]);
        for (byte, id) in (0..=u8::MAX).zip(byte_ids.iter_mut()) {
            *id = vocabulary.id(&[byte]);
        }
        Ok(Self { vocabulary, merges, pre_tokenizer, byte_ids })
    }

    /// Number of tokens: ids are `0..vocab_size`.
    pub fn vocab_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// The bytes that a token writes, not always whole characters; of a control token its name.
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.bytes(id)
    }

    /// What a token is.
    pub fn kind(&self, id: u32) -> Option<PieceKind> {
        self.vocabulary.kind(id)
    }

    /// Makes a control token of one that is named like one: some converters forget to.
    pub(crate) fn mark_control(&mut self, id: u32) {
        let named_like_one = |name: &[u8]| name.starts_with(b"<") || name.starts_with(b"[");
        if self.bytes(id).is_some_and(named_like_one) {
            self.vocabulary.set_kind(id, PieceKind::Control);
        }
    }

    /// Whether models with this pre-tokenizer begin a text with the mark of the beginning, unless their file
    /// says something else.
    pub fn adds_bos(&self) -> bool {
        self.pre_tokenizer.add_bos
    }

    /// Splits `text` into ordinary tokens: names of control tokens in it are text like any other.
    ///
    /// The ranges tile the text and lie between characters. Where a token ends within a character, its range
    /// ends in front of it: a character belongs to the token that completes it, and a token that completes
    /// none has an empty range. A byte that the vocabulary has no token for is left out, as the reference
    /// does, and falls to a neighbour's range.
    pub fn encode(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(text.len() / 3);
        self.encode_into(text, 0, &mut pieces);
        pieces
    }

    /// Appends the tokens of a text that begins at byte `base` of the whole, where the last piece so far ends.
    pub(crate) fn encode_into(&self, text: &str, base: usize, pieces: &mut Vec<Piece>) {
        let before = pieces.len();
        match self.pre_tokenizer.composes.then(|| compose(text)).flatten() {
            Some(composed) => {
                let origin =
                    |at: usize| composed.origin.get(at).map_or(text.len(), |&at| at as usize);
                self.encode_words(&composed.text, |at| base + origin(at), pieces);
            }
            None => self.encode_words(text, |at| base + at, pieces),
        }
        if let Some(last) = pieces.get_mut(before..).and_then(<[Piece]>::last_mut) {
            last.range.end = base + text.len();
        }
    }

    /// `origin` says from which byte of the whole one of `text` comes.
    fn encode_words(&self, text: &str, origin: impl Fn(usize) -> usize, pieces: &mut Vec<Piece>) {
        let mut merger = Merger::default();
        let (mut start, mut given) = (0, origin(0));
        for end in self.pre_tokenizer.split(text) {
            let word = text.as_bytes().get(start..end).unwrap_or_default();
            let mut give = |id: u32, end_in_word: usize| {
                let mut to = start + end_in_word;
                while !text.is_char_boundary(to) {
                    to -= 1;
                }
                let to = origin(to);
                pieces.push(Piece { id, range: given..to });
                given = to;
            };
            let whole =
                self.pre_tokenizer.ignore_merges.then(|| self.vocabulary.id(word)).flatten();
            match whole {
                Some(id) => give(id, word.len()),
                None => merger.merge(&self.merges, &self.byte_ids, word, give),
            }
            start = end;
        }
    }
}
