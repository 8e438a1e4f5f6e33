//! Tokens that are taken out of a text before anything else cuts it: control tokens, where they may be, and
//! user-defined ones.

use crate::text::sentencepiece::PieceKind;
use crate::text::trie::Trie;
use std::ops::Range;

/// Names of tokens at which generation ends, whatever else a file says.
const ENDS: [&str; 13] = [
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|return|>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
];

/// The tokens by their texts.
pub(super) struct Marks {
    texts: Trie,
    /// Ids of control and unknown tokens, ascending: not to be found in what a user wrote.
    control: Vec<u32>,
}

impl Marks {
    /// `marks` are id, text and kind; ids ascend. Of two with one text the first counts.
    pub fn new<'a>(marks: impl Iterator<Item = (u32, &'a [u8], PieceKind)>) -> Self {
        let mut keys: Vec<(&[u8], u32)> = Vec::new();
        let mut control = Vec::new();
        for (id, text, kind) in marks.filter(|(_, text, _)| !text.is_empty()) {
            keys.push((text, id));
            if kind != PieceKind::UserDefined {
                control.push(id);
            }
        }
        keys.sort_unstable();
        keys.dedup_by_key(|&mut (text, _)| text);
        Self { texts: Trie::build(keys).unwrap_or_default(), control }
    }

    /// Ids of the tokens whose names say that a text, a turn or a message ends there.
    pub fn ends(&self) -> impl Iterator<Item = u32> {
        ENDS.iter().filter_map(|name| self.texts.get(name.as_bytes()))
    }

    /// The first mark in `text` from byte `from` on, of several the longest. `is_template` says of a range
    /// whether control tokens may be in it.
    pub fn find(
        &self,
        text: &str,
        from: usize,
        is_template: impl Fn(&Range<usize>) -> bool,
    ) -> Option<(Range<usize>, u32)> {
        let bytes = text.as_bytes();
        (from..bytes.len()).find_map(|start| {
            let rest = bytes.get(start..).unwrap_or_default();
            let here = self.texts.prefixes(rest).map(|(length, id)| (start..start + length, id));
            here.filter(|(range, id)| self.control.binary_search(id).is_err() || is_template(range))
                .last()
        })
    }
}
