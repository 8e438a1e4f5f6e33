//! Byte-pair segmentation: neighbours merge in the order of the merged piece's score (Sennrich et al. 2016).

use super::{Part, normalizer::SPACE_SYMBOL, proto::PieceKind, vocabulary::Vocabulary};
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
        text: "",
        symbols: Vec::new(),
        candidates: BinaryHeap::new(),
        split_of: BTreeMap::new(),
    };
    let mut parts = Vec::new();
    let mut start = 0;
    while start < text.len() {
        // Word by word where no merge goes across a border of words: less memory, and a smaller heap.
        let rest = text.get(start..).unwrap_or_default();
        let length = if vocabulary.words_stand_alone { word_length(rest) } else { rest.len() };
        merger.text = rest.get(..length).unwrap_or(rest);
        merger.run();
        merger.push_parts(start, &mut parts);
        start += merger.text.len();
    }
    parts
}

/// Length of the spaces and the other characters that `text` begins with.
fn word_length(text: &str) -> usize {
    let spaces = text.len() - text.trim_start_matches(SPACE_SYMBOL).len();
    let rest = text.get(spaces..).unwrap_or_default();
    rest.find(SPACE_SYMBOL).map_or(text.len(), |length| spaces + length)
}

impl Merger<'_> {
    fn run(&mut self) {
        self.symbols.clear();
        self.split_into_symbols();
        for right in 1..self.symbols.len() {
            self.consider(Some(right - 1), Some(right));
        }
        while let Some(candidate) = self.candidates.pop() {
            self.merge(&candidate);
        }
    }

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

    /// Appends what became of the text, which begins at byte `base` of the whole.
    fn push_parts(&self, base: usize, parts: &mut Vec<Part>) {
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
                    _ => parts.push(Part { id, start: base + start, end: base + end }),
                }
            }
        }
    }
}
