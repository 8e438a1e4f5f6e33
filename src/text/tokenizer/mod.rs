//! The tokenizer of a decoder-only model, whichever kind its file has: text to ids with the place of each in the
//! text, ids to text, and the control tokens that only a chat template may write.

mod marks;
mod parts;
mod stream;

pub use crate::text::sentencepiece::{Decoded, Piece, PieceKind};
pub use parts::{SpecialIds, TokenizerParts};
pub use stream::TextStream;

use crate::error::{Error, Result};
use crate::text::byte_bpe::{ByteBpe, ByteBpeParts};
use crate::text::sentencepiece::{SentencePiece, SentencePieceParts};
use marks::Marks;
use std::ops::Range;
use stream::Joiner;

/// A stretch of a text that a template was filled in to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The template's own: names of control tokens are these tokens.
    Template(&'a str),
    /// What somebody wrote: names of control tokens are text.
    Text(&'a str),
}

/// The tokenizer of one model.
pub struct Tokenizer {
    kind: Kind,
    marks: Marks,
    bos: Option<u32>,
    eos: Option<u32>,
    /// Ids at which generation ends.
    ends: Vec<u32>,
    add_bos: bool,
    add_eos: bool,
}

enum Kind {
    ByteBpe(ByteBpe),
    SentencePiece(Box<SentencePiece>),
}

impl Tokenizer {
    /// Takes the parts together. What is kept is some bytes a token beside the texts; nothing refers to the parts.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another kind of tokenizer or a pre-tokenizer that is not known, with those that
    /// are; [`Error::Metadata`] and [`Error::Format`] where the parts are missing or contradict each other.
    pub fn new(parts: TokenizerParts) -> Result<Self> {
        let TokenizerParts { file, tokens, special_ids, .. } = parts;
        let kinds = parts::kinds(parts.token_types);
        let mut kind = match parts.model {
            "gpt2" => Kind::ByteBpe(ByteBpe::new(ByteBpeParts {
                file,
                pre_tokenizer: parts.pre_tokenizer.ok_or_else(|| missing(file, "pre"))?,
                tokens,
                kinds,
                merges: parts.merges.ok_or_else(|| missing(file, "merges"))?,
            })?),
            "llama" => {
                let lists = [("token_type", kinds.is_empty()), ("scores", parts.scores.is_empty())];
                for (key, is_empty) in lists {
                    if is_empty {
                        return Err(missing(file, key));
                    }
                }
                let model = SentencePiece::from_parts(SentencePieceParts {
                    file,
                    tokens,
                    scores: parts.scores,
                    kinds,
                    unknown_id: special_ids.unknown.and_then(|id| u32::try_from(id).ok()),
                    add_space_prefix: parts.add_space_prefix.unwrap_or(true),
                })?;
                Kind::SentencePiece(Box::new(model))
            }
            other => {
                let what =
                    format!("the tokenizer {other:?} (tokenizer.ggml.model); gpt2, llama are");
                return Err(Error::Unsupported { file: file.to_owned(), what });
            }
        };
        let mut named = special_ids.within(file, kind.vocab_size())?;
        // What a file without the keys means, by its kind.
        let add_bos = match &kind {
            Kind::ByteBpe(bpe) => bpe.adds_bos(),
            Kind::SentencePiece(model) => {
                for (slot, usual) in named.iter_mut().zip([1, 2]) {
                    let usual =
                        Some(usual).filter(|&id| model.kind(id) == Some(PieceKind::Control));
                    *slot = slot.or(usual);
                }
                true
            }
        };
        let [bos, eos, ..] = named;
        if let Kind::ByteBpe(bpe) = &mut kind {
            named.into_iter().flatten().for_each(|id| bpe.mark_control(id));
        }
        let marks = kind.marks();
        let mut ends = Vec::new();
        for id in named.into_iter().skip(1).flatten().chain(marks.ends()) {
            if !ends.contains(&id) {
                ends.push(id);
            }
        }
        Ok(Self {
            kind,
            marks,
            bos,
            eos,
            ends,
            add_bos: parts.add_bos.unwrap_or(add_bos),
            add_eos: parts.add_eos.unwrap_or(false),
        })
    }

    /// Number of tokens: ids are `0..vocab_size`.
    pub fn vocab_size(&self) -> usize {
        self.kind.vocab_size()
    }

    /// What a token is; `None` outside of the vocabulary.
    pub fn kind(&self, id: u32) -> Option<PieceKind> {
        match &self.kind {
            Kind::ByteBpe(bpe) => bpe.kind(id),
            Kind::SentencePiece(model) => model.kind(id),
        }
    }

    /// The mark of the beginning, whether or not texts begin with it.
    pub fn bos_id(&self) -> Option<u32> {
        self.bos
    }

    /// The mark of the end, whether or not texts end with it.
    pub fn eos_id(&self) -> Option<u32> {
        self.eos
    }

    /// Ids at which generation ends, each once: the ends of a text, a turn and a message that the file names, and
    /// those that are known by their texts.
    pub fn end_ids(&self) -> &[u32] {
        &self.ends
    }

    /// The text of a token for people to read: of a control token its name, U+FFFD for a part of a character.
    pub fn token_text(&self, id: u32) -> String {
        match &self.kind {
            Kind::ByteBpe(bpe) => {
                String::from_utf8_lossy(bpe.bytes(id).unwrap_or_default()).into_owned()
            }
            Kind::SentencePiece(model) => {
                model.piece(id).unwrap_or_default().replace('\u{2581}', " ")
            }
        }
    }

    /// Tokens of what somebody wrote: names of control tokens in it are text like any other. No marks are added.
    ///
    /// The ranges are in bytes, tile the text and lie between characters: a character belongs to the token that
    /// completes it, and a token that completes none has an empty range. What encoding leaves out or puts in
    /// (spaces in front, bytes without a token) falls to a neighbour.
    pub fn encode(&self, text: &str) -> Vec<Piece> {
        self.encode_parts(&[Part::Text(text)])
    }

    /// Tokens of a text in which names of control tokens are these tokens; as [`Tokenizer::encode`] otherwise.
    pub fn encode_with_control(&self, text: &str) -> Vec<Piece> {
        self.encode_parts(&[Part::Template(text)])
    }

    /// Tokens of a filled-in template. The parts are one text: words and merges go across their borders as if it
    /// came in one piece, and the ranges are in that text. But a control token is found only where all of its
    /// name is the template's.
    pub fn encode_parts(&self, parts: &[Part]) -> Vec<Piece> {
        let mut text = String::new();
        // Where what somebody wrote begins and ends, ascending.
        let mut written: Vec<Range<usize>> = Vec::new();
        for part in parts {
            let start = text.len();
            match part {
                Part::Template(part) => text.push_str(part),
                Part::Text("") => {}
                Part::Text(part) => {
                    text.push_str(part);
                    written.push(start..text.len());
                }
            }
        }
        let is_template = |range: &Range<usize>| {
            let next = written.partition_point(|written| written.end <= range.start);
            written.get(next).is_none_or(|written| written.start >= range.end)
        };
        let mut pieces = Vec::with_capacity(text.len() / 3);
        let mut start = 0;
        while start < text.len() {
            let found = self.marks.find(&text, start, is_template);
            let end = found.as_ref().map_or(text.len(), |(range, _)| range.start);
            self.encode_between(text.get(start..end).unwrap_or_default(), start, &mut pieces);
            start = end;
            if let Some((range, id)) = found {
                start = range.end;
                pieces.push(Piece { id, range });
            }
        }
        // A stretch of which nothing became a token falls to what follows, the last one to what is before.
        let mut end = 0;
        for piece in &mut pieces {
            piece.range.start = end;
            end = piece.range.end;
        }
        if let Some(last) = pieces.last_mut() {
            last.range.end = text.len();
        }
        pieces
    }

    /// Adds the marks of beginning and end that the file asks for, unless they are there.
    pub fn add_marks(&self, pieces: &mut Vec<Piece>) {
        if let Some(id) = self.bos.filter(|_| self.add_bos)
            && pieces.first().is_none_or(|first| first.id != id)
        {
            pieces.insert(0, Piece { id, range: 0..0 });
        }
        if let Some(id) = self.eos.filter(|_| self.add_eos)
            && pieces.last().is_none_or(|last| last.id != id)
        {
            let end = pieces.last().map_or(0, |last| last.range.end);
            pieces.push(Piece { id, range: end..end });
        }
    }

    /// Appends the tokens of text between marks; `base` is where it begins in the whole.
    fn encode_between(&self, text: &str, base: usize, pieces: &mut Vec<Piece>) {
        match &self.kind {
            Kind::ByteBpe(bpe) => bpe.encode_into(text, base, pieces),
            Kind::SentencePiece(model) => {
                let shift = |range: Range<usize>| base + range.start..base + range.end;
                let encoded = model.encode(text).into_iter();
                pieces
                    .extend(encoded.map(|piece| Piece { id: piece.id, range: shift(piece.range) }));
            }
        }
    }

    /// The text that ids stand for, and the range that each one wrote: control tokens write nothing, a character
    /// falls to the token that completes it, and bytes that are no UTF-8 become U+FFFD. The ids are a text of
    /// their own: a space that encoding puts in front of texts is taken away.
    pub fn decode(&self, ids: &[u32]) -> Decoded {
        let mut decoded = Decoded { text: String::new(), ranges: Vec::with_capacity(ids.len()) };
        let mut joiner = Joiner::new(self.is_sentencepiece());
        let mut at_start = true;
        for &id in ids {
            let start = decoded.text.len();
            self.write(id, &mut at_start, &mut joiner, &mut decoded.text);
            decoded.ranges.push(start..decoded.text.len());
        }
        joiner.finish(&mut decoded.text);
        if let Some(last) = decoded.ranges.last_mut() {
            last.end = decoded.text.len();
        }
        decoded
    }

    fn is_sentencepiece(&self) -> bool {
        matches!(self.kind, Kind::SentencePiece(_))
    }

    /// Appends what a token writes, as far as the characters are complete.
    fn write(&self, id: u32, at_start: &mut bool, joiner: &mut Joiner, out: &mut String) {
        match &self.kind {
            Kind::ByteBpe(bpe) => match bpe.kind(id) {
                Some(PieceKind::Control | PieceKind::Unknown) | None => {}
                Some(_) => joiner.push(bpe.bytes(id).unwrap_or_default(), out),
            },
            Kind::SentencePiece(model) => {
                if let Some(byte) = model.byte(id) {
                    *at_start = false;
                    return joiner.push(&[byte], out);
                }
                let text = model.written(id, *at_start);
                if model.kind(id) != Some(PieceKind::Control) {
                    *at_start = false;
                }
                joiner.push(text.as_bytes(), out);
            }
        }
    }
}

impl Kind {
    fn vocab_size(&self) -> usize {
        match self {
            Kind::ByteBpe(bpe) => bpe.vocab_size(),
            Kind::SentencePiece(model) => model.vocab_size(),
        }
    }

    /// The tokens that are taken out of a text first.
    fn marks(&self) -> Marks {
        match self {
            Kind::ByteBpe(bpe) => {
                let marks = (0..bpe.vocab_size() as u32).filter_map(|id| {
                    let kind = bpe.kind(id).filter(|kind| {
                        matches!(
                            kind,
                            PieceKind::Control | PieceKind::UserDefined | PieceKind::Unknown
                        )
                    });
                    Some((id, bpe.bytes(id)?, kind?))
                });
                Marks::new(marks)
            }
            // User-defined pieces are found among the others.
            Kind::SentencePiece(model) => {
                let marks = (0..model.vocab_size() as u32).filter_map(|id| {
                    let kind = model
                        .kind(id)
                        .filter(|kind| matches!(kind, PieceKind::Control | PieceKind::Unknown));
                    Some((id, model.piece(id)?.as_bytes(), kind?))
                });
                Marks::new(marks)
            }
        }
    }
}

fn missing(file: &str, key: &str) -> Error {
    Error::Metadata {
        file: file.to_owned(),
        key: format!("tokenizer.ggml.{key}"),
        offset: None,
        what: "missing, and texts cannot be cut into tokens without it".to_owned(),
    }
}
