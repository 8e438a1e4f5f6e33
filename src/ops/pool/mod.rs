//! One row of all rows of a sequence: reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use std::ops::Range;

/// How one row is made of all rows of a sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// The first of them.
    First,
    /// The greatest value of each column.
    Max,
}

/// `y[s]` of the rows `rows[s]` of `hidden`, `[rows, columns]`: their mean, in double precision, the first, or the greatest
/// value of each column; zeros without rows.
pub fn reference(
    hidden: &[f32],
    columns: usize,
    rows: &[Range<usize>],
    pooling: Pooling,
) -> Vec<f32> {
    let mut y = Vec::new();
    for rows in rows {
        for column in 0..columns {
            let mut values = rows.clone().map(|row| hidden[row * columns + column]);
            y.push(match pooling {
                _ if rows.is_empty() => 0.0,
                Pooling::First => values.next().unwrap_or(0.0),
                Pooling::Max => values.fold(f32::NEG_INFINITY, f32::max),
                Pooling::Mean => {
                    let count = rows.len() as f64;
                    (values.map(f64::from).sum::<f64>() / count) as f32
                }
            });
        }
    }
    y
}
