//! What the tests of tokenizers share: small vocabularies, and decoding token by token.
#![allow(dead_code)] // each test file uses its part

use multihead::error::Error;
use multihead::text::tokenizer::{Piece, SpecialIds, TextStream, Tokenizer, TokenizerParts};
use serde_json::Value;

pub fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

pub fn numbers(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as u32).collect()
}

pub fn ids(pieces: &[Piece]) -> Vec<u32> {
    pieces.iter().map(|piece| piece.id).collect()
}

pub fn assert_tiles(pieces: &[Piece], text: &str) {
    let mut end = 0;
    for piece in pieces {
        assert_eq!(piece.range.start, end, "{text:?}");
        assert!(text.get(piece.range.clone()).is_some(), "{:?} of {text:?}", piece.range);
        end = piece.range.end;
    }
    assert!(pieces.is_empty() || end == text.len(), "{text:?}");
}

/// The tokenizer of a SentencePiece fixture.
pub fn sentencepiece(made: &Value) -> Tokenizer {
    let types: Vec<i64> = numbers(&made["token_types"]).into_iter().map(i64::from).collect();
    let scores: Vec<f32> = made["scores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|score| score.as_f64().unwrap() as f32)
        .collect();
    let id = |name: &str| made[name].as_u64().map(|id| id as usize);
    Tokenizer::new(TokenizerParts {
        file: "small.gguf",
        model: "llama",
        pre_tokenizer: Some("default"),
        tokens: Box::new(texts(&made["tokens"]).into_iter()),
        token_types: &types,
        scores: &scores,
        merges: None,
        special_ids: SpecialIds {
            bos: id("bos"),
            eos: id("eos"),
            unknown: id("unknown"),
            ..SpecialIds::default()
        },
        add_bos: None,
        add_eos: None,
        add_space_prefix: made["add_space_prefix"].as_bool(),
    })
    .unwrap()
}

/// Decodes token by token; each delta ends where a character, or cluster of characters, does.
pub fn streamed(tokenizer: &Tokenizer, ids: &[u32]) -> String {
    let mut stream = TextStream::new(tokenizer, true);
    let mut text = String::new();
    for &id in ids {
        text.push_str(&stream.push(tokenizer, id));
    }
    text.push_str(&stream.finish());
    text
}

/// Byte-level tokens `a b c < > | s /` and a space, with some merges, control tokens and user-defined ones.
pub fn small() -> Parts {
    let ordinary =
        ["a", "b", "c", "<", ">", "|", "s", "/", "Ġ", "Ã", "©", "ab", "Ġa", "é", "¥", "æ", "Ĺ"];
    let mut tokens: Vec<(String, i64)> =
        ordinary.iter().map(|text| ((*text).to_owned(), 1)).collect();
    for (text, kind) in
        [("<|s|>", 3), ("<|s", 3), ("<t>", 4), ("  ", 4), ("<|eot_id|>", 3), ("unused", 5)]
    {
        tokens.push((text.to_owned(), kind));
    }
    Parts { tokens, merges: vec!["a b", "Ġ a"], pre: "gpt-2", add_bos: Some(true), add_eos: None }
}

pub struct Parts {
    pub tokens: Vec<(String, i64)>,
    pub merges: Vec<&'static str>,
    pub pre: &'static str,
    pub add_bos: Option<bool>,
    pub add_eos: Option<bool>,
}

impl Parts {
    pub fn open(&self, special_ids: SpecialIds) -> Result<Tokenizer, Error> {
        let types: Vec<i64> = self.tokens.iter().map(|&(_, kind)| kind).collect();
        Tokenizer::new(TokenizerParts {
            file: "small.gguf",
            model: "gpt2",
            pre_tokenizer: Some(self.pre),
            tokens: Box::new(self.tokens.iter().map(|(text, _)| text.as_str())),
            token_types: &types,
            scores: &[],
            merges: Some(Box::new(self.merges.iter().copied())),
            special_ids,
            add_bos: self.add_bos,
            add_eos: self.add_eos,
            add_space_prefix: None,
        })
    }
}

/// Byte-level tokens for all bytes, the id of each its value.
pub fn bytes() -> Tokenizer {
    let mut next = 0x100;
    let tokens = (0..=255u8).map(|byte| {
        let printable = matches!(byte, 33..=126 | 161..=172 | 174..=255);
        let code = if printable {
            u32::from(byte)
        } else {
            next += 1;
            next - 1
        };
        (char::from_u32(code).unwrap().to_string(), 1)
    });
    let parts = Parts {
        tokens: tokens.collect(),
        merges: vec![],
        pre: "gpt-2",
        add_bos: None,
        add_eos: None,
    };
    parts.open(SpecialIds::default()).unwrap()
}
