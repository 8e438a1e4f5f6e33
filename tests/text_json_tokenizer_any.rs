//! Tokenizers of `tokenizer.json` on any text and any file: every character through every component, as the library has it;
//! ranges that are in order and between characters; damaged files that give an error.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/json_tokenizer.rs"]
mod json_tokenizer;
mod support;

use json_tokenizer::{names, numbers, open, with_charsmap};
use multihead::text::json_tokenizer::{Encoding, JsonTokenizer};
use proptest::prelude::*;
use support::{fixture, json};

/// What holds of any encoding.
fn check(encoding: &Encoding, text: &str) {
    let all = &encoding.pieces;
    let (mut start, mut end, mut word) = (0, 0, None);
    for piece in encoding.pieces.iter().filter(|piece| piece.word.is_some()) {
        assert!(text.get(piece.range.clone()).is_some(), "{text:?}: {piece:?} of {all:?}");
        // A space that was put in front of a word and is left out again is an empty range behind its first character.
        let is_in_order = piece.range.is_empty() || piece.range.start >= start;
        assert!(is_in_order && piece.range.end >= end, "{text:?}: {piece:?} of {all:?}");
        assert!(piece.word >= word, "{text:?}: {piece:?} of {all:?}");
        if !piece.range.is_empty() {
            start = piece.range.start;
        }
        (end, word) = (piece.range.end, piece.word);
    }
    let around = encoding.pieces.iter().filter(|piece| piece.word.is_none());
    assert!(around.into_iter().all(|piece| piece.range == (0..0)));
}

/// As sweep.py has it.
fn mixed(numbers: &[u32]) -> String {
    let mut power = 1u64;
    let sum = numbers.iter().fold(0u64, |sum, &number| {
        power = power.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum.wrapping_add(power.wrapping_mul(number.into()))
    });
    format!("{}:{sum:x}", numbers.len())
}

#[test]
fn every_character_becomes_what_the_library_makes_of_it() {
    let text = std::fs::read_to_string(fixture("text/json_tokenizer/sweep.tsv")).unwrap();
    let starts: Vec<u32> = (0..0x32000).step_by(4096).chain([0xe0000, 0xf0000, 0x10f000]).collect();
    let mut count = 0;
    for row in text.lines() {
        let (file, digests) = row.split_once('\t').unwrap();
        let tokenizer = JsonTokenizer::read("sweep.tsv", with_charsmap(file).as_bytes()).unwrap();
        for (start, wanted) in starts.iter().zip(digests.split('\t')) {
            let characters = (*start..start + 4096).filter_map(char::from_u32);
            let block: String = characters.map(|c| format!("{c}a{c}\u{323}\u{301} ")).collect();
            let encoding = tokenizer.encode(&block, None);
            check(&encoding, &block);
            let file = file.split_once(",\"post_processor\"").unwrap().0;
            assert_eq!(mixed(&numbers(&encoding.pieces)), wanted, "U+{start:04X}: {file}");
            count += 1;
        }
    }
    assert_eq!(count, 12 * 53);
}

#[test]
fn tiny_encoders_get_the_ids_and_offsets_that_transformers_gave_them() {
    let mut count = 0;
    for folder in std::fs::read_dir(fixture("encoders")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let bytes = std::fs::read(folder.join("tokenizer.json")).unwrap();
        let tokenizer = JsonTokenizer::read("tokenizer.json", &bytes).unwrap();
        let made = json(&folder.join("expected.json"));
        let most = made["max_tokens"].as_u64().unwrap() as usize;
        for expected in made["texts"].as_array().unwrap() {
            let text = expected["text"].as_str().unwrap();
            let encoding = tokenizer.encode(text, Some(most));
            check(&encoding, text);
            let ids: Vec<u32> = encoding.pieces.iter().map(|piece| piece.id).collect();
            let place = |at: usize| text[..at].chars().count();
            let offsets: Vec<[usize; 2]> = encoding
                .pieces
                .iter()
                .map(|piece| [place(piece.range.start), place(piece.range.end)])
                .collect();
            let got = serde_json::json!([ids, offsets, encoding.truncated]);
            let wanted =
                serde_json::json!([expected["ids"], expected["offsets"], expected["truncated"]]);
            assert_eq!(got, wanted, "{}: {text:?}", folder.display());
            count += 1;
        }
    }
    assert!(count > 100, "{count} texts");
}

thread_local! {
    static ALL: Vec<JsonTokenizer> = names().iter().map(|name| open(name)).collect();
}

const POOL: [&str; 32] = [
    " ",
    "  ",
    "\t",
    "\n",
    "\u{3000}",
    "\u{a0}",
    "a",
    "the",
    "The",
    "x",
    "é",
    "e\u{301}",
    "\u{301}",
    "\u{ad}",
    "½",
    "日",
    "本",
    "한",
    "ﬁ",
    "İ",
    "▁",
    "👍🏽",
    "\u{200d}",
    "\u{fffd}",
    "\0",
    "<mask>",
    "[MASK]",
    "<tag>",
    "<s>",
    "yesterday",
    ",",
    "1",
];

proptest! {
    #[test]
    fn ranges_are_in_order_and_lie_between_characters(
        parts in prop::collection::vec(prop::sample::select(POOL.to_vec()), 0..24),
        other in ".{0,12}",
        most in 0usize..20,
    ) {
        let text = parts.concat() + &other;
        ALL.with(|all| {
            for tokenizer in all {
                let whole = tokenizer.encode(&text, None);
                check(&whole, &text);
                let short = tokenizer.encode(&text, Some(most));
                check(&short, &text);
                assert!(short.pieces.len() <= most.max(tokenizer.added_tokens()));
                assert_eq!(short.truncated, whole.pieces.len() > most.max(tokenizer.added_tokens()));
                let ids: Vec<u32> = whole.pieces.iter().map(|piece| piece.id).collect();
                tokenizer.decode(&ids, false);
            }
        });
    }

    #[test]
    fn any_ids_are_decoded(ids in prop::collection::vec(0u32..600, 0..20), other in any::<u32>()) {
        ALL.with(|all| {
            for tokenizer in all {
                tokenizer.decode(&ids, true);
                assert_eq!(tokenizer.decode(&[other.max(1000)], false), "");
            }
        });
    }

    #[test]
    fn damaged_files_give_an_error_or_a_tokenizer(
        name in prop::sample::select(names()),
        place in 0.0..1.0f64,
        length in 0usize..40,
        new in prop::sample::select(vec!["", "\"", "{", "[", "]", ",", ":", "null", "-1", "1e999", "99999999999999999999", "\"x\"", "[]", "{}", "true", "\\u0000", "\\ud800", "\u{301}"]),
    ) {
        let text = std::fs::read_to_string(fixture(&format!("text/json_tokenizer/{name}.json"))).unwrap();
        let at = text.floor_char_boundary((text.len() as f64 * place) as usize);
        let end = text.floor_char_boundary((at + length).min(text.len()));
        let damaged = format!("{}{new}{}", &text[..at], &text[end.max(at)..]);
        match JsonTokenizer::read("damaged.json", damaged.as_bytes()) {
            Ok(tokenizer) => {
                let text = "The <mask> café, 日本 1\u{301}";
                check(&tokenizer.encode(text, None), text);
            }
            Err(error) => prop_assert_eq!(error.file(), Some("damaged.json")),
        }
    }
}
