//! Names of what a head scores, and what its scores mean.

use crate::error::Result;
use crate::formats::Config;
use crate::model::HeadSpec;

/// What makes probabilities of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// One of the labels holds.
    OneOf,
    /// Each holds or not.
    Each,
    /// They are values, not probabilities.
    Value,
}

/// The labels of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// In the order of the scores.
    pub names: Vec<String>,
    /// What the scores of a text are.
    pub meaning: Meaning,
}

impl Labels {
    /// Reads `id2label` and `problem_type`; a label without a name is `LABEL_<i>`. None of a head that scores a vocabulary.
    ///
    /// # Errors
    /// [`crate::error::Error::Metadata`] for values of another form.
    pub fn read(config: &Config, head: Option<&HeadSpec>) -> Result<Self> {
        let last = head.filter(|head| head.output.is_none()).and_then(|head| head.layers.last());
        let count = last.map_or(0, |layer| layer.linear.out_features);
        let named = config.object("id2label")?;
        let name = |index: usize| {
            let name = named.and_then(|named| named.get(&index.to_string())?.as_str());
            name.map_or_else(|| format!("LABEL_{index}"), str::to_owned)
        };
        let meaning = match config.string("problem_type")? {
            Some("regression") => Meaning::Value,
            Some("multi_label_classification") => Meaning::Each,
            _ if count == 1 => Meaning::Each,
            _ => Meaning::OneOf,
        };
        Ok(Self { names: (0..count).map(name).collect(), meaning })
    }

    /// Scores as probabilities, in place.
    pub fn weigh(&self, scores: &mut [f32]) {
        match self.meaning {
            Meaning::OneOf => softmax(scores),
            Meaning::Each => scores.iter_mut().for_each(|x| *x = 1.0 / (1.0 + libm::expf(-*x))),
            Meaning::Value => {}
        }
    }
}

/// exp(x) over the sum of all exp(x), in place.
pub fn softmax(scores: &mut [f32]) {
    let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0_f64;
    for x in scores.iter_mut() {
        *x = libm::expf(*x - greatest);
        sum += f64::from(*x);
    }
    scores.iter_mut().for_each(|x| *x = (f64::from(*x) / sum) as f32);
}

/// Indices of the `count` greatest scores, greatest first, of equals the first.
pub fn greatest(scores: &[f32], count: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..scores.len()).collect();
    let score = |index: &usize| scores.get(*index).copied().unwrap_or(f32::NEG_INFINITY);
    let order = |a: &usize, b: &usize| score(b).total_cmp(&score(a)).then(a.cmp(b));
    let count = count.min(indices.len());
    if count > 0 && count < indices.len() {
        indices.select_nth_unstable_by(count - 1, order);
    }
    indices.truncate(count);
    indices.sort_unstable_by(order);
    indices
}
