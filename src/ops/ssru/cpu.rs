//! The recurrent unit on the CPU.

use super::{SMALLEST_STATE, check};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Tensor};

impl<L: Lanes> Cpu<L> {
    /// Steps `state` and adds its relu to `stream`.
    pub(crate) fn apply_ssru(
        &mut self,
        projected: &Tensor,
        state: &mut Tensor,
        stream: &mut Tensor,
    ) {
        let shape = |tensor: &Tensor| [tensor.rows(), tensor.columns()];
        if let Err(error) = check(shape(projected), shape(state), shape(stream)) {
            return self.record_fault(error);
        }
        let hidden_size = state.columns();
        if hidden_size == 0 {
            return;
        }
        let rows = projected.values().chunks_exact(2 * hidden_size);
        let states = state.values_mut().chunks_exact_mut(hidden_size);
        let streams = stream.values_mut().chunks_exact_mut(hidden_size);
        for ((projected, state), stream) in rows.zip(states).zip(streams) {
            let (x, gate) = projected.split_at(hidden_size);
            step_row::<L>(x, gate, state, stream);
        }
    }
}

#[inline(always)]
fn step_row<L: Lanes>(x: &[f32], gate: &[f32], state: &mut [f32], stream: &mut [f32]) {
    let (x, x_rest) = x.as_chunks::<4>();
    let (gate, gate_rest) = gate.as_chunks::<4>();
    let (state, state_rest) = state.as_chunks_mut::<4>();
    let (stream, stream_rest) = stream.as_chunks_mut::<4>();
    for (((x, gate), state), stream) in x.iter().zip(gate).zip(state).zip(stream) {
        step_four::<L>(x, gate, state, stream);
    }
    if !x_rest.is_empty() {
        let pad = |rest: &[f32]| {
            let mut four = [0.0; 4];
            for (to, &from) in four.iter_mut().zip(rest) {
                *to = from;
            }
            four
        };
        let (mut state, mut stream) = (pad(state_rest), pad(stream_rest));
        step_four::<L>(&pad(x_rest), &pad(gate_rest), &mut state, &mut stream);
        for (to, from) in state_rest.iter_mut().zip(state) {
            *to = from;
        }
        for (to, from) in stream_rest.iter_mut().zip(stream) {
            *to = from;
        }
    }
}

#[inline(always)]
fn step_four<L: Lanes>(x: &[f32; 4], gate: &[f32; 4], state: &mut [f32; 4], stream: &mut [f32; 4]) {
    let zero = L::splat(0.0);
    let f = math::sigmoid::<L>(L::load(gate));
    let input = L::mul(L::sub(L::splat(1.0), f), L::load(x));
    let next = L::add(L::mul(f, L::load(state)), input);
    let magnitude = L::pmax(next, L::sub(zero, next));
    let kept = L::less(L::splat(SMALLEST_STATE), magnitude);
    let next = L::from_bits(L::and(L::bits(next), kept));
    L::store(next, state);
    let sum = L::add(L::load(stream), L::pmax(zero, next));
    L::store(sum, stream);
}
