//! A given pair of texts read by the model: the target's tokens are fed to the decoder one after the other (forced
//! decoding), and their attention and log-probabilities are those of a translation that chose them.

use super::DecodingOptions;
use super::pairs::{Pair, pairs};
use super::prepare::Prepared;
use super::queue::{Queue, Sought};
use super::result::{TranslatedSentence, Translation, tokens};
use super::translator::Translator;
use crate::error::{Error, Result};
use crate::generate::Hypothesis;
use crate::ops::Ops;
use std::rc::Rc;

/// Pairs decoded at once.
const ROWS: usize = 16;

/// An alignment under way; dropped, it is aborted.
pub struct AlignmentJob<O: Ops> {
    source: String,
    target: String,
    queue: Queue<O>,
    /// One a pair, to be filled in.
    sentences: Vec<TranslatedSentence>,
}

impl<O: Ops + Clone> AlignmentJob<O> {
    pub(super) fn new(
        translator: Rc<Translator<O>>,
        source: String,
        target: String,
        options: DecodingOptions,
    ) -> Self {
        let of_source = (source.as_str(), &*translator.source_vocab);
        let pairs = pairs(of_source, (target.as_str(), &translator.target_vocab));
        let mut sentences = Vec::with_capacity(pairs.len());
        let mut waiting = Vec::new();
        for (index, Pair { source, target, tokens }) in pairs.into_iter().enumerate() {
            if let Some([source, target]) = tokens {
                waiting.push(Sought { index, source, given: Some(target), beam_size: 1 });
            }
            sentences.push(TranslatedSentence { source, target, ..TranslatedSentence::default() });
        }
        let queue = Queue::new(translator, options, ROWS, waiting);
        Self { source, target, queue, sentences }
    }

    /// Whether every pair is read.
    pub fn is_done(&self) -> bool {
        self.queue.is_done()
    }

    /// A bounded piece of work: encodes a few sources, or takes one token of each pair that is being read.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn step(&mut self) -> Result<()> {
        for (Sought { index, source, given, .. }, hypotheses) in self.queue.step().await? {
            let only = hypotheses.into_iter().next();
            let (Some(target), Some(Hypothesis { score, alignment, .. }), Some(sentence)) =
                (given, only, self.sentences.get_mut(index))
            else {
                return Err(Error::Internal { what: format!("pair {index} got lost") });
            };
            let place = |text: &str, start: usize, prepared: &Prepared| {
                let pieces = prepared.pieces.iter();
                let ids = pieces.map(|piece| (piece.id, piece.range.clone()));
                tokens(text, start, ids)
            };
            sentence.source_tokens = place(&self.source, sentence.source.start, &source);
            sentence.target_tokens = place(&self.target, sentence.target.start, &target);
            (sentence.score, sentence.alignment) = (score, alignment);
        }
        Ok(())
    }

    /// The target as the translation that it is taken for.
    ///
    /// # Errors
    /// [`Error::Internal`] if the job is not done.
    pub fn finish(self) -> Result<Translation> {
        if !self.is_done() {
            let what = "an alignment was asked for its result early".to_owned();
            return Err(Error::Internal { what });
        }
        Ok(Translation { text: self.target, sentences: self.sentences })
    }
}
