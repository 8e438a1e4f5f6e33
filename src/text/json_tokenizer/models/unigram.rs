//! Unigram: the path of highest total score through the tokens (Kudo 2018, arXiv:1804.10959).
//!
//! Not `text::sentencepiece`'s: the reference adds in float64, knows no kinds of pieces, and joins unknown neighbours.

use super::super::section::Section;
use super::super::vocabulary::Vocabulary;
use super::Give;
use crate::error::Result;
use crate::text::trie::Trie;

/// How far below the worst token an unknown character scores.
const UNKNOWN_PENALTY: f64 = 10.0;

pub(super) struct Unigram {
    /// One for each token.
    scores: Vec<f64>,
    unknown: u32,
    unknown_score: f64,
    found: Trie,
    /// The tokens of the 256 bytes, if unknown characters are spelled in bytes.
    byte_ids: Option<Vec<Option<u32>>>,
}

/// Best path that ends at one byte of the word.
#[derive(Clone, Copy)]
struct Best {
    id: u32,
    score: f64,
    /// Where its last token starts; `None` as long as no path ends here.
    start: Option<usize>,
}

impl Unigram {
    pub fn read(section: &Section, vocabulary: &Vocabulary, scores: Vec<f64>) -> Result<Self> {
        let unk_id = section.get("unk_id");
        let unknown = unk_id.number()?;
        if vocabulary.text(unknown).is_none() {
            let what = format!("{unknown}, but the vocabulary ends before");
            return Err(unk_id.damaged(what));
        }
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let keys = vocabulary.iter().map(|(id, text)| (text.as_bytes(), id)).collect();
        let found = Trie::build(keys).map_err(|(a, b)| {
            section.get("vocab").damaged(format!("tokens {a} and {b} are the same"))
        })?;
        let byte_id = |byte: u8| vocabulary.id(&format!("<0x{byte:02X}>"));
        let fallback = section.get("byte_fallback").flag_or(false)?;
        Ok(Self {
            scores,
            unknown,
            unknown_score: least - UNKNOWN_PENALTY,
            found,
            byte_ids: fallback.then(|| (0..=u8::MAX).map(byte_id).collect()),
        })
    }

    pub fn cut(&self, vocabulary: &Vocabulary, word: &str, give: Give) {
        let best = self.paths(word);
        // From the end to the beginning, neighbours that are unknown as one.
        let mut parts: Vec<(u32, usize, usize)> = Vec::new();
        let mut end = word.len();
        while let Some((id, start)) = best.get(end).and_then(|node| Some((node.id, node.start?))) {
            match parts.last_mut().filter(|last| id == self.unknown && last.0 == id) {
                Some(last) => last.1 = start,
                None => parts.push((id, start, end)),
            }
            end = start;
        }
        for (id, start, end) in parts.into_iter().rev() {
            if id != self.unknown {
                give(id, start..end);
                continue;
            }
            let text = word.get(start..end).unwrap_or_default();
            match (vocabulary.id(text), self.spelled(text)) {
                (Some(id), _) => give(id, start..end),
                (None, Some(bytes)) => bytes.into_iter().for_each(|id| give(id, start..end)),
                (None, None) => give(self.unknown, start..end),
            }
        }
    }

    /// The tokens of the bytes, if there is one for each.
    fn spelled(&self, text: &str) -> Option<Vec<u32>> {
        let ids = self.byte_ids.as_ref()?;
        text.bytes().map(|byte| ids.get(usize::from(byte)).copied().flatten()).collect()
    }

    /// For each byte of the word the best path to it; of equal ones the first stays.
    fn paths(&self, word: &str) -> Vec<Best> {
        let bytes = word.as_bytes();
        let none = Best { id: self.unknown, score: 0.0, start: None };
        let mut best = vec![none; bytes.len() + 1];
        for (start, first) in word.char_indices() {
            let before = best.get(start).map_or(0.0, |node| node.score);
            let mut offer = |end: usize, id: u32, score: f64| {
                let score = score + before;
                if let Some(node) = best.get_mut(end)
                    && (node.start.is_none() || score > node.score)
                {
                    *node = Best { id, score, start: Some(start) };
                }
            };
            let mut covered = false;
            for (length, id) in self.found.prefixes(bytes.get(start..).unwrap_or_default()) {
                offer(start + length, id, self.scores.get(id as usize).copied().unwrap_or(0.0));
                covered |= length == first.len_utf8();
            }
            if !covered {
                offer(start + first.len_utf8(), self.unknown, self.unknown_score);
            }
        }
        best
    }
}
