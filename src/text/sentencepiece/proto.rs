//! The messages of a `.spm` file (`sentencepiece_model.proto`): pieces, trainer and normaliser settings.

use super::wire::{Field, Message};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Everything of the file that has a say in encoding or decoding.
pub(super) struct ModelProto<'a> {
    pub pieces: Vec<ProtoPiece<'a>>,
    pub trainer: TrainerSpec<'a>,
    pub normalizer: NormalizerSpec<'a>,
    pub denormalizer: Option<NormalizerSpec<'a>>,
}

/// One entry of the vocabulary; its id is its place in the list.
pub(super) struct ProtoPiece<'a> {
    pub text: Cow<'a, str>,
    pub score: f32,
    pub kind: PieceKind,
    /// Where it stands in the file, if that is known.
    pub offset: Option<u64>,
}

/// What a piece stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// An ordinary piece, with a score.
    Normal,
    /// Stands for whatever no other piece covers.
    Unknown,
    /// Marks such as the end of a sentence; never found in text, never written.
    Control,
    /// Always taken whole, before anything else.
    UserDefined,
    /// In the vocabulary but switched off.
    Unused,
    /// One byte of a character that no piece covers, `<0x00>` to `<0xFF>`.
    Byte,
}

/// How pieces are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelKind {
    Unigram,
    Bpe,
    Word,
    Char,
}

pub(super) struct TrainerSpec<'a> {
    pub model: ModelKind,
    pub treat_whitespace_as_suffix: bool,
    pub byte_fallback: bool,
    pub unk_surface: &'a str,
    pub eos_piece: &'a str,
}

#[derive(Clone)]
pub(super) struct NormalizerSpec<'a> {
    /// The compiled rule table and where it lies.
    pub charsmap: Option<Message<'a>>,
    pub add_dummy_prefix: bool,
    pub remove_extra_whitespaces: bool,
    pub escape_whitespaces: bool,
}

impl<'a> ModelProto<'a> {
    pub fn read(file: &'a str, bytes: &'a [u8]) -> Result<Self> {
        let mut message = Message::new(file, bytes);
        let mut model = Self {
            pieces: Vec::new(),
            trainer: TrainerSpec::default(),
            normalizer: NormalizerSpec::default(),
            denormalizer: None,
        };
        let (mut has_trainer, mut has_normalizer) = (false, false);
        // A message that comes in several parts is merged, the last value of a field counts.
        while let Some(field) = message.next_field()? {
            match field.number {
                1 => model.pieces.push(ProtoPiece::read(&field)?),
                2 => {
                    has_trainer = true;
                    model.trainer.read(file, field.message()?)?;
                }
                3 => {
                    has_normalizer = true;
                    model.normalizer.read(field.message()?)?;
                }
                5 => model
                    .denormalizer
                    .get_or_insert_with(NormalizerSpec::default)
                    .read(field.message()?)?,
                _ => {}
            }
        }
        // The format has no end mark, but every trainer writes pieces, trainer and normaliser settings, in
        // this order: without the last the file was cut between two fields.
        let missing = match (model.pieces.is_empty(), has_trainer, has_normalizer) {
            (true, _, _) => "pieces",
            (_, false, _) => "trainer settings",
            (_, _, false) => "normaliser settings",
            _ => return Ok(model),
        };
        Err(message.error(
            bytes.len(),
            format!("the file ends without {missing}: cut off, or no SentencePiece model"),
        ))
    }
}

impl<'a> ProtoPiece<'a> {
    fn read(field: &Field<'a>) -> Result<Self> {
        let mut piece = Self {
            text: Cow::Borrowed(""),
            score: 0.0,
            kind: PieceKind::Normal,
            offset: Some(field.offset),
        };
        let mut message = field.message()?;
        while let Some(field) = message.next_field()? {
            match field.number {
                1 => piece.text = Cow::Borrowed(field.text()?),
                2 => {
                    piece.score = field.float()?;
                    if !piece.score.is_finite() {
                        return Err(field.error("the score of a piece is no finite number"));
                    }
                }
                3 => {
                    piece.kind = match field.integer()? {
                        1 => PieceKind::Normal,
                        2 => PieceKind::Unknown,
                        3 => PieceKind::Control,
                        4 => PieceKind::UserDefined,
                        5 => PieceKind::Unused,
                        6 => PieceKind::Byte,
                        kind => return Err(field.error(format!("piece type {kind}, 1..=6 known"))),
                    }
                }
                _ => {}
            }
        }
        if piece.text.is_empty() {
            return Err(field.error("a piece is empty"));
        }
        Ok(piece)
    }
}

impl Default for TrainerSpec<'_> {
    fn default() -> Self {
        Self {
            model: ModelKind::Unigram,
            treat_whitespace_as_suffix: false,
            byte_fallback: false,
            unk_surface: " \u{2047} ",
            eos_piece: "</s>",
        }
    }
}

impl<'a> TrainerSpec<'a> {
    fn read(&mut self, file: &str, mut message: Message<'a>) -> Result<()> {
        while let Some(field) = message.next_field()? {
            match field.number {
                3 => {
                    self.model = match field.integer()? {
                        1 => ModelKind::Unigram,
                        2 => ModelKind::Bpe,
                        3 => ModelKind::Word,
                        4 => ModelKind::Char,
                        kind => {
                            return Err(Error::Unsupported {
                                file: file.to_owned(),
                                what: format!(
                                    "SentencePiece model type {kind} (byte {}); unigram, BPE, word and char are",
                                    field.offset
                                ),
                            });
                        }
                    }
                }
                24 => self.treat_whitespace_as_suffix = field.boolean()?,
                35 => self.byte_fallback = field.boolean()?,
                44 => self.unk_surface = field.text()?,
                47 => self.eos_piece = field.text()?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Default for NormalizerSpec<'_> {
    fn default() -> Self {
        Self {
            charsmap: None,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
        }
    }
}

impl<'a> NormalizerSpec<'a> {
    fn read(&mut self, mut message: Message<'a>) -> Result<()> {
        while let Some(field) = message.next_field()? {
            match field.number {
                2 => self.charsmap = Some(field.message()?),
                3 => self.add_dummy_prefix = field.boolean()?,
                4 => self.remove_extra_whitespaces = field.boolean()?,
                5 => self.escape_whitespaces = field.boolean()?,
                _ => {}
            }
        }
        Ok(())
    }
}
