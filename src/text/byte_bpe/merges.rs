//! The merges of a vocabulary, and their application: of all neighbours the pair that comes first in the list
//! becomes one token, again and again (Sennrich et al. 2016, arXiv:1508.07909).

use super::alphabet::Alphabet;
use super::vocabulary::{Vocabulary, damaged};
use crate::error::Result;
use crate::text::sentencepiece::PieceKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No symbol, or no merge.
const NONE: u32 = u32::MAX;

/// Which pairs merge, by their left half: those of token `i` are the entries `first[i]..first[i + 1]`.
pub(crate) struct Merges {
    first: Vec<u32>,
    /// Right halves, ascending among those of one left half.
    rights: Vec<u32>,
    /// Rank of each and the token it makes.
    results: Vec<(u32, u32)>,
}

impl Merges {
    /// Reads `left right` in stand-ins, best first.
    pub(super) fn new<'a>(
        file: &str,
        merges: impl Iterator<Item = &'a str>,
        vocabulary: &Vocabulary,
        alphabet: &Alphabet,
    ) -> Result<Self> {
        // Both halves, then rank and result, packed: sorting numbers is little code.
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut spelled = Vec::new();
        for (rank, text) in merges.enumerate() {
            let pair = text.split_once(' ').filter(|(a, b)| !a.is_empty() && !b.is_empty());
            let Some((left, right)) = pair else {
                return Err(damaged(
                    file,
                    "merges",
                    format!("merge {rank}, {text:?}, is no pair of tokens"),
                ));
            };
            spelled.clear();
            let known = alphabet.decode(left, &mut spelled);
            let cut = spelled.len();
            let known = known && alphabet.decode(right, &mut spelled);
            let (left, right) = spelled.split_at_checked(cut).unwrap_or_default();
            let ids = [left, right, &spelled].map(|bytes| vocabulary.any_id(bytes));
            let ([Some(left), Some(right), Some(merged)], true) = (ids, known) else {
                return Err(damaged(
                    file,
                    "merges",
                    format!("merge {rank}, {text:?}, is of no tokens of the vocabulary"),
                ));
            };
            // Text never becomes a control token, and user-defined ones are taken out before any merge.
            if ids.iter().flatten().all(|&id| vocabulary.kind(id) == Some(PieceKind::Normal)) {
                let packed = |high, low: u32| u64::from(high) << 32 | u64::from(low);
                found.push((packed(left, right), packed(rank as u32, merged)));
            }
        }
        // Of a pair given twice the first counts.
        found.sort_unstable();
        found.dedup_by_key(|&mut (pair, _)| pair);
        Ok(Self::of_sorted(found, vocabulary.len()))
    }

    /// From both halves, `left << 32 | right`, ascending and each once, and what they make, `rank << 32 | token`.
    /// Tokens are below `count`.
    pub(crate) fn of_sorted(found: Vec<(u64, u64)>, count: usize) -> Self {
        let mut first = vec![0u32; count + 1];
        for &(pair, _) in &found {
            if let Some(count) = first.get_mut((pair >> 32) as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        Self {
            first,
            rights: found.iter().map(|&(pair, _)| pair as u32).collect(),
            results: found.iter().map(|&(_, made)| ((made >> 32) as u32, made as u32)).collect(),
        }
    }

    /// Rank and result of merging two neighbours.
    #[inline]
    fn find(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let left = left as usize;
        let (start, end) = (*self.first.get(left)? as usize, *self.first.get(left + 1)? as usize);
        let at = self.rights.get(start..end)?.binary_search(&right).ok()?;
        self.results.get(start + at).copied()
    }
}

/// A stretch of a word that grows to the right as it swallows its neighbours.
struct Symbol {
    start: u32,
    id: u32,
    previous: u32,
    next: u32,
    /// Of the merge with the next symbol; [`NONE`] if there is none, or if this one was swallowed.
    rank: u32,
    /// What that merge makes.
    merged: u32,
}

/// Merges words one after the other; the buffers stay.
#[derive(Default)]
pub(crate) struct Merger {
    symbols: Vec<Symbol>,
    /// Rank `<< 32 |` symbol: the best first, of equals the leftmost.
    open: BinaryHeap<Reverse<u64>>,
}

impl Merger {
    /// Splits a word into tokens in O(n log n) steps; `give` gets each id and the byte in the word where the
    /// token ends. Bytes without a token are left out, as the reference does.
    pub fn merge(
        &mut self,
        merges: &Merges,
        byte_ids: &[Option<u32>; 256],
        word: &[u8],
        give: impl FnMut(u32, usize),
    ) {
        let known = (0u32..).zip(word).filter_map(|(start, &byte)| {
            byte_ids.get(usize::from(byte)).copied().flatten().map(|id| (start, id))
        });
        self.merge_symbols(merges, known, word.len(), give);
    }

    /// The same of any symbols, each with where it starts; the last ends at `end`.
    pub(crate) fn merge_symbols(
        &mut self,
        merges: &Merges,
        symbols: impl Iterator<Item = (u32, u32)>,
        end: usize,
        mut give: impl FnMut(u32, usize),
    ) {
        self.symbols.clear();
        self.open.clear();
        for (start, id) in symbols {
            let index = self.symbols.len() as u32;
            let previous = index.checked_sub(1).unwrap_or(NONE);
            self.symbols.push(Symbol {
                start,
                id,
                previous,
                next: index + 1,
                rank: NONE,
                merged: NONE,
            });
        }
        if let Some(last) = self.symbols.last_mut() {
            last.next = NONE;
        }
        for index in 1..self.symbols.len() {
            self.consider(merges, index as u32 - 1);
        }
        while let Some(Reverse(best)) = self.open.pop() {
            self.swallow(merges, (best >> 32) as u32, best as u32);
        }
        let mut at = if self.symbols.is_empty() { NONE } else { 0 };
        while let Some(symbol) = self.symbols.get(at as usize) {
            let next = self.symbols.get(symbol.next as usize);
            give(symbol.id, next.map_or(end, |next| next.start as usize));
            at = symbol.next;
        }
    }

    /// Notes what a symbol and the next one would make.
    fn consider(&mut self, merges: &Merges, index: u32) {
        let Some(symbol) = self.symbols.get(index as usize) else { return };
        let next = self.symbols.get(symbol.next as usize);
        let found = next.and_then(|next| merges.find(symbol.id, next.id));
        let (rank, merged) = found.unwrap_or((NONE, NONE));
        if let Some(symbol) = self.symbols.get_mut(index as usize) {
            (symbol.rank, symbol.merged) = (rank, merged);
        }
        if rank != NONE {
            self.open.push(Reverse(u64::from(rank) << 32 | u64::from(index)));
        }
    }

    /// Merges a symbol with the next, unless a change of either has made that stale.
    fn swallow(&mut self, merges: &Merges, rank: u32, index: u32) {
        let Some(symbol) = self.symbols.get_mut(index as usize) else { return };
        if symbol.rank != rank {
            return;
        }
        let (swallowed, previous) = (symbol.next, symbol.previous);
        symbol.id = symbol.merged;
        let Some(right) = self.symbols.get_mut(swallowed as usize) else { return };
        right.rank = NONE;
        let next = right.next;
        if let Some(symbol) = self.symbols.get_mut(index as usize) {
            symbol.next = next;
        }
        if let Some(following) = self.symbols.get_mut(next as usize) {
            following.previous = index;
        }
        self.consider(merges, previous);
        self.consider(merges, index);
    }
}
