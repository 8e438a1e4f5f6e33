//! Decoders: from the texts of tokens to a text for people.

use super::pattern::Pattern;
use super::pre_tokenizers::{Metaspace, Prepend};
use super::section::Section;
use crate::error::Result;
use crate::text::byte_bpe::Alphabet;

const KNOWN: &str =
    "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip, WordPiece are";

/// One step, or several in a row.
pub(super) enum Decoder {
    /// A suffix at the ends of words.
    Bpe {
        suffix: String,
    },
    /// `<0xNN>` for the bytes of UTF-8.
    ByteFallback,
    /// Printable stand-ins for bytes.
    ByteLevel,
    /// All in one.
    Fuse,
    Metaspace(Metaspace),
    Replace {
        pattern: Pattern,
        content: String,
    },
    Sequence(Vec<Decoder>),
    /// At most so many of a character off the ends of each token.
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
}

impl Decoder {
    /// Reads a decoder.
    pub fn read(section: &Section) -> Result<Self> {
        Ok(match section.kind()? {
            "BPEDecoder" => Self::Bpe { suffix: section.get("suffix").text()?.to_owned() },
            "ByteFallback" => Self::ByteFallback,
            "ByteLevel" => Self::ByteLevel,
            "Fuse" => Self::Fuse,
            "Metaspace" => Self::Metaspace(Metaspace::read(section)?),
            "Replace" => Self::Replace {
                pattern: Pattern::read(&section.get("pattern"))?,
                content: section.get("content").text()?.to_owned(),
            },
            "Sequence" => {
                let parts = section.get("decoders").list()?;
                Self::Sequence(parts.iter().map(Self::read).collect::<Result<_>>()?)
            }
            "Strip" => Self::Strip {
                content: section.get("content").character()?,
                start: section.get("start").number()? as usize,
                stop: section.get("stop").number()? as usize,
            },
            "WordPiece" => Self::WordPiece {
                prefix: section.get("prefix").text()?.to_owned(),
                cleanup: section.get("cleanup").flag()?,
            },
            other => return Err(section.unsupported(&format!("the decoder {other}"), KNOWN)),
        })
    }

    pub fn apply(&self, mut tokens: Vec<String>) -> Vec<String> {
        match self {
            Self::Bpe { suffix } => {
                let last = tokens.len().saturating_sub(1);
                for (index, token) in tokens.iter_mut().enumerate() {
                    let end = if index == last { "" } else { " " };
                    *token = token.replace(suffix.as_str(), end);
                }
            }
            Self::ByteFallback => return byte_fallback(tokens),
            Self::ByteLevel => return vec![byte_level(&tokens)],
            Self::Fuse => return vec![tokens.concat()],
            Self::Metaspace(metaspace) => {
                let mark = metaspace.replacement;
                for (index, token) in tokens.iter_mut().enumerate() {
                    let is_put_in = index == 0 && metaspace.prepend != Prepend::Never;
                    *token = token.replace(mark, if is_put_in { "" } else { " " });
                }
            }
            Self::Replace { pattern, content } => {
                for token in &mut tokens {
                    for range in pattern.matches(token).into_iter().rev() {
                        token.replace_range(range, content);
                    }
                }
            }
            Self::Sequence(parts) => {
                return parts.iter().fold(tokens, |tokens, part| part.apply(tokens));
            }
            Self::Strip { content, start, stop } => {
                for token in &mut tokens {
                    *token = strip(token, *content, *start, *stop).to_owned();
                }
            }
            Self::WordPiece { prefix, cleanup } => {
                for (index, token) in tokens.iter_mut().enumerate() {
                    if index > 0 {
                        *token = match token.strip_prefix(prefix.as_str()) {
                            Some(rest) => rest.to_owned(),
                            None => format!(" {token}"),
                        };
                    }
                    if *cleanup {
                        *token = clean(token);
                    }
                }
            }
        }
        tokens
    }
}

/// Takes at most `start` and `stop` of a character off the ends.
fn strip(token: &str, content: char, start: usize, stop: usize) -> &str {
    let mut rest = token;
    for _ in 0..start {
        let Some(shorter) = rest.strip_prefix(content) else { break };
        rest = shorter;
    }
    for _ in 0..stop {
        let Some(shorter) = rest.strip_suffix(content) else { break };
        rest = shorter;
    }
    rest
}

/// English punctuation without the space in front of it.
fn clean(token: &str) -> String {
    let rules = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    rules.iter().fold(token.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Bytes back from their stand-ins; a token that has other characters is taken as it is.
fn byte_level(tokens: &[String]) -> String {
    let alphabet = Alphabet::new();
    let mut bytes = Vec::new();
    for token in tokens {
        if !alphabet.decode(token, &mut bytes) {
            bytes.extend_from_slice(token.as_bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Joins runs of byte tokens; a run that is no UTF-8 becomes one U+FFFD a byte.
fn byte_fallback(tokens: Vec<String>) -> Vec<String> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut bytes: Vec<u8> = Vec::new();
    let finish = |bytes: &mut Vec<u8>, out: &mut Vec<String>| {
        let count = bytes.len();
        match String::from_utf8(std::mem::take(bytes)) {
            Ok(text) if count > 0 => out.push(text),
            Ok(_) => {}
            Err(_) => out.extend(std::iter::repeat_n("\u{fffd}".to_owned(), count)),
        }
    };
    for token in tokens {
        let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
        let byte = digits.filter(|digits| digits.len() == 2);
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => {
                finish(&mut bytes, &mut out);
                out.push(token);
            }
        }
    }
    finish(&mut bytes, &mut out);
    out
}
