//! The configuration inside a Marian model: the flat subset of YAML that Marian writes by yaml-cpp.
//!
//! Read are top-level `key: value` lines whose value is a plain, single-quoted or double-quoted
//! scalar, a one-line `[a, b]` list (either may stand on the next line) or a block list of
//! scalars. Everything else of YAML (nested maps, anchors, tags, block scalars, several documents)
//! is an error with its line. What a reader adds to a wasm module, gzipped, at opt-level 3 / z:
//! this one 13 / 10 KB, the event parser of saphyr-parser 0.3 40 / 24 KB, yaml-rust2 0.13 67 / 50 KB.

use super::yaml_scalar::{Scanned, scan};
use crate::error::{Error, Result};
use std::{collections::BTreeMap, fmt::Display, str::FromStr};

/// One scalar of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text, without quotes and with escapes resolved.
    pub text: String,
    /// Whether it stood in quotes, which makes it a string whatever it looks like.
    pub quoted: bool,
}

/// What stands behind a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// No value, `~` or `null`.
    Null,
    /// A string, number or boolean.
    Scalar(Scalar),
    /// A list of scalars.
    List(Vec<Scalar>),
}

#[derive(Debug, Clone)]
struct Entry {
    value: Value,
    line: usize,
    offset: u64,
}

/// The parsed configuration of one model.
#[derive(Debug, Clone)]
pub struct MarianConfig {
    file: String,
    entries: BTreeMap<String, Entry>,
}

impl MarianConfig {
    /// Parses `text`, which starts at byte `offset` of `file`.
    ///
    /// # Errors
    /// [`Error::Format`] with the line and its byte offset.
    pub fn parse(file: &str, offset: u64, text: &str) -> Result<Self> {
        let mut config = Self { file: file.to_owned(), entries: BTreeMap::new() };
        // key whose value stands on the lines below it
        let mut open: Option<(String, Entry)> = None;
        let mut start = offset;
        for (index, full) in text.split_inclusive('\n').enumerate() {
            let at = Position { file, line: index + 1, offset: start };
            start += full.len() as u64;
            let line = full.trim_end_matches(['\n', '\r']);
            let content = line.trim_start_matches(' ');
            if content.trim().is_empty() || content.starts_with('#') {
                continue;
            }
            let indent = line.len() - content.len();
            if let Some(item) = content.strip_prefix('-').filter(|rest| is_separate(rest)) {
                match &mut open {
                    Some((_, entry)) => entry.push(at.scalar(item)?),
                    None => return Err(at.fail("list item without a key above it", line)),
                }
                continue;
            }
            if indent > 0 {
                // newer yaml-cpp puts `[]` on a line of its own
                match open.take() {
                    Some((key, entry)) if entry.value == Value::Null => {
                        config.insert(Some((key, Entry { value: at.value(content)?, ..entry })))?;
                    }
                    _ => return Err(at.fail("unexpected indentation", line)),
                }
                continue;
            }
            config.insert(open.take())?;
            if config.entries.is_empty() && line.trim_end() == "---" {
                continue;
            }
            let (key, rest) = at.key(line)?;
            let value = at.value(rest)?;
            let entry = Entry { value, line: at.line, offset: at.offset };
            if is_end(rest) {
                open = Some((key, entry));
            } else {
                config.insert(Some((key, entry)))?;
            }
        }
        config.insert(open)?;
        Ok(config)
    }

    fn insert(&mut self, entry: Option<(String, Entry)>) -> Result<()> {
        let Some((key, entry)) = entry else { return Ok(()) };
        let (line, offset) = (entry.line, entry.offset);
        match self.entries.insert(key.clone(), entry) {
            None => Ok(()),
            Some(first) => Err(Error::format(
                &self.file,
                offset,
                format!("line {line}: key {key:?} again, first on line {}", first.line),
            )),
        }
    }

    /// The keys, sorted, each with its value.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), &entry.value))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// The value of `key` as text; `None` where the key is missing or null.
    ///
    /// # Errors
    /// [`Error::Format`] where it is a list.
    pub fn string(&self, key: &str) -> Result<Option<&str>> {
        self.scalar(key, "a scalar", |scalar| Some(scalar.text.as_str()))
    }

    /// The value of `key` as a whole number from 0.
    ///
    /// # Errors
    /// [`Error::Format`] where it is anything else.
    pub fn integer(&self, key: &str) -> Result<Option<u64>> {
        self.scalar(key, "a whole number", number)
    }

    /// The value of `key` as a finite number.
    ///
    /// # Errors
    /// [`Error::Format`] where it is anything else.
    pub fn float(&self, key: &str) -> Result<Option<f32>> {
        self.scalar(key, "a number", |scalar| {
            number(scalar).filter(|value: &f32| value.is_finite())
        })
    }

    /// The value of `key` as a boolean, in the words yaml-cpp takes for one.
    ///
    /// # Errors
    /// [`Error::Format`] where it is anything else.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.scalar(key, "true or false", |scalar| {
            let is = |words: [&str; 3]| {
                !scalar.quoted && words.iter().any(|word| scalar.text.eq_ignore_ascii_case(word))
            };
            match () {
                () if is(["true", "yes", "on"]) => Some(true),
                () if is(["false", "no", "off"]) => Some(false),
                () => None,
            }
        })
    }

    /// The value of `key` as a list of texts.
    ///
    /// # Errors
    /// [`Error::Format`] where it is a scalar.
    pub fn list(&self, key: &str) -> Result<Option<Vec<&str>>> {
        self.items(key, "a list", |scalar| Some(scalar.text.as_str()))
    }

    /// The value of `key` as a list of whole numbers from 0, such as `dim-vocabs`.
    ///
    /// # Errors
    /// [`Error::Format`] where it is anything else.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<u64>>> {
        self.items(key, "a list of whole numbers", number)
    }

    fn scalar<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a Scalar) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(entry) = self.entries.get(key) else { return Ok(None) };
        match &entry.value {
            Value::Null => Ok(None),
            Value::Scalar(scalar) => {
                read(scalar).map(Some).ok_or_else(|| self.wrong(key, entry, expected))
            }
            Value::List(_) => Err(self.wrong(key, entry, expected)),
        }
    }

    fn items<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a Scalar) -> Option<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(entry) = self.entries.get(key) else { return Ok(None) };
        match &entry.value {
            Value::Null => Ok(None),
            Value::List(items) => {
                let read: Option<Vec<T>> = items.iter().map(read).collect();
                read.map(Some).ok_or_else(|| self.wrong(key, entry, expected))
            }
            Value::Scalar(_) => Err(self.wrong(key, entry, expected)),
        }
    }

    fn wrong(&self, key: &str, entry: &Entry, expected: impl Display) -> Error {
        let found = match &entry.value {
            Value::Null => "nothing".to_owned(),
            Value::Scalar(scalar) => format!("{:?}", scalar.text),
            Value::List(items) => format!("a list of {}", items.len()),
        };
        Error::format(
            &self.file,
            entry.offset,
            format!("line {}: {key} is {found}, expected {expected}", entry.line),
        )
    }
}

impl Entry {
    fn push(&mut self, item: Scalar) {
        match &mut self.value {
            Value::List(items) => items.push(item),
            value => *value = Value::List(vec![item]),
        }
    }
}

/// A plain scalar as a number; `-1`, `1.5` and `0x10` are no u64, `"1"` in quotes is a string.
fn number<T: FromStr>(scalar: &Scalar) -> Option<T> {
    if scalar.quoted { None } else { scalar.text.parse().ok() }
}

/// Whether an indicator in front of `rest` stands alone, as YAML demands.
fn is_separate(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '\t'])
}

/// A line, for errors.
struct Position<'a> {
    file: &'a str,
    line: usize,
    offset: u64,
}

impl Position<'_> {
    fn fail(&self, what: &str, found: &str) -> Error {
        let found: String = found.chars().take(80).collect();
        let what = format!("line {} of the configuration: {what}: {found:?}", self.line);
        Error::format(self.file, self.offset, what)
    }

    /// Splits `key: rest`.
    fn key<'t>(&self, line: &'t str) -> Result<(String, &'t str)> {
        let Scanned { scalar, rest } =
            scan(line, |rest| rest.strip_prefix(':').is_some_and(is_separate))
                .map_err(|what| self.fail(what, line))?;
        match rest.trim_start().strip_prefix(':').filter(|rest| is_separate(rest)) {
            Some(rest) if !scalar.text.is_empty() => Ok((scalar.text, rest)),
            _ => Err(self.fail("expected \"key: value\"", line)),
        }
    }

    fn value(&self, text: &str) -> Result<Value> {
        match text.trim_start().strip_prefix('[') {
            Some(items) => self.inline_list(items).map(Value::List),
            None => self.scalar(text).map(|scalar| match scalar.text.as_str() {
                "" | "~" | "null" | "Null" | "NULL" if !scalar.quoted => Value::Null,
                _ => Value::Scalar(scalar),
            }),
        }
    }

    /// A scalar that takes the rest of the line.
    fn scalar(&self, text: &str) -> Result<Scalar> {
        let Scanned { scalar, rest } =
            scan(text, |_| false).map_err(|what| self.fail(what, text))?;
        if !is_end(rest) {
            return Err(self.fail("unexpected text behind the value", rest));
        }
        if !scalar.quoted && (scalar.text.contains(": ") || scalar.text.ends_with(':')) {
            return Err(self.fail("maps inside a value are not read", text));
        }
        if !scalar.quoted && is_separate(scalar.text.strip_prefix('-').unwrap_or("x")) {
            return Err(self.fail("lists inside a value are not read", text));
        }
        Ok(scalar)
    }

    /// The items up to `]`; `text` starts behind `[`.
    fn inline_list(&self, text: &str) -> Result<Vec<Scalar>> {
        let mut items = Vec::new();
        let mut rest = text;
        loop {
            let stop = |rest: &str| rest.starts_with([',', ']']);
            let scanned = scan(rest, stop).map_err(|what| self.fail(what, text))?;
            let after = scanned.rest.trim_start();
            let missing = scanned.scalar.text.is_empty() && !scanned.scalar.quoted;
            match after.split_at_checked(1) {
                Some((",", next)) if !missing => rest = next,
                Some(("]", next)) if is_end(next) => {
                    if !missing {
                        items.push(scanned.scalar);
                    }
                    return Ok(items);
                }
                _ => return Err(self.fail("expected \"[item, item]\" on one line", text)),
            }
            items.push(scanned.scalar);
        }
    }
}

/// Whether nothing but white space or a comment is left of a line.
fn is_end(rest: &str) -> bool {
    let content = rest.trim_start();
    content.is_empty() || (content.starts_with('#') && content.len() < rest.len())
}
