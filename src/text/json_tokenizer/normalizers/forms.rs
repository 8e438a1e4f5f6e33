//! Unicode's decomposed and composed forms (NFD and NFC, UAX 15), with what each character stands for.

use super::super::aligned::Aligned;
use crate::text::compose::Table;

/// Characters below this one are the same in either form.
const FIRST_TO_CHANGE: char = '\u{c0}';

/// Takes the text apart.
pub(super) fn decompose(text: &mut Aligned) {
    if text.text().chars().any(|c| c >= FIRST_TO_CHANGE) {
        let parts = decomposed(text.text());
        text.transform(parts);
    }
}

/// Puts together what can be.
pub(super) fn compose(text: &mut Aligned) {
    if text.text().chars().any(|c| c >= FIRST_TO_CHANGE) {
        let parts = decomposed(text.text());
        text.transform(composed(parts));
    }
}

/// Characters with their numbers for [`Aligned::transform`]: of one that was taken apart, the first stands for
/// it. In a run of marks the numbers move with the marks.
fn decomposed(text: &str) -> Vec<(char, isize)> {
    let table = Table::get();
    let mut out: Vec<(char, isize)> = Vec::with_capacity(text.len());
    let mut parts = Vec::new();
    for c in text.chars() {
        if c < FIRST_TO_CHANGE {
            out.push((c, 0));
            continue;
        }
        parts.clear();
        table.decompose(c, &mut parts);
        out.extend(parts.iter().enumerate().map(|(index, &part)| (part, isize::from(index > 0))));
    }
    let is_mark = |&(c, _): &(char, isize)| table.class(c) != 0;
    for marks in out.chunk_by_mut(|a, b| is_mark(a) && is_mark(b)) {
        if marks.len() > 1 {
            marks.sort_by_key(|&(c, _)| table.class(c));
        }
    }
    out
}

/// Composes decomposed text: what two characters become stands for all that both stood for.
fn composed(parts: Vec<(char, isize)>) -> Vec<(char, isize)> {
    let table = Table::get();
    let mut out: Vec<(char, isize)> = Vec::with_capacity(parts.len());
    // Where the last character of class 0 is, and the class of the last mark behind it.
    let (mut starter, mut last) = (None::<usize>, 0);
    for (c, change) in parts {
        let class = table.class(c);
        let reached = last == 0 || last < class;
        let base = starter.filter(|_| reached).and_then(|at| out.get_mut(at));
        if let Some(base) = base
            && let Some(joined) = table.compose(base.0, c)
        {
            *base = (joined, base.1 + change - 1);
            continue;
        }
        out.push((c, change));
        if class == 0 {
            (starter, last) = (Some(out.len() - 1), 0);
        } else {
            last = class;
        }
    }
    out
}
