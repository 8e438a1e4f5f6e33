//! Recurrent layers on the CPU: sequence by sequence, so that none depends on its neighbours.

use super::{Cell, RecurrentSource, Widths, check};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Tensor};
use crate::error::Result;
use crate::ops::attention::AttentionSegment;

/// Outputs whose sums are kept in lanes at once.
const TOGETHER: usize = 16;

/// Packed weights of a recurrent layer.
pub struct CpuRecurrent {
    cell: Cell,
    hidden_size: usize,
    directions: Vec<Direction>,
}

/// Gates are padded to whole [`TOGETHER`]s.
struct Direction {
    /// `[gates / TOGETHER, hidden_size, TOGETHER]`: the weights of some gates by one element of the state side by side.
    weights: Vec<[f32; TOGETHER]>,
    bias: Vec<[f32; TOGETHER]>,
}

impl CpuRecurrent {
    /// Packs weights.
    ///
    /// # Errors
    /// As [`RecurrentSource::check`].
    pub fn pack(source: &RecurrentSource) -> Result<Self> {
        source.check()?;
        let hidden = source.hidden_size;
        let pack = |(weights, bias): &(Vec<f32>, Vec<f32>)| {
            let starts = (0..bias.len()).step_by(TOGETHER);
            let columns = starts.clone().flat_map(|start| (0..hidden).map(move |i| (start, i)));
            let weight = |row: usize, i: usize| weights.get(row * hidden + i).copied();
            Direction {
                weights: columns
                    .map(|(start, i)| {
                        std::array::from_fn(|gate| weight(start + gate, i).unwrap_or(0.0))
                    })
                    .collect(),
                bias: starts
                    .map(|start| {
                        std::array::from_fn(|gate| bias.get(start + gate).copied().unwrap_or(0.0))
                    })
                    .collect(),
            }
        };
        Ok(Self {
            cell: source.cell,
            hidden_size: hidden,
            directions: source.directions.iter().map(pack).collect(),
        })
    }

    /// Widths of what it takes and gives.
    pub fn widths(&self) -> Widths {
        Widths::of(self.cell, self.hidden_size, self.directions.len())
    }
}

impl Direction {
    /// `products[gate] = Σ_i weights[gate, i] · state[i] + bias[gate]`, in the order of i.
    fn project<L: Lanes>(&self, state: &[f32], products: &mut [[f32; TOGETHER]]) {
        let panels = self.weights.chunks_exact(state.len().max(1));
        for ((panel, bias), products) in panels.zip(&self.bias).zip(products) {
            let mut sums: [_; TOGETHER / 4] = [L::splat(0.0); TOGETHER / 4];
            for (four, sum) in bias.as_chunks::<4>().0.iter().zip(&mut sums) {
                *sum = L::load(four);
            }
            for (weights, &h) in panel.iter().zip(state) {
                let h = L::splat(h);
                for (four, sum) in weights.as_chunks::<4>().0.iter().zip(&mut sums) {
                    *sum = L::add(*sum, L::mul(L::load(four), h));
                }
            }
            for (four, sum) in products.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
                L::store(sum, four);
            }
        }
    }
}

impl<L: Lanes> Cpu<L> {
    /// Moves `state` over the rows of each sequence; gives the states after each, `[rows, directions · hidden_size]`.
    pub(crate) fn apply_recurrent(
        &mut self,
        input: &Tensor,
        weights: &CpuRecurrent,
        segments: &[AttentionSegment],
        state: &mut Tensor,
    ) -> Tensor {
        let (hidden, gates) = (weights.hidden_size, weights.cell.gates());
        let widths = weights.widths();
        let mut output = Tensor::zeros(input.rows(), widths.output);
        let shape = |tensor: &Tensor| [tensor.rows(), tensor.columns()];
        if let Err(error) = check(widths, segments, shape(input), shape(state)) {
            self.record_fault(error);
            return output;
        }
        let mut products = vec![[0.0; TOGETHER]; (gates * hidden).div_ceil(TOGETHER)];
        for (index, direction) in weights.directions.iter().enumerate() {
            let at = index * hidden;
            for (segment, state) in
                segments.iter().zip(state.values_mut().chunks_exact_mut(widths.state))
            {
                let (states, cells) = state.split_at_mut(widths.output);
                let (h, c) =
                    (&mut states[at..at + hidden], cells.get_mut(at..).unwrap_or_default());
                let rows = segment.query_rows.clone();
                for step in 0..rows.len() {
                    let row = if index == 0 { rows.start + step } else { rows.end - 1 - step };
                    direction.project::<L>(h, &mut products);
                    let x = input.row(row).and_then(|row| row.get(at * gates..));
                    let x = x.unwrap_or_default();
                    match weights.cell {
                        Cell::Gru => gru::<L>(x, products.as_flattened(), h),
                        Cell::Lstm => lstm::<L>(x, products.as_flattened(), h, c),
                    }
                    if let Some(to) = output.row_mut(row) {
                        to[at..at + hidden].copy_from_slice(h);
                    }
                }
            }
        }
        output
    }
}

/// Up to four values of each of several slices that are `hidden` long and lie one after the other, from `at` on.
#[inline(always)]
fn fours<L: Lanes, const N: usize>(values: &[f32], hidden: usize, at: usize) -> [L::F32; N] {
    std::array::from_fn(|part| {
        let mut four = [0.0; 4];
        let from = values.get(part * hidden..(part + 1) * hidden).and_then(|part| part.get(at..));
        for (to, &from) in four.iter_mut().zip(from.unwrap_or_default()) {
            *to = from;
        }
        L::load(&four)
    })
}

/// Writes the first of four values that there is room for.
#[inline(always)]
fn put<L: Lanes>(four: L::F32, to: &mut [f32]) {
    let mut values = [0.0; 4];
    L::store(four, &mut values);
    for (to, value) in to.iter_mut().zip(values) {
        *to = value;
    }
}

/// A step of a gated recurrent unit: `x` and `p` are input and state projected, gates r, z, n.
fn gru<L: Lanes>(x: &[f32], p: &[f32], h: &mut [f32]) {
    let hidden = h.len();
    for at in (0..hidden).step_by(4) {
        let [xr, xz, xn] = fours::<L, 3>(x, hidden, at);
        let [pr, pz, pn] = fours::<L, 3>(p, hidden, at);
        let [before] = fours::<L, 1>(h, hidden, at);
        let reset = math::sigmoid::<L>(L::add(xr, pr));
        let update = math::sigmoid::<L>(L::add(xz, pz));
        let new = math::tanh::<L>(L::add(xn, L::mul(reset, pn)));
        let kept = L::sub(L::splat(1.0), update);
        put::<L>(L::add(L::mul(kept, new), L::mul(update, before)), &mut h[at..]);
    }
}

/// A step of a long short-term memory: gates i, f, g, o.
fn lstm<L: Lanes>(x: &[f32], p: &[f32], h: &mut [f32], c: &mut [f32]) {
    let hidden = h.len();
    for at in (0..hidden).step_by(4) {
        let (x, p) = (fours::<L, 4>(x, hidden, at), fours::<L, 4>(p, hidden, at));
        let [before] = fours::<L, 1>(c, hidden, at);
        let [enter, forget, new, out]: [_; 4] =
            std::array::from_fn(|gate| L::add(x[gate], p[gate]));
        let entering = L::mul(math::sigmoid::<L>(enter), math::tanh::<L>(new));
        let cell = L::add(L::mul(math::sigmoid::<L>(forget), before), entering);
        put::<L>(cell, c.get_mut(at..hidden).unwrap_or_default());
        put::<L>(L::mul(math::sigmoid::<L>(out), math::tanh::<L>(cell)), &mut h[at..]);
    }
}
