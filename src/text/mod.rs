//! Text: tokenizers, sentence segmentation, and the book-keeping of ranges in the source string.

pub mod byte_bpe;
pub mod casing;
mod charsmap;
pub mod compose;
pub mod fold;
pub mod grapheme;
#[cfg(feature = "encoder")]
pub mod json_tokenizer;
mod packed;
pub mod protect;
pub mod repetition;
pub mod segment;
pub mod sentencepiece;
pub mod tokenizer;
mod trie;
pub mod utf16;
