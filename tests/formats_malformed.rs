//! Damaged and hostile files of every format: a typed error or a valid parse, at once, and never
//! more memory than the length of the file justifies.

#![cfg(not(target_arch = "wasm32"))] // no clock and no files there
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

#[path = "support/cost.rs"]
mod cost;
mod formats_files;

use cost::{Read, SECOND, measured};
use formats_files::{Tensor, gguf, marian, shortlist};
use multihead::{
    error::{Error, Result},
    formats::{MemoryFile, gguf::GgufFile, marian::MarianFile, shortlist::Shortlist},
    text::sentencepiece::SentencePiece,
};
use proptest::prelude::*;

/// A format: the name its files have here, and how to read all of a file.
#[derive(Clone, Copy)]
struct Format {
    file: &'static str,
    read: fn(MemoryFile, &[u8]) -> Result<()>,
    /// Bytes of memory that one byte of a file may ask for at most.
    growth: u64,
}

const MARIAN: Format = Format {
    file: "model.bin",
    read: |file, _| {
        let model = MarianFile::open(Box::new(file))?;
        model.tensors().iter().try_for_each(|tensor| {
            assert_eq!(model.find(&tensor.name), Some(tensor));
            model.read(tensor).map(|_| ())
        })
    },
    growth: 8,
};

const SHORTLIST: Format = Format {
    file: "lex.bin",
    read: |file, _| {
        let shortlist = Shortlist::open(&file)?;
        let source: Vec<u32> = (0..shortlist.source_len() as u32 + 2).collect();
        let vocab = 300;
        for candidates in
            [shortlist.candidates(&source, vocab), shortlist.candidates_with_source(&source, vocab)]
        {
            assert!(candidates.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(candidates.iter().all(|id| (*id as usize) < vocab));
        }
        Ok(())
    },
    growth: 8,
};

const GGUF: Format = Format {
    file: "model.gguf",
    read: |file, _| {
        let model = GgufFile::open(Box::new(file))?;
        for (key, value) in model.metadata().iter() {
            assert!(std::ptr::eq(model.metadata().get(key).unwrap(), value));
        }
        model.tensors().iter().try_for_each(|tensor| {
            assert_eq!(model.find(&tensor.name), Some(tensor));
            model.read(tensor).map(|_| ())
        })
    },
    growth: 16,
};

const SENTENCE_PIECE: Format = Format {
    file: "vocab.spm",
    read: |_, bytes| SentencePiece::parse("vocab.spm", bytes).map(|_| ()),
    growth: 64,
};

/// What every file may cost whatever its length: messages, one range of a shortlist.
const BASE_BYTES: u64 = 100_000;

/// Reads `bytes`; checks time, memory and what an error says.
#[track_caller]
fn check(format: Format, bytes: &[u8], what: impl Fn() -> String) -> Result<()> {
    let file = || MemoryFile::new(format.file, bytes.to_vec());
    let Read { outcome, time, memory } = measured(file, |file| (format.read)(file, bytes));
    assert!(time < SECOND, "{}: {time:?}", what());
    let limit = BASE_BYTES + format.growth * bytes.len() as u64;
    assert!(memory < limit, "{}: {memory} of {limit} bytes", what());
    if let Err(error) = &outcome {
        assert_eq!(error.file(), Some(format.file), "{}: {error}", what());
        assert!(matches!(error.code(), "model-corrupt" | "model-unsupported"), "{error}");
        let offset = error.offset().unwrap_or_default();
        assert!(offset <= bytes.len() as u64, "{}: {error}", what());
        // what a whole .spm lacks is missing nowhere in particular
        if matches!(error, Error::Format { offset: None, .. }) && format.file != "vocab.spm" {
            panic!("{}: no offset: {error}", what());
        }
    }
    outcome
}

fn small_marian() -> Vec<u8> {
    marian(&[
        Tensor::intgemm8("Wemb", &[3, 2], &[1, -2, 3, 127, -127, -128], 63.5),
        Tensor::f32("b", &[1, 4], &[0.0, -1.5, 3.25, 1e30]),
        Tensor::config("dim-emb: 2\ndim-vocabs:\n  - 3\n  - 3\nempty:\n  []\n"),
    ])
}

/// Two files whose ids end with and without a half word, which no checksum covers.
fn small_shortlists() -> [Vec<u8>; 2] {
    [
        shortlist(2, 3, &[&[5, 9], &[], &[1, 3, 260]]),
        shortlist(2, 3, &[&[5, 9], &[], &[1, 3, 70_000], &[7]]),
    ]
}

fn small_sentence_piece() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/text/char.spm");
    std::fs::read(path).unwrap()
}

fn samples() -> Vec<(Format, Vec<u8>)> {
    let [odd, even] = small_shortlists();
    vec![
        (MARIAN, small_marian()),
        (SHORTLIST, odd),
        (SHORTLIST, even),
        (GGUF, gguf::small()),
        (SENTENCE_PIECE, small_sentence_piece()),
    ]
}

#[test]
fn the_samples_are_good() {
    let memory = allocation_counter::measure(|| drop(std::hint::black_box(vec![1_u8; 5000])));
    assert_eq!(memory.bytes_max, 5000, "the counter counts");
    for (format, bytes) in samples() {
        check(format, &bytes, || "whole".to_owned()).unwrap();
    }
}

#[test]
fn every_truncation_of_a_binary_file_is_an_error() {
    for (format, bytes) in samples() {
        for len in 0..bytes.len() {
            let outcome = check(format, &bytes[..len], || format!("{} cut to {len}", format.file));
            // fields at the end of a .spm may be left out: those tests are with its reader
            assert!(outcome.is_err() || format.file == "vocab.spm", "{} cut to {len}", format.file);
        }
    }
}

#[test]
fn every_single_bit_flip_is_an_error_or_a_valid_parse() {
    for (format, bytes) in samples() {
        for (index, bit) in (0..bytes.len()).flat_map(|index| (0..8).map(move |bit| (index, bit))) {
            let mut flipped = bytes.clone();
            flipped[index] ^= 1 << bit;
            let what = || format!("{}: bit {bit} of byte {index}", format.file);
            let outcome = check(format, &flipped, what);
            // the checksum covers whole words from byte 16 on
            let covered = index < bytes.len() - bytes.len() % 8;
            if format.file == "lex.bin" && covered {
                assert!(outcome.is_err(), "{}", what());
            }
        }
    }
}

#[test]
fn absurd_numbers_anywhere_are_an_error_or_a_valid_parse() {
    for (format, bytes) in samples() {
        let len = bytes.len() as u64;
        let absurd = [
            0,
            1,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFF,
            1 << 32,
            1 << 59,
            1 << 60,
            1 << 61,
            1 << 62,
            i64::MAX as u64,
            1 << 63,
            u64::MAX - 7,
            u64::MAX,
            len - 1,
            len,
            len + 1,
        ];
        for (index, value) in
            (0..bytes.len()).flat_map(|index| absurd.iter().map(move |value| (index, *value)))
        {
            for width in [4, 8] {
                let mut changed = bytes.clone();
                let end = bytes.len().min(index + width);
                changed[index..end].copy_from_slice(&value.to_le_bytes()[..end - index]);
                let what = || format!("{}: {value:#x} at {index}, {width} bytes", format.file);
                let outcome = check(format, &changed, what);
                let covered = end <= bytes.len() - bytes.len() % 8;
                if format.file == "lex.bin" && covered && changed != bytes {
                    assert!(outcome.is_err(), "{}", what());
                }
            }
        }
    }
}

/// Every header word of a Marian file, by name, takes no absurd value.
#[test]
fn absurd_marian_header_fields_are_refused() {
    let bytes = small_marian();
    let mut fields = vec![(0, "version"), (8, "count")];
    for record in [16, 48, 80] {
        let names = [(0, "name_len"), (8, "type"), (16, "ndims"), (24, "data_len")];
        fields.extend(names.map(|(at, name)| (record + at, name)));
    }
    for (at, name) in fields {
        for value in [0, 1 << 31, 1 << 32, 1 << 40, 1 << 61, 1 << 62, 1 << 63, u64::MAX] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let what = || format!("{name} at {at} = {value:#x}");
            let error = check(MARIAN, &changed, what).expect_err(&what());
            match error.offset() {
                Some(offset) => assert_eq!(offset, at as u64, "{}: {error}", what()),
                None => assert!(error.to_string().contains(&format!("byte {at}")), "{error}"),
            }
        }
    }
}

#[test]
fn many_small_tensors_stay_within_the_memory_of_their_file() {
    let mut tensors: Vec<Tensor> =
        (0..3000).map(|index| Tensor::new(&format!("{index}"), 0x101, &[1], vec![7])).collect();
    tensors.push(Tensor::config("a: 1\n"));
    check(MARIAN, &marian(&tensors), || "3000 tensors".to_owned()).unwrap();

    tensors.truncate(1);
    let lines: String = (0..3000).map(|index| format!("{index}:\n  - 1\n")).collect();
    tensors.push(Tensor::config(&lines));
    let config = Format { growth: 32, ..MARIAN };
    check(config, &marian(&tensors), || "3000 lines".to_owned()).unwrap();

    tensors.truncate(1);
    tensors.push(Tensor::config(&format!("a: [{}", "1,".repeat(100_000))));
    let error = check(config, &marian(&tensors), || "open list".to_owned()).unwrap_err();
    // an error quotes the line, but not all of it
    assert!(error.to_string().len() < 500, "{error}");
}

/// One edit: bytes put in place of others, put in between, or taken out.
fn edit() -> impl Strategy<Value = (prop::sample::Index, u8, Vec<u8>)> {
    let bytes = prop::collection::vec(prop_oneof![Just(0), Just(0xFF), any::<u8>()], 1..12);
    (any::<prop::sample::Index>(), 0_u8..3, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn several_edits_are_an_error_or_a_valid_parse(edits in prop::collection::vec(edit(), 1..5)) {
        for (format, mut bytes) in samples() {
            for (index, kind, new) in &edits {
                let at = index.index(bytes.len() + 1);
                let end = bytes.len().min(at + new.len());
                match kind {
                    0 => drop(bytes.splice(at..end, new[..end - at].iter().copied())),
                    1 => drop(bytes.splice(at..at, new.iter().copied())),
                    _ => drop(bytes.drain(at..end)),
                }
            }
            let _ = check(format, &bytes, || format!("{}: {bytes:?}", format.file));
        }
    }

    #[test]
    fn a_configuration_of_any_text_is_an_error_or_a_valid_parse(
        text in "([a-c:#'\"\\[\\],&~\\\\ \n\t-]|\\PC|\u{0}){0,60}"
    ) {
        let bytes = marian(&[Tensor::config(&text)]);
        let _ = check(MARIAN, &bytes, || format!("{text:?}"));
    }
}
