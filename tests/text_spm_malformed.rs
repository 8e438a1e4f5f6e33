//! Damaged and hostile `.spm` files: a typed error that names file and offset, never a panic or a hang.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

use multihead::{error::Error, text::sentencepiece::SentencePiece};
use proptest::prelude::*;
use std::fs;

const FILE: &str = "broken.spm";

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/text/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn bytes_field(number: u64, value: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn integer_field(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn float_field(number: u64, value: f32) -> Vec<u8> {
    [varint(number << 3 | 5), value.to_le_bytes().to_vec()].concat()
}

fn piece(text: &[u8], score: f32, kind: u64) -> Vec<u8> {
    let fields = [bytes_field(1, text), float_field(2, score), integer_field(3, kind)];
    bytes_field(1, &fields.concat())
}

/// A small valid model with `extra` fields, trainer and normaliser settings at its end.
fn model(extra: &[u8], trainer: &[u8], normalizer: &[u8]) -> Vec<u8> {
    let pieces = [piece(b"<unk>", 0.0, 2), piece(b"a", -1.0, 1), piece(b"b", -2.0, 1)];
    let tail = [bytes_field(2, trainer), bytes_field(3, normalizer)];
    [pieces.concat(), extra.to_vec(), tail.concat()].concat()
}

/// A normalisation table of `units` and `replacements`.
fn charsmap(size: u32, units: &[u32], replacements: &[u8]) -> Vec<u8> {
    let units = units.iter().flat_map(|unit| unit.to_le_bytes());
    bytes_field(
        2,
        &size
            .to_le_bytes()
            .into_iter()
            .chain(units)
            .chain(replacements.iter().copied())
            .collect::<Vec<_>>(),
    )
}

#[track_caller]
fn assert_refused(bytes: &[u8], what: &str) {
    match SentencePiece::parse(FILE, bytes) {
        Ok(_) => panic!("{what}: accepted"),
        Err(error) => {
            assert_eq!(error.file(), Some(FILE), "{what}: {error}");
            assert!(error.to_string().contains(what), "{what}: {error}");
            match error {
                Error::Format { offset, .. } => {
                    assert!(offset.is_none_or(|offset| offset <= bytes.len() as u64), "{offset:?}");
                }
                Error::Unsupported { .. } => {}
                other => panic!("{what}: {other:?}"),
            }
        }
    }
}

/// Whatever a damaged file still says, encoding and decoding with it must hold their promises.
fn exercise(model: &SentencePiece) {
    let text = "  The foobar,  ação 的 👍🏽 ﬁ\u{0}! ";
    let pieces = model.encode(text);
    let mut end = 0;
    for piece in &pieces {
        assert_eq!(piece.range.start, end);
        assert!(text.get(piece.range.clone()).is_some());
        end = piece.range.end;
    }
    assert!(pieces.is_empty() || end == text.len());
    let ids: Vec<u32> = pieces.iter().map(|piece| piece.id).chain(0..300).collect();
    assert_eq!(model.decode_pieces(&ids).ranges.len(), ids.len());
}

#[test]
fn the_builder_of_these_tests_makes_valid_models() {
    let plain = SentencePiece::parse(FILE, &model(&[], &[], &[])).unwrap();
    assert_eq!(plain.vocab_size(), 3);
    exercise(&plain);
    // All units point at the block itself, no unit is a leaf: nothing is ever replaced.
    let table = charsmap(1024, &[0; 256], b"\0");
    exercise(&SentencePiece::parse(FILE, &model(&[], &[], &table)).unwrap());
}

#[test]
fn every_truncation_is_noticed() {
    for (name, step) in
        [("unigram_bytes.spm", 1), ("unigram_rules.spm", 1), ("unigram_nmt.spm", 1009)]
    {
        let whole = fixture(name);
        // The last field, the settings for decoding, may be absent.
        let last = whole.len() - if name == "unigram_rules.spm" { 1061 } else { 2 };
        for length in (0..last).step_by(step) {
            match SentencePiece::parse(FILE, &whole[..length]) {
                Ok(_) => panic!("{name} cut to {length} bytes was accepted"),
                Err(error) => {
                    assert_eq!((error.code(), error.file()), ("model-corrupt", Some(FILE)));
                    assert!(error.offset().unwrap() <= length as u64, "{error}");
                }
            }
        }
        for length in last..whole.len() {
            if let Ok(model) = SentencePiece::parse(FILE, &whole[..length]) {
                exercise(&model);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bit_flips_never_panic(
        name in prop::sample::select(vec!["unigram_rules.spm", "bpe_unused.spm", "bpe_bytes.spm", "char.spm"]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..5),
    ) {
        let mut bytes = fixture(name);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        match SentencePiece::parse(FILE, &bytes) {
            Ok(model) => exercise(&model),
            Err(error) => prop_assert_eq!(error.file(), Some(FILE)),
        }
    }

    #[test]
    fn flips_in_the_normaliser_table_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..40),
    ) {
        let mut bytes = fixture("unigram_rules.spm");
        let start = bytes.len() - 2200;
        for (at, bit) in flips {
            let at = start + at.index(bytes.len() - start);
            bytes[at] ^= 1 << bit;
        }
        if let Ok(model) = SentencePiece::parse(FILE, &bytes) {
            exercise(&model);
        }
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(SentencePiece::parse(FILE, &bytes).is_err());
    }
}

#[test]
fn absurd_lengths() {
    for length in [4, 1 << 16, 1 << 31, 1 << 32, 1 << 63, u64::MAX] {
        let announced = [vec![0x0a], varint(length), b"abc".to_vec()].concat();
        assert_refused(&announced, &format!("{length} bytes announced, 3 are left"));
        let nested = bytes_field(1, &[vec![0x0a], varint(length), b"abc".to_vec()].concat());
        assert_refused(&nested, &format!("{length} bytes announced, 3 are left"));
    }
    assert_refused(&[0x0a, 0xff, 0xff], "cut off");
    assert_refused(&[&[0x0a][..], &[0xff; 10]].concat(), "longer than 10 bytes");
    for kind in [3, 4, 6, 7] {
        assert_refused(&[1 << 3 | kind], "wire type");
    }
}

#[test]
fn wrong_pieces() {
    let with = |extra: &[u8]| model(extra, &[], &[]);
    assert_refused(b"", "without pieces");
    assert_refused(&model(&[], &[], &[])[..40], "without trainer settings");
    assert_refused(&with(&piece(b"", 0.0, 1)), "a piece is empty");
    assert_refused(&with(&piece(b"a\xff", 0.0, 1)), "not UTF-8");
    assert_refused(&with(&piece(b"c", f32::NAN, 1)), "no finite number");
    assert_refused(&with(&piece(b"c", f32::NEG_INFINITY, 1)), "no finite number");
    assert_refused(&with(&piece(b"c", 0.0, 99)), "piece type 99");
    assert_refused(&with(&piece(b"c", 0.0, 2)), "second piece of type unknown");
    assert_refused(&with(&piece(b"b", 0.0, 4)), "piece 3 has the text of piece 2");
    assert_refused(&with(&piece(b"<0x41>", 0.0, 6)), "without byte fallback");
    assert_refused(&with(&bytes_field(1, &integer_field(1, 5))), "not length-delimited");
    assert_refused(&with(&bytes_field(1, &integer_field(2, 5))), "not a 32-bit float");
    assert_refused(&with(&integer_field(1, 5)), "not length-delimited");
    let no_unknown = [piece(b"a", 0.0, 1), bytes_field(2, &[]), bytes_field(3, &[])].concat();
    assert_refused(&no_unknown, "no piece of type unknown");
}

#[test]
fn wrong_settings() {
    assert_refused(&model(&[], &integer_field(35, 1), &[]), "byte pieces are missing");
    let spelled_wrong = piece(b"<0x4a>", 0.0, 6);
    assert_refused(&model(&spelled_wrong, &integer_field(35, 1), &[]), "<0x4a>");
    assert_refused(&model(&[], &integer_field(3, 9), &[]), "model type 9");
    assert_refused(&model(&[], &bytes_field(3, &[]), &[]), "not an integer");
}

#[test]
fn wrong_normaliser_tables() {
    let with = |table: &[u8]| model(&[], &[], table);
    assert_refused(&with(&bytes_field(2, &[1, 2, 3])), "has no size");
    assert_refused(&with(&charsmap(u32::MAX, &[0; 256], b"\0")), "announces 4294967295 bytes");
    assert_refused(&with(&charsmap(1020, &[0; 256], b"\0")), "no multiple of 1024");
    assert_refused(&with(&charsmap(0, &[], b"\0")), "no multiple of 1024");
    assert_refused(&with(&charsmap(1024, &[0; 256], b"\xff\0")), "not UTF-8");
    let mut units = [0; 256];
    units[7] = 0xffff_ffff;
    assert_refused(&with(&charsmap(1024, &units, b"x\0")), "points outside");
    units[7] = 1 << 31 | 1;
    assert_refused(&with(&charsmap(1024, &units, b"xy")), "points outside");
    units[7] = 300 << 10;
    assert_refused(&with(&charsmap(1024, &units, b"x\0")), "points outside");
    let mut long = vec![b'x'; 5000];
    long.push(0);
    units[7] = 1 << 31;
    assert_refused(&with(&charsmap(1024, &units, &long)), "points outside");
}
