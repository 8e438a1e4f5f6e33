//! `tokenizer.json` of Hugging Face: text to ids with the place of each in the text, and back.
//!
//! Ids, ranges and decoded text are those of the reference, the library `tokenizers` 0.22, and where it has a
//! peculiarity, that too. What it knows and this does not (`NFKC`, regular expressions of one's own, pairs of texts,
//! …) is refused when the file is read, by name.

mod added;
mod aligned;
mod categories;
mod decoders;
mod file;
mod models;
mod normalizers;
mod pattern;
mod post;
mod pre_tokenizers;
mod section;
mod splits;
mod vocabulary;

use crate::error::Result;
use added::Added;
use decoders::Decoder;
use file::File;
use models::Model;
use normalizers::Normalizer;
use post::{Blank, PostProcessor};
use pre_tokenizers::PreTokenizer;
use section::Section;
use splits::Split;
use std::ops::Range;

/// The tokenizer of a model in the layout of Hugging Face.
pub struct JsonTokenizer {
    model: Model,
    added: Added,
    normalizer: Option<Normalizer>,
    pre_tokenizer: Option<PreTokenizer>,
    post_processor: PostProcessor,
    decoder: Option<Decoder>,
    max_length: Option<usize>,
    pad_id: Option<u32>,
}

/// The tokens of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    /// In order, with those that the file puts around a text.
    pub pieces: Vec<Piece>,
    /// Whether the end of the text was left out because there are more tokens than was asked for.
    pub truncated: bool,
}

/// One token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its id.
    pub id: u32,
    /// Bytes of the source text that it comes from, whole characters; `0..0` for what was put around the text.
    /// Ranges ascend, need not touch, and of tokens that come from the same character are the same. An empty one
    /// is white space that was put in and left out again; it may lie behind the next one's start.
    pub range: Range<usize>,
    /// Which stretch of the text it is from, counted from 0: a word of the pre-tokenizer's or an added token. `None`
    /// for what was put around the text.
    pub word: Option<u32>,
}

impl JsonTokenizer {
    /// Reads the bytes of a `tokenizer.json`; `file` names it in errors. What is kept is some bytes a token beside
    /// the texts; nothing refers to the bytes.
    ///
    /// # Errors
    /// [`crate::error::Error::Format`] with the offset where it is no such JSON,
    /// [`crate::error::Error::Metadata`] with the key for a value that is missing, damaged or contradicts another,
    /// [`crate::error::Error::Unsupported`] for a component that is not known, with those that are.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self> {
        let mut read = File::read(file, bytes)?;
        let model = Model::read(file, &mut read)?;
        let section = |key: &str| Section::new(file, key, read.sections.get(key));
        let version = section("version");
        if version.is_there() && version.text()? != "1.0" {
            let what = format!("version {:?}", version.text()?);
            return Err(version.unsupported(&what, "1.0 is"));
        }
        let given = |key: &str| Some(section(key)).filter(Section::is_there);
        let normalizer = given("normalizer").map(|it| Normalizer::read(&it)).transpose()?;
        let pre_tokenizer = given("pre_tokenizer").map(|it| PreTokenizer::read(&it)).transpose()?;
        let truncation = section("truncation").get("max_length");
        let max_length = truncation.is_there().then(|| truncation.number()).transpose()?;
        let padding = section("padding").get("pad_id");
        let pad_id = padding.is_there().then(|| padding.number()).transpose()?;
        let added = Added::read(&section("added_tokens"), &model.vocabulary, normalizer.as_ref())?;
        let post_processor = PostProcessor::read(&section("post_processor"))?;
        let decoder = given("decoder").map(|it| Decoder::read(&it)).transpose()?;
        Ok(Self {
            model,
            added,
            normalizer,
            pre_tokenizer,
            post_processor,
            decoder,
            max_length: max_length.map(|length| length as usize),
            pad_id,
        })
    }

    /// Cuts a text into tokens and puts around them what the file says. Of more than `max_tokens` in all, the last
    /// ones of the text are left out; what is put around it stays, even where it is more than that itself.
    ///
    /// The file's own truncation and padding are not applied: see [`JsonTokenizer::max_length`].
    pub fn encode(&self, text: &str, max_tokens: Option<usize>) -> Encoding {
        let mut splits = self.added.split(text, self.normalizer.as_ref());
        if let Some(pre_tokenizer) = &self.pre_tokenizer {
            splits = pre_tokenizer.apply(splits);
        }
        let room = max_tokens
            .map_or(usize::MAX, |most| most.saturating_sub(self.post_processor.added_tokens()));
        let (mut pieces, mut blanks) = (Vec::new(), Vec::new());
        for (word, split) in (0u32..).zip(&splits) {
            self.push(split, word, &mut pieces, &mut blanks);
            if pieces.len() > room {
                break;
            }
        }
        let truncated = pieces.len() > room;
        pieces.truncate(room);
        blanks.truncate(room);
        Encoding { pieces: self.post_processor.apply(text, pieces, blanks), truncated }
    }

    /// Appends the tokens of a stretch.
    fn push(&self, split: &Split, word: u32, pieces: &mut Vec<Piece>, blanks: &mut Vec<Blank>) {
        let text = split.text.text();
        let trims = self.post_processor.trims();
        let mut push = |id: u32, range: Range<usize>, own: Option<&str>| {
            pieces.push(Piece { id, range: split.text.source(range), word: Some(word) });
            if trims {
                let own = own.or_else(|| self.model.vocabulary.text(id));
                blanks.push(Blank::of(own.unwrap_or_default()));
            }
        };
        match split.token {
            Some(id) => push(id, 0..text.len(), Some(text)),
            None => self.model.cut(text, &mut |id, range| push(id, range, None)),
        }
    }

    /// The text that ids stand for, as the file's decoder has it; ids that are not known are left out, and special
    /// tokens if `skip_special`.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> String {
        let is_kept = |id: &u32| !(skip_special && self.added.is_special(*id));
        let tokens = ids.iter().copied().filter(is_kept).filter_map(|id| self.token_text(id));
        let tokens: Vec<String> = tokens.map(str::to_owned).collect();
        match &self.decoder {
            Some(decoder) => decoder.apply(tokens).concat(),
            None => tokens.join(" "),
        }
    }

    /// The id of a token by its text as it stands in the vocabulary.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.added.id(token).or_else(|| self.model.vocabulary.id(token))
    }

    /// The text of a token as it stands in the vocabulary: with `##`, U+2581, stand-ins for bytes.
    pub fn token_text(&self, id: u32) -> Option<&str> {
        self.added.text(id).or_else(|| self.model.vocabulary.text(id))
    }

    /// Whether the file calls a token special: a mark, never text.
    pub fn is_special(&self, id: u32) -> bool {
        self.added.is_special(id)
    }

    /// One more than the highest id, of what is put around texts too; not every id below need be a token.
    pub fn vocab_size(&self) -> usize {
        let put_around = self.post_processor.last_id();
        let last = self.model.vocabulary.last_id().max(self.added.last_id()).max(put_around);
        last.map_or(0, |last| (last as usize).saturating_add(1))
    }

    /// Number of tokens that are put around a text.
    pub fn added_tokens(&self) -> usize {
        self.post_processor.added_tokens()
    }

    /// To how many tokens the file itself would have texts truncated (`truncation.max_length`), with those that are
    /// put around them.
    pub fn max_length(&self) -> Option<usize> {
        self.max_length
    }

    /// The id that the file would have texts padded with (`padding.pad_id`).
    pub fn pad_id(&self) -> Option<u32> {
        self.pad_id
    }
}
