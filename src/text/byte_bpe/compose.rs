//! Unicode's composed form (NFC), and where in the original each byte of it comes from.

use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfc_quick,
};

/// The first character that composed text may have to change, or that may compose with the one before.
const FIRST_TO_COMPOSE: char = '\u{300}';

/// A text in composed form.
pub(super) struct Composed {
    pub text: String,
    /// For each byte of the text the byte of the original that it comes from, and the original's length: of
    /// what changed, the place where the change begins.
    pub origin: Vec<u32>,
}

/// The composed form of `text`, if that is another text.
pub(super) fn compose(text: &str) -> Option<Composed> {
    let plain = |c: char| c < FIRST_TO_COMPOSE;
    if text.chars().all(plain) || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return None;
    }
    let mut out = Composed {
        text: String::with_capacity(text.len()),
        origin: Vec::with_capacity(text.len() + 1),
    };
    let mut start = 0;
    // What follows such a character has no say in what becomes of what is in front of it.
    let cuts = text.char_indices().skip(1).filter(|&(_, c)| plain(c) || stands_alone(c));
    for end in cuts.map(|(at, _)| at).chain([text.len()]) {
        let part = text.get(start..end).unwrap_or_default();
        match is_nfc_quick(part.chars()) {
            IsNormalized::Yes => {
                out.text.push_str(part);
                out.origin.extend((start..end).map(|at| at as u32));
            }
            _ => {
                out.text.extend(part.nfc());
                out.origin.resize(out.text.len(), start as u32);
            }
        }
        start = end;
    }
    out.origin.push(text.len() as u32);
    Some(out).filter(|out| out.text != text)
}

fn stands_alone(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfc_quick([c].into_iter()) == IsNormalized::Yes
}
