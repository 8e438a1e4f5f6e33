//! One step of the simpler simple recurrent unit (Kim et al. 2019): checks and reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::linear::mismatch;
use crate::error::Result;

/// States smaller than this become 0: left to decay they would turn denormal, and denormal arithmetic stalls.
pub const SMALLEST_STATE: f32 = 1e-30;

/// Checks `[rows, columns]` of the projection, the state and the residual stream.
pub fn check(projected: [usize; 2], state: [usize; 2], stream: [usize; 2]) -> Result<()> {
    let expected = [state[0], state[1].saturating_mul(2)];
    if projected != expected || stream != state {
        return Err(mismatch("ssru", (expected, state), (projected, stream)));
    }
    Ok(())
}

/// `f = sigmoid(projected[r, hidden + c])`, `state = f · state + (1 − f) · projected[r, c]`,
/// `stream += max(state, 0)`, in double precision.
pub fn reference(projected: &[f32], state: &mut [f32], stream: &mut [f32], hidden_size: usize) {
    for (i, (state, stream)) in state.iter_mut().zip(stream).enumerate() {
        let (row, column) = (i / hidden_size, i % hidden_size);
        let x = f64::from(projected[2 * row * hidden_size + column]);
        let gate = f64::from(projected[(2 * row + 1) * hidden_size + column]);
        let f = 1.0 / (1.0 + libm::exp(-gate));
        *state = (f * f64::from(*state) + (1.0 - f) * x) as f32;
        if state.abs() < SMALLEST_STATE {
            *state = 0.0;
        }
        *stream += state.max(0.0);
    }
}
