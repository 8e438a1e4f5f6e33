//! Any bytes as a SentencePiece model; one that parses must keep its promises on odd text.

#![no_main]

use multihead::text::sentencepiece::SentencePiece;

const TEXT: &str = "  The foobar,  ação 的 👍🏽 ﬁ e\u{301}\u{0}! ";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match SentencePiece::parse("vocab.spm", bytes) {
        Ok(model) => {
            let pieces = model.encode(TEXT);
            let mut end = 0;
            for piece in &pieces {
                assert_eq!(piece.range.start, end, "ranges tile the text");
                assert!(TEXT.get(piece.range.clone()).is_some(), "ranges lie between characters");
                end = piece.range.end;
            }
            assert!(pieces.is_empty() || end == TEXT.len());
            let ids: Vec<u32> = pieces.iter().map(|piece| piece.id).chain(0..300).collect();
            assert_eq!(model.decode_pieces(&ids).ranges.len(), ids.len());
        }
        Err(error) => assert_eq!(error.file(), Some("vocab.spm")),
    }
});
