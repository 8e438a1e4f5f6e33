//! A translation under way: sentences enter the search as others leave it, trouble is retried, results are collected.

use super::DecodingOptions;
use super::copy;
use super::join::{Done, Joined};
use super::plan::{Plan, Unit, slice};
use super::prepare::{Prepared, prepare};
use super::queue::{Queue, Sought};
use super::result::{TranslatedSentence, Translation, tokens};
use super::translator::Translator;
use crate::error::{Error, Result};
use crate::generate::Hypothesis;
use crate::ops::Ops;
use crate::text::sentencepiece::SentencePiece;
use crate::text::{casing, repetition};
use std::{cmp::Reverse, ops::Range, rc::Rc};

/// Hypotheses decoded at once where texts are many: weights are read once for all of them.
pub(super) const LIST_ROWS: usize = 16;
/// Hypotheses decoded at once of a single text, whose beginning may be waited for.
const TEXT_ROWS: usize = 8;

/// How a unit is searched for. The first way does nearly always; the others are for a model gone round in circles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As it is written, as the caller asked.
    Plain,
    /// In sentence case: models see few texts in capitals, and go round in circles there.
    Recased,
    /// With a wider beam.
    Wide,
}

/// Beam of [`Way::Wide`].
pub(super) const WIDE_BEAM: usize = 4;

/// How far the search for a unit has come.
struct Attempt {
    way: Way,
    /// The best of the attempts before.
    fallback: Option<Fallback>,
}

/// A translation with a fault, kept in case no other attempt is better.
struct Fallback {
    prepared: Prepared,
    way: Way,
    best: Hypothesis,
    trouble: Trouble,
}

/// What is wrong with a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    None,
    /// Words doubled, or brackets opened, that the source does not have; at times that is right.
    Doubtful,
    /// Words over and over, or no end.
    Loop,
}

/// A translation under way; dropped, it is aborted.
pub struct TranslationJob<O: Ops> {
    translator: Rc<Translator<O>>,
    texts: Vec<String>,
    plan: Plan,
    options: DecodingOptions,
    queue: Queue<O>,
    attempts: Vec<Attempt>,  // one a unit
    done: Vec<Option<Done>>, // one a unit, until it is joined
    done_count: usize,
    joined: Vec<Joined>, // one a text
}

impl<O: Ops + Clone> TranslationJob<O> {
    pub(super) fn new(
        translator: Rc<Translator<O>>,
        texts: Vec<String>,
        plan: Plan,
        options: DecodingOptions,
    ) -> Self {
        let sought = plan.units.iter().enumerate().map(|(index, unit)| Sought {
            index,
            source: unit.prepared.clone(),
            given: None,
            beam_size: options.beam_size,
        });
        let mut waiting: Vec<_> = sought.collect();
        if texts.len() > 1 {
            // The longest first: the search stays full to its end. The sentences of one text stay in order.
            waiting.sort_by_key(|sought| Reverse(sought.source.pieces.len()));
        }
        let first_attempt = |unit: &Unit| {
            let way = if unit.recased { Way::Recased } else { Way::Plain };
            Attempt { way, fallback: None }
        };
        let most_rows = if texts.len() > 1 { LIST_ROWS } else { TEXT_ROWS };
        Self {
            queue: Queue::new(Rc::clone(&translator), options, most_rows, waiting),
            attempts: plan.units.iter().map(first_attempt).collect(),
            done: plan.units.iter().map(|_| None).collect(),
            done_count: 0,
            joined: plan.parts.iter().map(|_| Joined::default()).collect(),
            translator,
            texts,
            plan,
            options,
        }
    }

    /// Whether every sentence is translated.
    pub fn is_done(&self) -> bool {
        self.queue.is_done()
    }

    /// Sentences to translate, and how many of them are done.
    pub fn progress(&self) -> (usize, usize) {
        (self.done.len(), self.done_count)
    }

    /// A bounded piece of work: encodes a few sentences, or decodes one token of each that is searched for.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn step(&mut self) -> Result<()> {
        for (sought, hypotheses) in self.queue.step().await? {
            self.settle(sought, hypotheses)?;
        }
        Ok(())
    }

    /// Takes a translation, or asks for another attempt if the model went round in circles.
    fn settle(&mut self, sought: Sought, hypotheses: Vec<Hypothesis>) -> Result<()> {
        let Sought { index, source: prepared, .. } = sought;
        let (Some(unit), Some(attempt)) =
            (self.plan.units.get(index), self.attempts.get_mut(index))
        else {
            return Err(Error::Internal { what: format!("unit {index}") });
        };
        let text = self.texts.get(unit.text).map_or("", String::as_str);
        let source = slice(text, &unit.range);
        // The likeliest of those with the least trouble.
        let judged = hypotheses.into_iter().map(|hypothesis| {
            let target = self.translator.target_vocab.decode(&hypothesis.tokens);
            (trouble(source, &target, &hypothesis), hypothesis)
        });
        let (trouble, best) = judged
            .min_by_key(|(trouble, _)| *trouble)
            .ok_or_else(|| Error::Internal { what: "a search without a hypothesis".to_owned() })?;
        let way = attempt.way;
        let mut kept = Fallback { prepared, way, best, trouble };
        if let Some(earlier) = attempt.fallback.take()
            && earlier.trouble <= kept.trouble
        {
            kept = earlier;
        }
        if kept.trouble > Trouble::None
            && let Some((way, source)) =
                next_way(way, self.options.beam_size, source, unit, &self.translator.source_vocab)
        {
            *attempt = Attempt { way, fallback: Some(kept) };
            let asked = self.options.beam_size;
            let beam_size = if way == Way::Wide { asked.max(WIDE_BEAM) } else { asked };
            self.queue.push_front(Sought { index, source, given: None, beam_size });
            return Ok(());
        }
        if kept.trouble == Trouble::Loop {
            cut_loop(&mut kept.best, kept.prepared.pieces.len() + 1);
        }
        let done = self.render(text, unit.range.clone(), &kept.prepared, kept.way, kept.best);
        if let Some(place) = self.done.get_mut(index) {
            *place = Some(done);
            self.done_count += 1;
        }
        Ok(())
    }

    /// Tokens to text, with what must stay as it was put back.
    fn render(
        &self,
        text: &str,
        range: Range<usize>,
        prepared: &Prepared,
        way: Way,
        hypothesis: Hypothesis,
    ) -> Done {
        let pieces = &prepared.pieces;
        let end = self.translator.model.special().end;
        let mut ids = hypothesis.tokens;
        let mut alignment = hypothesis.alignment;
        let source_len = pieces.len() + 1;
        if ids.last() == Some(&end) {
            ids.pop();
        } else {
            // Cut by the length limit: the end token was never chosen; it would have looked at the source's end.
            alignment.extend((1..source_len).map(|_| 0.0).chain([1.0]));
        }
        let mut decoded = self.translator.target_vocab.decode_pieces(&ids);
        if way != Way::Plain && casing::is_shouting(slice(text, &range)) {
            let capitals = casing::to_capitals(&decoded.text);
            for range in &mut decoded.ranges {
                *range = capitals.range_to_new(range.clone());
            }
            decoded.text = capitals.text;
        }
        let (target, ranges) = copy::restore(&copy::Draft {
            source: slice(text, &range),
            source_ranges: pieces.iter().map(|piece| piece.range.clone()).collect(),
            left_out: &prepared.left_out,
            plain_words: &prepared.plain_words,
            target: decoded.text,
            target_ranges: decoded.ranges,
            alignment: &alignment,
        });
        let source_tokens = pieces.iter().map(|piece| (piece.id, piece.range.clone()));
        let sentence = TranslatedSentence {
            source: range.clone(),
            target: 0..target.len(),
            source_tokens: tokens(text, range.start, source_tokens),
            target_tokens: tokens(&target, 0, ids.into_iter().zip(ranges)),
            alignment,
            score: hypothesis.score,
        };
        Done { target, sentence }
    }

    /// What has become known of the translation of text number `index` since the last call, in reading order.
    /// All that it ever returns, joined, is the text of the result.
    pub fn take_text(&mut self, index: usize) -> String {
        let text = self.texts.get(index).map_or("", String::as_str);
        let parts = self.plan.parts.get(index).map_or(&[][..], Vec::as_slice);
        self.joined.get_mut(index).map_or_else(String::new, |joined| {
            joined.advance(text, parts, &mut self.done);
            joined.take_text()
        })
    }

    /// The translations, in the order of the texts.
    ///
    /// # Errors
    /// [`Error::Internal`] if the job is not done.
    pub fn finish(mut self) -> Result<Vec<Translation>> {
        let texts = self.texts.iter().zip(&self.plan.parts).zip(self.joined);
        texts
            .map(|((text, parts), mut joined)| {
                joined.advance(text, parts, &mut self.done);
                joined.finish(parts).ok_or_else(|| Error::Internal {
                    what: "a job was asked for its result early".to_owned(),
                })
            })
            .collect()
    }
}

/// What to try after `way` with a beam of `beam_size`, and its source tokens.
fn next_way(
    way: Way,
    beam_size: usize,
    source: &str,
    unit: &Unit,
    vocab: &SentencePiece,
) -> Option<(Way, Prepared)> {
    if way == Way::Plain && casing::is_headline(source) {
        return Some((Way::Recased, prepare(vocab, source, true)));
    }
    let wider = way != Way::Wide && beam_size < WIDE_BEAM;
    wider.then(|| (Way::Wide, unit.prepared.clone()))
}

fn trouble(source: &str, target: &str, hypothesis: &Hypothesis) -> Trouble {
    if hypothesis.cut || repetition::loops(&hypothesis.tokens) {
        // What the source itself repeats may be repeated.
        let repeated = repetition::loops_beyond(source, target);
        return if repeated || hypothesis.cut { Trouble::Loop } else { Trouble::None };
    }
    // Models go on after a word or two as if there were more: "Olá" became "Hello, the hell".
    let short = source.split_whitespace().count() <= 3;
    let more = |marks: &[char]| target.matches(marks).count() > source.matches(marks).count();
    let doubtful = repetition::loops_beyond(source, target)
        || more(&['(', '['])
        || (short && more(&[',', ';', ':', '.', '!', '?', '-']));
    if doubtful { Trouble::Doubtful } else { Trouble::None }
}

/// Leaves one round of what a translation says over and over, and all else.
fn cut_loop(hypothesis: &mut Hypothesis, source_len: usize) {
    if !repetition::loops(&hypothesis.tokens) {
        return;
    }
    let Some(run) = repetition::longest_run(&hypothesis.tokens) else { return };
    let surplus = run.start + run.period..run.start + run.period * run.count;
    hypothesis.tokens.drain(surplus.clone());
    hypothesis.alignment.drain(surplus.start * source_len..surplus.end * source_len);
}
