//! The real English–Portuguese models on FLORES dev: quality by sacreBLEU beside Bergamot's, and independence of neighbours.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::stack::Precision;
use multihead::tasks::translation::{DecodingOptions, Translation, Translator};
use pollster::block_on;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use support::{flores, root, translator};

fn translate(translator: &Rc<Translator<Cpu>>, texts: &[&str]) -> Vec<Translation> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    block_on(translator.translate(texts, DecodingOptions::default())).unwrap()
}

/// (BLEU, chrF2) of `output` by the sacrebleu package that `cargo xtask setup` installs.
fn sacrebleu(name: &str, output: &[String], reference: &str) -> (f64, f64) {
    let folder = root().join("target/flores");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, output.join("\n") + "\n").unwrap();
    let data = std::env::var_os("MULTIHEAD_FLORES")
        .map_or_else(|| root().join("../shared/data/flores-en-pt-dev"), PathBuf::from);
    let python = std::env::var_os("MULTIHEAD_PYTHON")
        .map_or_else(|| root().join(".tools/venv/bin/python"), PathBuf::from);
    let mut command = Command::new(python);
    command.args(["-m", "sacrebleu"]).arg(data.join(reference)).arg("-i").arg(&file);
    command.args(["-m", "bleu", "chrf", "-f", "json", "--width", "3"]);
    let result = command
        .output()
        .unwrap_or_else(|e| panic!("sacrebleu is missing ({e}): run `cargo xtask setup` first"));
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let scores: serde_json::Value = serde_json::from_slice(&result.stdout).unwrap();
    let score = |index: usize| scores[index]["score"].as_f64().unwrap();
    (score(0), score(1))
}

#[test]
fn the_default_path_is_as_good_as_bergamot() {
    let (Some(lines), Some(_)) = (flores("dev.en"), flores("dev.pt")) else { return };
    let translator = translator("en-pt", Precision::Auto);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let output: Vec<String> =
        translate(&translator, &lines).into_iter().map(|translation| translation.text).collect();
    let (bleu, chrf) = sacrebleu("default.pt", &output, "dev.pt");
    let bergamot = flores("dev.bergamot.pt").unwrap();
    let (bergamot_bleu, bergamot_chrf) = sacrebleu("bergamot.pt", &bergamot, "dev.pt");
    println!("BLEU {bleu:.2} (Bergamot {bergamot_bleu:.2}), chrF2 {chrf:.2} ({bergamot_chrf:.2})");
    assert!(bleu >= bergamot_bleu - 0.1, "BLEU {bleu} against {bergamot_bleu}");
    assert!(chrf >= bergamot_chrf - 0.1, "chrF2 {chrf} against {bergamot_chrf}");
}

#[test]
fn a_sentence_does_not_depend_on_its_neighbours() {
    let sentences = [
        "The weather is nice today.",
        "She opened the window and looked at the river.",
        "How many people live in this town?",
        "No.",
        "We will meet at the station on Thursday evening, after the concert has ended.",
    ];
    for id in ["en-pt", "pt-en"] {
        for precision in [Precision::Auto, Precision::Float32] {
            let translator = translator(id, precision);
            let list = translate(&translator, &sentences);
            let paragraph = translate(&translator, &[&sentences.join(" ")]).remove(0);
            assert_eq!(paragraph.sentences.len(), sentences.len());
            let tokens = |translation: &Translation| -> Vec<(u32, Vec<u32>)> {
                let of = |sentence: &multihead::tasks::translation::TranslatedSentence| {
                    let ids = sentence.target_tokens.iter().map(|token| token.id).collect();
                    (sentence.score.to_bits(), ids)
                };
                translation.sentences.iter().map(of).collect()
            };
            let in_paragraph = tokens(&paragraph);
            for (index, sentence) in sentences.iter().enumerate() {
                let alone = translate(&translator, &[sentence]).remove(0);
                assert_eq!(tokens(&alone), tokens(&list[index]), "{id}: {sentence}");
                assert_eq!(tokens(&alone), [in_paragraph[index].clone()], "{id}: {sentence}");
            }
        }
    }
}
