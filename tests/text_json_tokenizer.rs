//! Tokenizers of `tokenizer.json` against the library they come from (`tests/fixtures/text/json_tokenizer`): ids, ranges,
//! words, truncation and decoded text of odd texts, for every kind that encoders use and the components beside them.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/json_tokenizer.rs"]
mod json_tokenizer;
mod support;

use json_tokenizer::{digests, expected, open, texts};
use multihead::text::json_tokenizer::JsonTokenizer;

/// Compares all texts of one line of expected.tsv; `limit` keeps the message short.
fn check(name: &str) {
    let (tokenizer, wanted) = (open(name), expected(name));
    let mut wrong = Vec::new();
    for (text, wanted) in texts().iter().zip(&wanted) {
        let whole = tokenizer.encode(text, None);
        let short = tokenizer.encode(text, Some(12));
        assert_eq!(short.truncated, whole.pieces.len() > 12, "{name}: {text:?}");
        assert!(!whole.truncated && short.pieces.len() <= 12);
        let got = digests(&tokenizer, text);
        if got != *wanted {
            wrong.push(format!("{text:?}\n  {got}, not {wanted}\n  {:?}", whole.pieces));
        }
    }
    assert_eq!((wanted.len(), texts().len()), (texts().len(), wanted.len()), "{name}");
    let first: Vec<&str> = wrong.iter().take(3).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{name}: {} of {}\n{}", wrong.len(), wanted.len(), first.join("\n"));
}

macro_rules! checks {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn no_tokenizer_is_left_out() {
            let names = [$(stringify!($name)),*];
            let mut files = json_tokenizer::names();
            assert_eq!(files.len(), names.len(), "{files:?}");
            files.retain(|file| !names.contains(&file.as_str()));
            assert!(files.is_empty(), "{files:?}");
        }
    };
}

checks! {
    bert bert_added bert_cased bert_plain bpe_bytes bpe_prefix bpe_suffix byte_level_gaps byte_level_template mpnet multilingual
    roberta roberta_prefix unigram_bytes unigram_never word_level xlm_roberta xlm_roberta_old
}

#[test]
fn what_the_file_says_of_itself_is_told() {
    let bert = open("bert");
    let vocabulary = [("[PAD]", 0), ("[UNK]", 1), ("[CLS]", 2), ("[SEP]", 3), ("[MASK]", 4)];
    for (text, id) in vocabulary {
        assert_eq!((bert.token_id(text), bert.token_text(id)), (Some(id), Some(text)));
        assert!(bert.is_special(id));
    }
    assert!(!bert.is_special(5));
    assert_eq!((bert.token_id("nowhere"), bert.token_text(4_000_000_000)), (None, None));
    assert_eq!((bert.vocab_size(), bert.added_tokens()), (420, 2));
    assert_eq!(open("bert_plain").max_length(), Some(64));
    assert_eq!((bert.max_length(), bert.pad_id()), (None, None));
}

#[test]
fn what_is_put_around_stays_where_there_is_room_for_nothing() {
    let bert = open("bert");
    for (most, ids, truncated) in [(0, vec![2, 3], true), (2, vec![2, 3], true)] {
        let encoding = bert.encode("the", Some(most));
        let got: Vec<u32> = encoding.pieces.iter().map(|piece| piece.id).collect();
        assert_eq!((got, encoding.truncated), (ids, truncated), "{most}");
    }
    assert!(!bert.encode("", Some(2)).truncated);
}

/// A tokenizer of five tokens with some keys changed.
fn read(change: &str) -> multihead::error::Result<JsonTokenizer> {
    let mut file = serde_json::json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "[CLS]": 3, "[SEP]": 4}},
    });
    let change: serde_json::Map<String, serde_json::Value> = serde_json::from_str(change).unwrap();
    for (key, value) in change {
        match key.strip_prefix("model.") {
            Some(key) => file["model"][key] = value,
            None => file[key] = value,
        }
    }
    JsonTokenizer::read("small/tokenizer.json", file.to_string().as_bytes())
}

#[test]
fn ids_need_be_neither_dense_nor_in_order() {
    let sparse = read(r###"{"model.vocab": {"a": 4294967295, "[UNK]": 7, "##b": 3}}"###).unwrap();
    let ids: Vec<u32> = sparse.encode("ab c a", None).pieces.iter().map(|piece| piece.id).collect();
    assert_eq!(ids, [u32::MAX, 3, 7, u32::MAX]);
    assert_eq!((sparse.token_text(7), sparse.token_text(0)), (Some("[UNK]"), None));
    assert_eq!(sparse.vocab_size(), 1 << 32);
}

#[test]
fn what_is_missing_damaged_or_unknown_is_named() {
    assert!(read("{}").is_ok());
    for (change, names) in [
        (r#"{"model.unk_token": "[unk]"}"#, "model.unk_token"),
        (r#"{"model.unk_token": null}"#, "model.unk_token"),
        (r#"{"model.vocab": null}"#, "model.vocab"),
        (r#"{"model.vocab": 5}"#, "model.vocab"),
        (r#"{"model.vocab": {"[UNK]": -1}}"#, "[UNK]"),
        (r#"{"model.vocab": {"[UNK]": 4294967296}}"#, "[UNK]"),
        (r#"{"model.vocab": {"[UNK]": 1.5}}"#, "[UNK]"),
        (r#"{"model.vocab": {"[UNK]": 1, "a": 1}}"#, "\"[UNK]\" and \"a\" have the same id, 1"),
        (r#"{"model.vocab": [["[UNK]", 1]]}"#, "model.vocab"),
        (r#"{"model.type": "Unigram"}"#, "model.vocab"),
        (
            r#"{"model.type": "Unigram", "model.vocab": [["a", 1], ["a", 2]]}"#,
            "\"a\" stands there twice",
        ),
        (r#"{"model.type": "Unigram", "model.vocab": [["a", 1, 2]]}"#, "model.vocab"),
        (r#"{"model.type": "Unigram", "model.vocab": [["a"]]}"#, "model.vocab"),
        (r#"{"model.type": "Unigram", "model.vocab": [["a", 1]]}"#, "model.unk_id"),
        (
            r#"{"model.type": "Unigram", "model.vocab": [["a", 1]], "model.unk_id": 1}"#,
            "model.unk_id",
        ),
        (r#"{"model.type": "BPE"}"#, "model.merges"),
        (r#"{"model.type": "BPE", "model.merges": ["a b c"]}"#, "model.merges"),
        (r#"{"model.type": "BPE", "model.merges": [["a"]]}"#, "model.merges"),
        (r#"{"model.type": "BPE", "model.merges": [["a", "b", "c"]]}"#, "model.merges"),
        (r#"{"model.type": "BPE", "model.merges": [["a", "c"]]}"#, "merge 0"),
        (r#"{"model.max_input_chars_per_word": "many"}"#, "model.max_input_chars_per_word"),
        (r#"{"normalizer": {"type": "BertNormalizer"}}"#, "normalizer.lowercase"),
        (r#"{"normalizer": {}}"#, "normalizer.type"),
        (
            r#"{"normalizer": {"type": "Sequence", "normalizers": [{"type": 5}]}}"#,
            "normalizer.normalizers[0].type",
        ),
        (
            r#"{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "ABC"}}"#,
            "normalizer.precompiled_charsmap",
        ),
        (
            r#"{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}"#,
            "normalizer.precompiled_charsmap",
        ),
        (
            r#"{"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": ""}}"#,
            "normalizer.pattern.String",
        ),
        (
            r#"{"pre_tokenizer": {"type": "Metaspace", "replacement": "__"}}"#,
            "pre_tokenizer.replacement",
        ),
        (
            r#"{"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "add_prefix_space": false}}"#,
            "pre_tokenizer.prepend_scheme",
        ),
        (r#"{"added_tokens": {}}"#, "added_tokens"),
        (r#"{"added_tokens": [{"content": "x"}]}"#, "added_tokens[0].single_word"),
        (
            r#"{"post_processor": {"type": "BertProcessing", "cls": ["[CLS]"], "sep": ["[SEP]", 4]}}"#,
            "post_processor.cls",
        ),
        (
            r#"{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {}}}"#,
            "post_processor.special_tokens.x",
        ),
        (r#"{"truncation": {"max_length": -1}}"#, "truncation.max_length"),
        (r#"{"decoder": {"type": "WordPiece", "prefix": 5}}"#, "decoder.prefix"),
    ] {
        let error = read(change).err().unwrap_or_else(|| panic!("{change} is read"));
        assert_eq!(
            (error.code(), error.file()),
            ("model-corrupt", Some("small/tokenizer.json")),
            "{error}"
        );
        assert!(error.to_string().contains(names), "{error} names {names}");
    }
    for (change, names) in [
        (
            r#"{"model.type": "Other"}"#,
            "\"Other\" (model.type); BPE, Unigram, WordLevel, WordPiece are",
        ),
        (r#"{"normalizer": {"type": "NFKC"}}"#, "the normalizer NFKC (normalizer)"),
        (
            r#"{"normalizer": {"type": "Replace", "pattern": {"Regex": "(a|b)"}, "content": ""}}"#,
            "\"(a|b)\" (normalizer.pattern.Regex)",
        ),
        (r#"{"pre_tokenizer": {"type": "UnicodeScripts"}}"#, "UnicodeScripts (pre_tokenizer)"),
        (r#"{"pre_tokenizer": {"type": "Punctuation", "behavior": "Gone"}}"#, "\"Gone\""),
        (r#"{"post_processor": {"type": "Other"}}"#, "Other (post_processor)"),
        (
            r#"{"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]}}"#,
            "a second text",
        ),
        (r#"{"post_processor": {"type": "TemplateProcessing", "single": []}}"#, "0 times"),
        (r#"{"decoder": {"type": "CTC"}}"#, "CTC (decoder)"),
        (r#"{"version": "2.0"}"#, "\"2.0\" (version)"),
        (
            r#"{"added_tokens": [{"content": "\u0301", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}]}"#,
            "leaves nothing",
        ),
    ] {
        let error = read(change).err().unwrap_or_else(|| panic!("{change} is read"));
        assert_eq!(
            (error.code(), error.file()),
            ("model-unsupported", Some("small/tokenizer.json")),
            "{error}"
        );
        assert!(error.to_string().contains(names), "{error} names {names}");
    }
}

#[test]
fn what_is_no_json_is_refused_at_its_byte() {
    let whole = std::fs::read(support::fixture("text/json_tokenizer/bert.json")).unwrap();
    let read = |bytes: &[u8]| JsonTokenizer::read("t.json", bytes).err().unwrap();
    assert_eq!(read(b"").offset(), Some(0));
    assert_eq!(read(b"{\n \"model\": {\n  x").offset(), Some(16));
    let deep = [b"{\"normalizer\":".as_slice(), &b"[".repeat(100_000)].concat();
    for bytes in [
        &whole[..whole.len() / 2],
        b"[]",
        b"5",
        b"{\"model\": 5}",
        b"\xff",
        b"{\"\xc3\": 1}",
        b"{} {}",
        &deep,
    ] {
        let error = read(bytes);
        assert_eq!((error.code(), error.file()), ("model-corrupt", Some("t.json")), "{error}");
    }
    assert!(read(b"{}").to_string().contains("model.vocab"));
}
