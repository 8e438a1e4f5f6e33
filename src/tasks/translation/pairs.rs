//! Two given texts taken apart into passages that belong together.
//!
//! Lines are paired with lines where both texts have as many of them, else the whole is one line. Sentences of a pair of
//! lines are paired where there are as many on both sides, else the lines are one pair. A pair that is too long for the
//! model is halved: the text that is too long where it is best cut near its middle, the other one about as far in.
//! Only white space is in no pair; a passage may have nothing on the other side.

use super::plan::{MAX_SOURCE_TOKENS, slice, trim};
use super::prepare::{Prepared, prepare};
use crate::text::segment::{self, SegmentKind, SplitPoint};
use crate::text::sentencepiece::SentencePiece;
use crate::text::{casing, protect};
use std::cell::OnceCell;
use std::ops::Range;

/// As long as a translation of the longest source may get.
const MAX_TARGET_TOKENS: usize = 2 * MAX_SOURCE_TOKENS;

/// Passages that belong together: bytes of both texts.
pub(super) struct Pair {
    pub source: Range<usize>,
    pub target: Range<usize>,
    /// Both as tokens; none if there is nothing to translate, or nothing that a model reads in one of them.
    pub tokens: Option<[Prepared; 2]>,
}

/// The pairs of a source and a target, each with its vocabulary, in order.
pub(super) fn pairs(source: (&str, &SentencePiece), target: (&str, &SentencePiece)) -> Vec<Pair> {
    let sides = [Side::new(source, MAX_SOURCE_TOKENS), Side::new(target, MAX_TARGET_TOKENS)];
    let [source, target] = &sides;
    let [source_lines, target_lines] = [source.lines(), target.lines()];
    let lines = if source_lines.len() == target_lines.len() {
        source_lines.into_iter().zip(target_lines).collect()
    } else {
        vec![(&source.sentences[..], &target.sentences[..])]
    };
    let mut pairs = Vec::new();
    for (source, target) in lines {
        if source.len() == target.len() {
            for (source, target) in source.iter().zip(target) {
                add(&sides, [source.clone(), target.clone()], &mut pairs);
            }
        } else {
            add(&sides, [reach(source), reach(target)], &mut pairs);
        }
    }
    pairs
}

/// From the first sentence to the last.
fn reach(sentences: &[Range<usize>]) -> Range<usize> {
    let (first, last) = (sentences.first(), sentences.last());
    first.map_or(0, |first| first.start)..last.map_or(0, |last| last.end)
}

/// Adds a pair, or its halves if it is too long.
fn add(sides: &[Side<'_>; 2], ranges: [Range<usize>; 2], pairs: &mut Vec<Pair>) {
    let [source, target] = sides;
    let tokens = [source.prepare(&ranges[0]), target.prepare(&ranges[1])];
    let is_long = |i: usize| tokens[i].pieces.len() > sides[i].max_tokens;
    if let Some(long) = [0, 1].into_iter().find(|&i| is_long(i))
        && let Some(cut) = sides[long].cut_long(&ranges[long])
    {
        let (first, second) = (&ranges[long], &ranges[1 - long]);
        let share = (cut - first.start) as f64 / first.len() as f64;
        let near = second.start + (second.len() as f64 * share) as usize;
        // Where it cannot be cut, the other one stays with the first half.
        let other = sides[1 - long].best_cut(second, near).unwrap_or(second.end);
        let mut cuts = [cut, other];
        cuts.rotate_left(long);
        let halves = |i: usize| {
            let Range { start, end } = ranges[i];
            [start..cuts[i], cuts[i]..end].map(|half| trim(sides[i].text, &half))
        };
        let [[source, next_source], [target, next_target]] = [halves(0), halves(1)];
        add(sides, [source, target], pairs);
        return add(sides, [next_source, next_target], pairs);
    }
    let [source, target] = ranges;
    let is_read = !protect::is_untranslatable(slice(sides[0].text, &source))
        && tokens.iter().all(|prepared| !prepared.pieces.is_empty());
    pairs.push(Pair { source, target, tokens: is_read.then_some(tokens) });
}

/// One of the texts.
struct Side<'a> {
    text: &'a str,
    vocab: &'a SentencePiece,
    max_tokens: usize,
    sentences: Vec<Range<usize>>,
    /// Of the whole text: a part of it may end inside a link or placeholder and not show it.
    split_points: OnceCell<Vec<SplitPoint>>,
}

impl<'a> Side<'a> {
    fn new((text, vocab): (&'a str, &'a SentencePiece), max_tokens: usize) -> Self {
        let sentences = segment::segments(text)
            .into_iter()
            .filter(|segment| segment.kind == SegmentKind::Sentence)
            .map(|segment| segment.range);
        let sentences = sentences.collect();
        Self { text, vocab, max_tokens, sentences, split_points: OnceCell::new() }
    }

    /// The sentences of each line that has any.
    fn lines(&self) -> Vec<&[Range<usize>]> {
        let between = |a: &Range<usize>, b: &Range<usize>| slice(self.text, &(a.end..b.start));
        let same = |a: &_, b: &_| !between(a, b).contains(segment::is_line_break);
        self.sentences.chunk_by(same).collect()
    }

    /// As the translation of it, or of something else into it, would be tokenised.
    fn prepare(&self, range: &Range<usize>) -> Prepared {
        let passage = slice(self.text, range);
        prepare(self.vocab, passage, casing::is_shouting(passage))
    }

    /// The best place to cut `range` about `near`: a sentence's end rather than a clause's, and not far off.
    fn best_cut(&self, range: &Range<usize>, near: usize) -> Option<usize> {
        let points =
            self.split_points.get_or_init(|| segment::split_points(self.text, 0..self.text.len()));
        let from = points.partition_point(|point| point.at <= range.start);
        let points = points.get(from..).unwrap_or_default();
        let within = points.get(..points.partition_point(|point| point.at < range.end));
        let best = within.unwrap_or_default().iter().max_by_key(|point| {
            let distance = point.at.abs_diff(near);
            let ends = self.sentences.binary_search_by_key(&point.at, |sentence| sentence.end);
            let is_near = distance <= range.len() / 4;
            (is_near, is_near.then_some((ends.is_ok(), point.rank)), std::cmp::Reverse(distance))
        });
        best.map(|point| point.at)
    }

    /// Where to cut what is too long: in its middle even if that is no good place, unless it is one character.
    fn cut_long(&self, range: &Range<usize>) -> Option<usize> {
        let middle = range.start + range.len() / 2;
        let anywhere =
            || Some(self.text.floor_char_boundary(middle)).filter(|&at| at > range.start);
        self.best_cut(range, middle).or_else(anywhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vocabulary of made-up words in small letters.
    fn vocab() -> SentencePiece {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/marian/shared-128.spm");
        SentencePiece::parse("shared-128.spm", &std::fs::read(path).unwrap()).unwrap()
    }

    /// The passages of each pair.
    fn passages<'t>(source: &'t str, target: &'t str) -> Vec<[&'t str; 2]> {
        let vocab = vocab();
        let pairs = pairs((source, &vocab), (target, &vocab));
        pairs.into_iter().map(|pair| [&source[pair.source], &target[pair.target]]).collect()
    }

    #[test]
    fn lines_and_sentences_are_paired_where_their_numbers_agree() {
        assert_eq!(
            passages("Kalo ne. Tu resan!", "Ba chi. Ze lho!"),
            [["Kalo ne.", "Ba chi."], ["Tu resan!", "Ze lho!"]]
        );
        // Sentences of the second line only are as many.
        assert_eq!(
            passages("Kalo ne. Tu.\n\nResan. Dor.", " Ba chi zelho.\nLho. Pra."),
            [["Kalo ne. Tu.", "Ba chi zelho."], ["Resan.", "Lho."], ["Dor.", "Pra."]]
        );
        // As many sentences, on other lines.
        assert_eq!(
            passages("Kalo ne.\nTu resan.", "Ba chi. Ze lho."),
            [["Kalo ne.", "Ba chi."], ["Tu resan.", "Ze lho."]]
        );
        assert_eq!(passages("Kalo.\nNe. Tu.\n", "Ba chi."), [["Kalo.\nNe. Tu.", "Ba chi."]]);
        assert_eq!(passages(" ", "\n"), [[""; 2]; 0]);
        assert_eq!(passages("Kalo. Ne.", " "), [["Kalo. Ne.", ""]]);
        assert_eq!(passages("", "Ba. Chi."), [["", "Ba. Chi."]]);
    }

    #[test]
    fn what_is_too_long_is_cut_at_sentences_about_as_far_in() {
        let long = |word: &str, sentences: usize| {
            vec![format!("So {}{word}.", format!("{word} ").repeat(9)); sentences].join(" ")
        };
        let (source, target) = (long("kalo", 16), long("bachi", 9));
        let found = passages(&source, &target);
        assert!(found.len() > 1);
        assert!(found.iter().flatten().all(|passage| passage.ends_with('.')), "{found:?}");
        for (text, side) in [(&source, 0), (&target, 1)] {
            let joined: Vec<_> = found.iter().map(|pair| pair[side]).collect();
            assert_eq!(&joined.join(" "), text);
        }
        let share = |pair: usize| {
            let [source, target] = [0, 1].map(|side| found[pair][side].len() as f64);
            target / source
        };
        let whole = target.len() as f64 / source.len() as f64;
        assert!(
            (0..found.len()).all(|pair| (0.5..2.0).contains(&(share(pair) / whole))),
            "{found:?}"
        );
    }

    #[test]
    fn nothing_is_lost_where_one_text_cannot_be_cut_as_often() {
        let letters = "kalomituresan".repeat(200);
        let found = passages(&letters, "Ba.");
        assert_eq!(found.iter().map(|pair| pair[0]).collect::<String>(), letters);
        assert_eq!(found.iter().map(|pair| pair[1]).collect::<String>(), "Ba.");
        let sentences = "Kalo ne tu. ".repeat(300);
        let found = passages(&sentences, "b");
        let joined: Vec<_> = found.iter().map(|pair| pair[0]).collect();
        assert_eq!(joined.join(" "), sentences.trim());
        assert_eq!(found.iter().filter(|pair| pair[1] == "b").count(), 1);
    }
}
