//! Any bytes as a tokenizer.json; one that is read must keep its promises on odd text.

#![no_main]

use multihead::text::json_tokenizer::JsonTokenizer;

const TEXT: &str = "The <mask> [MASK] café e\u{301}, 日本 1½ \u{ad}\u{301} 👍🏽  x";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match JsonTokenizer::read("tokenizer.json", bytes) {
        Ok(tokenizer) => {
            let pieces = tokenizer.encode(TEXT, Some(20)).pieces;
            assert!(pieces.len() <= tokenizer.added_tokens().max(20));
            for piece in &pieces {
                assert!(TEXT.get(piece.range.clone()).is_some(), "ranges lie between characters");
            }
            let ids: Vec<u32> = pieces.iter().map(|piece| piece.id).chain(0..300).collect();
            tokenizer.decode(&ids, false);
        }
        Err(error) => assert_eq!(error.file(), Some("tokenizer.json")),
    }
});
