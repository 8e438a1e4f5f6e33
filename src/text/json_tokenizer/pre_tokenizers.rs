//! Pre-tokenizers: how a normalised text is cut into words, which no token goes across.

use super::categories::{self, PUNCTUATION, WORD};
use super::pattern::{Pattern, each};
use super::section::Section;
use super::splits::{Behavior, Split, cut_each, parts};
use crate::error::Result;
use crate::text::byte_bpe::{gpt2_words, stand_in};
use std::ops::Range;

const KNOWN: &str = "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit are";

/// One step, or several in a row.
pub(super) enum PreTokenizer {
    /// White space goes, punctuation stands alone.
    Bert,
    /// Words of GPT-2, then each byte as a printable stand-in.
    ByteLevel {
        add_prefix_space: bool,
        use_regex: bool,
    },
    Digits {
        alone: bool,
    },
    Metaspace(Metaspace),
    Punctuation(Behavior),
    Sequence(Vec<PreTokenizer>),
    Split {
        pattern: Pattern,
        behavior: Behavior,
        invert: bool,
    },
    /// Words, and runs of what is neither word nor white space.
    Whitespace,
    WhitespaceSplit,
}

/// A mark in place of each space, at which words begin.
pub(super) struct Metaspace {
    pub replacement: char,
    pub prepend: Prepend,
    split: bool,
}

/// Where a mark is put in front if there is none.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Prepend {
    Always,
    /// At the beginning of the source.
    First,
    Never,
}

impl Metaspace {
    pub fn read(section: &Section) -> Result<Self> {
        let scheme = section.get("prepend_scheme");
        let mut prepend = match scheme.is_there().then(|| scheme.text()).transpose()? {
            None | Some("always") => Prepend::Always,
            Some("first") => Prepend::First,
            Some("never") => Prepend::Never,
            Some(other) => {
                let what = format!("the prepend scheme {other:?}");
                return Err(scheme.unsupported(&what, "always, first, never are"));
            }
        };
        // The older spelling.
        if !section.get("add_prefix_space").flag_or(true)? {
            if scheme.is_there() && prepend != Prepend::Never {
                return Err(scheme.damaged("contradicts add_prefix_space"));
            }
            prepend = Prepend::Never;
        }
        Ok(Self {
            replacement: section.get("replacement").character()?,
            prepend,
            split: section.get("split").flag_or(true)?,
        })
    }
}

impl PreTokenizer {
    /// Reads a pre-tokenizer.
    pub fn read(section: &Section) -> Result<Self> {
        Ok(match section.kind()? {
            "BertPreTokenizer" => Self::Bert,
            "ByteLevel" => Self::ByteLevel {
                add_prefix_space: section.get("add_prefix_space").flag()?,
                use_regex: section.get("use_regex").flag_or(true)?,
            },
            "CharDelimiterSplit" | "Delimiter" => Self::Split {
                pattern: Pattern::Literal(section.get("delimiter").character()?.to_string()),
                behavior: Behavior::Removed,
                invert: false,
            },
            "Digits" => Self::Digits { alone: section.get("individual_digits").flag()? },
            "Metaspace" => Self::Metaspace(Metaspace::read(section)?),
            "Punctuation" => {
                let behavior = section.get("behavior");
                Self::Punctuation(match behavior.is_there() {
                    true => Behavior::read(&behavior)?,
                    false => Behavior::Isolated,
                })
            }
            "Sequence" => {
                let parts = section.get("pretokenizers").list()?;
                Self::Sequence(parts.iter().map(Self::read).collect::<Result<_>>()?)
            }
            "Split" => Self::Split {
                pattern: Pattern::read(&section.get("pattern"))?,
                behavior: Behavior::read(&section.get("behavior"))?,
                invert: section.get("invert").flag()?,
            },
            "Whitespace" => Self::Whitespace,
            "WhitespaceSplit" => Self::WhitespaceSplit,
            other => {
                return Err(section.unsupported(&format!("the pre-tokenizer {other}"), KNOWN));
            }
        })
    }

    pub fn apply(&self, splits: Vec<Split>) -> Vec<Split> {
        // The same for every stretch: what is found in it, and what becomes of that.
        let cut = |splits, find: &dyn Fn(&str) -> Vec<Range<usize>>, behavior, invert| {
            cut_each(splits, |text| parts(find(text.text()), text.text().len(), behavior, invert))
        };
        let whites = |text: &str| each(text, char::is_whitespace);
        let marks = |text: &str| each(text, |c| categories::is(c, PUNCTUATION));
        match self {
            Self::Bert => {
                let words = cut(splits, &whites, Behavior::Removed, false);
                cut(words, &marks, Behavior::Isolated, false)
            }
            Self::ByteLevel { add_prefix_space, use_regex } => {
                byte_level(splits, *add_prefix_space, *use_regex)
            }
            Self::Digits { alone } => {
                let behavior = if *alone { Behavior::Isolated } else { Behavior::Contiguous };
                cut(splits, &|text| each(text, char::is_numeric), behavior, false)
            }
            Self::Metaspace(metaspace) => metaspace.apply(splits),
            Self::Punctuation(behavior) => cut(splits, &marks, *behavior, false),
            Self::Sequence(parts) => parts.iter().fold(splits, |splits, part| part.apply(splits)),
            Self::Split { pattern, behavior, invert } => {
                cut(splits, &|text| pattern.matches(text), *behavior, *invert)
            }
            Self::Whitespace => cut_each(splits, |text| words(text.text())),
            Self::WhitespaceSplit => cut(splits, &whites, Behavior::Removed, false),
        }
    }
}

impl Metaspace {
    fn apply(&self, splits: Vec<Split>) -> Vec<Split> {
        let mark = self.replacement.to_string();
        cut_each(splits, |text| {
            let spaces = each(text.text(), |c| c == ' ');
            text.replace(&spaces, &mark);
            let prepends = match self.prepend {
                Prepend::Always => true,
                Prepend::First => text.base() == 0,
                Prepend::Never => false,
            };
            if prepends && !text.text().starts_with(self.replacement) {
                text.prepend(&mark);
            }
            let all = text.text();
            let marks = match self.split {
                true => each(all, |c| c == self.replacement),
                false => Vec::new(),
            };
            parts(marks, all.len(), Behavior::MergedWithNext, false)
        })
    }
}

fn byte_level(splits: Vec<Split>, add_prefix_space: bool, use_regex: bool) -> Vec<Split> {
    let mut words = cut_each(splits, |text| {
        if add_prefix_space && !text.text().starts_with(' ') {
            text.prepend(" ");
        }
        let mut start = 0;
        let ends = if use_regex { gpt2_words(text.text()) } else { vec![text.text().len()] };
        let range = |end| std::mem::replace(&mut start, end)..end;
        ends.into_iter().map(range).collect()
    });
    for word in words.iter_mut().filter(|word| word.token.is_none()) {
        word.text.each(|c, give| {
            let mut buffer = [0; 4];
            c.encode_utf8(&mut buffer).bytes().for_each(|byte| give(stand_in(byte)));
        });
    }
    words
}

/// `\w+|[^\w\s]+`
fn words(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (at, c) in text.char_indices() {
        let kind = (!c.is_whitespace()).then(|| categories::is(c, WORD));
        match out.last_mut().filter(|_| kind == before) {
            Some(last) if kind.is_some() => last.end = at + c.len_utf8(),
            _ if kind.is_some() => out.push(at..at + c.len_utf8()),
            _ => {}
        }
        before = kind;
    }
    out
}
