//! The file as JSON: vocabulary and merges go straight into their tables, all else is little and becomes a tree.

use super::vocabulary::Vocabulary;
use crate::error::Error;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// What stands in the file.
#[derive(Default)]
pub(super) struct File {
    /// All but `model`.
    pub sections: Map<String, Value>,
    /// `model` without its two long lists.
    pub options: Map<String, Value>,
    /// `model.vocab`, whatever its kind.
    pub vocabulary: Option<Vocabulary>,
    /// Scores in id order, where the vocabulary is a list of pairs.
    pub scores: Option<Vec<f64>>,
    /// `model.merges`: left and right halves, best first.
    pub merges: Option<Merges>,
}

/// Pairs of texts.
#[derive(Default)]
pub(super) struct Merges {
    texts: String,
    /// Where each half ends.
    ends: Vec<usize>,
}

impl Merges {
    fn push(&mut self, half: &str) {
        self.texts.push_str(half);
        self.ends.push(self.texts.len());
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.chunks_exact(2).map(move |ends| {
            let (middle, end) = (ends.first().copied(), ends.last().copied());
            let (middle, end) = (middle.unwrap_or(start), end.unwrap_or(start));
            let left = self.texts.get(start..middle).unwrap_or_default();
            let right = self.texts.get(middle..end).unwrap_or_default();
            start = end;
            (left, right)
        })
    }
}

impl File {
    /// Reads the bytes; beside the tables, what is allocated at once is a token's text.
    pub fn read(name: &str, bytes: &[u8]) -> crate::error::Result<Self> {
        if u32::try_from(bytes.len()).is_err() {
            let what = format!("a tokenizer of {} bytes; less than 4 GiB is", bytes.len());
            return Err(Error::Unsupported { file: name.to_owned(), what });
        }
        let mut file = Self::default();
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = Top(&mut file).deserialize(&mut reader).and_then(|()| reader.end());
        read.map_err(|error| Error::Format {
            file: name.to_owned(),
            offset: Some(offset(bytes, error.line(), error.column())),
            what: error.to_string(),
        })?;
        Ok(file)
    }
}

/// The byte of a line and a column, both counted from 1.
fn offset(bytes: &[u8], line: usize, column: usize) -> u64 {
    let starts = bytes.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1));
    let before: usize = starts.map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(bytes.len()) as u64
}

/// Implements what each of the seeds below has in common: any value is offered to the visitor.
macro_rules! seed {
    ($name:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_> {
            type Value = ();

            fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.deserialize_any(self)
            }
        }
    };
}

struct Top<'a>(&'a mut File);
seed!(Top);

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an object with the parts of a tokenizer")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "model" {
                map.next_value_seed(Model(self.0))?;
            } else {
                let value = map.next_value()?;
                self.0.sections.insert(key, value);
            }
        }
        Ok(())
    }
}

struct Model<'a>(&'a mut File);
seed!(Model);

impl<'de> Visitor<'de> for Model<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("model: an object with a vocab")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "vocab" => map.next_value_seed(Vocab(self.0))?,
                "merges" => {
                    let mut merges = Merges::default();
                    map.next_value_seed(MergeList(&mut merges))?;
                    self.0.merges = Some(merges);
                }
                // A trainer's leftovers; they may be long.
                "type"
                | "unk_token"
                | "unk_id"
                | "dropout"
                | "fuse_unk"
                | "byte_fallback"
                | "ignore_merges"
                | "continuing_subword_prefix"
                | "end_of_word_suffix"
                | "max_input_chars_per_word" => {
                    let value = map.next_value()?;
                    self.0.options.insert(key, value);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Vocab<'a>(&'a mut File);
seed!(Vocab);

impl<'de> Visitor<'de> for Vocab<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("model.vocab: an object of ids or a list of pairs of text and score")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut vocabulary = Vocabulary::default();
        let mut text = String::new();
        while let Some(()) = map.next_key_seed(Text(&mut text))? {
            let id = map.next_value::<u32>().map_err(|error| {
                A::Error::custom(format!("model.vocab: the id of {text:?}: {error}"))
            })?;
            if !vocabulary.push(&text, id) {
                return Err(A::Error::custom(format!("model.vocab: {text:?} stands there twice")));
            }
        }
        vocabulary.finish().map_err(|(id, a, b)| {
            A::Error::custom(format!("model.vocab: {a:?} and {b:?} have the same id, {id}"))
        })?;
        self.0.vocabulary = Some(vocabulary);
        self.0.scores = None;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let (mut vocabulary, mut scores) = (Vocabulary::default(), Vec::new());
        let mut text = String::new();
        while let Some(score) = list.next_element_seed(Scored(&mut text))? {
            if !vocabulary.push(&text, scores.len() as u32) {
                return Err(A::Error::custom(format!("model.vocab: {text:?} stands there twice")));
            }
            scores.push(score);
        }
        self.0.vocabulary = Some(vocabulary);
        self.0.scores = Some(scores);
        Ok(())
    }
}

/// `[text, score]`; the text goes into the buffer.
struct Scored<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Scored<'_> {
    type Value = f64;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<f64, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scored<'_> {
    type Value = f64;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("model.vocab: a pair of text and score")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<f64, A::Error> {
        let text = pair.next_element_seed(Text(self.0))?;
        let score = text.and(pair.next_element::<f64>()?);
        match (score, pair.next_element::<IgnoredAny>()?) {
            (Some(score), None) => Ok(score),
            _ => Err(A::Error::custom("model.vocab: an element is no pair of text and score")),
        }
    }
}

/// A string, into a buffer that stays.
struct Text<'a>(&'a mut String);
seed!(Text);

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.clear();
        self.0.push_str(text);
        Ok(())
    }
}

struct MergeList<'a>(&'a mut Merges);
seed!(MergeList);

impl<'de> Visitor<'de> for MergeList<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("model.merges: a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Merge(self.0))?.is_some() {}
        Ok(())
    }
}

/// `"left right"`, as older files have it, or `["left", "right"]`.
struct Merge<'a>(&'a mut Merges);
seed!(Merge);

const MERGE: &str = "model.merges: \"left right\" or a list of the two";

impl<'de> Visitor<'de> for Merge<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(MERGE)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        // The first line of the merges.txt that such lists come from.
        if text.starts_with("#version") {
            return Ok(());
        }
        match text.split_once(' ').filter(|(_, right)| !right.contains(' ')) {
            Some((left, right)) => {
                self.0.push(left);
                self.0.push(right);
                Ok(())
            }
            None => Err(E::custom(format!("{text:?} is not {MERGE}"))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<(), A::Error> {
        let mut text = String::new();
        for _ in 0..2 {
            pair.next_element_seed(Text(&mut text))?
                .ok_or_else(|| A::Error::custom(format!("a list is not {MERGE}")))?;
            self.0.push(&text);
        }
        match pair.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::custom(format!("a list of more is not {MERGE}"))),
        }
    }
}
