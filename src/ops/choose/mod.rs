//! The likeliest candidates of each row: what is asked for, what comes of it, reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use std::{ops::Range, sync::Arc};

/// A chosen continuation of one row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Choice {
    /// Token id in the vocabulary.
    pub id: u32,
    /// Log-probability over all candidates of the row, barred ones included.
    pub log_prob: f32,
}

/// Rows that choose among the candidates of one output projection.
#[derive(Debug)]
pub struct Pick<O> {
    /// Rows of the hidden states.
    pub rows: Range<usize>,
    /// Their candidates.
    pub output: Arc<O>,
    /// What is wanted of each row.
    pub wanted: Wanted,
}

/// Which candidates a row chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// So many of the likeliest, best first (ties: the smaller id); fewer if there are fewer.
    Likeliest(usize),
    /// The one of this id, however likely and be it barred; none if it is no candidate.
    Given(u32),
}

/// The choices of some rows.
#[derive(Debug, Default)]
pub struct Choices {
    /// Places of one row after those of the other.
    places: Vec<Choice>,
    /// The places of each row that hold a choice.
    rows: Vec<Range<usize>>,
}

impl Choices {
    /// The choices of the row `row`, best first; none if there is no such row.
    pub fn row(&self, row: usize) -> &[Choice] {
        self.rows.get(row).and_then(|places| self.places.get(places.clone())).unwrap_or_default()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Forgets all rows; their room stays.
    pub fn clear(&mut self) {
        self.places.clear();
        self.rows.clear();
    }

    /// Takes over the rows of `other`.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.places.clone_from(&other.places);
        self.rows.clone_from(&other.rows);
    }

    /// The best choice of each of the last `rows` rows.
    pub fn best_of_last(&self, rows: usize) -> impl Iterator<Item = Option<u32>> + '_ {
        let first = self.len().saturating_sub(rows);
        (first..self.len()).map(|row| self.row(row).first().map(|choice| choice.id))
    }

    /// Adds a row, best choice first.
    pub fn push_row(&mut self, choices: impl IntoIterator<Item = Choice>) {
        let start = self.places.len();
        self.places.extend(choices);
        self.rows.push(start..self.places.len());
    }
}

/// The `k` largest logits that are not barred, best first (ties: the smaller id), each with
/// `logit − ln Σ exp(logits)` over all candidates, in double precision.
pub fn reference(logits: &[f32], ids: &[u32], barred: &[u32], k: usize) -> Vec<Choice> {
    let greatest = logits.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(f64::from(x)));
    let sum: f64 = logits.iter().map(|&x| libm::exp(f64::from(x) - greatest)).sum();
    let mut order: Vec<(f32, u32)> = logits.iter().copied().zip(ids.iter().copied()).collect();
    order.retain(|(_, id)| !barred.contains(id));
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let log_prob = |x: f32| (f64::from(x) - greatest - libm::log(sum)) as f32;
    order.iter().take(k).map(|&(x, id)| Choice { id, log_prob: log_prob(x) }).collect()
}
