//! The shortlist reader on a file whose every byte is written here.

#![allow(clippy::unwrap_used)] // a failing test may panic anywhere

use multihead::formats::{MemoryFile, shortlist::Shortlist};

/// Bytes of a shortlist with 2 frequent ids and the lists [5, 9], [], [1, 3, 70000].
/// The checksum was worked out by Python integers from Marian's definition of `hashMem`.
fn file() -> Vec<u8> {
    let words = [0xF11A_48D5_0134_17F5, 0x8A48_4365_EF47_8092_u64, 2, 3, 4, 5, 0, 2, 2, 5];
    let ids = [5_u32, 9, 1, 3, 70000];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    bytes
}

#[test]
fn candidates_are_the_frequent_ids_and_the_lists() {
    let shortlist = Shortlist::open(&MemoryFile::new("lex.bin", file())).unwrap();
    assert_eq!(shortlist.source_len(), 3);
    assert_eq!(shortlist.max_target_id(), Some(70000));
    assert_eq!(shortlist.first_num(), 2);
    assert_eq!(shortlist.best_num(), 3);
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
