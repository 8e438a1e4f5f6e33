//! Beam search over probabilities, as the models' authors have it: a hypothesis is worth the product of the probabilities of
//! its symbols, whatever its length.

/// When a search is over, besides where its steps are used up or nothing goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Until {
    /// As many hypotheses have ended as go on; one that goes on may be the likeliest of all. So does `netra-transliterate`.
    #[default]
    AsManyEnded,
    /// As many have ended, and none that goes on is likelier than they all are. Models that are sure of themselves would give
    /// the beginnings of their answers otherwise.
    LikeliestEnded,
}

/// Less likely symbols are not looked at.
const LEAST: f64 = 1e-8;

/// A target under way, or one that has ended.
#[derive(Debug, Clone)]
pub struct Hypothesis {
    /// Its symbols, the start included.
    pub ids: Vec<u32>,
    /// Product of their probabilities.
    pub probability: f64,
    /// Attention weights of each symbol but the start, one after the other.
    pub weights: Vec<f32>,
    /// The hypothesis of the step before that it continues.
    pub parent: usize,
}

/// Hypotheses of one source.
pub struct Beam {
    size: usize,
    until: Until,
    end: u32,
    max_length: usize,
    /// Steps that were taken.
    steps: usize,
    /// Those that go on, the likeliest first.
    pub live: Vec<Hypothesis>,
    ended: Vec<Hypothesis>,
}

impl Beam {
    /// One hypothesis, which has its start only.
    pub fn new(size: usize, until: Until, start: u32, end: u32, max_length: usize) -> Self {
        let first =
            Hypothesis { ids: vec![start], probability: 1.0, weights: Vec::new(), parent: 0 };
        Self { size, until, end, max_length, steps: 0, live: vec![first], ended: Vec::new() }
    }

    /// Whether there is no further step.
    pub fn is_done(&self) -> bool {
        let greatest =
            |all: &[Hypothesis]| all.iter().map(|one| one.probability).fold(0.0, f64::max);
        let has_best = match self.until {
            Until::AsManyEnded => true,
            Until::LikeliestEnded => greatest(&self.ended) >= greatest(&self.live),
        };
        self.steps == self.max_length
            || self.live.is_empty()
            || (self.ended.len() >= self.size && has_best)
    }

    /// Takes a step: `logits`, `[live, symbols]`, and `weights`, `[live, source symbols]`, are of the live hypotheses.
    pub fn step(&mut self, logits: &[f32], weights: &[f32]) {
        let rows = self.live.len().max(1);
        let symbols = (logits.len() / rows).max(1);
        let keys = weights.len() / rows;
        // Probability, parent and symbol of what goes on, the likeliest first.
        let mut next: Vec<(f64, usize, u32)> = Vec::new();
        for (parent, (hypothesis, logits)) in
            self.live.iter().zip(logits.chunks_exact(symbols)).enumerate()
        {
            let probabilities = softmax(logits);
            // The likeliest symbols, the later of two that are equally likely: the likeliest is taken last.
            let mut likeliest = Vec::new();
            for one in probabilities.into_iter().enumerate().rev() {
                insert(&mut likeliest, one, self.size, |one| one.1);
            }
            for (id, probability) in likeliest.into_iter().rev() {
                if probability <= LEAST {
                    continue;
                }
                let longer = (hypothesis.probability * probability, parent, id as u32);
                if longer.2 == self.end || hypothesis.ids.len() + 1 >= self.max_length {
                    self.ended.extend(self.longer(longer, weights, keys));
                } else {
                    insert(&mut next, longer, self.size, |one| one.0);
                }
            }
        }
        self.live = next.into_iter().filter_map(|one| self.longer(one, weights, keys)).collect();
        self.steps += 1;
    }

    /// A live hypothesis with a symbol more.
    fn longer(
        &self,
        (probability, parent, id): (f64, usize, u32),
        weights: &[f32],
        keys: usize,
    ) -> Option<Hypothesis> {
        let Hypothesis { ids, weights: before, .. } = self.live.get(parent)?;
        let own = weights.get(parent * keys..(parent + 1) * keys).unwrap_or_default();
        let (ids, weights) = ([ids.as_slice(), &[id]].concat(), [before.as_slice(), own].concat());
        Some(Hypothesis { ids, probability, weights, parent })
    }

    /// How many hypotheses there are.
    pub fn count(&self) -> usize {
        self.ended.len() + self.live.len()
    }

    /// At most so many hypotheses, the likeliest first: also those that would have gone on, as the search may end before they
    /// do.
    pub fn ranked(&self, most: usize) -> Vec<&Hypothesis> {
        let mut all = Vec::new();
        for one in self.ended.iter().chain(&self.live) {
            insert(&mut all, one, most, |one| one.probability);
        }
        all
    }
}

/// Puts one into a list whose likeliest are first, of which at most `most` stay. Equal ones keep their order.
fn insert<One>(list: &mut Vec<One>, one: One, most: usize, worth: impl Fn(&One) -> f64) {
    let own = worth(&one);
    let place = list.partition_point(|other| worth(other) >= own);
    if place < most {
        list.truncate(most - 1);
        list.insert(place, one);
    }
}

/// `exp(x) / Σ exp(x)`.
pub fn softmax(logits: &[f32]) -> Vec<f64> {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exps: Vec<f64> =
        logits.iter().map(|logit| libm::exp(f64::from(logit - greatest))).collect();
    let total: f64 = exps.iter().sum();
    exps.into_iter().map(|exp| exp / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logits of these probabilities.
    fn logits(rows: &[[f32; 3]]) -> Vec<f32> {
        rows.iter().flatten().map(|p| libm::logf(*p)).collect()
    }

    #[test]
    fn probabilities_are_multiplied_and_what_goes_on_counts_too() {
        // Symbols: 0, 1, and 2, which ends. Two hypotheses.
        let mut beam = Beam::new(2, Until::AsManyEnded, 0, 2, 5);
        beam.step(&logits(&[[0.5, 0.3, 0.2]]), &[1.0, 0.0]);
        let live: Vec<_> = beam.live.iter().map(|one| one.ids.clone()).collect();
        assert_eq!(live, [[0, 0], [0, 1]]);
        beam.step(&logits(&[[0.6, 0.1, 0.3], [0.1, 0.2, 0.7]]), &[0.0, 1.0, 0.5, 0.5]);
        // 0.5 · 0.6 goes on, 0.3 · 0.7 and 0.5 · 0.3 have ended: that is all.
        assert!(beam.is_done());
        let all = beam.ranked(usize::MAX);
        let ids: Vec<_> = all.iter().map(|one| one.ids.clone()).collect();
        assert_eq!(ids, [vec![0, 0, 0], vec![0, 1, 2], vec![0, 0, 2], vec![0, 1, 1]]);
        for (one, want) in all.iter().zip([0.3, 0.21, 0.15, 0.06]) {
            assert!((one.probability - want).abs() < 1e-6, "{one:?}");
        }
        assert_eq!(all[1].weights, [1.0, 0.0, 0.5, 0.5]);
    }

    #[test]
    fn a_search_for_what_has_ended_goes_on_while_something_else_is_likelier() {
        let mut beam = Beam::new(2, Until::LikeliestEnded, 0, 2, 5);
        beam.step(&logits(&[[0.5, 0.3, 0.2]]), &[]);
        beam.step(&logits(&[[0.6, 0.1, 0.3], [0.1, 0.2, 0.7]]), &[]);
        // 0.3 · 0.7 and 0.5 · 0.3 have ended, but 0.5 · 0.6 goes on.
        assert!(!beam.is_done());
        beam.step(&logits(&[[0.2, 0.05, 0.75], [0.8, 0.1, 0.1]]), &[]);
        // 0.5 · 0.6 · 0.75 has ended now.
        assert!(beam.is_done());
        let best = beam.ranked(1).remove(0);
        assert_eq!(best.ids, [0, 0, 0, 2]);
        assert!((best.probability - 0.225).abs() < 1e-6);
    }

    #[test]
    fn the_longest_target_ends_as_it_is() {
        let mut beam = Beam::new(1, Until::AsManyEnded, 0, 2, 3);
        beam.step(&logits(&[[0.9, 0.05, 0.05]]), &[]);
        assert!(!beam.is_done());
        beam.step(&logits(&[[0.9, 0.05, 0.05]]), &[]);
        assert!(beam.is_done());
        assert_eq!(beam.ranked(1)[0].ids, [0, 0, 0]);
    }
}
