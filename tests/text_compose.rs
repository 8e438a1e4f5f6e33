//! Unicode's composed form against the crate unicode-normalization.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // as in any test

use multihead::text::compose::compose;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

/// Our composed form; checks that the origins ascend and lie between characters.
fn composed(text: &str) -> String {
    let Some(out) = compose(text) else { return text.to_owned() };
    assert_eq!(out.origin.len(), out.text.len() + 1);
    assert_eq!(*out.origin.last().unwrap() as usize, text.len());
    assert!(out.origin.is_sorted());
    for (at, _) in out.text.char_indices() {
        assert!(text.is_char_boundary(out.origin[at] as usize), "{text:?}");
    }
    out.text
}

/// Characters that compose, or are put in order, only since Unicode 13; the reference tokenizers know 12.
fn is_newer(c: char) -> bool {
    let newer = [
        '\u{105c9}'..='\u{105e4}', // Todhri
        '\u{11380}'..='\u{113ff}', // Tulu-Tigalari
        '\u{11930}'..='\u{1193f}', // Dives Akuru
        '\u{16100}'..='\u{1613f}', // Gurung Khema
        '\u{16d60}'..='\u{16d7f}', // Kirat Rai
        '\u{1df6}'..='\u{1df6}',
        '\u{1aeb}'..='\u{1aeb}',
        '\u{1e4ec}'..='\u{1e4ed}', // Nag Mundari
    ];
    newer.iter().any(|range| range.contains(&c))
}

#[test]
fn every_character_and_its_parts() {
    for c in '\0'..=char::MAX {
        let whole = c.to_string();
        let parts: String = whole.nfd().collect();
        if is_newer(c) {
            continue;
        }
        for text in [
            &whole,
            &parts,
            &format!("a{whole}"),
            &format!("{parts}\u{301}"),
            &format!("{whole}{parts}"),
        ] {
            assert_eq!(composed(text), text.nfc().collect::<String>(), "{text:?} of {c:?}");
        }
    }
}

#[test]
fn origins_point_to_where_the_change_begins() {
    // x, e with U+0301 (3 bytes to 2), y, the angstrom sign (3 bytes to 2).
    let out = compose("xe\u{301}y\u{212b}").unwrap();
    assert_eq!(out.text, "x\u{e9}y\u{c5}");
    assert_eq!(out.origin, [0, 1, 1, 4, 5, 5, 8]);
    // A mark goes behind one of a lower class, and the vowel sign's own first part is a mark.
    assert_eq!(compose("a\u{5b0}\u{334}").unwrap().origin, [0, 0, 0, 0, 0, 5]);
    assert_eq!(compose("\u{f73}").unwrap().text, "\u{f71}\u{f72}");
    assert!(compose("x\u{e9}y 日本語 한국어").is_none());
    assert!(compose("q\u{301}").is_none());
}

proptest! {
    #[test]
    fn any_text(text in "[ae가ᄀ가ᅡᆨ\u{300}-\u{36f}\u{5b0}-\u{5c7}\u{64b}-\u{655}\u{93c}\u{9be}\u{9c7}\u{dcf}\u{dd9}\u{1ea5}\u{212b}\u{fb2c}\u{2f800}]{0,16}") {
        prop_assert_eq!(composed(&text), text.nfc().collect::<String>());
    }
}
