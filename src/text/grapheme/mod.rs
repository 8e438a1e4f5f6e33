//! Grapheme clusters: characters that readers take for one, such as a letter with its accents or a family
//! emoji, so that nothing is cut inside.
//!
//! The rules of UAX 29 on the safe side: no boundary is reported that these rules forbid, while a few that
//! they allow (behind a zero-width joiner, before marks without a base) are left out. Own tables of 1.4 KB,
//! as those of the crate unicode-segmentation add 17 KB to the compressed module; the tests compare the two.

mod marks;

use marks::MARKS;

/// The byte ends of the clusters of `text`, ascending; the last is the length of the text.
pub fn ends(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let end = cluster_end(text, at)?;
        at = end;
        Some(end)
    })
}

/// The end of the cluster that starts at byte `at`, `None` at the end of the text.
pub fn cluster_end(text: &str, at: usize) -> Option<usize> {
    let mut rest = text.get(at..)?.char_indices();
    let (_, mut before) = rest.next()?;
    let mut flags = usize::from(is_flag_letter(before));
    // A mark that joins the consonants of Indic scripts stays in force behind further marks.
    let mut joins = false;
    for (offset, c) in rest {
        joins = is_linker(before) || joins && is_mark(before);
        let joined = match (before, c) {
            ('\r', '\n') => true,
            (a, b) if a.is_control() || b.is_control() => false,
            (_, b) if is_mark(b) => true,
            ('\u{200d}', _) => true,
            (a, _) if is_prepended(a) => true,
            (_, b) if joins && b.is_alphabetic() => true,
            (a, b) if is_flag_letter(a) && is_flag_letter(b) => flags % 2 == 1,
            (a, b) => is_one_syllable(a, b),
        };
        if !joined {
            return Some(at + offset);
        }
        flags = if is_flag_letter(c) { flags + 1 } else { 0 };
        before = c;
    }
    Some(text.len())
}

/// Whether `c` belongs to the character before it: accents, vowel signs, variation selectors, skin
/// tones, joiners.
pub(crate) fn is_mark(c: char) -> bool {
    let code = c as u32;
    let next = MARKS.partition_point(|range| range >> 8 <= code);
    let range = next.checked_sub(1).and_then(|last| MARKS.get(last));
    range.is_some_and(|range| code - (range >> 8) <= range & 0xff)
}

/// Two of these make a flag.
fn is_flag_letter(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Number signs of Arabic and the like, written around what follows.
pub(crate) fn is_prepended(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{d4e}' | '\u{110bd}'
        | '\u{110cd}' | '\u{111c2}'..='\u{111c3}' | '\u{113d1}' | '\u{1193f}' | '\u{11941}' | '\u{11a84}'..='\u{11a89}'
        | '\u{11d46}' | '\u{11f02}')
}

/// Joins the consonants around it (Indic_Conjunct_Break=Linker).
fn is_linker(c: char) -> bool {
    matches!(
        c,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{c4d}'
            | '\u{d4d}'
            | '\u{1039}'
            | '\u{17d2}'
            | '\u{1a60}'
            | '\u{1b44}'
            | '\u{1bab}'
            | '\u{1cf5}'
            | '\u{1cf6}'
            | '\u{a9c0}'
            | '\u{aaf6}'
            | '\u{10a3f}'
            | '\u{11133}'
            | '\u{113d0}'
            | '\u{1193e}'
            | '\u{11a3a}'
            | '\u{11a47}'
            | '\u{11a99}'
            | '\u{11f42}'
    )
}

/// Parts of one Hangul syllable.
pub(crate) fn is_one_syllable(a: char, b: char) -> bool {
    let lead = |c| matches!(c, '\u{1100}'..='\u{115f}' | '\u{a960}'..='\u{a97c}');
    let vowel = |c| matches!(c, '\u{1160}'..='\u{11a7}' | '\u{d7b0}'..='\u{d7c6}' | '\u{16d63}'..='\u{16d6a}');
    let tail = |c| matches!(c, '\u{11a8}'..='\u{11ff}' | '\u{d7cb}'..='\u{d7fb}');
    let syllable = |c| matches!(c, '가'..='힣');
    lead(a) && (lead(b) || vowel(b) || syllable(b))
        || (vowel(a) || syllable(a)) && (vowel(b) || tail(b))
        || tail(a) && tail(b)
}
