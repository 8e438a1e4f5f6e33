//! Stretches of a text on their way to becoming words, and how they are cut.

use super::aligned::Aligned;
use super::section::Section;
use crate::error::Result;
use std::ops::Range;

/// A stretch of the text: a word to be, or a token that was found already.
pub(super) struct Split {
    pub text: Aligned,
    /// The id of an added token.
    pub token: Option<u32>,
}

/// What becomes of what a pattern matches.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Behavior {
    Removed,
    Isolated,
    MergedWithPrevious,
    MergedWithNext,
    Contiguous,
}

impl Behavior {
    pub fn read(section: &Section) -> Result<Self> {
        Ok(match section.text()? {
            "Removed" => Self::Removed,
            "Isolated" => Self::Isolated,
            "MergedWithPrevious" => Self::MergedWithPrevious,
            "MergedWithNext" => Self::MergedWithNext,
            "Contiguous" => Self::Contiguous,
            other => {
                let known = "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous are";
                return Err(section.unsupported(&format!("the behavior {other:?}"), known));
            }
        })
    }
}

/// Cuts every stretch that is no token yet: `cut` may change it and gives the ranges of the parts that stay.
/// Empty parts are dropped.
pub(super) fn cut_each(
    splits: Vec<Split>,
    mut cut: impl FnMut(&mut Aligned) -> Vec<Range<usize>>,
) -> Vec<Split> {
    let mut out = Vec::with_capacity(splits.len() * 2);
    for mut split in splits {
        if split.token.is_some() {
            out.push(split);
            continue;
        }
        let parts = cut(&mut split.text);
        if let [only] = parts.as_slice()
            && *only == (0..split.text.text().len())
        {
            if !only.is_empty() {
                split.text.cut_whole();
                out.push(split);
            }
            continue;
        }
        for range in parts.into_iter().filter(|range| !range.is_empty()) {
            out.push(Split { text: split.text.cut(range), token: None });
        }
    }
    out
}

/// The parts of a text of `length` bytes in which `matches` were found; `invert` takes what is between for matches.
pub(super) fn parts(
    matches: Vec<Range<usize>>,
    length: usize,
    behavior: Behavior,
    invert: bool,
) -> Vec<Range<usize>> {
    let mut all: Vec<(Range<usize>, bool)> = Vec::with_capacity(matches.len() * 2 + 1);
    let mut end = 0;
    for found in matches {
        if end < found.start {
            all.push((end..found.start, invert));
        }
        end = found.end;
        all.push((found, !invert));
    }
    if end < length {
        all.push((end..length, invert));
    }
    let mut out: Vec<Range<usize>> = Vec::with_capacity(all.len());
    let mut before = false;
    match behavior {
        Behavior::Removed => {
            out.extend(all.into_iter().filter(|(_, is_match)| !is_match).map(|(range, _)| range));
        }
        Behavior::Isolated => out.extend(all.into_iter().map(|(range, _)| range)),
        Behavior::Contiguous | Behavior::MergedWithPrevious => {
            for (range, is_match) in all {
                let joins = match behavior {
                    Behavior::Contiguous => is_match == before,
                    _ => is_match && !before,
                };
                match out.last_mut().filter(|_| joins) {
                    Some(last) => last.end = range.end,
                    None => out.push(range),
                }
                before = is_match;
            }
        }
        Behavior::MergedWithNext => {
            for (range, is_match) in all.into_iter().rev() {
                match out.last_mut().filter(|_| is_match && !before) {
                    Some(last) => last.start = range.start,
                    None => out.push(range),
                }
                before = is_match;
            }
            out.reverse();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_are_cut_as_the_reference_documents_it() {
        let text = "the-final--countdown";
        let hyphens: Vec<_> = text.match_indices('-').map(|(at, _)| at..at + 1).collect();
        for (behavior, expected) in [
            (Behavior::Removed, "the final countdown"),
            (Behavior::Isolated, "the - final - - countdown"),
            (Behavior::MergedWithPrevious, "the- final- - countdown"),
            (Behavior::MergedWithNext, "the -final - -countdown"),
            (Behavior::Contiguous, "the - final -- countdown"),
        ] {
            let parts = parts(hyphens.clone(), text.len(), behavior, false);
            let words: Vec<&str> = parts.into_iter().map(|range| &text[range]).collect();
            assert_eq!(words.join(" "), expected);
        }
        let inverted = parts(hyphens, text.len(), Behavior::Removed, true);
        assert_eq!(inverted, [3..4, 9..10, 10..11]);
    }
}
