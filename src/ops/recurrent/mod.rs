//! Recurrent layers: gated recurrent units and long short-term memories over ragged batches: checks and reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::attention::AttentionSegment;
use super::linear::mismatch;
use crate::error::Result;

/// Which gates a recurrent unit has. x and h are the projected input and state, σ is the logistic function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Gated recurrent unit (Cho et al. 2014), gates r, z, n, the reset gate after the product:
    /// r = σ(xʳ + hʳ), z = σ(xᶻ + hᶻ), n = tanh(xⁿ + r∘hⁿ), state = (1 − z)∘n + z∘state.
    Gru,
    /// Long short-term memory (Hochreiter and Schmidhuber 1997, Gers et al. 2000), gates i, f, g, o:
    /// cell = σ(xᶠ + hᶠ)∘cell + σ(xⁱ + hⁱ)∘tanh(xᵍ + hᵍ), state = σ(xᵒ + hᵒ)∘tanh(cell).
    Lstm,
}

impl Cell {
    /// Gates of a unit.
    pub fn gates(self) -> usize {
        match self {
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    /// Vectors that are remembered of a direction: the state, and of a long short-term memory its cell.
    pub fn vectors(self) -> usize {
        match self {
            Self::Gru => 1,
            Self::Lstm => 2,
        }
    }
}

/// Weights of a recurrent layer by which a state meets the next token; float32 whatever the precision, as what is lost in
/// a step would be lost again in every one after it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecurrentSource {
    /// The unit.
    pub cell: Cell,
    /// Width of the state of a direction.
    pub hidden_size: usize,
    /// Of each direction the matrix, `[gates · hidden_size, hidden_size]`, and the bias, `[gates · hidden_size]`. The first
    /// reads from the first row of a sequence to the last, the second from the last to the first.
    pub directions: Vec<(Vec<f32>, Vec<f32>)>,
}

impl RecurrentSource {
    /// Checks that all is as wide as it must be.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::error::Error::Internal) names what does not fit.
    pub fn check(&self) -> Result<()> {
        let rows = self.cell.gates().saturating_mul(self.hidden_size);
        let expected = (rows.saturating_mul(self.hidden_size), rows);
        let count = self.directions.len();
        if self.hidden_size == 0 || !(1..=2).contains(&count) {
            return Err(mismatch("recurrent", "one or two directions", [count, self.hidden_size]));
        }
        for (weights, bias) in &self.directions {
            if (weights.len(), bias.len()) != expected {
                return Err(mismatch("recurrent", expected, (weights.len(), bias.len())));
            }
        }
        Ok(())
    }
}

/// Widths of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    /// Of the projected input: all gates of the first direction, then of the second.
    pub input: usize,
    /// Of a row of the output: the states of all directions.
    pub output: usize,
    /// Of what is remembered: the states of all directions, then the cells of all.
    pub state: usize,
}

impl Widths {
    /// Those of a layer.
    pub fn of(cell: Cell, hidden_size: usize, directions: usize) -> Self {
        let output = directions.saturating_mul(hidden_size);
        Self {
            input: output.saturating_mul(cell.gates()),
            output,
            state: output.saturating_mul(cell.vectors()),
        }
    }
}

/// Checks `[rows, columns]` of the projected input and of the states; the query rows of `segments` must tile the input in
/// order, and each segment has a row of the states.
pub fn check(
    widths: Widths,
    segments: &[AttentionSegment],
    input: [usize; 2],
    state: [usize; 2],
) -> Result<()> {
    let mut next = 0;
    for segment in segments {
        if segment.query_rows.start != next || segment.query_rows.end < next {
            return Err(mismatch("recurrent segments", format!("rows from {next} on"), segment));
        }
        next = segment.query_rows.end;
    }
    let (expected, got) = ([next, widths.input], [segments.len(), widths.state]);
    if input != expected || state != got {
        return Err(mismatch("recurrent", (expected, got), (input, state)));
    }
    Ok(())
}

/// The layer in plain loops and double precision, as [`Cell`] has it. `input` is `[rows, directions · gates · hidden_size]`,
/// `state` `[sequences, vectors · directions · hidden_size]`; gives `[rows, directions · hidden_size]`.
pub fn reference(
    source: &RecurrentSource,
    input: &[f32],
    segments: &[AttentionSegment],
    state: &mut [f32],
) -> Vec<f32> {
    let (hidden, gates) = (source.hidden_size, source.cell.gates());
    let widths = Widths::of(source.cell, hidden, source.directions.len());
    let rows = segments.iter().map(|segment| segment.query_rows.end).max().unwrap_or(0);
    let mut output = vec![0.0; rows * widths.output];
    let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    for (segment, state) in segments.iter().zip(state.chunks_mut(widths.state)) {
        for (direction, (weights, bias)) in source.directions.iter().enumerate() {
            let (h0, c0) = (direction * hidden, widths.output + direction * hidden);
            for step in 0..segment.query_rows.len() {
                let row = match direction {
                    0 => segment.query_rows.start + step,
                    _ => segment.query_rows.end - 1 - step,
                };
                let h: Vec<f64> = state[h0..h0 + hidden].iter().map(|h| f64::from(*h)).collect();
                let input = &input[row * widths.input + direction * gates * hidden..];
                for i in 0..hidden {
                    let x = |gate: usize| f64::from(input[gate * hidden + i]);
                    let product = |gate: usize| {
                        let row = gate * hidden + i;
                        let weights = &weights[row * hidden..][..hidden];
                        let sum: f64 = weights.iter().zip(&h).map(|(w, h)| f64::from(*w) * h).sum();
                        sum + f64::from(bias[row])
                    };
                    let next = match source.cell {
                        Cell::Gru => {
                            let reset = sigmoid(x(0) + product(0));
                            let update = sigmoid(x(1) + product(1));
                            let new = libm::tanh(x(2) + reset * product(2));
                            (1.0 - update) * new + update * h[i]
                        }
                        Cell::Lstm => {
                            let [enter, forget, out] =
                                [0, 1, 3].map(|gate| sigmoid(x(gate) + product(gate)));
                            let new = libm::tanh(x(2) + product(2));
                            let cell = forget * f64::from(state[c0 + i]) + enter * new;
                            state[c0 + i] = cell as f32;
                            out * libm::tanh(cell)
                        }
                    };
                    state[h0 + i] = next as f32;
                    output[row * widths.output + h0 + i] = next as f32;
                }
            }
        }
    }
    output
}
