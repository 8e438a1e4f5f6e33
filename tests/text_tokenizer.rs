//! Tokenizers of decoder-only models: SentencePiece vocabularies from metadata against the sentencepiece library
//! (`tests/fixtures/text/tokenizer`), control tokens, marks, and text that comes back token by token.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;
#[path = "support/tokenizer.rs"]
mod tokenizer;

use multihead::text::tokenizer::{
    Part, PieceKind, SpecialIds, TextStream, Tokenizer, TokenizerParts,
};
use support::{fixture, json};
use tokenizer::{Parts, assert_tiles, bytes, ids, numbers, sentencepiece, small, streamed, texts};

#[test]
fn vocabularies_with_scores_give_what_the_references_give() {
    for name in ["llama", "gemma"] {
        let made = json(&fixture(&format!("text/tokenizer/spm_{name}.json")));
        let tokenizer = sentencepiece(&made);
        let cases = texts(&made["texts"]);
        for (index, text) in cases.iter().enumerate() {
            let pieces = tokenizer.encode(text);
            let expected = numbers(&made["ids"][index]);
            assert_eq!(ids(&pieces), expected, "{name}: {text:?}");
            assert_tiles(&pieces, text);
            let decoded = tokenizer.decode(&expected);
            assert_eq!(decoded.text, made["decoded"][index].as_str().unwrap(), "{name}: {text:?}");
            assert_eq!(decoded.ranges.len(), expected.len());
            assert_eq!(streamed(&tokenizer, &expected), decoded.text);
        }
        assert!(cases.len() > 80, "{name}: {}", cases.len());
        for (index, text) in texts(&made["templates"]).into_iter().enumerate() {
            let pieces = tokenizer.encode_with_control(text);
            assert_eq!(ids(&pieces), numbers(&made["template_ids"][index]), "{name}: {text:?}");
            assert_tiles(&pieces, text);
        }
    }
}

#[test]
fn marks_are_added_as_the_file_says_and_never_twice() {
    let made = json(&fixture("text/tokenizer/spm_llama.json"));
    let tokenizer = sentencepiece(&made);
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id()), (Some(1), Some(2)));
    assert_eq!(tokenizer.end_ids(), [2]);
    for (text, with_marks) in [("", vec![1]), ("<s>", vec![1]), ("<s></s>", vec![1, 2])] {
        let mut pieces = tokenizer.encode_with_control(text);
        tokenizer.add_marks(&mut pieces);
        assert_eq!(ids(&pieces), with_marks, "{text:?}");
    }
    // Typed by somebody, the mark is text, and the true one comes in front.
    let mut pieces = tokenizer.encode("<s>");
    assert!(!ids(&pieces).contains(&1));
    tokenizer.add_marks(&mut pieces);
    assert_eq!((pieces[0].id, pieces[0].range.clone()), (1, 0..0));
}

#[test]
fn control_tokens_are_found_in_templates_only() {
    let tokenizer =
        small().open(SpecialIds { bos: Some(17), eos: Some(17), ..SpecialIds::default() }).unwrap();
    let control = tokenizer.encode_with_control("<|s|>ab<|s<t>  a");
    assert_eq!(ids(&control), [17, 11, 18, 19, 20, 0]);
    assert_tiles(&control, "<|s|>ab<|s<t>  a");
    // User-defined tokens are found everywhere.
    let typed = tokenizer.encode("<|s|>ab<|s<t>  a");
    assert_eq!(ids(&typed), [3, 5, 6, 5, 4, 11, 3, 5, 6, 19, 20, 0]);
    // The longest of several is taken: `<|s|>` before `<|s`.
    assert_eq!(ids(&tokenizer.encode_with_control("<|s|")), [18, 5]);
    assert_eq!(tokenizer.end_ids(), [17, 21]);
    assert_eq!(tokenizer.kind(17), Some(PieceKind::Control));
    assert_eq!(tokenizer.token_text(17), "<|s|>");
    assert_eq!(tokenizer.token_text(12), " a");
}

#[test]
fn parts_are_one_text_but_for_the_control_tokens_of_the_template() {
    let tokenizer = small().open(SpecialIds::default()).unwrap();
    let template = |text| Part::Template(text);
    let written = |text| Part::Text(text);
    for (parts, expected) in [
        // A merge goes across the border.
        (vec![template("<|s|>a"), written("b")], vec![17, 11]),
        (vec![template("<|s|> "), written("a")], vec![17, 12]),
        // What somebody wrote is no control token, nor a part of one.
        (vec![template("<|s|>"), written("<|s|>")], vec![17, 3, 5, 6, 5, 4]),
        (vec![template("<|"), written("s"), template("|>")], vec![3, 5, 6, 5, 4]),
        (vec![written("<"), template("|s|>")], vec![3, 5, 6, 5, 4]),
        (vec![template("<|s"), written("|>")], vec![18, 5, 4]),
        // Two parts of the template are one, with nothing written in between or not.
        (vec![template("<|s"), template("|>")], vec![17]),
        (vec![template("<|s"), written(""), template("|>")], vec![17]),
        (vec![written("a"), template("<|s|>"), written("a")], vec![0, 17, 0]),
        (vec![written(""), written("")], vec![]),
    ] {
        let pieces = tokenizer.encode_parts(&parts);
        assert_eq!(ids(&pieces), expected, "{parts:?}");
        let whole: String = parts
            .iter()
            .map(|part| match part {
                Part::Template(text) | Part::Text(text) => *text,
            })
            .collect();
        assert_tiles(&pieces, &whole);
    }
    // Text without a token in front of a control token falls to it.
    let pieces = tokenizer.encode_with_control("xyz<|s|>x");
    assert_eq!((ids(&pieces), pieces[0].range.clone()), (vec![17], 0..9));
}

#[test]
fn a_control_token_that_a_file_takes_for_an_ordinary_one_is_still_one() {
    let mut parts = small();
    parts.tokens[17].1 = 1;
    let tokenizer = parts.open(SpecialIds { eos: Some(17), ..SpecialIds::default() }).unwrap();
    assert_eq!(ids(&tokenizer.encode_with_control("<|s|>")), [17]);
    assert_eq!(tokenizer.decode(&[0, 17, 1]).text, "ab");
}

#[test]
fn marks_of_byte_level_vocabularies() {
    let special_ids = SpecialIds { bos: Some(17), eos: Some(21), ..SpecialIds::default() };
    let marked = |parts: &Parts| {
        let tokenizer = parts.open(special_ids).unwrap();
        let mut pieces = tokenizer.encode("a");
        tokenizer.add_marks(&mut pieces);
        ids(&pieces)
    };
    let mut parts = small();
    parts.add_eos = Some(true);
    assert_eq!(marked(&parts), [17, 0, 21]);
    // Where the file does not say, it depends on the pre-tokenizer.
    (parts.add_bos, parts.add_eos) = (None, None);
    assert_eq!(marked(&parts), [0]);
    parts.pre = "llama-bpe";
    assert_eq!(marked(&parts), [17, 0]);
    parts.add_bos = Some(false);
    assert_eq!(marked(&parts), [0]);
}

#[test]
fn bytes_are_joined_to_characters() {
    let tokenizer = small().open(SpecialIds::default()).unwrap();
    // é is the bytes C3 A9, and the token é the byte E9, which begins a character of three bytes.
    for (tokens, expected, ranges) in [
        (vec![0, 9, 10, 1], "aéb", vec![0..1, 1..1, 1..3, 3..4]),
        (vec![9, 0], "\u{fffd}a", vec![0..0, 0..4]),
        (vec![10, 10], "\u{fffd}\u{fffd}", vec![0..3, 3..6]),
        // Cut off at the end: one U+FFFD for what there is of the character (æ is E6, Ĺ 97).
        (vec![0, 15, 16], "a\u{fffd}", vec![0..1, 1..1, 1..4]),
        (vec![15, 16, 14], "日", vec![0..0, 0..0, 0..3]),
        // A control token writes nothing, and no id beyond the vocabulary does.
        (vec![17, 0, 18, 9_999], "a", vec![0..0, 0..1, 1..1, 1..1]),
        (vec![], "", vec![]),
    ] {
        let decoded = tokenizer.decode(&tokens);
        assert_eq!((decoded.text.as_str(), decoded.ranges), (expected, ranges), "{tokens:?}");
        assert_eq!(streamed(&tokenizer, &tokens), expected, "{tokens:?}");
    }
}

#[test]
fn a_stream_never_cuts_an_emoji_or_a_syllable() {
    let tokenizer = bytes();
    for (text, deltas) in [
        ("aé日", vec!["a", "é", "日"]),
        ("x👩‍👩‍👧y", vec!["x", "👩‍👩‍👧y"]),
        ("👍🏽👍🏽.", vec!["👍🏽", "👍🏽."]),
        ("🇵🇹🇧🇷", vec!["🇵🇹", "🇧🇷"]),
        ("☺\u{fe0f}!", vec!["☺\u{fe0f}!"]),
        ("क्षि त", vec!["क्षि ", "त"]),
        ("a\r\nb", vec!["a", "\r\n", "b"]),
        // Latin letters are not held back: an accent of its own comes later.
        ("e\u{301}.", vec!["e", "\u{301}."]),
    ] {
        let mut stream = TextStream::new(&tokenizer, true);
        let mut got: Vec<String> =
            text.bytes().map(|byte| stream.push(&tokenizer, byte.into())).collect();
        got.push(stream.finish());
        got.retain(|delta| !delta.is_empty());
        assert_eq!(got, deltas, "{text:?}");
    }
}

#[test]
fn what_is_missing_or_contradicts_itself_is_named() {
    let part = |change: fn(&mut TokenizerParts)| {
        let mut parts = TokenizerParts {
            file: "small.gguf",
            model: "llama",
            pre_tokenizer: None,
            tokens: Box::new(["<unk>", "a"].into_iter()),
            token_types: &[2, 1],
            scores: &[0.0, 0.0],
            merges: None,
            special_ids: SpecialIds::default(),
            add_bos: None,
            add_eos: None,
            add_space_prefix: None,
        };
        change(&mut parts);
        Tokenizer::new(parts).map(|tokenizer| tokenizer.vocab_size())
    };
    assert_eq!(part(|_| {}), Ok(2));
    assert_eq!(part(|parts| parts.special_ids.eos = Some(u32::MAX as usize)), Ok(2));
    type Change = fn(&mut TokenizerParts);
    let damaged: [(Change, &str); 9] = [
        (|parts| parts.token_types = &[], "tokenizer.ggml.token_type"),
        (|parts| parts.token_types = &[2], "tokenizer.ggml.token_type"),
        (|parts| parts.scores = &[], "tokenizer.ggml.scores"),
        (|parts| parts.scores = &[0.0, f32::NAN], "tokenizer.ggml.scores"),
        (|parts| parts.special_ids.eos = Some(2), "tokenizer.ggml.eos_token_id"),
        (|parts| parts.tokens = Box::new(["a", "a", "b"].into_iter()), "tokenizer.ggml.scores"),
        (|parts| parts.token_types = &[2, 6], "byte piece"),
        (|parts| parts.model = "gpt2", "tokenizer.ggml.pre"),
        (
            |parts| {
                parts.model = "gpt2";
                parts.pre_tokenizer = Some("gpt-2");
            },
            "tokenizer.ggml.merges",
        ),
    ];
    for (change, name) in damaged {
        let error = part(change).unwrap_err();
        assert_eq!(error.code(), "model-corrupt", "{error}");
        assert!(error.to_string().contains(name), "{error} names {name}");
    }
    let error = part(|parts| parts.model = "bert").unwrap_err();
    assert_eq!(error.code(), "model-unsupported");
    assert!(
        error.to_string().contains("\"bert\" (tokenizer.ggml.model); gpt2, llama are"),
        "{error}"
    );
}
