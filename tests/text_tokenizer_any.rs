//! What holds of tokenizers for any text, any ids and any metadata.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;
#[path = "support/tokenizer.rs"]
mod tokenizer;

use multihead::text::grapheme;
use multihead::text::tokenizer::{
    Part, PieceKind, SpecialIds, TextStream, Tokenizer, TokenizerParts,
};
use proptest::prelude::*;
use support::{fixture, json};
use tokenizer::{assert_tiles, bytes, ids, sentencepiece, small, streamed};

proptest! {
    #[test]
    fn a_stream_gives_the_decoded_text(tokens in prop::collection::vec(0u32..256, 0..40)) {
        let tokenizer = bytes();
        let all: Vec<u8> = tokens.iter().map(|&byte| byte as u8).collect();
        prop_assert_eq!(streamed(&tokenizer, &tokens), String::from_utf8_lossy(&all));
        prop_assert_eq!(tokenizer.decode(&tokens).text, String::from_utf8_lossy(&all));
    }

    #[test]
    fn what_somebody_wrote_holds_no_control_token(words in prop::collection::vec(prop::sample::select(vec![
        "<|s|>", "<|s", "|>", "<", "s", "<s>", "</s>", "<unk>", "<turn>", "[INST]", "<0x41>", " ", "a", "b", "\n", "é",
    ]), 0..12)) {
        thread_local! {
            static ALL: Vec<Tokenizer> = vec![
                small().open(SpecialIds::default()).unwrap(),
                sentencepiece(&json(&fixture("text/tokenizer/spm_llama.json"))),
                sentencepiece(&json(&fixture("text/tokenizer/spm_gemma.json"))),
            ];
        }
        let text = words.concat();
        ALL.with(|all| {
            for tokenizer in all {
                let pieces = tokenizer.encode(&text);
                assert_tiles(&pieces, &text);
                for piece in &pieces {
                    let kind = tokenizer.kind(piece.id).unwrap();
                    assert!(!matches!(kind, PieceKind::Control | PieceKind::Unknown), "{text:?}");
                }
                assert_tiles(&tokenizer.encode_with_control(&text), &text);
            }
        });
    }

    #[test]
    fn no_parts_whatever_make_it_panic(
        tokens in prop::collection::vec(("[ab <Ġ▁é]{0,3}|<0x4[0-9G]>", -1i64..8), 0..8),
        merges in prop::collection::vec("[ab <Ġ]{0,4}", 0..4),
        model in prop::sample::select(vec!["gpt2", "llama"]),
        pre in prop::sample::select(vec!["gpt-2", "llama-bpe", "qwen2"]),
        special in prop::option::of(0usize..9),
        text in "[ab <Ġ▁é\u{301}]{0,12}",
    ) {
        let types: Vec<i64> = tokens.iter().map(|&(_, kind)| kind).collect();
        let scores = vec![0.5; tokens.len()];
        let made = Tokenizer::new(TokenizerParts {
            file: "random.gguf",
            model,
            pre_tokenizer: Some(pre),
            tokens: Box::new(tokens.iter().map(|(text, _)| text.as_str())),
            token_types: &types,
            scores: &scores,
            merges: Some(Box::new(merges.iter().map(String::as_str))),
            special_ids: SpecialIds { bos: special, eos: special, unknown: special, ..SpecialIds::default() },
            add_bos: None,
            add_eos: Some(true),
            add_space_prefix: None,
        });
        if let Ok(tokenizer) = made {
            let mut pieces = tokenizer.encode_parts(&[Part::Template(&text), Part::Text(&text)]);
            assert_tiles(&pieces, &text.repeat(2));
            tokenizer.add_marks(&mut pieces);
            let decoded = tokenizer.decode(&ids(&pieces)).text;
            prop_assert_eq!(streamed(&tokenizer, &ids(&pieces)), decoded);
        }
    }

    #[test]
    fn no_delta_ends_within_an_emoji(clusters in prop::collection::vec(prop::sample::select(vec![
        "a", "é", "日", "👩‍👩‍👧", "👍🏽", "🇵🇹", "☺\u{fe0f}", "क्षि", "한", "\r\n", "நி",
    ]), 0..12)) {
        let (tokenizer, text) = (bytes(), clusters.concat());
        let ends: Vec<usize> = grapheme::ends(&text).collect();
        let mut stream = TextStream::new(&tokenizer, true);
        let mut given = 0;
        for byte in text.bytes() {
            given += stream.push(&tokenizer, byte.into()).len();
            prop_assert!(given == 0 || ends.contains(&given), "{} of {:?}", given, text);
        }
        prop_assert_eq!(given + stream.finish().len(), text.len());
    }
}
