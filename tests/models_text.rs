//! What a user's text must come through with, on the real models: white space, addresses, placeholders, emoji, numbers,
//! ranges that fit, answers that end.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::stack::Precision;
use multihead::tasks::translation::{DecodingOptions, Translation, Translator};
use pollster::block_on;
use proptest::prelude::*;
use std::rc::Rc;
use support::translator;

fn translate(translator: &Rc<Translator<Cpu>>, text: &str) -> Translation {
    let texts = vec![text.to_owned()];
    block_on(translator.translate(texts, DecodingOptions::default())).unwrap().remove(0)
}

/// Everything that holds of any translation: ranges in order and on characters, tokens inside their sentence,
/// alignments that are distributions.
fn check(source: &str, translation: &Translation) {
    let (mut source_end, mut target_end) = (0, 0);
    for sentence in &translation.sentences {
        assert!(source.get(sentence.source.clone()).is_some(), "{source:?}: {:?}", sentence.source);
        assert!(translation.text.get(sentence.target.clone()).is_some());
        assert!(sentence.source.start >= source_end && sentence.target.start >= target_end);
        (source_end, target_end) = (sentence.source.end, sentence.target.end);
        for (tokens, text, range) in [
            (&sentence.source_tokens, source, &sentence.source),
            (&sentence.target_tokens, translation.text.as_str(), &sentence.target),
        ] {
            for token in tokens {
                assert_eq!(text.get(token.range.clone()), Some(token.text.as_str()), "{source:?}");
                assert!(
                    token.range.start >= range.start && token.range.end <= range.end,
                    "{source:?}"
                );
            }
        }
        if sentence.source_tokens.is_empty() {
            assert!(sentence.alignment.is_empty() && sentence.target_tokens.is_empty());
            let passed = &source[sentence.source.clone()];
            assert_eq!(&translation.text[sentence.target.clone()], passed, "passed through");
        } else {
            let (rows, width) =
                (sentence.target_tokens.len() + 1, sentence.source_tokens.len() + 1);
            assert_eq!(sentence.alignment.len(), rows * width, "{source:?}");
            for row in sentence.alignment.chunks(width) {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{source:?}: {row:?}");
            }
        }
    }
    // All that lies between sentences is white space, and stays.
    let gaps = |text: &str, ranges: Vec<std::ops::Range<usize>>| -> String {
        let mut at = 0;
        let mut gaps = String::new();
        for range in ranges {
            gaps.push_str(&text[at..range.start]);
            at = range.end;
        }
        gaps + &text[at..]
    };
    let source_gaps =
        gaps(source, translation.sentences.iter().map(|s| s.source.clone()).collect());
    let target_gaps =
        gaps(&translation.text, translation.sentences.iter().map(|s| s.target.clone()).collect());
    assert!(source_gaps.chars().all(char::is_whitespace), "{source:?} drops {source_gaps:?}");
    assert!(target_gaps.chars().all(char::is_whitespace), "{source:?}");
    assert_eq!(source_gaps.replace(' ', ""), target_gaps.replace(' ', ""), "{source:?}");
}

#[test]
fn nothing_to_translate_comes_back_as_it_is() {
    for id in ["en-pt", "pt-en"] {
        let translator = translator(id, Precision::Auto);
        for text in [
            "",
            " ",
            "\n\n\t",
            "\u{0}\u{1}",
            "12345",
            "3.14",
            "-5",
            "1,000.50",
            "…",
            "?!",
            "😀",
            "👨‍👩‍👧‍👦 🇵🇹",
            "→ ★",
            "https://example.com/a?b=c",
            "someone@example.com",
            "{name}",
            "%s",
            "+351 912 345 678",
            "10:30",
            "你好。",
        ] {
            let translation = translate(&translator, text);
            assert_eq!(translation.text, text, "{id}");
            check(text, &translation);
        }
    }
}

#[test]
fn markup_and_quantities_of_plain_text_survive() {
    let translator = translator("en-pt", Precision::Auto);
    for (text, kept) in [
        (
            "See the [documentation](https://example.com/docs/intro#setup) for details.",
            vec!["](https://example.com/docs/intro#setup)"],
        ),
        ("Add ½ cup of sugar and ¾ teaspoon of salt.", vec!["½", "¾"]),
        ("Call +1 (555) 123-4567 today.", vec!["+1 (555) 123-4567"]),
        ("Name:\tJohn\tThe old house", vec!["\tJo", "\tA"]),
    ] {
        let translation = translate(&translator, text);
        for kept in kept {
            assert_eq!(translation.text.matches(kept).count(), 1, "{kept} in {}", translation.text);
        }
        check(text, &translation);
    }
    let thanks = translate(&translator, "thanks").text;
    assert!(thanks.chars().all(|c| c.is_alphabetic() || c == ' '), "cut in the middle: {thanks}");
}

#[test]
fn what_must_not_be_translated_is_copied() {
    let translator = translator("en-pt", Precision::Auto);
    for (text, kept) in [
        (
            "Visit https://example.com/path?q=1 for more information.",
            vec!["https://example.com/path?q=1"],
        ),
        (
            "Contact john.doe@example.com or call +351 912 345 678.",
            vec!["john.doe@example.com", "+351 912 345 678"],
        ),
        (
            "Hello {name}, you have %d new messages and ${count} alerts.",
            vec!["{name}", "%d", "${count}"],
        ),
        ("Use `cargo build --release` to compile the program.", vec!["`cargo build --release`"]),
        ("I love you 😀❤️ so much 👨‍👩‍👧‍👦!", vec!["😀❤️", "👨‍👩‍👧‍👦"]),
        ("The word 你好 means hello in Chinese.", vec!["你好"]),
        ("Version 1.2.3 was released on 2024-01-05.", vec!["1.2.3", "2024-01-05"]),
        ("It costs 5€ or £4.50.", vec!["5€", "£4.50"]),
        ("Zoë lives in Łódź.", vec!["Łódź"]),
        ("Open /usr/share/doc and read report.pdf twice.", vec!["/usr/share/doc", "report.pdf"]),
    ] {
        let translation = translate(&translator, text);
        for kept in kept {
            assert_eq!(translation.text.matches(kept).count(), 1, "{kept} in {}", translation.text);
        }
        check(text, &translation);
    }
}

#[test]
fn white_space_survives() {
    let translator = translator("en-pt", Precision::Auto);
    let text = "  The first line.\n\n\tThe second one.  It goes on.\r\n   \nThe last \n";
    let translation = translate(&translator, text);
    check(text, &translation);
    for (edge, kept) in [("  ", true), (" \n", false)] {
        let ends = if kept {
            translation.text.starts_with(edge)
        } else {
            translation.text.ends_with(edge)
        };
        assert!(ends, "{:?}", translation.text);
    }
    assert_eq!(translation.text.matches('\n').count(), 5);
    assert!(translation.text.contains("\n\n\t"));
}

#[test]
fn answers_are_in_proportion() {
    let translator = translator("en-pt", Precision::Auto);
    for text in [
        "a",
        "I",
        "No",
        "OK",
        "Hello",
        "hello",
        "HELLO",
        "Yes!",
        "The",
        "Breaking News",
        "BREAKING NEWS",
        "Sports",
    ] {
        let translation = translate(&translator, text);
        assert!(
            translation.text.chars().count() <= text.len() + 25,
            "{text}: {}",
            translation.text
        );
        check(text, &translation);
    }
    let shouted = translate(&translator, "THE GOVERNMENT ANNOUNCED A NEW PLAN FOR THE SCHOOLS");
    assert_eq!(shouted.text, shouted.text.to_uppercase());
}

#[test]
fn long_texts_are_cut_by_tokens_and_whole() {
    let translator = translator("en-pt", Precision::Auto);
    let clause = "the old man walked along the river and looked at the boats, ";
    let endless = clause.repeat(40);
    let translation = translate(&translator, &endless);
    check(&endless, &translation);
    assert!(translation.sentences.len() > 3, "{} pieces", translation.sentences.len());
    for sentence in &translation.sentences {
        assert!(sentence.source_tokens.len() <= 140, "{} tokens", sentence.source_tokens.len());
    }
    // A place to cut before a character of several bytes; placeholders longer than what is left of a piece; letters
    // that are one character to readers.
    for endless in [
        "a".repeat(3000),
        "é".repeat(600),
        "see {count, plural, one {# item} other {# items}} ".repeat(30),
        "a\u{200d}".repeat(600),
    ] {
        let translation = translate(&translator, &endless);
        check(&endless, &translation);
        for sentence in &translation.sentences {
            let tokens = sentence.source_tokens.len();
            assert!(tokens <= 140, "{tokens} tokens of {}", &endless[..8]);
        }
        let count = |text: &str| text.matches("{# item}").count();
        assert_eq!(count(&endless), count(&translation.text), "{}", translation.text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn any_text_comes_through(
        words in prop::collection::vec(
            prop_oneof![
                4 => "[a-zA-Z]{1,9}", 1 => "[0-9]{1,5}", 1 => "[.,!?;:]", 1 => "[ \n\t]{1,3}",
                1 => "\\PC{1,4}", 1 => Just("{x}".to_owned()), 1 => Just("“q”".to_owned()),
            ],
            0..25,
        ),
        glue in prop_oneof![Just(" "), Just("")],
    ) {
        thread_local! {
            static TRANSLATOR: Rc<Translator<Cpu>> = translator("en-pt", Precision::Auto);
        }
        let text = words.join(glue);
        let translation = TRANSLATOR.with(|translator| translate(translator, &text));
        check(&text, &translation);
    }
}
