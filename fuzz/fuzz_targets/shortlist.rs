//! Any bytes as a shortlist, as they are and with a checksum that fits them.

#![no_main]

use multihead::formats::{MemoryFile, shortlist::Shortlist};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    // no fuzzer guesses a checksum: put the right one in front of everything behind it
    if let Some(body) = bytes.get(16..) {
        let mut seed = 0_u64;
        for word in body.as_chunks::<8>().0 {
            let mixed = u64::from_le_bytes(*word).wrapping_add(0x9e37_79b9);
            seed ^= mixed.wrapping_add(seed << 6).wrapping_add(seed >> 2);
        }
        read([&0xF11A_48D5_0134_17F5_u64.to_le_bytes(), &seed.to_le_bytes(), body].concat());
    }
});

fn read(bytes: Vec<u8>) {
    match Shortlist::open(&MemoryFile::new("lex.bin", bytes)) {
        Ok(shortlist) => {
            let source: Vec<u32> = (0..shortlist.source_len() as u32 + 2).collect();
            for vocab in [0, 1, 300, 70_000] {
                let candidates = shortlist.candidates(&source, vocab);
                assert!(candidates.is_sorted_by(|a, b| a < b));
                assert!(candidates.iter().all(|id| (*id as usize) < vocab));
            }
        }
        Err(error) => assert_eq!(error.file(), Some("lex.bin")),
    }
}
