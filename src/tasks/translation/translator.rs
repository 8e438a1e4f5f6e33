//! A loaded translation model: network, vocabularies, shortlist.

use super::alignment::AlignmentJob;
use super::job::TranslationJob;
use super::plan::Plan;
use super::{DecodingOptions, Translation};
use crate::error::{Decimal, Error, Result};
use crate::formats::{ByteSource, DType, marian::MarianFile, shortlist::Shortlist};
use crate::generate::SearchInput;
use crate::model::arch;
use crate::ops::Ops;
use crate::stack::{EncoderDecoder, Precision};
use crate::text::sentencepiece::{Piece, SentencePiece};
use std::rc::Rc;

/// Widest beam offered: past it nothing is gained and memory grows.
const MAX_BEAM_SIZE: usize = 64;
/// No translation is longer than this many tokens for each source token.
const MAX_LENGTH_FACTOR: f32 = 16.0;

/// The files of a model.
pub struct TranslatorFiles {
    /// Marian `.bin`.
    pub model: Box<dyn ByteSource>,
    /// SentencePiece model of the source language, or of both.
    pub source_vocab: Box<dyn ByteSource>,
    /// SentencePiece model of the target language, if it has its own.
    pub target_vocab: Option<Box<dyn ByteSource>>,
    /// Lexical shortlist; without it every target token is scored.
    pub shortlist: Option<Box<dyn ByteSource>>,
}

/// How a model is loaded.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadOptions {
    /// Arithmetic of the matrix products.
    pub precision: Precision,
}

/// A translation model ready for use.
pub struct Translator<O: Ops> {
    pub(super) ops: O,
    pub(super) model: EncoderDecoder<O>,
    pub(super) source_vocab: Rc<SentencePiece>,
    pub(super) target_vocab: Rc<SentencePiece>,
    shortlist: Option<Shortlist>,
    precision: Precision,
}

impl<O: Ops + Clone> Translator<O> {
    /// Loads a model; each file is read once, tensor by tensor.
    ///
    /// # Errors
    /// Every fault of a file is an error that names it; files that do not belong together are one too, and
    /// a vocabulary whose end and unknown tokens are others than the model's.
    pub fn load(ops: O, files: TranslatorFiles, options: LoadOptions) -> Result<Self> {
        let source_vocab = Rc::new(vocabulary(files.source_vocab.as_ref())?);
        let target_vocab = match &files.target_vocab {
            Some(file) => Rc::new(vocabulary(file.as_ref())?),
            None => Rc::clone(&source_vocab),
        };
        let shortlist = files.shortlist.as_deref().map(Shortlist::open).transpose()?;
        let file = MarianFile::open(files.model)?;
        let spec = arch::marian::describe(&file)?;
        let target_file = files.target_vocab.as_ref().unwrap_or(&files.source_vocab);
        for (vocab, from, rows) in [
            (&source_vocab, &files.source_vocab, spec.encoder.vocab_size),
            (&target_vocab, target_file, spec.output.vocab_size),
        ] {
            let (end, unknown) = (vocab.eos_id(), vocab.unknown_id());
            if end != Some(spec.special.end) || unknown != spec.special.unknown {
                return Err(Error::Unsupported {
                    file: from.name().to_owned(),
                    what: format!(
                        "end token {end:?} and unknown token {unknown}; {} and {} are read",
                        spec.special.end, spec.special.unknown
                    ),
                });
            }
            // The table may be padded past the vocabulary, never the other way round.
            if vocab.vocab_size() > rows {
                let tokens = vocab.vocab_size();
                return Err(mismatch(
                    from.name(),
                    format!("{tokens} tokens, but {} has embeddings for {rows}", file.name()),
                ));
            }
        }
        if let (Some(shortlist), Some(from)) = (&shortlist, &files.shortlist)
            && shortlist.source_len() < source_vocab.vocab_size()
        {
            let (rows, tokens) = (shortlist.source_len(), source_vocab.vocab_size());
            return Err(mismatch(
                from.name(),
                format!("lists for {rows} source tokens, the vocabulary has {tokens}"),
            ));
        }
        let is_quantised = file.tensors().iter().any(|tensor| tensor.dtype == DType::Intgemm8);
        let precision = match options.precision {
            Precision::Auto if is_quantised => Precision::Int8,
            Precision::Auto => Precision::Float32,
            other => other,
        };
        Ok(Self {
            model: EncoderDecoder::load(&ops, &file, &spec, options.precision)?,
            ops,
            source_vocab,
            target_vocab,
            shortlist,
            precision,
        })
    }

    /// The arithmetic in use: what was asked for, or what [`Precision::Auto`] came to.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Source tokens of `text`, end tokens aside: what a quota is counted in.
    pub fn count_tokens(&self, text: &str) -> usize {
        self.source_vocab.encode(text).len()
    }

    /// Begins the translation of `texts`, which moves on by [`TranslationJob::step`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an option is out of range.
    pub fn start(
        self: &Rc<Self>,
        texts: Vec<String>,
        options: DecodingOptions,
    ) -> Result<TranslationJob<O>> {
        check(&options)?;
        let plan = Plan::new(&texts, &self.source_vocab);
        Ok(TranslationJob::new(Rc::clone(self), texts, plan, options))
    }

    /// Begins to read `target` as a translation of `source`, which moves on by [`AlignmentJob::step`]. Scores are
    /// normalised as `options` say, which have no other use here.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if an option is out of range.
    pub fn start_alignment(
        self: &Rc<Self>,
        source: String,
        target: String,
        options: DecodingOptions,
    ) -> Result<AlignmentJob<O>> {
        check(&options)?;
        Ok(AlignmentJob::new(Rc::clone(self), source, target, options))
    }

    /// Reads `target` as a translation of `source` from start to end.
    ///
    /// # Errors
    /// As [`Translator::start_alignment`], and whatever the device reports.
    pub async fn align(
        self: &Rc<Self>,
        source: String,
        target: String,
        options: DecodingOptions,
    ) -> Result<Translation> {
        let mut job = self.start_alignment(source, target, options)?;
        while !job.is_done() {
            job.step().await?;
        }
        job.finish()
    }

    /// Translates `texts` from start to end.
    ///
    /// # Errors
    /// As [`Translator::start`], and whatever the device reports.
    pub async fn translate(
        self: &Rc<Self>,
        texts: Vec<String>,
        options: DecodingOptions,
    ) -> Result<Vec<Translation>> {
        let mut job = self.start(texts, options)?;
        while !job.is_done() {
            job.step().await?;
        }
        job.finish()
    }

    /// Source tokens as the network takes them, and the target's if they are given.
    ///
    /// A given token is scored as in a translation: among the source's candidates, of which those given are too. So
    /// a sentence's own translation has the score that it was translated with.
    pub(super) fn search_input(&self, source: &[Piece], given: Option<&[Piece]>) -> SearchInput {
        let end = self.model.special().end;
        let with_end = |pieces: &[Piece]| -> Vec<u32> {
            pieces.iter().map(|piece| piece.id).chain([end]).collect()
        };
        let (source, given) = (with_end(source), given.map(with_end));
        let target_vocab = self.model.vocab_size().min(self.target_vocab.vocab_size());
        // Where both sides share a vocabulary, the source's own tokens are candidates too: names are copied.
        let is_shared = Rc::ptr_eq(&self.source_vocab, &self.target_vocab);
        let candidates = self.shortlist.as_ref().map(|shortlist| {
            let mut candidates = if is_shared {
                shortlist.candidates_with_source(&source, target_vocab)
            } else {
                shortlist.candidates(&source, target_vocab)
            };
            // Every list of real files has the end token; without it no translation could end.
            for id in given.iter().flatten().chain([&end]) {
                if let Err(place) = candidates.binary_search(id) {
                    candidates.insert(place, *id);
                }
            }
            candidates
        });
        SearchInput { source, candidates, given }
    }
}

fn vocabulary(file: &dyn ByteSource) -> Result<SentencePiece> {
    let bytes = file.read(0..file.len())?;
    SentencePiece::parse(file.name(), &bytes)
}

fn mismatch(file: &str, what: String) -> Error {
    let what = format!("{what}. The files of this model do not belong together");
    Error::Format { file: file.to_owned(), offset: None, what }
}

fn check(options: &DecodingOptions) -> Result<()> {
    let invalid = |option, what| Err(Error::InvalidArgument { option, what });
    if !(1..=MAX_BEAM_SIZE).contains(&options.beam_size) {
        let size = options.beam_size;
        return invalid("beamSize", format!("{size} given; 1 (greedy) to {MAX_BEAM_SIZE} allowed"));
    }
    if !(0.0..=10.0).contains(&options.length_penalty) {
        return invalid(
            "lengthPenalty",
            format!("{} given; 0 to 10 allowed", Decimal(options.length_penalty)),
        );
    }
    if !(-10.0..=10.0).contains(&options.word_penalty) {
        return invalid(
            "wordPenalty",
            format!("{} given; -10 to 10 allowed", Decimal(options.word_penalty)),
        );
    }
    let factor = options.max_length_factor;
    if !(factor > 0.0 && factor <= MAX_LENGTH_FACTOR) {
        return invalid(
            "maxLengthFactor",
            format!(
                "{} given; above 0 up to {} allowed",
                Decimal(factor),
                Decimal(MAX_LENGTH_FACTOR)
            ),
        );
    }
    Ok(())
}
