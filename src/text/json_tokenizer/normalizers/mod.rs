//! Normalizers: what a text becomes before it is cut into words. Where each part comes from is kept.

mod bert;
mod forms;
mod precompiled;

use super::aligned::Aligned;
use super::categories::{self, MARK};
use super::pattern::Pattern;
use super::section::Section;
use crate::error::Result;
use bert::Bert;
use precompiled::Precompiled;

const KNOWN: &str = "BertNormalizer, Lowercase, NFC, NFD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents are";

/// One step, or several in a row.
pub(super) enum Normalizer {
    Bert(Bert),
    Lowercase,
    /// Unicode's composed form.
    Nfc,
    /// Unicode's decomposed form.
    Nfd,
    /// White space and control characters as in the training data of neural machine translation.
    Nmt,
    Precompiled(Precompiled),
    Prepend(String),
    Replace {
        pattern: Pattern,
        content: String,
    },
    Sequence(Vec<Normalizer>),
    Strip {
        left: bool,
        right: bool,
    },
    StripAccents,
}

impl Normalizer {
    /// Reads a normalizer.
    pub fn read(section: &Section) -> Result<Self> {
        Ok(match section.kind()? {
            "BertNormalizer" => Self::Bert(Bert::read(section)?),
            "Lowercase" => Self::Lowercase,
            "NFC" => Self::Nfc,
            "NFD" => Self::Nfd,
            "Nmt" => Self::Nmt,
            "Precompiled" => Self::Precompiled(Precompiled::read(section)?),
            "Prepend" => Self::Prepend(section.get("prepend").text()?.to_owned()),
            "Replace" => Self::Replace {
                pattern: Pattern::read(&section.get("pattern"))?,
                content: section.get("content").text()?.to_owned(),
            },
            "Sequence" => {
                let parts = section.get("normalizers").list()?;
                Self::Sequence(parts.iter().map(Self::read).collect::<Result<_>>()?)
            }
            "Strip" => Self::Strip {
                left: section.get("strip_left").flag()?,
                right: section.get("strip_right").flag()?,
            },
            "StripAccents" => Self::StripAccents,
            other => return Err(section.unsupported(&format!("the normalizer {other}"), KNOWN)),
        })
    }

    pub fn apply(&self, text: &mut Aligned) {
        match self {
            Self::Bert(bert) => bert.apply(text),
            Self::Lowercase => text.lowercase(),
            Self::Nfc => forms::compose(text),
            Self::Nfd => forms::decompose(text),
            Self::Nmt => text.each(|c, give| nmt(c).into_iter().for_each(give)),
            Self::Precompiled(precompiled) => precompiled.apply(text),
            Self::Prepend(prefix) => text.prepend(prefix),
            Self::Replace { pattern, content } => {
                let matches = pattern.matches(text.text());
                text.replace(&matches, content);
            }
            Self::Sequence(parts) => parts.iter().for_each(|part| part.apply(text)),
            Self::Strip { left, right } => strip(text, *left, *right),
            Self::StripAccents => text.keep(|c| !categories::is(c, MARK)),
        }
    }
}

/// Takes white space off the ends.
fn strip(text: &mut Aligned, left: bool, right: bool) {
    let all = text.text();
    let mut kept = all;
    if left {
        kept = kept.trim_start();
    }
    let start = all.len() - kept.len();
    if right {
        kept = kept.trim_end();
    }
    let end = start + kept.len();
    if end - start < all.len() {
        let ends = [0..start, end..all.len()];
        text.replace(&ends, "");
    }
}

/// What a character becomes in `Nmt`.
fn nmt(c: char) -> Option<char> {
    match c {
        '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{8f}' | '\u{9f}' => None,
        '\t'
        | '\n'
        | '\u{c}'
        | '\r'
        | '\u{1680}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2581}'
        | '\u{feff}'
        | '\u{fffd}' => Some(' '),
        _ => Some(c),
    }
}
