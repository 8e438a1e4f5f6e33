//! Models: how a word becomes tokens.

mod bpe;
mod unigram;
mod wordpiece;

use super::file::File;
use super::section::Section;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use bpe::Bpe;
use serde_json::Value;
use std::ops::Range;
use unigram::Unigram;
use wordpiece::WordPiece;

/// What cuts words, and its vocabulary.
pub(super) struct Model {
    pub vocabulary: Vocabulary,
    kind: Kind,
}

enum Kind {
    Bpe(Bpe),
    Unigram(Unigram),
    /// Each word is a token, or the unknown one.
    WordLevel {
        unknown: u32,
    },
    WordPiece(WordPiece),
}

/// Takes a token of a word: its id and its bytes in the word.
pub(super) type Give<'a> = &'a mut dyn FnMut(u32, Range<usize>);

impl Model {
    /// Takes the model out of the file.
    pub fn read(name: &str, file: &mut File) -> Result<Self> {
        let options = Value::Object(std::mem::take(&mut file.options));
        let section = Section::new(name, "model", Some(&options));
        let Some(vocabulary) = file.vocabulary.take() else {
            return Err(section.get("vocab").damaged("missing"));
        };
        let is_list = file.scores.is_some();
        let kind = section.get("type");
        // Old files have no type.
        let kind = match kind.is_there() {
            true => kind.text()?,
            false if is_list => "Unigram",
            false if file.merges.is_some() => "BPE",
            false => "WordPiece",
        };
        if is_list != (kind == "Unigram") {
            let wanted = if is_list { "a list of pairs, not an object" } else { "an object" };
            return Err(section.get("vocab").damaged(format!("{wanted}, which {kind} has not")));
        }
        let kind = match kind {
            "BPE" => Kind::Bpe(Bpe::read(&section, &vocabulary, file.merges.take())?),
            "Unigram" => {
                let scores = file.scores.take().unwrap_or_default();
                Kind::Unigram(Unigram::read(&section, &vocabulary, scores)?)
            }
            "WordLevel" => Kind::WordLevel { unknown: unknown(&section, &vocabulary)? },
            "WordPiece" => Kind::WordPiece(WordPiece::read(&section, &vocabulary)?),
            other => {
                let known = "BPE, Unigram, WordLevel, WordPiece are";
                return Err(section
                    .get("type")
                    .unsupported(&format!("the model {other:?}"), known));
            }
        };
        Ok(Self { vocabulary, kind })
    }

    /// Gives the tokens of a word, which is not empty.
    pub fn cut(&self, word: &str, give: Give) {
        match &self.kind {
            Kind::Bpe(bpe) => bpe.cut(&self.vocabulary, word, give),
            Kind::Unigram(unigram) => unigram.cut(&self.vocabulary, word, give),
            Kind::WordLevel { unknown } => {
                give(self.vocabulary.id(word).unwrap_or(*unknown), 0..word.len());
            }
            Kind::WordPiece(pieces) => pieces.cut(&self.vocabulary, word, give),
        }
    }
}

/// The id of the token that `unk_token` names.
fn unknown(model: &Section, vocabulary: &Vocabulary) -> Result<u32> {
    let section = model.get("unk_token");
    let text = section.text()?;
    vocabulary.id(text).ok_or_else(|| section.damaged(format!("{text:?} is not in the vocabulary")))
}
