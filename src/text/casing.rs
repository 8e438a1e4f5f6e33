//! Text in capitals, which small models translate badly: noticing it, lowering it for another try, and
//! raising the result again, with the place of every byte kept.

use super::protect;
use std::ops::Range;

/// Text whose case was changed, and where its parts come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recased {
    /// The new text.
    pub text: String,
    /// `(old, new)` byte offsets of the start and the end of each character that became more than one or
    /// changed its length.
    anchors: Vec<(usize, usize)>,
    old_len: usize,
}

impl Recased {
    /// The place in the new text of byte `old` of the old.
    pub fn to_new(&self, old: usize) -> usize {
        self.moved(old, |&(old, new)| (old, new), self.text.len())
    }

    /// The place in the old text of byte `new` of the new.
    pub fn to_old(&self, new: usize) -> usize {
        self.moved(new, |&(old, new)| (new, old), self.old_len)
    }

    /// The range in the old text of `range` in the new.
    pub fn range_to_old(&self, range: Range<usize>) -> Range<usize> {
        self.to_old(range.start)..self.to_old(range.end)
    }

    /// The range in the new text of `range` in the old.
    pub fn range_to_new(&self, range: Range<usize>) -> Range<usize> {
        self.to_new(range.start)..self.to_new(range.end)
    }

    /// Behind a changed character both texts run in step; a place inside one is its start.
    fn moved(
        &self,
        at: usize,
        ends: impl Fn(&(usize, usize)) -> (usize, usize),
        to_len: usize,
    ) -> usize {
        let passed = self.anchors.partition_point(|anchor| ends(anchor).0 <= at);
        let last = passed.checked_sub(1).and_then(|last| self.anchors.get(last));
        let (from, to) = last.map_or((0, 0), &ends);
        // Anchors come in pairs, the start and the end of a character.
        let inside = passed % 2 == 1;
        if inside { to } else { (to + (at - from)).min(to_len) }
    }
}

/// Whether `text` is written in capitals throughout: two or more words, no small letter outside of URLs,
/// placeholders and the like. A lone acronym is not shouting.
pub fn is_shouting(text: &str) -> bool {
    let mut kept = kept_spans(text).into_iter().peekable();
    let mut words = 0;
    let mut capitals = 0;
    for (at, character) in text.char_indices() {
        while kept.next_if(|span| span.end <= at).is_some() {}
        if kept.peek().is_some_and(|span| span.contains(&at)) {
            capitals = 0;
            continue;
        }
        if character.is_lowercase() {
            return false;
        }
        capitals = if character.is_uppercase() { capitals + 1 } else { 0 };
        words += usize::from(capitals == 2);
    }
    words >= 2
}

/// Whether `text` is set like an English headline: of its words of four letters and more, at least two, nearly
/// all begin with a capital.
pub fn is_headline(text: &str) -> bool {
    let letters = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() >= 4;
    let (mut words, mut capitals) = (0, 0);
    for word in text.split_whitespace().filter(letters) {
        words += 1;
        let first = word.chars().find(|c| c.is_alphabetic());
        capitals += usize::from(first.is_some_and(char::is_uppercase));
    }
    words >= 2 && 5 * capitals >= 4 * words
}

/// `text` in small letters with a capital first letter; URLs, placeholders, code and the like unchanged.
pub fn to_sentence_case(text: &str) -> Recased {
    let mut at_start = true;
    recase(text, |at, character| {
        let capital = at_start && character.is_alphabetic();
        at_start &= !character.is_alphabetic();
        if capital {
            return Case::Upper;
        }
        // At the end of a word, Greek writes small sigma in another form.
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + character.len_utf8()..).and_then(|after| after.chars().next());
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        match character {
            'Σ' if is_letter(before) && !is_letter(after) => Case::FinalSigma,
            _ => Case::Lower,
        }
    })
}

/// `text` in capitals; URLs, placeholders, code and the like unchanged.
pub fn to_capitals(text: &str) -> Recased {
    recase(text, |_, _| Case::Upper)
}

enum Case {
    Upper,
    Lower,
    FinalSigma,
}

fn recase(text: &str, mut case: impl FnMut(usize, char) -> Case) -> Recased {
    let mut out = Recased {
        text: String::with_capacity(text.len()),
        anchors: Vec::new(),
        old_len: text.len(),
    };
    let mut kept = kept_spans(text).into_iter().peekable();
    for (at, character) in text.char_indices() {
        while kept.next_if(|span| span.end <= at).is_some() {}
        let new = out.text.len();
        if kept.peek().is_some_and(|span| span.contains(&at)) {
            out.text.push(character);
            continue;
        }
        match case(at, character) {
            Case::Upper => out.text.extend(character.to_uppercase()),
            Case::Lower => out.text.extend(character.to_lowercase()),
            Case::FinalSigma => out.text.push('ς'),
        }
        let written = out.text.get(new..).unwrap_or_default();
        if written.len() != character.len_utf8() || written.chars().nth(1).is_some() {
            out.anchors.push((at, new));
            out.anchors.push((at + character.len_utf8(), out.text.len()));
        }
    }
    out
}

/// What keeps its case whatever happens around it.
fn kept_spans(text: &str) -> Vec<Range<usize>> {
    let spans = protect::spans(text).into_iter();
    spans.filter(|span| span.kind.is_case_sensitive()).map(|span| span.range).collect()
}
