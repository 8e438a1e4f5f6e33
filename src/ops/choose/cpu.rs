//! Choosing on the CPU: one pass for the sum, one for the best.

use super::check;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Tensor};
use crate::ops::output::cpu::CpuOutput;
use crate::ops::{Choice, Pick};

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
        choose_rows::<L>(logits, output, k)
    }

    /// The choices of every pick, which threads share.
    pub(crate) fn apply_choose_each(
        &mut self,
        hidden: &Tensor,
        picks: &[Pick<'_, CpuOutput>],
    ) -> Vec<Vec<Vec<Choice>>> {
        let cost = |pick: &Pick<'_, CpuOutput>| pick.rows.len() * pick.output.candidates();
        let rows: usize = picks.iter().map(cost).sum();
        let fits = picks.iter().all(|pick| pick.output.rows_of(hidden, &pick.rows).is_some());
        let each = self.rows_each(picks.len(), rows / picks.len().max(1) * hidden.columns());
        if each >= picks.len() || !fits {
            let choose = |pick: &Pick<'_, CpuOutput>| {
                let logits = self.apply_output(hidden, pick.rows.clone(), pick.output);
                self.apply_choose(&logits, pick.output, pick.k)
            };
            return picks.iter().map(choose).collect();
        }
        let mut chosen: Vec<Vec<Vec<Choice>>> = picks.iter().map(|_| Vec::new()).collect();
        let parts = picks.chunks(each).zip(chosen.chunks_mut(each));
        self.share(parts, |(picks, chosen), scratch| {
            for (pick, chosen) in picks.iter().zip(chosen.iter_mut()) {
                let mut logits = Tensor::stale(pick.rows.len(), pick.output.candidates());
                if let Some(input) = pick.output.rows_of(hidden, &pick.rows) {
                    pick.output.multiply::<L>(input, &mut logits, scratch);
                    *chosen = choose_rows::<L>(&logits, pick.output, pick.k);
                }
            }
        });
        chosen
    }
}

fn choose_rows<L: Lanes>(logits: &Tensor, output: &CpuOutput, k: usize) -> Vec<Vec<Choice>> {
    (0..logits.rows())
        .map(|row| choose_row::<L>(logits.row(row).unwrap_or(&[]), output, k))
        .collect()
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
