//! Metadata by key, and what models ask of it: a missing key or one of another type is an error with its name.

use super::value::{Array, Strings, Value};
use crate::error::{Error, Result};

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where in the file the entry starts.
    pub(super) offset: u64,
    pub(super) value: Value,
}

/// The keys and values of a GGUF file. What keys mean is in ggml's `docs/gguf.md`; those of a model begin with the
/// value of `general.architecture`, for example `llama.block_count`.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    file: String,
    /// In the order of the file.
    entries: Vec<Entry>,
    /// Indices into `entries`, sorted by key.
    by_key: Vec<usize>,
}

impl Metadata {
    /// # Errors
    /// [`Error::Metadata`] for a key that is there twice.
    pub(super) fn new(file: &str, entries: Vec<Entry>) -> Result<Self> {
        let mut by_key: Vec<usize> = (0..entries.len()).collect();
        by_key.sort_by_key(|index| entries.get(*index).map(|entry| &entry.key));
        for pair in by_key.windows(2) {
            let [first, second] = pair else { continue };
            if let (Some(first), Some(second)) = (entries.get(*first), entries.get(*second))
                && first.key == second.key
            {
                return Err(Error::Metadata {
                    file: file.to_owned(),
                    key: second.key.clone(),
                    offset: Some(second.offset),
                    what: "key found twice, expected each key once".to_owned(),
                });
            }
        }
        Ok(Self { file: file.to_owned(), entries, by_key })
    }

    /// Name of the file, for errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All keys and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|entry| (entry.key.as_str(), &entry.value))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        let keyed = |index: &usize| self.entries.get(*index);
        let found = self
            .by_key
            .binary_search_by(|index| keyed(index).map(|entry| entry.key.as_str()).cmp(&Some(key)));
        found.ok().and_then(|at| self.by_key.get(at)).and_then(keyed)
    }

    /// The value that `get` finds, as in `required("llama.block_count", Metadata::integer)`.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the key is missing; those of `get`.
    pub fn required<'a, T>(
        &'a self,
        key: &str,
        get: impl FnOnce(&'a Self, &str) -> Result<Option<T>>,
    ) -> Result<T> {
        get(self, key)?.ok_or_else(|| Error::Metadata {
            file: self.file.clone(),
            key: key.to_owned(),
            offset: None,
            what: "missing, and the model cannot be read without it".to_owned(),
        })
    }

    /// A text.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type.
    pub fn string(&self, key: &str) -> Result<Option<&str>> {
        self.find(key, "a string", |value| match value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// A number that counts something: an integer of any type, not below 0.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type, below 0 or too large for this machine.
    pub fn integer(&self, key: &str) -> Result<Option<usize>> {
        self.find(key, "an integer from 0 on", |value| match *value {
            Value::U8(value) => Some(value.into()),
            Value::U16(value) => Some(value.into()),
            Value::U32(value) => usize::try_from(value).ok(),
            Value::U64(value) => usize::try_from(value).ok(),
            Value::I8(value) => usize::try_from(value).ok(),
            Value::I16(value) => usize::try_from(value).ok(),
            Value::I32(value) => usize::try_from(value).ok(),
            Value::I64(value) => usize::try_from(value).ok(),
            _ => None,
        })
    }

    /// A float32, or a float64 rounded to one.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type or not finite.
    pub fn float(&self, key: &str) -> Result<Option<f32>> {
        let float = |value: &Value| match *value {
            Value::F32(value) => Some(value),
            Value::F64(value) => Some(value as f32),
            _ => None,
        };
        self.find(key, "a finite float", |value| float(value).filter(|value| value.is_finite()))
    }

    /// Yes or no.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        self.find(key, "a bool", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    /// A list of texts.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type.
    pub fn strings(&self, key: &str) -> Result<Option<&Strings>> {
        self.find(key, "an array of string", |value| match value {
            Value::Array(Array::Strings(texts)) => Some(texts),
            _ => None,
        })
    }

    /// A list of float32.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type.
    pub fn floats(&self, key: &str) -> Result<Option<&[f32]>> {
        self.find(key, "an array of float32", |value| match value {
            Value::Array(Array::F32(values)) => Some(values.as_slice()),
            _ => None,
        })
    }

    /// A list of yes and no.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type.
    pub fn booleans(&self, key: &str) -> Result<Option<&[bool]>> {
        self.find(key, "an array of bool", |value| match value {
            Value::Array(Array::Bool(values)) => Some(values.as_slice()),
            _ => None,
        })
    }

    /// A list of integers of any type.
    ///
    /// # Errors
    /// [`Error::Metadata`] if the value is of another type or an integer is past the ends of int64.
    pub fn integers(&self, key: &str) -> Result<Option<Vec<i64>>> {
        fn wide<T: Copy + Into<i64>>(values: &[T]) -> Option<Vec<i64>> {
            Some(values.iter().map(|value| (*value).into()).collect())
        }
        self.find(key, "an array of integers", |value| match value {
            Value::Array(Array::U8(values)) => wide(values),
            Value::Array(Array::I8(values)) => wide(values),
            Value::Array(Array::U16(values)) => wide(values),
            Value::Array(Array::I16(values)) => wide(values),
            Value::Array(Array::U32(values)) => wide(values),
            Value::Array(Array::I32(values)) => wide(values),
            Value::Array(Array::I64(values)) => wide(values),
            Value::Array(Array::U64(values)) => {
                values.iter().map(|value| i64::try_from(*value).ok()).collect()
            }
            _ => None,
        })
    }

    /// Alignment of the data in bytes: `general.alignment`, a uint32 and a power of two.
    pub(super) fn alignment(&self) -> Result<u64> {
        let found =
            self.find(
                "general.alignment",
                "a uint32 that is a power of two",
                |value| match *value {
                    Value::U32(value) if value.is_power_of_two() => Some(u64::from(value)),
                    _ => None,
                },
            );
        Ok(found?.unwrap_or(32))
    }

    fn find<'a, T>(
        &'a self,
        key: &str,
        expected: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(entry) = self.entry(key) else { return Ok(None) };
        convert(&entry.value).map(Some).ok_or_else(|| Error::Metadata {
            file: self.file.clone(),
            key: key.to_owned(),
            offset: Some(entry.offset),
            what: format!("{} found, expected {expected}", entry.value.describe()),
        })
    }
}
