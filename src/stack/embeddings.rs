//! Token embeddings plus positions: where a sequence enters a stack.

use super::load::Loader;
use crate::error::Result;
use crate::model::{Positions, StackConfig};
use crate::ops::Ops;

/// Positions that are added to the embeddings, as a table that grows with the longest sequence seen.
pub struct PositionTable {
    kind: Positions,
    hidden_size: usize,
    values: Vec<f32>, // [positions so far, hidden_size]
    /// What was given last, for its room.
    rows: Vec<f32>,
}

impl PositionTable {
    /// The table for the positions of `config`: trained ones are read, others computed when they are needed.
    pub fn load<O: Ops>(load: &Loader<'_, O>, config: &StackConfig) -> Result<Self> {
        let (kind, hidden_size) = (config.positions.clone(), config.hidden_size);
        let values = match &kind {
            Positions::Learned { table, first, len, segments } => {
                let mut rows = load.floats(table, &[first.saturating_add(*len), hidden_size])?;
                rows.drain(..first.saturating_mul(hidden_size).min(rows.len()));
                if let Some((table, len)) = segments {
                    let segment = load.floats(table, &[*len, hidden_size])?;
                    for row in rows.chunks_exact_mut(hidden_size.max(1)) {
                        row.iter_mut().zip(&segment).for_each(|(x, addend)| *x += addend);
                    }
                }
                rows
            }
            Positions::None | Positions::SinusoidalHalves => Vec::new(),
        };
        Ok(Self { kind, hidden_size, values, rows: Vec::new() })
    }

    /// `[positions.len(), hidden_size]`, the rows of the given positions; none for a model without.
    pub fn rows<O: Ops>(&mut self, ops: &mut O, positions: &[usize]) -> Option<O::Tensor> {
        if self.kind == Positions::None {
            return None;
        }
        let width = self.hidden_size;
        let needed = positions.iter().max().map_or(0, |last| last + 1);
        for position in self.values.len() / width.max(1)..needed {
            match &self.kind {
                // Past the last trained one there is none; callers stop before.
                Positions::None | Positions::Learned { .. } => break,
                Positions::SinusoidalHalves => {
                    self.values.extend(sinusoidal_halves(position, width));
                }
            }
        }
        self.rows.clear();
        for position in positions {
            let row = self.values.get(position * width..).and_then(|rows| rows.get(..width));
            self.rows.extend_from_slice(row.unwrap_or_default());
        }
        Some(ops.upload(positions.len(), width, &self.rows))
    }
}

/// See [`Positions::SinusoidalHalves`].
fn sinusoidal_halves(position: usize, width: usize) -> Vec<f32> {
    let half = width / 2;
    // A model two wide has one frequency, 1.
    let step = libm::log(10_000.0) / (half.max(2) - 1) as f64;
    let angle = |i: usize| position as f64 * libm::exp(-step * i as f64);
    let sines = (0..half).map(|i| libm::sin(angle(i)) as f32);
    let cosines = (0..half).map(|i| libm::cos(angle(i)) as f32);
    sines.chain(cosines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_the_formula() {
        // Width 6: frequencies 1, 1/100, 1/10000.
        let row = sinusoidal_halves(3, 6);
        let expected = [0.141_120_f32, 0.029_995_5, 0.000_3, -0.989_992_5, 0.999_55, 0.999_999_95];
        for (value, expected) in row.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{row:?}");
        }
        assert_eq!(sinusoidal_halves(0, 4), [0.0, 0.0, 1.0, 1.0]);
    }
}
