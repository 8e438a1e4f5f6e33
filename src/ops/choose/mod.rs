//! The likeliest candidates of each row of logits: checks and reference.

pub mod cpu;

use super::Choice;
use super::linear::mismatch;
use crate::error::Result;

/// Checks that there is a logit a candidate.
pub fn check(columns: usize, candidates: usize) -> Result<()> {
    if columns != candidates {
        return Err(mismatch("choose", candidates, columns));
    }
    Ok(())
}

/// The `k` largest logits that are not barred, best first (ties: the smaller id), each with
/// `logit − ln Σ exp(logits)` over all candidates, in double precision.
pub fn reference(logits: &[f32], ids: &[u32], barred: &[u32], k: usize) -> Vec<Choice> {
    let greatest = logits.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(f64::from(x)));
    let sum: f64 = logits.iter().map(|&x| libm::exp(f64::from(x) - greatest)).sum();
    let mut order: Vec<(f32, u32)> = logits.iter().copied().zip(ids.iter().copied()).collect();
    order.retain(|(_, id)| !barred.contains(id));
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let log_prob = |x: f32| (f64::from(x) - greatest - libm::log(sum)) as f32;
    order.iter().take(k).map(|&(x, id)| Choice { id, log_prob: log_prob(x) }).collect()
}
