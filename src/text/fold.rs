//! Stand-ins for characters that a vocabulary lacks: plain quotes and dashes, letters without their marks.

use std::ops::Range;

/// Letters U+00C0 to U+017F without their marks, in order; a dot where there is none of one letter.
const LATIN: &str = "AAAAAA.CEEEEIIIIDNOOOOO.OUUUUY..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y\
AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi..JjKkkLlLlLl..LlNnNnNnn..OoOoOo..RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";

/// Text with stand-ins, and where its parts come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// The text with stand-ins.
    pub text: String,
    /// Words that hold a letter whose marks were taken: their range in the original, and how they read now.
    pub words: Vec<(Range<usize>, String)>,
    /// `(old, new)` offsets behind each character that changed its length.
    steps: Vec<(usize, usize)>,
}

impl Folded {
    /// The place in the original of byte `new` of the folded text.
    pub fn to_old(&self, new: usize) -> usize {
        let step = self.steps.partition_point(|(_, at)| *at <= new);
        let (old, at) =
            step.checked_sub(1).and_then(|last| self.steps.get(last)).copied().unwrap_or((0, 0));
        let next = self.steps.get(step).map_or(usize::MAX, |(old, _)| *old);
        (old + (new - at)).min(next)
    }

    /// The range in the original of `range` in the folded text.
    pub fn range_to_old(&self, range: Range<usize>) -> Range<usize> {
        self.to_old(range.start)..self.to_old(range.end)
    }
}

/// Replaces each character of `text` in one of the ranges `lacking` that has a stand-in.
pub fn fold(text: &str, lacking: &[Range<usize>]) -> Folded {
    let mut folded =
        Folded { text: String::with_capacity(text.len()), words: Vec::new(), steps: Vec::new() };
    let mut marked = Vec::new(); // offsets of letters that lost marks
    let mut ranges = lacking.iter().peekable();
    for (at, character) in text.char_indices() {
        while ranges.next_if(|range| range.end <= at).is_some() {}
        let lacks = ranges.peek().is_some_and(|range| range.contains(&at));
        let old_end = at + character.len_utf8();
        match lacks.then(|| stand_in(character)).flatten() {
            None => folded.text.push(character),
            Some(new) => {
                folded.text.push_str(new);
                if new.chars().all(char::is_alphabetic) {
                    marked.push(at);
                }
                if new.len() != character.len_utf8() {
                    folded.steps.push((old_end, folded.text.len()));
                }
            }
        }
    }
    for at in marked {
        if folded.words.last().is_some_and(|(range, _)| range.contains(&at)) {
            continue;
        }
        let word = word_at(text, at);
        let lacks = |at: usize| lacking.iter().any(|range| range.contains(&at));
        let letters = text.get(word.clone()).unwrap_or_default().char_indices();
        let mut plain = String::with_capacity(word.len());
        for (offset, letter) in letters {
            match stand_in(letter).filter(|_| lacks(word.start + offset)) {
                Some(new) => plain.push_str(new),
                None => plain.push(letter),
            }
        }
        folded.words.push((word, plain));
    }
    folded
}

/// The letters and digits around byte `at`.
pub fn word_at(text: &str, at: usize) -> Range<usize> {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.trim_end_matches(char::is_alphanumeric).len();
    start..at + (after.len() - after.trim_start_matches(char::is_alphanumeric).len())
}

/// What may be written for `character`.
fn stand_in(character: char) -> Option<&'static str> {
    Some(match character {
        '‘' | '’' | '‚' | '‛' | '′' | 'ʼ' | '´' => "'",
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => "\"",
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => "-",
        '…' => "...",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        'Æ' => "AE",
        'æ' => "ae",
        'Œ' => "OE",
        'œ' => "oe",
        'ß' => "ss",
        'Þ' => "Th",
        'þ' => "th",
        _ => {
            let index = (character as usize).checked_sub(0xc0)?;
            LATIN.get(index..=index).filter(|letter| *letter != ".")?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    #[test]
    fn the_table_is_in_step_with_the_charts() {
        assert_eq!(LATIN.len(), 0x180 - 0xc0);
        for (letter, plain) in [
            ('À', "A"),
            ('Ç', "C"),
            ('ñ', "n"),
            ('ÿ', "y"),
            ('Ā', "A"),
            ('ć', "c"),
            ('đ', "d"),
            ('ğ', "g"),
            ('ı', "i"),
            ('ł', "l"),
            ('ń', "n"),
            ('ő', "o"),
            ('ř', "r"),
            ('ş', "s"),
            ('ţ', "t"),
            ('ů', "u"),
            ('Ÿ', "Y"),
            ('ź', "z"),
            ('ž', "z"),
            ('ſ', "s"),
        ] {
            assert_eq!(stand_in(letter), Some(plain), "{letter}");
        }
        assert_eq!(
            (stand_in('×'), stand_in('÷'), stand_in('ĳ'), stand_in('ŋ')),
            (None, None, None, None)
        );
    }

    #[test]
    fn only_what_is_lacking_is_replaced_and_ranges_lead_back() {
        let text = "“Łódź” – don’t";
        let all = fold(text, from_ref(&(0..text.len())));
        assert_eq!(all.text, "\"Lodz\" - don't");
        assert_eq!(all.words, [(3..10, "Lodz".to_owned())]);
        let place = |new: &str| {
            let at = all.text.find(new).unwrap();
            &text[all.range_to_old(at..at + new.len())]
        };
        assert_eq!(place("Lodz"), "Łódź");
        assert_eq!(place("don't"), "don’t");
        assert_eq!(place("-"), "–");
        assert_eq!(fold(text, &[]).text, text);
        assert_eq!(fold("Łódź", from_ref(&(0..2))).words, [(0..7, "Lódź".to_owned())]);
        assert_eq!(fold("ñé", from_ref(&(0..2))).text, "né");
    }
}
