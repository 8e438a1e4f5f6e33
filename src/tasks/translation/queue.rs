//! What waits for a search and what is in it: sources enter as others leave, a few at a time.

use super::DecodingOptions;
use super::prepare::Prepared;
use super::translator::Translator;
use crate::error::{Error, Result};
use crate::generate::{Hypothesis, Search};
use crate::ops::Ops;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// Source tokens encoded at once: enough to fill matrix products, few enough that a step stays short.
const ENCODED_TOKENS: usize = 160;

/// Something to search for.
pub(super) struct Sought {
    /// What it is to who wants it.
    pub index: usize,
    /// What the model is shown.
    pub source: Prepared,
    /// The target, where it is given.
    pub given: Option<Prepared>,
    /// Hypotheses to follow.
    pub beam_size: usize,
}

/// A search and what waits for it.
pub(super) struct Queue<O: Ops> {
    translator: Rc<Translator<O>>,
    ops: O,
    options: DecodingOptions,
    /// Hypotheses that are decoded at once.
    most_rows: usize,
    waiting: VecDeque<Sought>,
    search: Search<O>,
    /// What is searched for, by its number in the search.
    searched: BTreeMap<usize, Sought>,
    /// Whether the search is being filled up: it goes down to half before it is.
    filling: bool,
}

impl<O: Ops + Clone> Queue<O> {
    pub fn new(
        translator: Rc<Translator<O>>,
        options: DecodingOptions,
        most_rows: usize,
        waiting: Vec<Sought>,
    ) -> Self {
        let mut ops = translator.ops.clone();
        Self {
            search: Search::new(&mut ops, &translator.model, true),
            ops,
            translator,
            options,
            most_rows,
            waiting: waiting.into(),
            searched: BTreeMap::new(),
            filling: true,
        }
    }

    /// Whether nothing waits and nothing is searched for.
    pub fn is_done(&self) -> bool {
        self.search.is_done() && self.waiting.is_empty()
    }

    /// Puts something before all that waits.
    pub fn push_front(&mut self, sought: Sought) {
        self.waiting.push_front(sought);
    }

    /// A bounded piece of work: encodes a few sources, or decodes one token of each that is searched for.
    /// Gives what was found.
    ///
    /// # Errors
    /// Whatever the device reports.
    pub async fn step(&mut self) -> Result<Vec<(Sought, Vec<Hypothesis>)>> {
        let next = self.next();
        if !next.is_empty() {
            self.add(next)?;
            return Ok(Vec::new());
        }
        self.filling = false;
        let found = self.search.step(&mut self.ops, &self.translator.model).await?;
        let mut ended = Vec::with_capacity(found.len());
        for (number, hypotheses) in found {
            let sought = self.searched.remove(&number).ok_or_else(|| Error::Internal {
                what: format!("sentence {number} ended, which nobody searched for"),
            })?;
            ended.push((sought, hypotheses));
        }
        Ok(ended)
    }

    /// What is to be encoded next; nothing while there is enough to decode.
    fn next(&mut self) -> Vec<Sought> {
        let live = self.search.live();
        self.filling |= live <= self.most_rows / 2;
        let mut next: Vec<Sought> = Vec::new();
        let mut tokens = 0;
        while let Some(first) = self.waiting.front() {
            tokens += first.source.pieces.len() + 1;
            let beam = first.beam_size;
            let is_full = live + (next.len() + 1) * beam > self.most_rows.max(beam);
            let is_other = next.first().is_some_and(|before| before.beam_size != beam);
            let is_much = tokens > ENCODED_TOKENS && !next.is_empty();
            if !self.filling || is_full || is_other || is_much {
                break;
            }
            next.extend(self.waiting.pop_front());
        }
        next
    }

    fn add(&mut self, sought: Vec<Sought>) -> Result<()> {
        let Some(first) = sought.first() else { return Ok(()) };
        let options = DecodingOptions { beam_size: first.beam_size, ..self.options };
        let translator = &self.translator;
        let input = |Sought { source, given, .. }: &Sought| {
            translator.search_input(&source.pieces, given.as_ref().map(|given| &given.pieces[..]))
        };
        let inputs: Vec<_> = sought.iter().map(input).collect();
        let numbers = self.search.add(&mut self.ops, &translator.model, &inputs, options)?;
        self.searched.extend(numbers.zip(sought));
        Ok(())
    }
}
