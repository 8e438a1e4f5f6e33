//! Choosing on the CPU: one pass for the sum, one for the best.

use super::check;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Tensor};
use crate::ops::Choice;
use crate::ops::output::cpu::CpuOutput;

impl<L: Lanes> Cpu<L> {
    /// The `k` likeliest candidates of each row.
    pub(crate) fn apply_choose(
        &mut self,
        logits: &Tensor,
        output: &CpuOutput,
        k: usize,
    ) -> Vec<Vec<Choice>> {
        if let Err(error) = check(logits.columns(), output.candidates()) {
            self.record_fault(error);
            return Vec::new();
        }
        (0..logits.rows())
            .map(|row| choose_row::<L>(logits.row(row).unwrap_or(&[]), output, k))
            .collect()
    }
}

fn choose_row<L: Lanes>(logits: &[f32], output: &CpuOutput, k: usize) -> Vec<Choice> {
    let greatest = math::max::<L>(logits);
    let offset = L::splat(greatest);
    let sum = math::sum::<L>(logits, f32::NEG_INFINITY, |x| math::exp::<L>(L::sub(x, offset)));
    let log_sum = libm::logf(sum);
    let mut best: Vec<(f32, usize)> = Vec::with_capacity(k.saturating_add(1).min(logits.len() + 1));
    let mut start = 0;
    for &barred in output.barred() {
        take_best(&mut best, k, logits, start..barred);
        start = barred + 1;
    }
    take_best(&mut best, k, logits, start..logits.len());
    best.into_iter()
        .map(|(logit, i)| Choice { id: output.id(i), log_prob: (logit - greatest) - log_sum })
        .collect()
}

/// Merges the candidates `range` into the `k` best so far. Candidates come in the order of their ids,
/// so a tie stays with the earlier one.
fn take_best(
    best: &mut Vec<(f32, usize)>,
    k: usize,
    logits: &[f32],
    range: std::ops::Range<usize>,
) {
    let Some(candidates) = logits.get(range.clone()) else { return };
    for (&logit, i) in candidates.iter().zip(range.start..) {
        let full = best.len() >= k;
        if full && best.last().is_none_or(|worst| logit <= worst.0) || logit.is_nan() {
            continue;
        }
        let at = best.iter().position(|&(other, _)| other < logit).unwrap_or(best.len());
        if full {
            best.pop();
        }
        best.insert(at, (logit, i));
    }
}
