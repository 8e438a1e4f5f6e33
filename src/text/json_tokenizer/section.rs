//! A value of the file with the path that leads to it, for errors.

use crate::error::{Error, Result};
use serde_json::Value;

/// A value somewhere in the file; it may be absent.
#[derive(Clone)]
pub(super) struct Section<'a> {
    file: &'a str,
    /// Keys from the top of the file, as in `model.vocab`.
    key: String,
    value: Option<&'a Value>,
}

impl<'a> Section<'a> {
    /// The value at the top under `key`; null counts as absent.
    pub fn new(file: &'a str, key: &str, value: Option<&'a Value>) -> Self {
        Self { file, key: key.to_owned(), value: value.filter(|value| !value.is_null()) }
    }

    /// What is under `key` in this object.
    pub fn get(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self::new(self.file, &format!("{}.{key}", self.key), value)
    }

    pub fn is_there(&self) -> bool {
        self.value.is_some()
    }

    /// The file is damaged here.
    pub fn damaged(&self, what: impl Into<String>) -> Error {
        let key = self.key.clone();
        Error::Metadata { file: self.file.to_owned(), key, offset: None, what: what.into() }
    }

    /// The file is right but asks for something else than `known`.
    pub fn unsupported(&self, what: &str, known: &str) -> Error {
        let what = format!("{what} ({}); {known}", self.key);
        Error::Unsupported { file: self.file.to_owned(), what }
    }

    fn wrong<T>(&self, wanted: &str) -> Result<T> {
        match self.value {
            None => Err(self.damaged(format!("missing; it is {wanted}"))),
            Some(value) => {
                let all = value.to_string();
                let short: String = all.chars().take(60).collect();
                let found = if short.len() < all.len() { short + "…" } else { short };
                Err(self.damaged(format!("{found} is not {wanted}")))
            }
        }
    }

    /// A string.
    pub fn text(&self) -> Result<&'a str> {
        match self.value {
            Some(Value::String(text)) => Ok(text),
            _ => self.wrong("a string"),
        }
    }

    /// A string of one character.
    pub fn character(&self) -> Result<char> {
        let mut characters = self.text()?.chars();
        match (characters.next(), characters.next()) {
            (Some(c), None) => Ok(c),
            _ => self.wrong("a string of one character"),
        }
    }

    /// true or false; `usual` where it is absent.
    pub fn flag_or(&self, usual: bool) -> Result<bool> {
        match self.value {
            None => Ok(usual),
            _ => self.flag(),
        }
    }

    /// true or false.
    pub fn flag(&self) -> Result<bool> {
        match self.value {
            Some(&Value::Bool(flag)) => Ok(flag),
            _ => self.wrong("true or false"),
        }
    }

    /// A whole number that fits into 32 bits.
    pub fn number(&self) -> Result<u32> {
        let number = self.value.and_then(Value::as_u64).and_then(|number| number.try_into().ok());
        match number {
            Some(number) => Ok(number),
            None => self.wrong("a whole number from 0 to 4294967295"),
        }
    }

    /// The elements of a list.
    pub fn list(&self) -> Result<Vec<Self>> {
        let Some(Value::Array(list)) = self.value else { return self.wrong("a list") };
        let element =
            |(index, value)| Self::new(self.file, &format!("{}[{index}]", self.key), Some(value));
        Ok(list.iter().enumerate().map(element).collect())
    }

    /// The name of a component.
    pub fn kind(&self) -> Result<&'a str> {
        self.get("type").text()
    }
}
