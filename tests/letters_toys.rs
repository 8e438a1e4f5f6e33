//! The models over letters that the lesson shows, trained by torch (`tests/fixtures/letters/reversal.py`, `dates.py`): what they
//! write, how sure they are, where they look, and how far their accuracy goes.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::tasks::transliteration::{Cpu, LoadOptions, TransliterationModel};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, rc::Rc};
use support::encoders::{as_folder, files};
use support::letters::{Forced, forced, transliterated};
use support::{fixture, root};

/// Probabilities and weights computed by torch in float32 lie this near to ours.
const TOLERANCE: f32 = 1e-3;
/// Share of the letters whose largest weight is on the letter that they are, within the trained lengths.
const ALIGNED: f64 = 0.95;
/// The decoder's first input, in all of these models.
const START: u32 = 1;
const REVERSALS: [&str; 3] = ["reverse-fixed", "reverse-additive", "reverse-transformer"];

/// What torch made of a text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    source: String,
    source_ids: Vec<u32>,
    target: String,
    target_ids: Vec<u32>,
    probabilities: Vec<Vec<f32>>,
    attention: Attention,
}

#[derive(Deserialize)]
struct Attention {
    /// `[layer][head][step][source symbol]`.
    #[serde(default)]
    cross: Vec<Vec<Vec<Vec<f32>>>>,
}

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
    sample: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accuracy {
    trained_lengths: (usize, usize),
    trials: usize,
    lengths: Vec<usize>,
    models: std::collections::BTreeMap<String, Shares>,
}

/// Shares by length.
#[derive(Deserialize)]
struct Shares {
    exact: Vec<f64>,
    letters: Vec<f64>,
    alignment: Option<Vec<f64>>,
}

fn models() -> PathBuf {
    root().join("www/lesson/models")
}

fn expected(name: &str) -> Expected {
    serde_json::from_value(support::json(&fixture(&format!("letters/{name}.json")))).unwrap()
}

fn accuracy() -> Accuracy {
    serde_json::from_value(support::json(&models().join("reversal-accuracy.json"))).unwrap()
}

/// A model, told which head of its cross-attention to show.
fn load(name: &str, head: Option<(usize, usize)>) -> Rc<TransliterationModel<Cpu>> {
    let mut files = files(&models().join(name));
    if let Some((layer, head)) = head {
        let mut config: Value = serde_json::from_slice(&files["config.json"]).unwrap();
        config["decoder"]["alignment"] = json!([layer, head]);
        files.insert("config.json".to_owned(), config.to_string().into_bytes());
    }
    let model = TransliterationModel::load(Cpu::new(), as_folder(files), LoadOptions::default());
    Rc::new(model.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// The likeliest symbol, step by step.
fn greedy(model: &Rc<TransliterationModel<Cpu>>, text: &str) -> String {
    transliterated(model, text, 1)[0].text.clone()
}

/// The strings that the accuracy was measured with; the rule is stated in `reversal.py`.
fn trials(length: usize, count: usize) -> Vec<String> {
    let mut state = u32::try_from(length).unwrap();
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from((state >> 16) % 26).unwrap())
    };
    (0..count).map(|_| (0..length).map(|_| letter()).collect()).collect()
}

fn reversed(word: &str) -> String {
    word.chars().rev().collect()
}

#[test]
fn probabilities_and_cross_attention_are_those_of_torch() {
    for name in REVERSALS.into_iter().chain(["dates"]) {
        for case in expected(name).cases {
            let what = format!("{name}: {:?}", case.source);
            let model = load(name, None);
            assert_eq!(greedy(&model, &case.source), case.target, "{what}");
            let options = Default::default();
            let job = model.transliterate(&case.source, options).unwrap();
            let ids: Vec<u32> = job.source().iter().map(|symbol| symbol.id).collect();
            assert_eq!(ids, case.source_ids, "{what}");
            let mut given = vec![START];
            given.extend(&case.target_ids);
            let mut steps = Forced {
                word: case.source,
                ids: given,
                probabilities: case.probabilities,
                attention: None,
            };
            let no_attention = case.attention.cross.is_empty();
            assert_eq!(no_attention, name == "reverse-fixed");
            if no_attention {
                let (probabilities, _) = forced(&model, &steps);
                assert!(probabilities <= TOLERANCE, "{what}: {probabilities}");
            }
            for (layer, heads) in case.attention.cross.into_iter().enumerate() {
                for (head, weights) in heads.into_iter().enumerate() {
                    steps.attention = Some(weights);
                    let (probabilities, attention) =
                        forced(&load(name, Some((layer, head))), &steps);
                    println!("{what}, layer {layer}, head {head}: {probabilities}, {attention}");
                    assert!(probabilities <= TOLERANCE && attention <= TOLERANCE, "{what}");
                }
            }
        }
    }
}

/// Torch stopped after five symbols more than the source has; some strings would go on.
#[test]
fn strings_come_out_as_torch_has_them_also_beyond_the_trained_length() {
    for name in REVERSALS {
        let (model, expected) = (load(name, None), expected(name));
        for (length, outputs) in expected.sample.as_object().unwrap() {
            let length: usize = length.parse().unwrap();
            for (word, want) in trials(length, 10).iter().zip(outputs.as_array().unwrap()) {
                let got: String = greedy(&model, word).chars().take(length + 5).collect();
                assert_eq!(got, want.as_str().unwrap(), "{name}: {word}");
            }
        }
    }
}

#[test]
fn accuracy_by_length_is_what_the_page_shows() {
    let accuracy = accuracy();
    for name in REVERSALS {
        let (model, shares) = (load(name, None), &accuracy.models[name]);
        for length in [4, 8, 10, 12, 13] {
            let at = accuracy.lengths.iter().position(|one| *one == length).unwrap();
            let (mut exact, mut letters) = (0, 0);
            for word in trials(length, accuracy.trials) {
                let (got, want) = (greedy(&model, &word), reversed(&word));
                exact += usize::from(got == want);
                letters += got.chars().zip(want.chars()).filter(|(a, b)| a == b).count();
            }
            let share = |count: usize, of: usize| count as f64 / of as f64;
            let exact = share(exact, accuracy.trials);
            let letters = share(letters, accuracy.trials * length);
            // One string of a hundred may hang on a rounding.
            assert!((exact - shares.exact[at]).abs() < 0.011, "{name}, {length}: {exact}");
            assert!((letters - shares.letters[at]).abs() < 0.011, "{name}, {length}: {letters}");
        }
    }
}

/// What the three are there to show.
#[test]
fn the_fixed_vector_is_a_bottleneck_and_attention_its_cure() {
    let accuracy = accuracy();
    let (first, last) = accuracy.trained_lengths;
    let at = |name: &str, length: usize| accuracy.models[name].exact[length - first];
    assert!(at("reverse-fixed", 4) > 0.9 && at("reverse-fixed", last) < 0.3);
    for name in &REVERSALS[1..] {
        assert!((first..=last).all(|length| at(name, length) >= 0.99), "{name}");
        assert!(at(name, 2 * last) < 0.1, "{name} does not count beyond what it was trained on");
    }
}

/// The target is given; heads of the last layer are averaged.
#[test]
fn the_largest_weight_is_on_the_letter_that_is_written() {
    let accuracy = accuracy();
    let last = accuracy.trained_lengths.1;
    for (name, layer, heads) in [("reverse-additive", 0, 1), ("reverse-transformer", 1, 4)] {
        let models: Vec<_> = (0..heads).map(|head| load(name, Some((layer, head)))).collect();
        for length in [1, 4, last] {
            let mut hits = 0;
            for word in trials(length, accuracy.trials) {
                let ids = word.bytes().rev().map(|letter| u32::from(letter - b'a') + 3);
                let given: Vec<u32> = [START].into_iter().chain(ids).take(length).collect();
                // The source's end is a key, too.
                let mut weights = vec![0.0; length * (length + 1)];
                for model in &models {
                    let own = pollster::block_on(model.force(&word, &given)).unwrap().alignment;
                    assert_eq!(own.len(), weights.len());
                    weights.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight);
                }
                for (step, row) in weights.chunks(length + 1).enumerate() {
                    let best = (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
                    hits += usize::from(best == length - 1 - step);
                }
            }
            let share = hits as f64 / (accuracy.trials * length) as f64;
            println!("{name}, {length} letters: {share}");
            assert!(share >= ALIGNED, "{name}, {length}: {share}");
            let at = accuracy.lengths.iter().position(|one| *one == length).unwrap();
            let shown = accuracy.models[name].alignment.as_ref().unwrap()[at];
            assert!((share - shown).abs() < 0.011, "{name}, {length}: {share}, shown {shown}");
        }
    }
}

#[test]
fn dates_that_were_held_out_come_out_right() {
    let (model, expected) = (load("dates", None), expected("dates"));
    let pairs: Vec<(String, String)> = serde_json::from_value(expected.sample).unwrap();
    assert_eq!(pairs.len(), 100);
    for (text, want) in pairs {
        assert_eq!(greedy(&model, &text), want, "{text}");
        // Among three hypotheses unlikely ones end early; they do not end the search.
        let found = transliterated(&model, &text, 3);
        assert_eq!(found[0].text, want, "{text}");
    }
    assert_eq!(greedy(&model, "Sunday, the 3rd of MAY '26"), "2026-05-03");
}
