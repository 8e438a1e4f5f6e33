//! UTF-16 offsets, case changes and loops.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use multihead::text::{casing, grapheme, repetition, utf16::Utf16Index};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

/// Text with characters of one to four bytes.
fn mixed() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "a", "é", "中", "👍", "🏽", "\u{301}", " ", "word ", "\0", "İ", "ß", "Σ",
    ]);
    prop::collection::vec(parts, 0..200).prop_map(|parts| parts.concat())
}

#[test]
fn utf16_by_hand() {
    // a: 1 byte, 1 unit; é: 2, 1; 中: 3, 1; 👍: 4, 2.
    let text = "aé中👍b";
    let index = Utf16Index::new(text);
    let offsets: Vec<u32> = (0..=text.len() + 2).map(|byte| index.offset(byte)).collect();
    assert_eq!(offsets, [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 5, 6, 6, 6]);
    let bytes: Vec<usize> = (0..=8).map(|unit| index.byte(unit)).collect();
    assert_eq!(bytes, [0, 1, 3, 6, 6, 10, 11, 11, 11]);
    assert_eq!((Utf16Index::new("").offset(0), Utf16Index::new("").offset(5)), (0, 0));
    assert_eq!(Utf16Index::new("").byte(3), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn utf16_as_the_standard_library(text in mixed()) {
        let index = Utf16Index::new(&text);
        for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let units = text[..byte].encode_utf16().count() as u32;
            prop_assert_eq!(index.offset(byte), units);
            prop_assert_eq!(index.byte(units), byte);
        }
    }

    #[test]
    fn case_changes_keep_places(text in mixed()) {
        for changed in [casing::to_sentence_case(&text), casing::to_capitals(&text)] {
            let mut last = 0;
            for (old, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let new = changed.to_new(old);
                prop_assert!(changed.text.is_char_boundary(new) && new >= last);
                prop_assert_eq!(changed.to_old(new), old);
                last = new;
            }
            prop_assert_eq!(last, changed.text.len());
            for (new, _) in changed.text.char_indices() {
                prop_assert!(text.is_char_boundary(changed.to_old(new)));
            }
        }
    }

    #[test]
    fn longest_run_repeats(items in prop::collection::vec(0u8..3, 0..60)) {
        if let Some(run) = repetition::longest_run(&items) {
            prop_assert!(run.count >= 2 && run.period >= 1);
            let round = &items[run.start..run.start + run.period];
            for next in items[run.start..run.start + run.period * run.count].chunks(run.period) {
                prop_assert_eq!(round, next);
            }
        }
    }
}

/// Characters of all classes that matter to clusters.
fn clustered() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "a",
        "é",
        "e\u{301}",
        "\u{301}",
        "\u{200d}",
        "\u{200c}",
        "\u{fe0f}",
        "👍",
        "🏽",
        "👩",
        "❤",
        "1",
        "\u{20e3}",
        "🇵",
        "🇹",
        "🇧",
        "\r",
        "\n",
        "\u{200b}",
        "\u{ad}",
        "\u{feff}",
        "क",
        "\u{94d}",
        "ष",
        "ि",
        "\u{93c}",
        "ত",
        "\u{9cd}",
        "ก",
        "ำ",
        "\u{1100}",
        "\u{1161}",
        "\u{11a8}",
        "가",
        "각",
        "\u{600}",
        "\u{e0067}",
        "🏴",
        " ",
        "\0",
        "\u{110bd}",
        "\u{1039}",
        "က",
    ]);
    prop_oneof![
        prop::collection::vec(parts, 0..30).prop_map(|parts| parts.concat()),
        any::<String>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn clusters_are_never_cut(text in clustered()) {
        let mut exact: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).skip(1).collect();
        exact.extend((!text.is_empty()).then_some(text.len()));
        for end in grapheme::ends(&text) {
            prop_assert!(exact.contains(&end), "{end} of {text:?}: {exact:?}");
        }
    }
}

#[test]
fn clusters_of_plain_text_are_exact() {
    for text in [
        "Hello, wörld!\r\n",
        "日本語です",
        "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇵🇹🇧🇷1️⃣",
        "क्षत्रिय हिन्दी বাংলা",
        "e\u{301}a\u{300}",
        "한국어 \u{1100}\u{1161}\u{11a8}",
        "ไทยคำ",
    ] {
        let exact: Vec<usize> =
            text.grapheme_indices(true).map(|(at, cluster)| at + cluster.len()).collect();
        assert_eq!(grapheme::ends(text).collect::<Vec<_>>(), exact, "{text}");
    }
}

#[test]
fn shouting() {
    for text in [
        "BREAKING NEWS",
        "O PRESIDENTE FALOU.",
        "NEW: {name} AT https://example.com/abc",
        "ÉTÉ À PARIS!",
    ] {
        assert!(casing::is_shouting(text), "{text}");
    }
    for text in
        ["", "NASA", "USA 2024", "Breaking News", "I AM here", "A B C", "123 456", "新闻 新闻", "i"]
    {
        assert!(!casing::is_shouting(text), "{text}");
    }
}

#[test]
fn case_changes() {
    let calm =
        casing::to_sentence_case("«BREAKING NEWS» AT https://Ex.com/A FOR {NAME}: ΟΔΟΣ, İZMİR");
    assert_eq!(
        calm.text,
        "«Breaking news» at https://Ex.com/A for {NAME}: οδος, i\u{307}zmi\u{307}r"
    );
    let loud = casing::to_capitals("Die straße, a@b.org ﬁn");
    assert_eq!(loud.text, "DIE STRASSE, a@b.org FIN");
    // ß (2 bytes) becomes SS (2 bytes), ﬁ (3 bytes) becomes FI (2 bytes).
    let old = "Die straße, a@b.org ﬁn";
    assert_eq!(loud.to_new(old.find("ﬁ").unwrap()), loud.text.find("FI").unwrap());
    assert_eq!(loud.range_to_old(loud.text.len() - 1..loud.text.len()), old.len() - 1..old.len());
}

#[test]
fn loops() {
    assert!(repetition::loops(&[7; 6]));
    assert!(repetition::loops(&[1, 5, 6, 5, 6, 5, 6, 5, 6]));
    assert!(repetition::loops(&[9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4]));
    assert!(!repetition::loops(&[]));
    assert!(!repetition::loops(&[1, 2, 3, 1, 2, 3]));
    assert!(!repetition::loops(&[5, 5, 5, 5]));
    let run = repetition::longest_run(&[0, 1, 2, 1, 2, 1, 2, 9]).unwrap();
    assert_eq!((run.start, run.period, run.count, run.surplus()), (1, 2, 3, 4));
}

#[test]
fn loops_against_the_source() {
    let beyond = repetition::loops_beyond;
    assert!(beyond("HELLO", "Olá Olá"));
    assert!(beyond("News of the day", "Notícias do dia, notícias do dia"));
    assert!(beyond("A cat", "Um gato gato gato gato"));
    assert!(beyond("I know the answer to this", "Eu sei sei sei a resposta disso"));
    assert!(beyond("title", "tttttttttttttttttttttttttt"));
    assert!(!beyond("I know that he is well", "Eu sei que que ele está bem"));
    assert!(!beyond("Bora Bora is an island", "Bora Bora é uma ilha"));
    assert!(!beyond("No, no, no!", "Não, não, não!"));
    assert!(!beyond("step by step by step", "passo a passo a passo"));
    assert!(!beyond("1,000,000,000", "1.000.000.000"));
    assert!(!beyond("aaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaa"));
    assert!(!beyond("", ""));
}
