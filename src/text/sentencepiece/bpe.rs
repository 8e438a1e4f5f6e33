//! Byte-pair segmentation: neighbours merge in the order of the merged piece's score (Sennrich et al. 2016).

use super::{Part, proto::PieceKind, vocabulary::Vocabulary};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap},
};

/// A stretch of text that grows to the right as it swallows its neighbours.
struct Symbol {
    start: usize,
    /// Equal to `start` once a neighbour has swallowed it.
    end: usize,
    previous: Option<usize>,
    next: Option<usize>,
    /// A user-defined symbol: never merged.
    frozen: bool,
}

/// Two neighbours whose union is a piece.
struct Candidate {
    score: f32,
    left: usize,
    right: usize,
    /// Bytes of the union when it was found: a later change of either makes the candidate stale.
    length: usize,
}

impl Ord for Candidate {
    /// Highest score first, then the leftmost.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.left.cmp(&self.left))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

struct Merger<'a> {
    vocabulary: &'a Vocabulary,
    text: &'a str,
    symbols: Vec<Symbol>,
    candidates: BinaryHeap<Candidate>,
    /// For each unused piece that came up: the length of the left half that made it.
    split_of: BTreeMap<u32, usize>,
}

/// Splits normalised text of `n` bytes in O(n log n) steps.
pub(super) fn segment(vocabulary: &Vocabulary, text: &str) -> Vec<Part> {
    let mut merger = Merger {
        vocabulary,
        text,
        symbols: Vec::new(),
        candidates: BinaryHeap::new(),
        split_of: BTreeMap::new(),
    };
    merger.split_into_symbols();
    for right in 1..merger.symbols.len() {
        merger.consider(Some(right - 1), Some(right));
    }
    while let Some(candidate) = merger.candidates.pop() {
        merger.merge(&candidate);
    }
    merger.into_parts()
}

impl Merger<'_> {
    fn split_into_symbols(&mut self) {
        let mut start = 0;
        while let Some(rest) = self.text.get(start..).filter(|rest| !rest.is_empty()) {
            let whole = self.vocabulary.whole.longest_prefix(rest.as_bytes());
            let end = start
                + whole.unwrap_or_else(|| rest.chars().next().map_or(rest.len(), char::len_utf8));
            let index = self.symbols.len();
            self.symbols.push(Symbol {
                start,
                end,
                previous: index.checked_sub(1),
                next: (end < self.text.len()).then_some(index + 1),
                frozen: whole.is_some(),
            });
            start = end;
        }
    }

    /// Adds the union of two neighbours to the candidates, if it is a piece.
    fn consider(&mut self, left: Option<usize>, right: Option<usize>) {
        let Some((left, right)) = left.zip(right) else { return };
        let Some((a, b)) = self.symbols.get(left).zip(self.symbols.get(right)) else { return };
        if a.frozen || b.frozen {
            return;
        }
        let union = self.text.as_bytes().get(a.start..b.end).unwrap_or_default();
        let Some(id) = self.vocabulary.found.get(union) else { return };
        if self.vocabulary.is(id, PieceKind::Unused) {
            self.split_of.insert(id, a.end - a.start);
        }
        let score = self.vocabulary.score(id);
        self.candidates.push(Candidate { score, left, right, length: union.len() });
    }

    fn merge(&mut self, candidate: &Candidate) {
        let &Candidate { left, right, length, .. } = candidate;
        let Some((a, b)) = self.symbols.get(left).zip(self.symbols.get(right)) else { return };
        let swallowed = a.start == a.end || b.start == b.end;
        if swallowed || (a.end - a.start) + (b.end - b.start) != length {
            return;
        }
        let (previous, next, end) = (a.previous, b.next, b.end);
        if let Some(symbol) = self.symbols.get_mut(left) {
            symbol.end = end;
            symbol.next = next;
        }
        if let Some(symbol) = self.symbols.get_mut(right) {
            symbol.end = symbol.start;
        }
        if let Some(symbol) = next.and_then(|next| self.symbols.get_mut(next)) {
            symbol.previous = Some(left);
        }
        self.consider(previous, Some(left));
        self.consider(Some(left), next);
    }

    fn into_parts(self) -> Vec<Part> {
        let mut parts = Vec::new();
        for symbol in self.symbols.iter().filter(|symbol| symbol.start < symbol.end) {
            // An unused piece may serve as a step to others, but is taken apart again in the result.
            let mut open = vec![(symbol.start, symbol.end)];
            while let Some((start, end)) = open.pop() {
                let id = self.vocabulary.id(self.text.get(start..end).unwrap_or_default());
                let unused = self.vocabulary.is(id, PieceKind::Unused);
                match self.split_of.get(&id).filter(|_| unused) {
                    Some(&left) if left > 0 && left < end - start => {
                        open.push((start + left, end));
                        open.push((start, start + left));
                    }
                    _ => parts.push(Part { id, start, end }),
                }
            }
        }
        parts
    }
}
