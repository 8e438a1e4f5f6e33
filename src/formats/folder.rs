//! A model that is a folder of files, as Hugging Face keeps them, found by their paths in it.

use super::ByteSource;
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeMap};

/// Longest vocabulary that is read: the longest take some 20 MB.
const LONGEST: u64 = 256 << 20;

/// Longest other JSON that is read: values take many times its length in memory.
pub(super) const LONGEST_JSON: u64 = 8 << 20;

/// Files by path, for example `config.json` and `1_Pooling/config.json`.
#[derive(Default)]
pub struct ModelFolder {
    files: BTreeMap<String, Box<dyn ByteSource>>,
}

impl ModelFolder {
    /// A folder of these files.
    pub fn new(files: impl IntoIterator<Item = (String, Box<dyn ByteSource>)>) -> Self {
        Self { files: files.into_iter().collect() }
    }

    /// Paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether there is a file of this path.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The file of this path, which leaves the folder.
    ///
    /// # Errors
    /// [`Error::Unsupported`] that says what is there if it is not.
    pub fn take(&mut self, path: &str) -> Result<Box<dyn ByteSource>> {
        self.files.remove(path).ok_or_else(|| self.missing(path))
    }

    /// All bytes of a file.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not there, [`Error::Format`] if it is far too long for what it is, errors of the
    /// source.
    pub fn bytes(&self, path: &str) -> Result<Cow<'_, [u8]>> {
        let file = self.files.get(path).ok_or_else(|| self.missing(path))?;
        if file.len() > LONGEST {
            let what = format!("{} bytes, at most {LONGEST} are read", file.len());
            return Err(Error::format(path, LONGEST, what));
        }
        file.read(0..file.len())
    }

    /// The object that a file of JSON holds; nothing if there is no such file.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no JSON, or no object; errors of the source.
    pub fn config(&self, path: &str) -> Result<Option<Config>> {
        if !self.has(path) {
            return Ok(None);
        }
        Config::read(path, &self.bytes(path)?).map(Some)
    }

    /// The objects of a file of JSON that holds a list of them; nothing if there is no such file.
    ///
    /// # Errors
    /// [`Error::Format`] for anything else; errors of the source.
    pub fn configs(&self, path: &str) -> Result<Option<Vec<Config>>> {
        if !self.has(path) {
            return Ok(None);
        }
        let wrong = || Error::format(path, 0, "JSON that is no list of objects");
        let Value::Array(list) = json(path, 0, &self.bytes(path)?)? else { return Err(wrong()) };
        let object = |value| match value {
            Value::Object(values) => Some(Config { file: path.to_owned(), values }),
            _ => None,
        };
        list.into_iter().map(object).collect::<Option<_>>().map(Some).ok_or_else(wrong)
    }

    /// As [`ModelFolder::config`], of a file that must be there.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is not, and those of [`ModelFolder::config`].
    pub fn required_config(&self, path: &str) -> Result<Config> {
        self.config(path)?.ok_or_else(|| self.missing(path))
    }

    fn missing(&self, path: &str) -> Error {
        let there: Vec<&str> = self.paths().collect();
        let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
        let what = format!("there is no {path} among the model's files; there: {there}");
        Error::Unsupported { file: path.to_owned(), what }
    }
}

/// What a file of JSON says, by key.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    file: String,
    values: Map<String, Value>,
}

impl Config {
    /// Reads an object.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no JSON, or no object.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self> {
        match json(file, 0, bytes)? {
            Value::Object(values) => Ok(Self { file: file.to_owned(), values }),
            _ => Err(Error::format(file, 0, "JSON that is no object, expected { … }")),
        }
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The value of a key; `null` is none.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    /// A key's value in the wrong form.
    pub fn error(&self, key: &str, what: impl Into<String>) -> Error {
        let file = self.file.clone();
        Error::Metadata { file, key: key.to_owned(), offset: None, what: what.into() }
    }

    /// A value of some form, if the key is there.
    fn typed<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = || self.error(key, format!("{} found, expected {expected}", shown(value)));
        read(value).map(Some).ok_or_else(wrong)
    }

    /// A whole number from 0 to 2³² − 1.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn size(&self, key: &str) -> Result<Option<usize>> {
        let size = |value: &Value| usize::try_from(u32::try_from(value.as_u64()?).ok()?).ok();
        self.typed(key, "a whole number from 0 on", size)
    }

    /// As [`Config::size`], of a key that must be there.
    ///
    /// # Errors
    /// [`Error::Metadata`].
    pub fn required_size(&self, key: &str) -> Result<usize> {
        self.size(key)?.ok_or_else(|| self.error(key, "missing, expected a whole number"))
    }

    /// A number.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn float(&self, key: &str) -> Result<Option<f32>> {
        let float = |value: &Value| Some(value.as_f64()? as f32).filter(|float| float.is_finite());
        self.typed(key, "a number", float)
    }

    /// A string.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn string(&self, key: &str) -> Result<Option<&str>> {
        self.typed(key, "a string", Value::as_str)
    }

    /// True or false.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "true or false", Value::as_bool)
    }

    /// An object.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn object(&self, key: &str) -> Result<Option<&Map<String, Value>>> {
        self.typed(key, "an object", Value::as_object)
    }

    /// An object of its own, whose errors name its keys; nothing if the key is not there.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn optional_section(&self, key: &str) -> Result<Option<Self>> {
        let values = self.object(key)?.cloned();
        Ok(values.map(|values| Self { file: format!("{} ({key})", self.file), values }))
    }

    /// As [`Config::optional_section`], of a key that must be there.
    ///
    /// # Errors
    /// [`Error::Metadata`].
    pub fn section(&self, key: &str) -> Result<Self> {
        self.optional_section(key)?.ok_or_else(|| self.error(key, "missing, expected an object"))
    }

    /// A list of whole numbers from 0 to 2³² − 1.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn sizes(&self, key: &str) -> Result<Option<Vec<usize>>> {
        let size = |value: &Value| usize::try_from(u32::try_from(value.as_u64()?).ok()?).ok();
        self.typed(key, "a list of whole numbers", |value| {
            value.as_array()?.iter().map(size).collect()
        })
    }

    /// A list of strings.
    ///
    /// # Errors
    /// [`Error::Metadata`] for anything else.
    pub fn strings(&self, key: &str) -> Result<Option<Vec<&str>>> {
        self.typed(key, "a list of strings", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }
}

/// A value as an error quotes it.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The JSON in `bytes`, which stand at `start` in the file.
pub(super) fn json(file: &str, start: u64, bytes: &[u8]) -> Result<Value> {
    if bytes.len() as u64 > LONGEST_JSON {
        let what = format!("{} bytes of JSON, at most {LONGEST_JSON} are read", bytes.len());
        return Err(Error::format(file, start, what));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        // The line and column, as an offset.
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        let offset = start + (before + error.column().saturating_sub(1)) as u64;
        Error::format(file, offset, format!("no JSON ({error})"))
    })
}
