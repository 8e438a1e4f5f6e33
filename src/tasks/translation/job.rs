//! A translation under way: sentences enter the search as others leave it, trouble is retried, results are collected.

use super::DecodingOptions;
use super::copy;
use super::join::{Done, Joined};
use super::plan::{Plan, Unit, slice};
use super::prepare::{Prepared, prepare};
use super::result::{Token, TranslatedSentence, Translation};
use super::translator::Translator;
use crate::error::{Error, Result};
use crate::generate::{Hypothesis, Search};
use crate::ops::Ops;
use crate::text::{casing, repetition};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
    ops::Range,
    rc::Rc,
};

/// Source tokens encoded at once: enough to fill matrix products, few enough that a step stays short.
const ENCODED_TOKENS: usize = 160;
/// Hypotheses decoded at once where texts are many: weights are read once for all of them.
const LIST_ROWS: usize = 16;
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
const WIDE_BEAM: usize = 4;

/// Something to search for.
#[derive(Clone)]
struct Attempt {
    unit: usize,
    prepared: Prepared,
    way: Way,
    /// The best of the attempts before.
    fallback: Option<Box<Fallback>>,
}

/// A translation with a fault, kept in case no other attempt is better.
#[derive(Clone)]
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
    ops: O,
    texts: Vec<String>,
    plan: Plan,
    options: DecodingOptions,
    waiting: VecDeque<Attempt>,
    search: Search<O>,
    /// What is searched for, by its number in the search.
    searched: BTreeMap<usize, Attempt>,
    /// Whether the search is being filled up: it goes down to half before it is.
    filling: bool,
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
        let waiting = plan.units.iter().enumerate().map(|(unit, of)| Attempt {
            unit,
            prepared: of.prepared.clone(),
            way: if of.recased { Way::Recased } else { Way::Plain },
            fallback: None,
        });
        let mut waiting: Vec<_> = waiting.collect();
        if texts.len() > 1 {
            // The longest first: the search stays full to its end. The sentences of one text stay in order.
            waiting.sort_by_key(|attempt| Reverse(attempt.prepared.pieces.len()));
        }
        let mut ops = translator.ops.clone();
        Self {
            search: Search::new(&mut ops, &translator.model, true),
            ops,
            waiting: waiting.into(),
            searched: BTreeMap::new(),
            filling: true,
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
        self.search.is_done() && self.waiting.is_empty()
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
        let attempts = self.next_attempts();
        if !attempts.is_empty() {
            return self.add(attempts);
        }
        self.filling = false;
        let translator = Rc::clone(&self.translator);
        for (number, hypotheses) in self.search.step(&mut self.ops, &translator.model).await? {
            let attempt = self.searched.remove(&number).ok_or_else(|| Error::Internal {
                what: format!("sentence {number} ended, which nobody searched for"),
            })?;
            self.settle(attempt, hypotheses)?;
        }
        Ok(())
    }

    /// What is to be encoded next; nothing while there is enough to decode.
    fn next_attempts(&mut self) -> Vec<Attempt> {
        let most = if self.texts.len() > 1 { LIST_ROWS } else { TEXT_ROWS };
        let live = self.search.live();
        self.filling |= live <= most / 2;
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut tokens = 0;
        while let Some(next) = self.waiting.front() {
            tokens += next.prepared.pieces.len() + 1;
            let beam = self.beam(next);
            let is_full = live + (attempts.len() + 1) * beam > most.max(beam);
            let is_other = attempts.first().is_some_and(|first| self.beam(first) != beam);
            let is_much = tokens > ENCODED_TOKENS && !attempts.is_empty();
            if !self.filling || is_full || is_other || is_much {
                break;
            }
            attempts.extend(self.waiting.pop_front());
        }
        attempts
    }

    fn add(&mut self, attempts: Vec<Attempt>) -> Result<()> {
        let Some(first) = attempts.first() else { return Ok(()) };
        let options = DecodingOptions { beam_size: self.beam(first), ..self.options };
        let translator = &self.translator;
        let inputs: Vec<_> = attempts
            .iter()
            .map(|attempt| {
                translator.search_input(attempt.prepared.pieces.iter().map(|piece| piece.id))
            })
            .collect();
        let numbers = self.search.add(&mut self.ops, &translator.model, &inputs, options)?;
        self.searched.extend(numbers.zip(attempts));
        Ok(())
    }

    fn beam(&self, attempt: &Attempt) -> usize {
        if attempt.way == Way::Wide {
            self.options.beam_size.max(WIDE_BEAM)
        } else {
            self.options.beam_size
        }
    }

    /// Takes a translation, or asks for another attempt if the model went round in circles.
    fn settle(&mut self, attempt: Attempt, hypotheses: Vec<Hypothesis>) -> Result<()> {
        let Some(unit) = self.plan.units.get(attempt.unit) else {
            return Err(Error::Internal { what: format!("unit {}", attempt.unit) });
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
        let Attempt { unit: index, prepared, way, fallback } = attempt;
        let mut kept = Fallback { prepared, way, best, trouble };
        if let Some(earlier) = fallback
            && earlier.trouble <= kept.trouble
        {
            kept = *earlier;
        }
        if kept.trouble > Trouble::None
            && let Some((way, prepared)) = self.next_way(way, source, unit)
        {
            let fallback = Some(Box::new(kept));
            self.waiting.push_front(Attempt { unit: index, prepared, way, fallback });
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

    /// What to try after `way`, and its source tokens.
    fn next_way(&self, way: Way, source: &str, unit: &Unit) -> Option<(Way, Prepared)> {
        if way == Way::Plain && casing::is_headline(source) {
            return Some((Way::Recased, prepare(&self.translator.source_vocab, source, true)));
        }
        let wider = way != Way::Wide && self.options.beam_size < WIDE_BEAM;
        wider.then(|| (Way::Wide, unit.prepared.clone()))
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
        let token = |id: u32, range: Range<usize>, text: &str| Token {
            id,
            text: slice(text, &range).to_owned(),
            range,
        };
        let sentence = TranslatedSentence {
            source: range.clone(),
            target: 0..target.len(),
            source_tokens: pieces
                .iter()
                .map(|piece| {
                    let Range { start, end } = piece.range;
                    token(piece.id, start + range.start..end + range.start, text)
                })
                .collect(),
            target_tokens: ids
                .iter()
                .zip(ranges)
                .map(|(id, range)| token(*id, range, &target))
                .collect(),
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
