//! The shortlist reader on files whose every byte is written here.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod formats_files;

use formats_files::{LoggedFile, ShrinkingFile, shortlist, with_checksum};
use multihead::error::{Error, Result};
use multihead::formats::{MemoryFile, shortlist::Shortlist};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn open(bytes: Vec<u8>) -> Result<Shortlist> {
    Shortlist::open(&MemoryFile::new("lex.bin", bytes))
}

fn refusal(bytes: Vec<u8>) -> Error {
    match open(bytes) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

#[test]
fn candidates_are_the_frequent_ids_and_the_lists() {
    // 2 frequent ids and the lists [5, 9], [], [1, 3, 70000]; the checksum was worked out by
    // Python integers from Marian's definition of hashMem
    let words = [0xF11A_48D5_0134_17F5, 0x8A48_4365_EF47_8092_u64, 2, 3, 4, 5, 0, 2, 2, 5];
    let ids = [5_u32, 9, 1, 3, 70000];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    assert_eq!(bytes, shortlist(2, 3, &[&[5, 9], &[], &[1, 3, 70000]]));

    let shortlist = open(bytes).unwrap();
    assert_eq!(shortlist.source_len(), 3);
    assert_eq!(shortlist.max_target_id(), Some(70000));
    assert_eq!(shortlist.first_num(), 2);
    assert_eq!(shortlist.best_num(), 3);
    assert_eq!(shortlist.list(0).collect::<Vec<_>>(), [5, 9]);
    assert_eq!(shortlist.list(1).count(), 0);
    assert_eq!(shortlist.list(3).count(), 0);
    assert_eq!(shortlist.list(u32::MAX).count(), 0);
    assert_eq!(shortlist.candidates(&[], 100_000), [0, 1]);
    assert_eq!(shortlist.candidates(&[1], 100_000), [0, 1]);
    assert_eq!(shortlist.candidates(&[0], 100_000), [0, 1, 5, 9]);
    assert_eq!(shortlist.candidates(&[2, 0, 2], 100_000), [0, 1, 3, 5, 9, 70000]);
    // ids outside the target vocabulary and source ids outside the file are left out
    assert_eq!(shortlist.candidates(&[2, 0, 9, u32::MAX], 70000), [0, 1, 3, 5, 9]);
    assert_eq!(shortlist.candidates(&[2], 1), [0]);
    assert_eq!(shortlist.candidates(&[2], 0), [0; 0]);
    assert_eq!(shortlist.candidates_with_source(&[2, 7, 7], 70000), [0, 1, 2, 3, 7]);
}

#[test]
fn reads_empty_lists_and_counts_of_any_size() {
    let empty = open(shortlist(u64::MAX, 0, &[])).unwrap();
    assert_eq!((empty.source_len(), empty.max_target_id()), (0, None));
    assert_eq!(empty.candidates(&[0, 1], 3), [0, 1, 2]);
    let empty = open(shortlist(0, 0, &[&[], &[], &[]])).unwrap();
    assert_eq!((empty.source_len(), empty.max_target_id()), (3, None));
    assert_eq!(empty.candidates(&[0, 1, 2], 3), [0; 0]);
}

#[test]
fn names_offset_and_cause_of_what_is_wrong() {
    // lists [5, 9], [], [1, 3]: header 48 bytes, 4 offsets to 80, 4 ids to 96
    let good = shortlist(2, 3, &[&[5, 9], &[], &[1, 3]]);
    assert_eq!(good.len(), 96);
    open(good.clone()).unwrap();
    let with = |at: usize, value: &[u8]| {
        let mut body = good[16..].to_vec();
        body[at - 16..at - 16 + value.len()].copy_from_slice(value);
        with_checksum(&body)
    };
    let word = |at, value: u64| with(at, &value.to_le_bytes());
    let cases = [
        (good[..47].to_vec(), 0, "47 bytes found"),
        ([&[0], &good[1..]].concat(), 0, "magic 0xf11a48d501341700 found"),
        ([&good[..8], &[0; 8], &good[16..]].concat(), 8, "checksum"),
        ([&good[..94], &[1], &good[95..]].concat(), 8, "checksum"),
        (word(32, 0), 32, "0 offsets and 4 target ids"),
        (word(32, 5), 32, "file of 96 bytes"),
        (word(40, 5), 32, "4 offsets and 5 target ids"),
        (word(32, u64::MAX), 32, "18446744073709551615 offsets"),
        (word(32, 1 << 61), 32, "2305843009213693952 offsets"),
        (word(40, 1 << 62), 32, "4611686018427387904 target ids"),
        (good[..95].to_vec(), 32, "file of 95 bytes"),
        ([good.as_slice(), &[0]].concat(), 32, "file of 97 bytes"),
        (word(48, 1), 48, "offset 1 found, expected 0 to 0"),
        (word(56, 5), 56, "offset 5 found, expected 0 to 4"),
        (word(64, 1), 64, "offset 1 found, expected 2 to 4"),
        (word(72, 3), 72, "last offset 3 found, expected 4"),
        (word(72, u64::MAX), 72, "expected 2 to 4"),
        (with(84, &5_u32.to_le_bytes()), 84, "target id 5 after 5"),
        (with(92, &0_u32.to_le_bytes()), 92, "target id 0 after 1"),
    ];
    for (index, (bytes, offset, text)) in cases.into_iter().enumerate() {
        let error = refusal(bytes);
        assert_eq!((error.code(), error.file()), ("model-corrupt", Some("lex.bin")), "{error}");
        assert_eq!(error.offset(), Some(offset), "case {index}: {error}");
        assert!(error.to_string().contains(text), "case {index}: {error}");
    }
}

#[test]
fn reads_a_big_file_by_small_ranges() {
    // 40 000 lists of 3: longer than one range, widened to 32-bit ids in the middle
    let ids: Vec<u32> = (0..40_000).flat_map(|id| [id, id + 1, id + 30_000]).collect();
    let lists: Vec<&[u32]> = ids.chunks(3).collect();
    let file = LoggedFile::new("lex.bin", shortlist(0, 3, &lists));
    let shortlist = Shortlist::open(&file).unwrap();
    let reads = file.reads.lock().unwrap();
    assert!(reads.iter().all(|range| range.end - range.start <= 1 << 16), "{reads:?}");
    assert_eq!(shortlist.source_len(), 40_000);
    assert_eq!(shortlist.max_target_id(), Some(69_999));
    for (source, list) in (0..).zip(lists) {
        assert_eq!(shortlist.list(source).collect::<Vec<_>>(), list);
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let bytes = shortlist(2, 3, &[&[5, 9], &[], &[1, 3]]);
    for len in 0..bytes.len() {
        let file = MemoryFile::new("lex.bin", bytes[..len].to_vec());
        let file = ShrinkingFile { claimed: bytes.len() as u64, file };
        let error = Shortlist::open(&file).err().unwrap();
        assert_eq!(error.file(), Some("lex.bin"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn candidates_are_the_union_of_sets(
        lists in prop::collection::vec(prop::collection::btree_set(0_u32..90_000, 0..9), 0..20),
        first_num in 0_u64..300,
        source_ids in prop::collection::vec(0_u32..25, 0..12),
        target_vocab in 0_usize..100_000,
    ) {
        let vectors: Vec<Vec<u32>> = lists.iter().map(|list| list.iter().copied().collect()).collect();
        let slices: Vec<&[u32]> = vectors.iter().map(Vec::as_slice).collect();
        let shortlist = open(shortlist(first_num, 8, &slices)).unwrap();
        let mut expected: BTreeSet<u32> = (0..first_num as u32).collect();
        for id in &source_ids {
            expected.extend(lists.get(*id as usize).into_iter().flatten());
        }
        let below = |set: &BTreeSet<u32>| -> Vec<u32> {
            set.iter().copied().filter(|id| (*id as usize) < target_vocab).collect()
        };
        prop_assert_eq!(shortlist.candidates(&source_ids, target_vocab), below(&expected));
        expected.extend(&source_ids);
        prop_assert_eq!(
            shortlist.candidates_with_source(&source_ids, target_vocab),
            below(&expected)
        );
    }
}
