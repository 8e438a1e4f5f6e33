//! The tokenizer of all-minilm-l6-v2 against the library that it was made for (`tests/fixtures/text/json_tokenizer/minilm.py`):
//! odd texts and every line of FLORES dev in English and Portuguese; how long a large file takes to read.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

#[path = "support/json_tokenizer.rs"]
mod json_tokenizer;
mod support;

use json_tokenizer::{digests, texts};
use multihead::text::json_tokenizer::JsonTokenizer;
use std::time::Instant;
use support::{fixture, flores, model_file};

fn minilm() -> JsonTokenizer {
    let path = model_file("all-minilm-l6-v2", |name| name == "tokenizer.json");
    let bytes = std::fs::read(path).unwrap();
    let start = Instant::now();
    let tokenizer = JsonTokenizer::read("tokenizer.json", &bytes).unwrap();
    println!("{} bytes read in {:.1} ms", bytes.len(), start.elapsed().as_secs_f64() * 1e3);
    tokenizer
}

fn expected(kind: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(fixture("text/json_tokenizer/minilm.tsv")).unwrap();
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    rows.filter(|row| row[0] == kind).collect()
}

#[test]
fn odd_texts_have_the_ids_and_ranges_of_the_reference() {
    let tokenizer = minilm();
    assert_eq!((tokenizer.vocab_size(), tokenizer.token_id("[MASK]")), (30522, Some(103)));
    // The file is said to cut at 128 and to pad; neither is done.
    assert_eq!((tokenizer.max_length(), tokenizer.pad_id()), (Some(128), Some(0)));
    let rows = expected("T");
    let (texts, wanted) = (texts(), &rows[0][1..]);
    assert_eq!((texts.len(), rows.len()), (wanted.len(), 1));
    for (text, wanted) in texts.iter().zip(wanted) {
        assert_eq!(digests(&tokenizer, text), *wanted, "{text:?}");
    }
}

#[test]
fn every_flores_line_has_the_ids_and_ranges_of_the_reference() {
    let (Some(english), Some(portuguese)) = (flores("dev.en"), flores("dev.pt")) else { return };
    let tokenizer = minilm();
    let rows = expected("F");
    assert_eq!((rows.len(), english.len(), portuguese.len()), (997, 997, 997));
    for (line, row) in rows.iter().enumerate() {
        for (text, wanted) in [(&english[line], &row[1]), (&portuguese[line], &row[2])] {
            assert_eq!(digests(&tokenizer, text), *wanted, "line {}", line + 1);
        }
    }
    let start = Instant::now();
    let lines = english.iter().chain(&portuguese);
    let count: usize = lines.map(|line| tokenizer.encode(line, None).pieces.len()).sum();
    let took = start.elapsed().as_secs_f64();
    println!("{count} tokens, {:.1} µs a line", took * 1e6 / 1994.0);
}

#[test]
fn a_vocabulary_of_250_000_tokens_is_read_without_a_tree_of_it() {
    // In the shape and size of XLM-RoBERTa's.
    let mut tokens = vec![("<unk>".to_owned(), 0.0)];
    for number in 0..250_000u32 {
        let letters =
            [5, 10, 15, 0].map(|shift| char::from(b'a' + (number >> shift & 31) as u8 % 26));
        tokens.push((
            format!("▁{}{number}", letters.iter().collect::<String>()),
            -f64::from(number) / 17.0,
        ));
    }
    let file = serde_json::json!({"model": {"type": "Unigram", "unk_id": 0, "vocab": tokens}});
    let bytes = serde_json::to_vec(&file).unwrap();
    let start = Instant::now();
    let mut tokenizer = None;
    let info = allocation_counter::measure(|| {
        tokenizer = Some(JsonTokenizer::read("large.json", &bytes).unwrap());
    });
    let took = start.elapsed().as_secs_f64();
    let (kept, most) = (info.bytes_current, info.bytes_max);
    println!(
        "{} bytes read in {:.0} ms: {kept} bytes kept, {most} at most",
        bytes.len(),
        took * 1e3
    );
    assert_eq!(tokenizer.unwrap().vocab_size(), 250_001);
    // Texts, entries, hash table, scores, and about 1.3 million nodes of the trie; beside them the keys it is made of.
    assert!(kept < 40_000_000 && most < 100_000_000, "{kept} kept, {most} at most");
}
