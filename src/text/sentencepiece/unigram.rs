//! Unigram segmentation: the path of highest total score through the pieces (Kudo 2018, arXiv:1804.10959).

use super::{Part, proto::PieceKind, trie::Trie, vocabulary::Vocabulary};

/// How far below the worst piece an unknown character scores.
const UNKNOWN_PENALTY: f32 = 10.0;

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
/// Scores are kept in float32 and compared in float64 before they are rounded, and the first of equal
/// paths stays: what the reference library does, down to the rounding.
pub(super) fn segment(vocabulary: &Vocabulary, text: &str) -> Vec<Part> {
    let bytes = text.as_bytes();
    let unknown_score = vocabulary.min_score - UNKNOWN_PENALTY;
    let mut best =
        vec![Best { id: vocabulary.unknown_id, score: 0.0, start: None }; bytes.len() + 1];
    for (start, first) in text.char_indices() {
        let before = best.get(start).map_or(0.0, |node| node.score);
        let mut offer = |end: usize, id: u32, score: f64| {
            let score = score + f64::from(before);
            if let Some(node) = best.get_mut(end)
                && (node.start.is_none() || score > f64::from(node.score))
            {
                *node = Best { id, score: score as f32, start: Some(start) };
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
                Some(PieceKind::UserDefined) => {
                    f64::from(length as f32 * vocabulary.max_score) - 0.1
                }
                _ => f64::from(vocabulary.score(id)),
            };
            offer(start + length, id, score);
            covered |= length == first.len_utf8();
        }
        if !covered {
            offer(start + first.len_utf8(), vocabulary.unknown_id, f64::from(unknown_score));
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
