//! Text: tokenizers, sentence segmentation, and the book-keeping of ranges in the source string.

pub mod sentencepiece;
