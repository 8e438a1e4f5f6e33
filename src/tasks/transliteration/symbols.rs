//! Symbols of a model over letters: what a text becomes, and what is written.

use super::search::Until;
use crate::error::{Error, Result};
use crate::formats::Config;
use std::ops::Range;

/// Most symbols of a source that is not padded to a length.
const LONGEST: usize = 1024;

/// Most bytes of a text that is looked at: each takes several more while symbols are looked for.
const MOST_BYTES: usize = 1 << 16;

/// A symbol of a source as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSymbol {
    /// Its id.
    pub id: u32,
    /// Bytes of the text that it stands for; empty for what is put around a text and what pads it.
    pub range: Range<usize>,
}

/// What becomes of what no symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    Drop,
    Error,
}

/// How texts become symbols.
#[derive(Debug)]
pub struct SourceSymbols {
    /// Symbols that are written, and their ids.
    written: Vec<(String, u32)>,
    lowercase: bool,
    unknown: Unknown,
    start: Option<u32>,
    end: Option<u32>,
    /// What fills a text up, and to which length.
    padding: Option<(u32, usize)>,
}

impl SourceSymbols {
    /// Reads the section `source` of a `config.json`.
    ///
    /// # Errors
    /// [`Error::Metadata`] for a value that is missing or wrong.
    pub fn read(model: &Config) -> Result<Self> {
        let config = model.section("source")?;
        let symbols = config.strings("symbols")?.unwrap_or_default();
        let id_of = |config: &Config, key: &str| id(config, key, symbols.len());
        let padding = match config.optional_section("padding")? {
            None => None,
            Some(padding) => {
                let symbol = id_of(&padding, "symbol")?
                    .ok_or_else(|| padding.error("symbol", "missing, expected a whole number"))?;
                match padding.required_size("length")? {
                    length if (1..=LONGEST).contains(&length) => Some((symbol, length)),
                    length => {
                        let what = format!("{length} found, expected 1 to {LONGEST}");
                        return Err(padding.error("length", what));
                    }
                }
            }
        };
        let unknown = match config.string("unknown")?.unwrap_or("drop") {
            "drop" => Unknown::Drop,
            "error" => Unknown::Error,
            other => {
                let what = format!("'{other}' found, expected drop or error");
                return Err(config.error("unknown", what));
            }
        };
        let written = symbols.iter().zip(0..).filter(|(symbol, _)| !symbol.is_empty());
        Ok(Self {
            lowercase: config.boolean("lowercase")?.unwrap_or(false),
            unknown,
            start: id_of(&config, "start")?,
            end: id_of(&config, "end")?,
            padding,
            written: written.map(|(symbol, id)| ((*symbol).to_owned(), id)).collect(),
        })
    }

    /// The symbols of a text, with those around it and the padding; none at all if no symbol stands for anything in it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a text that is too long, or has what no symbol stands for where that is an error.
    pub fn encode(&self, text: &str) -> Result<Vec<SourceSymbol>> {
        if text.len() > MOST_BYTES {
            let what =
                format!("{} bytes, at most {MOST_BYTES} are read. Split the text", text.len());
            return Err(Error::InvalidArgument { option: "text", what });
        }
        // In lower case a letter may become two; both stand for it.
        let mut letters = String::new();
        let mut origins: Vec<Range<usize>> = Vec::new();
        for (at, letter) in text.char_indices() {
            let before = letters.len();
            match self.lowercase {
                true => letters.extend(letter.to_lowercase()),
                false => letters.push(letter),
            }
            origins.extend((before..letters.len()).map(|_| at..at + letter.len_utf8()));
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(rest) = letters.get(at..).filter(|rest| !rest.is_empty()) {
            // The longest; of two that are the same the first.
            let begin = self.written.iter().filter(|(symbol, _)| rest.starts_with(symbol));
            let symbol = begin.rev().max_by_key(|(symbol, _)| symbol.len());
            let length = match symbol {
                Some((symbol, id)) => {
                    let origin = |at: usize| origins.get(at).cloned().unwrap_or_default();
                    let range = origin(at).start..origin(at + symbol.len() - 1).end;
                    found.push(SourceSymbol { id: *id, range });
                    symbol.len()
                }
                None => {
                    let letter = rest.chars().next().unwrap_or_default();
                    if self.unknown == Unknown::Error {
                        let what = format!("'{letter}' is no symbol of this model");
                        return Err(Error::InvalidArgument { option: "text", what });
                    }
                    letter.len_utf8()
                }
            };
            at += length;
        }
        if found.is_empty() {
            return Ok(found);
        }
        let around = |id: u32, at: usize| SourceSymbol { id, range: at..at };
        if let Some(start) = self.start {
            found.insert(0, around(start, 0));
        }
        found.extend(self.end.map(|end| around(end, text.len())));
        let limit = self.padding.map_or(LONGEST, |(_, length)| length);
        if found.len() > limit {
            let what = format!("{} symbols, the model reads {limit}. Split the text", found.len());
            return Err(Error::InvalidArgument { option: "text", what });
        }
        if let Some((symbol, length)) = self.padding {
            found.resize(length, around(symbol, text.len()));
        }
        Ok(found)
    }
}

/// How symbols become a text.
#[derive(Debug)]
pub struct TargetSymbols {
    symbols: Vec<String>,
    /// Begins every target.
    pub start: u32,
    /// Ends it.
    pub end: u32,
    /// Most symbols of a target, the first and the last included.
    pub max_length: usize,
    /// When the search for one is over.
    pub until: Until,
}

impl TargetSymbols {
    /// Reads the section `target` of a `config.json`.
    ///
    /// # Errors
    /// [`Error::Metadata`] for a value that is missing or wrong.
    pub fn read(model: &Config) -> Result<Self> {
        let config = model.section("target")?;
        let symbols = config.strings("symbols")?.unwrap_or_default();
        let required = |key: &str| {
            let id = id(&config, key, symbols.len())?;
            id.ok_or_else(|| config.error(key, "missing, expected a whole number"))
        };
        let max_length = config.required_size("max_length")?;
        if !(2..=LONGEST).contains(&max_length) {
            let what = format!("{max_length} found, expected 2 to {LONGEST}");
            return Err(config.error("max_length", what));
        }
        let until = match config.string("search_until")?.unwrap_or("as-many-ended") {
            "as-many-ended" => Until::AsManyEnded,
            "likeliest-ended" => Until::LikeliestEnded,
            other => {
                let what = format!("'{other}' found, expected as-many-ended or likeliest-ended");
                return Err(config.error("search_until", what));
            }
        };
        Ok(Self {
            start: required("start")?,
            end: required("end")?,
            max_length,
            until,
            symbols: symbols.into_iter().map(str::to_owned).collect(),
        })
    }

    /// What an id writes; start and end write nothing.
    pub fn text(&self, id: u32) -> &str {
        let text = usize::try_from(id).ok().and_then(|id| self.symbols.get(id));
        text.filter(|_| id != self.start && id != self.end).map_or("", String::as_str)
    }
}

/// The id of one of `count` symbols, if the key is there.
fn id(config: &Config, key: &str, count: usize) -> Result<Option<u32>> {
    match config.size(key)? {
        Some(id) if id >= count => {
            Err(config.error(key, format!("{id} found, where there are {count} symbols")))
        }
        id => Ok(id.map(|id| id as u32)),
    }
}
