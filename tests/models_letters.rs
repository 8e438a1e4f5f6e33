//! `en-km-translit` beside its own package on Keras (tests/fixtures/letters/write_khmer.py): probabilities of every step, what
//! each looked at, and what is found for 200 words.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // a failing test may panic anywhere

mod support;

use multihead::tasks::transliteration::{Cpu, LoadOptions, TransliterationModel};
use serde::Deserialize;
use std::rc::Rc;
use support::encoders::{as_folder, files};
use support::letters::{Forced, forced, transliterated};

#[derive(Deserialize)]
struct Expected {
    words: Vec<Word>,
    steps: Vec<Forced>,
}

#[derive(Deserialize)]
struct Word {
    word: String,
    /// All that the package's search returns at beam 3, the likeliest first.
    candidates: Vec<(String, f64)>,
}

fn model() -> Rc<TransliterationModel<Cpu>> {
    let folder = as_folder(files(&support::models().join("en-km-translit")));
    Rc::new(TransliterationModel::load(Cpu::new(), folder, LoadOptions::default()).unwrap())
}

fn expected() -> Expected {
    serde_json::from_value(support::json(&support::fixture("letters/khmer.json"))).unwrap()
}

#[test]
fn probabilities_of_every_step_are_those_of_keras() {
    let model = model();
    for case in expected().steps {
        let (probabilities, attention) = forced(&model, &case);
        println!("{}: {probabilities:.1e}, attention {attention:.1e}", case.word);
        assert!(probabilities < 1e-4 && attention < 1e-4, "{}", case.word);
    }
}

#[test]
fn what_is_found_is_what_the_package_finds() {
    let (model, words) = (model(), expected().words);
    assert_eq!(words.len(), 200);
    let mut farthest = 0.0f64;
    for Word { word, candidates } in words {
        let found = transliterated(&model, &word, 3);
        assert_eq!(found.len(), candidates.len(), "{word}");
        for (index, (own, (text, probability))) in found.iter().zip(candidates).enumerate() {
            farthest = farthest.max((own.probability - probability).abs());
            // Further down, texts may be equally likely.
            assert!(index > 0 || own.text == text, "{word}: {} for {text}", own.text);
        }
    }
    println!("probabilities of all candidates: at most {farthest:.1e} away");
    assert!(farthest < 1e-4);
}
