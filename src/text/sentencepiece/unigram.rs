//! Unigram segmentation: the path of highest total score through the pieces (Kudo 2018, arXiv:1804.10959).

use super::{Part, proto::PieceKind, vocabulary::Vocabulary};
use crate::text::trie::Trie;

/// How far below the worst piece an unknown character scores.
const UNKNOWN_PENALTY: f32 = 10.0;

/// When a path's total falls below this, all open paths are set back by it, so that float32 keeps
/// telling them apart in very long texts.
const LOWEST_TOTAL: f32 = -100_000.0;

/// Best path that ends at one byte of the text.
#[derive(Clone, Copy)]
struct Best {
    id: u32,
    score: f32,
    /// Where its last piece starts; `None` as long as no path ends here.
    start: Option<usize>,
}

/// Splits normalised text. Time is its length times that of the longest piece.
///
/// Totals are float32, added from left to right, and the first of equal paths stays: the ties of the
/// reference library, down to the rounding.
pub(super) fn segment(vocabulary: &Vocabulary, text: &str) -> Vec<Part> {
    let bytes = text.as_bytes();
    let unknown_score = vocabulary.min_score - UNKNOWN_PENALTY;
    let mut best =
        vec![Best { id: vocabulary.unknown_id, score: 0.0, start: None }; bytes.len() + 1];
    let mut furthest = 0;
    for (start, first) in text.char_indices() {
        let mut before = best.get(start).map_or(0.0, |node| node.score);
        if before < LOWEST_TOTAL {
            for node in best.get_mut(start..=furthest).unwrap_or_default() {
                node.score -= before;
            }
            before = 0.0;
        }
        let mut offer = |end: usize, id: u32, score: f32| {
            let score = score + before;
            furthest = furthest.max(end);
            if let Some(node) = best.get_mut(end)
                && (node.start.is_none() || score > node.score)
            {
                *node = Best { id, score, start: Some(start) };
            }
        };
        let mut covered = false;
        let mut node = Trie::ROOT;
        for (length, &byte) in (1..).zip(bytes.get(start..).unwrap_or_default()) {
            let Some(next) = vocabulary.found.step(node, byte) else { break };
            node = next;
            let Some(id) = vocabulary.found.value(node) else { continue };
            let score = match vocabulary.kind(id) {
                Some(PieceKind::Unused) => continue,
                // Better than any normal piece of the same length, so that it is always taken.
                Some(PieceKind::UserDefined) => (length as f32 * vocabulary.max_score) - 0.1,
                _ => vocabulary.score(id),
            };
            offer(start + length, id, score);
            covered |= length == first.len_utf8();
        }
        if !covered {
            offer(start + first.len_utf8(), vocabulary.unknown_id, unknown_score);
        }
    }
    let mut parts = Vec::new();
    let mut end = bytes.len();
    while let Some((id, start)) = best.get(end).and_then(|node| Some((node.id, node.start?))) {
        parts.push(Part { id, start, end });
        end = start;
    }
    parts.reverse();
    parts
}
