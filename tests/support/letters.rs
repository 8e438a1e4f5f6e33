//! Models over letters beside what a reference library made of the same: a given target, and what is found.

use multihead::tasks::transliteration::{
    Candidate, Cpu, TransliterationModel, TransliterationOptions,
};
use serde::Deserialize;
use std::rc::Rc;

/// A given target, and what the reference says of each step.
#[derive(Debug, Deserialize)]
pub struct Forced {
    /// The text.
    pub word: String,
    /// The target's symbols, the start included.
    pub ids: Vec<u32>,
    /// Of all symbols after each.
    pub probabilities: Vec<Vec<f32>>,
    /// What each step looked at, where that is to be compared.
    pub attention: Option<Vec<Vec<f32>>>,
}

/// The farthest that a probability and an attention weight are from the reference.
pub fn forced(model: &TransliterationModel<Cpu>, case: &Forced) -> (f32, f32) {
    let steps = case.probabilities.len();
    let own = pollster::block_on(model.force(&case.word, &case.ids[..steps])).unwrap();
    let farthest = |own: &[f32], reference: &[Vec<f32>]| {
        let reference = reference.concat();
        assert_eq!(own.len(), reference.len(), "{}", case.word);
        own.iter().zip(&reference).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    let attention =
        case.attention.as_deref().map_or(0.0, |attention| farthest(&own.alignment, attention));
    (farthest(&own.probabilities, &case.probabilities), attention)
}

/// What a model makes of a text, every candidate.
pub fn transliterated(
    model: &Rc<TransliterationModel<Cpu>>,
    text: &str,
    beam_size: usize,
) -> Vec<Candidate> {
    let options = TransliterationOptions { beam_size, candidates: Some(usize::MAX) };
    let mut job = model.transliterate(text, options).unwrap();
    while !job.is_done() {
        pollster::block_on(job.step()).unwrap();
    }
    job.finish().unwrap()
}
