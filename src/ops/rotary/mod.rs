//! Rotary positions and head norms, what queries and keys go through before they meet: reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::{RotaryPairs, RotarySource};

/// Turns one head, `[head_dim]`, at `position`, in double precision: of each pair (a, b) with angle t,
/// `a · cos t − b · sin t` and `b · cos t + a · sin t`.
pub fn reference(head: &mut [f32], position: usize, rotary: &RotarySource) {
    let pairs = rotary.frequencies.len();
    for (i, &frequency) in rotary.frequencies.iter().enumerate() {
        let (sin, cos) = (position as f64 * f64::from(frequency)).sin_cos();
        let (first, second) = elements(rotary.pairs, pairs, i);
        let (a, b) = (f64::from(head[first]), f64::from(head[second]));
        head[first] = (a * cos - b * sin) as f32;
        head[second] = (b * cos + a * sin) as f32;
    }
}

/// The two elements of pair `i`.
fn elements(kind: RotaryPairs, pairs: usize, i: usize) -> (usize, usize) {
    match kind {
        RotaryPairs::Neighbours => (2 * i, 2 * i + 1),
        RotaryPairs::Halves => (i, i + pairs),
    }
}
