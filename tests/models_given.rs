//! Given translations: scores and alignments are those of Marian's scorer, and a translation's own are those it came with.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::generate::{BeamOptions, Search, SearchInput};
use multihead::stack::Precision;
use multihead::tasks::translation::{DecodingOptions, Translation, Translator};
use pollster::block_on;
use serde_json::Value;
use std::rc::Rc;
use support::{fixture, json, model_file, network, translator, translator_without_shortlist};

const TOLERANCE: f64 = 1e-3;

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

/// A score and an alignment against those of a pair of `given.json`.
fn compare(score: f32, alignment: &[f32], pair: &Value, what: &str) {
    let token_scores = floats(&pair["token_scores"]);
    let mean = token_scores.iter().sum::<f64>() / token_scores.len() as f64;
    assert!((f64::from(score) - mean).abs() <= TOLERANCE, "{what}: score {score} for {mean}");
    let rows = pair["alignment"].as_array().unwrap();
    let expected: Vec<f64> = rows.iter().flat_map(floats).collect();
    assert_eq!(alignment.len(), expected.len(), "{what}");
    for (got, expected) in alignment.iter().zip(expected) {
        assert!((f64::from(*got) - expected).abs() <= TOLERANCE, "{what}: {got} for {expected}");
    }
}

fn align(translator: &Rc<Translator<Cpu>>, source: &str, target: &str) -> Translation {
    let (source, target) = (source.to_owned(), target.to_owned());
    block_on(translator.align(source, target, DecodingOptions::default())).unwrap()
}

#[test]
fn given_tokens_have_the_scores_of_marian() {
    for (name, pairs) in json(&fixture("marian/given.json")).as_object().unwrap() {
        let path = match name.as_str() {
            "en-pt" => model_file("en-pt", |name| name.starts_with("model.")),
            _ => fixture(&format!("marian/{name}.bin")),
        };
        let (model, _) = network(&path, Precision::Float32);
        let pairs = pairs.as_array().unwrap();
        let input = |pair: &Value| SearchInput {
            source: ids(&pair["source_ids"]),
            candidates: None,
            given: Some(ids(&pair["target_ids"])),
        };
        let inputs: Vec<_> = pairs.iter().map(input).collect();
        let mut ops = Cpu::new();
        let mut search = Search::new(&mut ops, &model, true);
        // A beam and a length limit are for translations.
        let options =
            BeamOptions { beam_size: 4, max_length_factor: 0.1, ..BeamOptions::default() };
        search.add(&mut ops, &model, &inputs, options).unwrap();
        let mut compared = 0;
        while !search.is_done() {
            for (index, hypotheses) in block_on(search.step(&mut ops, &model)).unwrap() {
                let [only] = &hypotheses[..] else { panic!("{name}: {}", hypotheses.len()) };
                let what = format!("{name}, pair {index}");
                assert_eq!(only.tokens, ids(&pairs[index]["target_ids"]), "{what}");
                compare(only.score, &only.alignment, &pairs[index], &what);
                compared += 1;
            }
        }
        assert_eq!(compared, pairs.len());
        println!("{name}: {compared} pairs equal");
    }
}

#[test]
fn given_texts_have_the_scores_of_marian() {
    let translator = translator_without_shortlist("en-pt", Precision::Float32);
    let given = json(&fixture("marian/given.json"));
    let mut compared = 0;
    for pair in given["en-pt"].as_array().unwrap() {
        let [source, target] = ["source", "target"].map(|side| pair[side].as_str().unwrap());
        let aligned = align(&translator, source, target);
        assert_eq!(aligned.text, target);
        let [sentence] = &aligned.sentences[..] else { panic!("{source}") };
        assert_eq!((&sentence.source, &sentence.target), (&(0..source.len()), &(0..target.len())));
        let target_ids: Vec<u32> =
            sentence.target_tokens.iter().map(|token| token.id).chain([0]).collect();
        // Letters that the vocabulary lacks are written another way than by its unknown token.
        if ids(&pair["target_ids"]).contains(&1) {
            assert!(!target_ids.contains(&1), "{target}");
            continue;
        }
        assert_eq!(target_ids, ids(&pair["target_ids"]));
        compare(sentence.score, &sentence.alignment, pair, source);
        compared += 1;
    }
    assert_eq!(compared, 6);
}

const SENTENCES: [&str; 10] = [
    "The weather is nice today.",
    "She opened the window and looked at the river.",
    "How many people live in this town?",
    "No, I have not seen him since Monday.",
    "We will meet at the station on Thursday evening, after the concert has ended.",
    "The museum was built in the eighteenth century and rebuilt after the fire.",
    "Both teams played well, but neither of them scored before the break.",
    "THE SHOP IS CLOSED TODAY!",
    "He paid 20 euros for the book and read it at once.",
    "Water boils at a hundred degrees.",
];

/// A translation's own sentences are read as they were written: same tokens, and what was said of them bit for bit.
#[test]
fn a_translation_is_read_as_it_was_written() {
    for (id, precision) in
        [("en-pt", Precision::Auto), ("en-pt", Precision::Float32), ("pt-en", Precision::Auto)]
    {
        let translator = translator(id, precision);
        let options = DecodingOptions::default();
        let texts = SENTENCES.iter().map(|text| (*text).to_owned()).collect();
        let mut sources = SENTENCES.map(str::to_owned).to_vec();
        if id == "pt-en" {
            let there = support::translator("en-pt", precision);
            let there = block_on(there.translate(texts, options)).unwrap();
            sources = there.into_iter().map(|translation| translation.text).collect();
        }
        for options in
            [options, DecodingOptions { length_penalty: 0.5, word_penalty: 0.1, ..options }]
        {
            let written = block_on(translator.translate(sources.clone(), options)).unwrap();
            for (source, written) in sources.iter().zip(&written) {
                let (text, target) = (source.clone(), written.text.clone());
                let read = block_on(translator.align(text, target, options)).unwrap();
                assert_eq!(&read, written, "{id}: {source}");
            }
            // All of them as one text, sentence by sentence or line by line.
            for joint in [" ", "\n"] {
                let text = sources.join(joint);
                let written = block_on(translator.translate(vec![text.clone()], options)).unwrap();
                let target = written[0].text.clone();
                let read = block_on(translator.align(text, target, options)).unwrap();
                assert_eq!(read, written[0], "{id}: {joint:?}");
            }
        }
    }
}

/// Sentences and the white space between them are all there is, on both sides; what is read has tokens and rows.
fn check_whole(source: &str, target: &str, aligned: &Translation) {
    assert_eq!(aligned.text, target);
    for (text, side) in [(source, 0), (target, 1)] {
        let mut end = 0;
        for sentence in &aligned.sentences {
            let range = [&sentence.source, &sentence.target][side].clone();
            if range.is_empty() {
                continue;
            }
            assert!(
                text[end..range.start].trim().is_empty(),
                "{:?} is lost",
                &text[end..range.start]
            );
            end = range.end;
        }
        assert!(text[end..].trim().is_empty(), "{:?} is lost", &text[end..]);
    }
    for sentence in &aligned.sentences {
        let [rows, columns] = [&sentence.target_tokens, &sentence.source_tokens].map(Vec::len);
        if rows == 0 {
            assert!(columns == 0 && sentence.alignment.is_empty() && sentence.score == 0.0);
            continue;
        }
        assert_eq!(sentence.alignment.len(), (rows + 1) * (columns + 1));
        for row in sentence.alignment.chunks(columns + 1) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        }
        assert!(sentence.score < 0.0 && sentence.score.is_finite(), "{}", sentence.score);
        for (tokens, text, range) in [
            (&sentence.source_tokens, source, &sentence.source),
            (&sentence.target_tokens, target, &sentence.target),
        ] {
            for token in tokens {
                assert_eq!(text[token.range.clone()], token.text);
                assert!(range.start <= token.range.start && token.range.end <= range.end);
            }
        }
    }
}

#[test]
fn any_pair_is_read() {
    let translator = translator("en-pt", Precision::Auto);
    let paragraph = SENTENCES.join(" ");
    let long = vec![paragraph.as_str(); 60].join("\n\n");
    assert!(long.split_whitespace().count() > 5000);
    let endless = "word ".repeat(5000);
    for (source, target, read) in [
        ("", "", 0),
        ("", "Olá.", 0),
        ("Hello.", "", 0),
        (" \n", "\t", 0),
        ("Hello.", "🎉🎉", 0),
        ("12345", "12345", 0),
        ("twenty", "20", 1),
        ("Hello 🎉 world!", "Olá, mundo! 🎉", 1),
        ("A \u{fffd} in it.", "Um \u{fffd} nele.", 1),
        ("Isto não é inglês.", "This is no Portuguese.", 1),
        ("Guten Tag.", "Der Hund läuft über die Straße.", 1),
        // The vocabulary has none of these letters.
        ("Good morning, world.", "你好，世界。", 0),
        ("See https://example.org/a?b=c now.", "Veja https://example.org/a?b=c agora.", 1),
        ("One. Two. Three.", "Um e dois e três.", 1),
    ] {
        let aligned = align(&translator, source, target);
        check_whole(source, target, &aligned);
        let tokens = aligned.sentences.iter().filter(|sentence| !sentence.target_tokens.is_empty());
        assert_eq!(tokens.count(), read, "{source:?} {target:?}");
    }
    for (source, target) in [(&long, &long), (&paragraph, &endless), (&endless, &paragraph)] {
        check_whole(source, target, &align(&translator, source, target));
    }
    let options = DecodingOptions { length_penalty: -1.0, ..DecodingOptions::default() };
    let error = block_on(translator.align("a".to_owned(), "b".to_owned(), options)).unwrap_err();
    assert_eq!(error.option(), Some("lengthPenalty"));
}
