//! SentencePiece models against the sentencepiece library: ids, ranges and decoded text of the fixtures in
//! `tests/fixtures/text` (written by `make.py` there), and of the real vocabularies where they are present.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use multihead::text::sentencepiece::{PieceKind, SentencePiece};
use std::{fs, io::Write, path::PathBuf};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/text").join(name)
}

fn open(path: PathBuf) -> SentencePiece {
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    SentencePiece::parse("model.spm", &bytes).unwrap()
}

/// A loud line that the test harness does not swallow.
fn skipped(test: &str, missing: &str) {
    let advice = "run cargo xtask models; FLORES is looked for in ../shared or $MULTIHEAD_FLORES";
    let line = format!("\nSKIPPED: {test}: no {missing}; {advice}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The vocabulary file of a real model, if it was fetched.
fn real_vocabulary(id: &str, file: &str) -> Option<SentencePiece> {
    let models = std::env::var_os("MULTIHEAD_MODELS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models"), PathBuf::from);
    let path = models.join(id).join(file);
    path.exists().then(|| open(path))
}

fn flores(language: &str) -> Option<Vec<String>> {
    let folder = std::env::var_os("MULTIHEAD_FLORES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/flores-en-pt-dev"),
        PathBuf::from,
    );
    let text = fs::read_to_string(folder.join(format!("dev.{language}"))).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        out.push(match rest.next().unwrap() {
            't' => '\t',
            'n' => '\n',
            'u' => {
                let hex: String = rest.by_ref().take_while(|&c| c != '}').skip(1).collect();
                char::from_u32(u32::from_str_radix(&hex, 16).unwrap()).unwrap()
            }
            other => other,
        });
    }
    out
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Holds `model` to every line of a `.tsv` fixture.
fn check(model: &SentencePiece, name: &str) {
    let expected = fs::read_to_string(fixture(name)).unwrap();
    let mut lines = 0;
    for line in expected.lines() {
        lines += 1;
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["E", text, ids, ends, decoded] => {
                let text = unescape(text);
                let pieces = model.encode(&text);
                let ids: Vec<u32> = numbers(ids);
                let got: Vec<u32> = pieces.iter().map(|piece| piece.id).collect();
                assert_eq!(got, ids, "{name}: ids of {text:?}");
                let got: Vec<usize> = pieces.iter().map(|piece| piece.range.end).collect();
                assert_eq!(got, numbers::<usize>(ends), "{name}: ends in {text:?}");
                assert_tiled(pieces.iter().map(|piece| piece.range.clone()), &text);
                assert_decodes(model, name, &ids, &unescape(decoded));
            }
            ["D", ids, text] => assert_decodes(model, name, &numbers::<u32>(ids), &unescape(text)),
            _ => panic!("{name}: {line:?}"),
        }
    }
    assert!(lines > 100, "{name} has {lines} lines");
}

fn assert_decodes(model: &SentencePiece, name: &str, ids: &[u32], text: &str) {
    let decoded = model.decode_pieces(ids);
    assert_eq!(decoded.text, text, "{name}: text of {ids:?}");
    assert_eq!(model.decode(ids), text);
    assert_eq!(decoded.ranges.len(), ids.len());
    assert_tiled(decoded.ranges.into_iter(), text);
}

fn assert_tiled(ranges: impl Iterator<Item = std::ops::Range<usize>>, text: &str) {
    let mut end = None;
    for range in ranges {
        assert_eq!(range.start, end.unwrap_or(0));
        assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
        end = Some(range.end);
    }
    assert!(end.is_none_or(|end| end == text.len()), "{end:?} of {}", text.len());
}

macro_rules! fixtures {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let name = stringify!($name);
            check(&open(fixture(&format!("{name}.spm"))), &format!("{name}.tsv"));
        }
    )*};
}

fixtures! {
    bpe bpe_bytes bpe_unused char unigram_bytes unigram_nmt unigram_raw unigram_rules unigram_suffix
    unigram_unused word
}

#[test]
fn real_vocabularies_on_odd_input() {
    for (id, name) in [("en-pt", "vocab.enpt"), ("pt-en", "vocab.pten")] {
        match real_vocabulary(id, &format!("{name}.spm")) {
            Some(model) => {
                assert_eq!((model.vocab_size(), model.unknown_id()), (32000, 1));
                assert_eq!(model.eos_id(), Some(0));
                check(&model, &format!("{name}.tsv"));
            }
            None => skipped("real_vocabularies_on_odd_input", &format!("models/{id}/{name}.spm")),
        }
    }
}

/// Number of ids and FNV-1a over ids and decoded text, as `make.py` has it.
fn digest(model: &SentencePiece, line: &str) -> String {
    let ids: Vec<u32> = model.encode(line).iter().map(|piece| piece.id).collect();
    let text = model.decode(&ids);
    let bytes = ids.iter().flat_map(|id| id.to_le_bytes()).chain(text.bytes());
    let hashed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{}:{:08x}", ids.len(), (hashed >> 32) as u32 ^ hashed as u32)
}

#[test]
fn every_flores_line() {
    let models =
        [real_vocabulary("en-pt", "vocab.enpt.spm"), real_vocabulary("pt-en", "vocab.pten.spm")];
    let [Some(enpt), Some(pten)] = models else {
        return skipped("every_flores_line", "models/en-pt or models/pt-en");
    };
    let Some((english, portuguese)) = flores("en").zip(flores("pt")) else {
        return skipped("every_flores_line", "FLORES dev.en and dev.pt");
    };
    let expected = fs::read_to_string(fixture("flores.txt")).unwrap();
    let rows: Vec<&str> = expected.lines().skip(1).collect();
    assert_eq!((rows.len(), english.len(), portuguese.len()), (997, 997, 997));
    for (line, row) in rows.iter().enumerate() {
        let (en, pt) = (&english[line], &portuguese[line]);
        let got = [digest(&enpt, en), digest(&pten, en), digest(&enpt, pt), digest(&pten, pt)];
        assert_eq!(got.join(" "), **row, "line {}", line + 1);
    }
}

#[test]
fn names_pieces_and_kinds() {
    let model = open(fixture("unigram_bytes.spm"));
    assert_eq!(model.vocab_size(), 500);
    assert_eq!(model.piece(model.unknown_id()), Some("<unk>"));
    assert_eq!(model.eos_id().and_then(|id| model.piece(id)), Some("</s>"));
    assert_eq!(model.piece(500), None);
    let symbols: Vec<_> =
        (0..500).filter(|&id| model.kind(id) == Some(PieceKind::Control)).collect();
    let symbols: Vec<_> = symbols.into_iter().filter_map(|id| model.piece(id)).collect();
    assert_eq!(symbols, ["<s>", "</s>", "<2pt>", "<2en>"]);
    // An id outside the vocabulary reads as unknown.
    assert_eq!(model.decode(&[500, u32::MAX]), model.decode(&[model.unknown_id(); 2]));
}

#[test]
fn a_megabyte_takes_linear_time() {
    for name in ["unigram_nmt", "bpe_bytes"] {
        let model = open(fixture(&format!("{name}.spm")));
        for unit in ["a", "the ", "ação! ", "的", " ", "e\u{301}"] {
            let text = unit.repeat((1 << 20) / unit.len());
            let pieces = model.encode(&text);
            assert_tiled(pieces.iter().map(|piece| piece.range.clone()), &text);
        }
    }
}
