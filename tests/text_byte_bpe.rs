//! Byte-level BPE against the `tokenizers` library: every pre-tokenizer on odd texts with a small vocabulary
//! (`tests/fixtures/text/tokenizer`), and what holds for any text.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use multihead::error::Error;
use multihead::text::byte_bpe::{ByteBpe, ByteBpeParts};
use multihead::text::sentencepiece::{Piece, PieceKind};
use proptest::prelude::*;
use std::fs;
use support::{fixture, json};

/// The small vocabulary: tokens and merges.
struct Small {
    tokens: Vec<String>,
    merges: Vec<String>,
    texts: Vec<String>,
}

impl Small {
    fn read() -> Self {
        let made = json(&fixture("text/tokenizer/byte_bpe.json"));
        let list = |name: &str| -> Vec<String> {
            made[name]
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.as_str().unwrap().to_owned())
                .collect()
        };
        Self { tokens: list("tokens"), merges: list("merges"), texts: list("texts") }
    }

    fn open(&self, pre_tokenizer: &str) -> Result<ByteBpe, Error> {
        ByteBpe::new(ByteBpeParts {
            file: "small.gguf",
            pre_tokenizer,
            tokens: Box::new(self.tokens.iter().map(String::as_str)),
            kinds: Vec::new(),
            merges: Box::new(self.merges.iter().map(String::as_str)),
        })
    }
}

fn ids(pieces: &[Piece]) -> Vec<u32> {
    pieces.iter().map(|piece| piece.id).collect()
}

/// Number of ids and FNV-1a over them, as the script has it.
fn digest(ids: &[u32]) -> String {
    let hashed =
        ids.iter().flat_map(|id| id.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    format!("{}:{:08x}", ids.len(), (hashed >> 32) as u32 ^ hashed as u32)
}

fn written(bpe: &ByteBpe, pieces: &[Piece]) -> Vec<u8> {
    pieces.iter().flat_map(|piece| bpe.bytes(piece.id).unwrap()).copied().collect()
}

fn assert_tiles(pieces: &[Piece], text: &str) {
    let mut end = 0;
    for piece in pieces {
        assert_eq!(piece.range.start, end, "{text:?}");
        assert!(text.get(piece.range.clone()).is_some(), "{:?} of {text:?}", piece.range);
        end = piece.range.end;
    }
    assert!(pieces.is_empty() || end == text.len(), "{text:?}");
}

#[test]
fn every_pre_tokenizer_gives_the_ids_of_the_reference() {
    let small = Small::read();
    let sweep: String =
        (0..0x20000).step_by(5).filter_map(char::from_u32).flat_map(|c| [c, 'a', c, ' ']).collect();
    let texts: Vec<&str> = small.texts.iter().map(String::as_str).chain([sweep.as_str()]).collect();
    let expected = fs::read_to_string(fixture("text/tokenizer/byte_bpe.tsv")).unwrap();
    let mut wrong = Vec::new();
    for line in expected.lines() {
        let mut fields = line.split('\t');
        let name = fields.next().unwrap();
        let bpe = small.open(name).unwrap();
        let digests: Vec<&str> = fields.collect();
        assert_eq!(digests.len(), texts.len());
        for (text, expected) in texts.iter().zip(digests) {
            let pieces = bpe.encode(text);
            assert_tiles(&pieces, text);
            if digest(&ids(&pieces)) != expected {
                let shown: String = text.chars().take(60).collect();
                wrong.push(format!("{name}: {shown:?}: {expected}, got {:?}", ids(&pieces).len()));
            }
        }
    }
    assert_eq!(expected.lines().count(), 16);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// A vocabulary of these tokens, with these merges.
fn tiny(tokens: &[(&str, PieceKind)], merges: &[&str]) -> Result<ByteBpe, Error> {
    let kinds: Vec<PieceKind> = tokens.iter().map(|&(_, kind)| kind).collect();
    ByteBpe::new(ByteBpeParts {
        file: "tiny.gguf",
        pre_tokenizer: "gpt-2",
        tokens: Box::new(tokens.iter().map(|&(text, _)| text)),
        kinds,
        merges: Box::new(merges.iter().copied()),
    })
}

const fn normal(text: &str) -> (&str, PieceKind) {
    (text, PieceKind::Normal)
}

#[test]
fn a_character_belongs_to_the_token_that_completes_it() {
    // é is the bytes C3 A9, written Ã ©; 日 is E6 97 A5, written æ Ĺ ¥ with the second and third merged.
    let tokens = ["a", "Ã", "©", "æ", "Ĺ", "¥", "Ĺ¥"].map(normal);
    let bpe = tiny(&tokens, &["Ĺ ¥"]).unwrap();
    let pieces = bpe.encode("aé日");
    let got: Vec<(u32, usize, usize)> =
        pieces.iter().map(|piece| (piece.id, piece.range.start, piece.range.end)).collect();
    assert_eq!(got, [(0, 0, 1), (1, 1, 1), (2, 1, 3), (3, 3, 3), (6, 3, 6)]);
    assert_eq!(written(&bpe, &pieces), "aé日".as_bytes());
    assert_eq!((bpe.vocab_size(), bpe.bytes(7)), (7, None));
}

#[test]
fn bytes_without_a_token_are_left_out_and_stay_in_the_ranges() {
    let bpe = tiny(&["a", "b", "ab"].map(normal), &["a b"]).unwrap();
    // As in the reference, what is left out does not keep its neighbours in the word apart.
    let pieces = bpe.encode("?axb? a!b");
    assert_eq!(ids(&pieces), [2, 0, 1]);
    assert_tiles(&pieces, "?axb? a!b");
    assert_eq!(ids(&bpe.encode("aéb")), [2]);
    assert!(bpe.encode("???").is_empty());
}

#[test]
fn text_never_becomes_a_control_token() {
    let tokens =
        [normal("a"), normal("b"), ("ab", PieceKind::Control), ("<x>", PieceKind::UserDefined)];
    let bpe = tiny(&tokens, &["a b"]).unwrap();
    assert_eq!(ids(&bpe.encode("ab")), [0, 1]);
    assert_eq!((bpe.bytes(2), bpe.kind(2)), (Some(&b"ab"[..]), Some(PieceKind::Control)));
    assert_eq!(bpe.bytes(3), Some(&b"<x>"[..]));
}

#[test]
fn an_unknown_pre_tokenizer_is_an_error_that_names_the_known_ones() {
    let error = Small::read().open("gpt-9").err().unwrap();
    assert_eq!((error.code(), error.file()), ("model-unsupported", Some("small.gguf")));
    for part in ["\"gpt-9\"", "tokenizer.ggml.pre", "gpt-2", "llama-bpe", "qwen2", "smollm"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_damaged_vocabulary_is_an_error_that_says_where() {
    let tokens = ["a", "b", "ab"].map(normal);
    for (merges, part) in [
        (["a b", "ab"], "merge 1, \"ab\", is no pair"),
        (["a b", "a c"], "merge 1, \"a c\", is of no tokens"),
        (["b a", "a b"], "merge 0, \"b a\", is of no tokens"),
        (["a b", "a  b"], "merge 1, \"a  b\", is of no tokens"),
    ] {
        let error = tiny(&tokens, &merges).err().unwrap();
        assert_eq!(error.code(), "model-corrupt");
        assert!(error.to_string().contains(part), "{error}");
    }
    for kinds in [1, 3] {
        let error = ByteBpe::new(ByteBpeParts {
            file: "tiny.gguf",
            pre_tokenizer: "gpt-2",
            tokens: Box::new(["a", "b"].into_iter()),
            kinds: vec![PieceKind::Normal; kinds],
            merges: Box::new(std::iter::empty()),
        });
        let error = error.err().unwrap();
        assert_eq!(error.code(), "model-corrupt");
    }
}

#[test]
fn a_megabyte_of_one_word_takes_linear_time() {
    let small = Small::read();
    for name in ["smollm", "qwen2", "gpt-4o"] {
        let bpe = small.open(name).unwrap();
        for unit in ["a", "A", "the", " ", "\n", " \n", "1", "!", "的", "\u{301}", "e\u{301}", "aB"]
        {
            let text = unit.repeat((1 << 20) / unit.len());
            assert_tiles(&bpe.encode(&text), &text);
        }
    }
}

proptest! {
    #[test]
    fn any_text_comes_back(text in "\\PC{0,40}|[a-c '\\r\\n\\t1\u{301}é日]{0,40}", row in 0usize..6) {
        let names = ["gpt-2", "smollm", "llama-bpe", "stablelm2", "tekken", "deepseek-v3"];
        thread_local! {
            static SMALL: Small = Small::read();
        }
        let bpe = SMALL.with(|small| small.open(names[row])).unwrap();
        let pieces = bpe.encode(&text);
        assert_tiles(&pieces, &text);
        prop_assert_eq!(String::from_utf8(written(&bpe, &pieces)).unwrap(), text);
    }
}
