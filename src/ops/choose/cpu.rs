//! Choosing on the CPU: logits, one pass for the sum of their exponentials, one for the best.

use super::{Choice, Choices, Pick, Wanted};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Scratch, Tensor, math};
use crate::ops::linear::mismatch;
use crate::ops::output::cpu::CpuOutput;
use std::ops::Range;

impl<L: Lanes> Cpu<L> {
    /// The choices of every pick, which threads share.
    pub(crate) fn apply_choose(
        &mut self,
        hidden: &Tensor,
        picks: &[Pick<CpuOutput>],
        chosen: &mut Choices,
    ) {
        chosen.clear();
        let unfit = |pick: &&Pick<CpuOutput>| pick.output.rows_of(hidden, &pick.rows).is_none();
        if let Some(pick) = picks.iter().find(unfit) {
            let got = [hidden.rows(), hidden.columns()];
            return self.record_fault(mismatch("choose", &pick.rows, got));
        }
        for pick in picks {
            chosen.make_room(pick.rows.len(), places_each(pick));
        }
        let logits_of = |pick: &Pick<CpuOutput>| pick.rows.len() * pick.output.candidates();
        let all: usize = picks.iter().map(logits_of).sum();
        let largest = picks.iter().map(logits_of).max().unwrap_or(0);
        let each = self
            .rows_each(picks.len(), (all / picks.len().max(1)).saturating_mul(hidden.columns()));
        // Taken here for every thread: one that has had none of this size would have to allocate it.
        let mut logits = Tensor::stale(picks.len().div_ceil(each), largest);
        let mut logits = logits.values_mut().chunks_mut(largest.max(1));
        let Choices { places, rows } = chosen;
        let mut rest = Share { picks, places, rows };
        let parts = picks
            .chunks(each)
            .map(|picks| (rest.split_off(picks.len()), logits.next().unwrap_or_default()));
        self.share(parts, |(share, logits), scratch| {
            share.choose::<L>(hidden, logits, scratch);
        });
    }
}

/// More than there are candidates cannot be chosen.
fn places_each(pick: &Pick<CpuOutput>) -> usize {
    match pick.wanted {
        Wanted::Likeliest(k) => k.min(pick.output.candidates()),
        Wanted::Given(_) => 1,
    }
}

impl Choices {
    /// Adds rows with `places` empty places each.
    fn make_room(&mut self, rows: usize, places: usize) {
        for _ in 0..rows {
            self.rows.push(self.places.len()..self.places.len());
            self.places.resize(self.places.len() + places, Choice::default());
        }
    }
}

/// Some picks and where their choices go.
struct Share<'a> {
    picks: &'a [Pick<CpuOutput>],
    places: &'a mut [Choice], // [rows, places_each] of one pick after the other
    rows: &'a mut [Range<usize>],
}

impl<'a> Share<'a> {
    /// Takes the first `count` picks.
    fn split_off(&mut self, count: usize) -> Share<'a> {
        let (picks, other_picks) = self.picks.split_at(count);
        let places = picks.iter().map(|pick| pick.rows.len() * places_each(pick)).sum();
        let rows = picks.iter().map(|pick| pick.rows.len()).sum();
        let (places, other_places) = std::mem::take(&mut self.places).split_at_mut(places);
        let (rows, other_rows) = std::mem::take(&mut self.rows).split_at_mut(rows);
        *self = Share { picks: other_picks, places: other_places, rows: other_rows };
        Share { picks, places, rows }
    }

    /// `logits` has room for those of any of the picks.
    fn choose<L: Lanes>(&mut self, hidden: &Tensor, logits: &mut [f32], scratch: &mut Scratch) {
        while let Some(pick) = self.picks.first() {
            let Share { places, rows, .. } = self.split_off(1);
            let candidates = pick.output.candidates();
            let logits = &mut logits[..rows.len() * candidates];
            if let Some(input) = pick.output.rows_of(hidden, &pick.rows) {
                pick.output.multiply::<L>(input, logits, scratch);
            }
            let logits = logits.chunks_exact(candidates.max(1));
            let places = places.chunks_mut(places_each(pick).max(1));
            for ((logits, places), row) in logits.zip(places).zip(rows) {
                row.end = row.start + choose_row::<L>(logits, &pick.output, pick.wanted, places);
            }
        }
    }
}

/// Fills `places` with what is wanted of a row; gives how many there are.
fn choose_row<L: Lanes>(
    logits: &[f32],
    output: &CpuOutput,
    wanted: Wanted,
    places: &mut [Choice],
) -> usize {
    let greatest = math::max::<L>(logits);
    let offset = L::splat(greatest);
    let sum = math::sum::<L>(logits, f32::NEG_INFINITY, |x| math::exp::<L>(L::sub(x, offset)));
    let log_sum = libm::logf(sum);
    let mut best = Best { places, count: 0 };
    match wanted {
        Wanted::Likeliest(_) => {
            let mut start = 0;
            for &barred in output.barred() {
                best.merge(logits, start..barred);
                start = barred + 1;
            }
            best.merge(logits, start..logits.len());
        }
        Wanted::Given(id) => {
            let candidate = output.candidate(id);
            best.merge(logits, candidate.map_or(0..0, |candidate| candidate..candidate + 1));
        }
    }
    let Best { places, count } = best;
    for choice in &mut places[..count] {
        let Choice { id: candidate, log_prob: logit } = *choice;
        let log_prob = (logit - greatest) - log_sum;
        *choice = Choice { id: output.id(candidate as usize), log_prob };
    }
    count
}

/// The best candidates so far: index and logit of each, in place of its id and log-probability.
struct Best<'a> {
    places: &'a mut [Choice],
    count: usize,
}

impl Best<'_> {
    /// Merges the candidates `range`. They come in the order of their ids, so a tie stays with the earlier one.
    fn merge(&mut self, logits: &[f32], range: Range<usize>) {
        let Some(candidates) = logits.get(range.clone()) else { return };
        for (&logit, candidate) in candidates.iter().zip(range) {
            let full = self.count == self.places.len();
            let best = &self.places[..self.count];
            if full && best.last().is_none_or(|worst| logit <= worst.log_prob) || logit.is_nan() {
                continue;
            }
            let worse = best.iter().position(|other| other.log_prob < logit);
            let at = worse.unwrap_or(self.count);
            self.count += usize::from(!full);
            let moved = &mut self.places[at..self.count];
            moved.rotate_right(1);
            if let Some(place) = moved.first_mut() {
                *place = Choice { id: candidate as u32, log_prob: logit };
            }
        }
    }
}
