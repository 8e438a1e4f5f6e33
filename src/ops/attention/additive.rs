//! Additive scores on the CPU (Bahdanau et al. 2015).

use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;

/// `Σ_d weights[d] · tanh(query[d] + key[d])`: lanes over d, added up in the order of [`Lanes::sum`], the last ones padded.
#[inline(always)]
pub fn score<L: Lanes>(query: &[f32], key: &[f32], weights: &[f32]) -> f32 {
    let mut sum = L::splat(0.0);
    let four = |values: &[f32], at: usize| {
        let mut four = [0.0; 4];
        for (to, &from) in four.iter_mut().zip(values.iter().skip(at)) {
            *to = from;
        }
        L::load(&four)
    };
    for at in (0..query.len()).step_by(4) {
        let hidden = math::tanh::<L>(L::add(four(query, at), four(key, at)));
        sum = L::add(sum, L::mul(four(weights, at), hidden));
    }
    L::sum(sum)
}
