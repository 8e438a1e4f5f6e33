//! Which token comes next: the likeliest, or one drawn from those that the options leave.

use crate::error::{Error, Result};

/// How the next token is drawn. The steps come in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingOptions {
    /// Logits of tokens that are there already are divided by it where they are above 0, multiplied below (Keskar et
    /// al. 2019); 1: not at all.
    pub repetition_penalty: f32,
    /// Logits are divided by it; 0: always the likeliest token.
    pub temperature: f32,
    /// So many likeliest tokens stay; 0: all.
    pub top_k: usize,
    /// The likeliest tokens stay that together have this probability (Holtzman et al. 2020); 1: all.
    pub top_p: f32,
    /// Tokens stay that have this share of the likeliest one's probability; 0: all.
    pub min_p: f32,
    /// Start of the random numbers.
    pub seed: u64,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        Self {
            repetition_penalty: 1.0,
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
        }
    }
}

impl SamplingOptions {
    /// Checks that every option is in its range.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the option.
    pub fn check(&self) -> Result<()> {
        let fail = |option: &'static str, got: f32, allowed: &str| {
            Err(Error::InvalidArgument { option, what: format!("is {got}, expected {allowed}") })
        };
        match self {
            Self { temperature: t, .. } if !t.is_finite() || *t < 0.0 => {
                fail("temperature", *t, "a number from 0 on")
            }
            Self { repetition_penalty: p, .. } if !p.is_finite() || *p <= 0.0 => {
                fail("repetitionPenalty", *p, "a number above 0")
            }
            Self { top_p: p, .. } if !(*p > 0.0 && *p <= 1.0) => {
                fail("topP", *p, "a number above 0, at most 1")
            }
            Self { min_p: p, .. } if !(0.0..=1.0).contains(p) => fail("minP", *p, "0 to 1"),
            _ => Ok(()),
        }
    }
}

/// Draws tokens. The same options, seed and logits give the same tokens on every machine.
#[derive(Debug, Clone)]
pub struct Sampler {
    options: SamplingOptions,
    random: Random,
    /// Candidates, kept for their room.
    candidates: Vec<(f32, u32)>,
}

impl Sampler {
    /// A sampler at the start of its random numbers.
    pub fn new(options: SamplingOptions) -> Self {
        Self { options, random: Random::new(options.seed), candidates: Vec::new() }
    }

    /// Whether it always takes the likeliest token by the logits as they are.
    pub fn is_greedy(&self) -> bool {
        self.options.temperature == 0.0 && self.options.repetition_penalty == 1.0
    }

    /// The next token after `history`; `logits` has one a token, and is changed. A token whose logit is not a number
    /// is never drawn; none if there is no other.
    pub fn next(&mut self, logits: &mut [f32], history: &[u32]) -> Option<u32> {
        self.penalise(logits, history);
        let greedy = likeliest(logits)?;
        if self.options.temperature == 0.0 {
            return Some(greedy);
        }
        let SamplingOptions { temperature, top_k, top_p, min_p, .. } = self.options;
        let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |logit: f32| libm::expf((logit - greatest) / temperature);
        let candidates = &mut self.candidates;
        candidates.clear();
        candidates.extend(
            logits
                .iter()
                .zip(0..)
                .filter(|(logit, _)| !logit.is_nan())
                .map(|(&logit, id)| (logit, id)),
        );
        // The likelier first, of equals the smaller id.
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if top_k > 0 && top_k < candidates.len() {
            candidates.select_nth_unstable_by(top_k - 1, order);
            candidates.truncate(top_k);
        }
        for candidate in candidates.iter_mut() {
            candidate.0 = weight(candidate.0);
        }
        candidates.retain(|(weight, _)| *weight > 0.0);
        if top_p < 1.0 {
            candidates.sort_unstable_by(order);
            let total: f32 = candidates.iter().map(|(weight, _)| weight).sum();
            let mut sum = 0.0;
            let enough = candidates.iter().position(|(weight, _)| {
                sum += weight;
                sum >= top_p * total
            });
            candidates.truncate(enough.map_or(candidates.len(), |last| last + 1));
        } else {
            candidates.sort_unstable_by_key(|(_, id)| *id);
        }
        // The greatest weight is 1.
        candidates.retain(|(weight, _)| *weight >= min_p);
        let total: f32 = candidates.iter().map(|(weight, _)| weight).sum();
        let mut left = self.random.unit() * total;
        for (weight, id) in candidates.iter() {
            left -= weight;
            if left < 0.0 {
                return Some(*id);
            }
        }
        Some(candidates.last().map_or(greedy, |(_, id)| *id))
    }

    fn penalise(&mut self, logits: &mut [f32], history: &[u32]) {
        let penalty = self.options.repetition_penalty;
        if penalty == 1.0 {
            return;
        }
        let mut seen: Vec<u32> = history.to_vec();
        seen.sort_unstable();
        seen.dedup();
        for id in seen {
            if let Some(logit) = logits.get_mut(id as usize) {
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            }
        }
    }
}

/// The smallest id with the largest logit; none if none is a number.
fn likeliest(logits: &[f32]) -> Option<u32> {
    let mut best: Option<(f32, u32)> = None;
    for (&logit, id) in logits.iter().zip(0..) {
        if !logit.is_nan() && best.is_none_or(|(greatest, _)| logit > greatest) {
            best = Some((logit, id));
        }
    }
    best.map(|(_, id)| id)
}

/// SplitMix64 (Steele et al. 2014).
#[derive(Debug, Clone)]
struct Random {
    state: u64,
}

impl Random {
    fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// In [0, 1), with 24 bits.
    fn unit(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 40) as f32 / 16_777_216.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(options: SamplingOptions, logits: &[f32]) -> Vec<f32> {
        let mut counts = vec![0.0; logits.len()];
        let mut sampler = Sampler::new(options);
        for _ in 0..20_000 {
            counts[sampler.next(&mut logits.to_vec(), &[]).unwrap() as usize] += 1.0 / 20_000.0;
        }
        counts
    }

    fn close(got: &[f32], want: &[f32]) {
        let differ = got.iter().zip(want).any(|(got, want)| (got - want).abs() > 0.02);
        assert!(!differ, "{got:?}, expected {want:?}");
    }

    /// Logits whose softmax is 0.5, 0.25, 0.125, 0.125.
    const HALVES: [f32; 4] = [
        3.0 * std::f32::consts::LN_2,
        2.0 * std::f32::consts::LN_2,
        std::f32::consts::LN_2,
        std::f32::consts::LN_2,
    ];

    #[test]
    fn draws_by_probability_within_what_is_left() {
        let plain = SamplingOptions { temperature: 1.0, seed: 7, ..SamplingOptions::default() };
        close(&shares(plain, &HALVES), &[0.5, 0.25, 0.125, 0.125]);
        // Half the temperature squares the probabilities: 16, 4, 1, 1 of 22.
        let cold = SamplingOptions { temperature: 0.5, ..plain };
        close(&shares(cold, &HALVES), &[16.0 / 22.0, 4.0 / 22.0, 1.0 / 22.0, 1.0 / 22.0]);
        let top_k = SamplingOptions { top_k: 3, ..plain };
        close(&shares(top_k, &HALVES), &[4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0, 0.0]);
        // 0.5 + 0.25 are not enough, the third is needed.
        let top_p = SamplingOptions { top_p: 0.8, ..plain };
        close(&shares(top_p, &HALVES), &[4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0, 0.0]);
        let min_p = SamplingOptions { min_p: 0.4, ..plain };
        close(&shares(min_p, &HALVES), &[2.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]);
        // 0.5 is not enough of all, so the second stays; it has half the first one's probability.
        let both = SamplingOptions { top_p: 0.6, min_p: 0.4, ..plain };
        close(&shares(both, &HALVES), &[2.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]);
        let strict = SamplingOptions { min_p: 0.6, ..both };
        close(&shares(strict, &HALVES), &[1.0, 0.0, 0.0, 0.0]);
        // Twice the penalty of a logit above 0 halves it: 1.5 ln 2 instead of 3.
        let greedy = SamplingOptions { repetition_penalty: 2.0, ..SamplingOptions::default() };
        let mut sampler = Sampler::new(greedy);
        assert_eq!(sampler.next(&mut HALVES.to_vec(), &[]), Some(0));
        assert_eq!(sampler.next(&mut HALVES.to_vec(), &[0, 0]), Some(1));
        assert_eq!(sampler.next(&mut [-1.0, -1.5], &[0]), Some(1));
    }

    #[test]
    fn the_seed_decides() {
        let options =
            |seed| SamplingOptions { temperature: 1.0, seed, ..SamplingOptions::default() };
        let draw = |seed| {
            let mut sampler = Sampler::new(options(seed));
            (0..50).map(|_| sampler.next(&mut HALVES.to_vec(), &[])).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn odd_logits_do_no_harm() {
        let hot = SamplingOptions { temperature: 2.0, top_p: 0.9, ..SamplingOptions::default() };
        let mut sampler = Sampler::new(hot);
        for logits in [vec![f32::NAN, 1.0], vec![f32::NEG_INFINITY, 0.0]] {
            assert_eq!(sampler.next(&mut logits.clone(), &[9]), Some(1), "{logits:?}");
        }
        for logits in [vec![f32::NAN; 2], vec![]] {
            assert_eq!(sampler.next(&mut logits.clone(), &[0]), None);
        }
        assert!(SamplingOptions { top_p: f32::NAN, ..hot }.check().is_err());
        assert!(SamplingOptions { temperature: -1.0, ..hot }.check().is_err());
        assert!(hot.check().is_ok());
    }
}
