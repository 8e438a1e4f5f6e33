//! Rows of an embedding table by token: checks and reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::linear::{check_weights, mismatch};
use super::{ActivationQuant, TableSource, Weights};
use crate::error::Result;

/// Checks that the weights fill the table.
pub fn check_table(source: &TableSource<'_>) -> Result<()> {
    let shape = [source.rows, source.columns];
    check_weights(&source.name, shape, &source.weights, None, ActivationQuant::None)
}

/// Checks tokens against the table's rows, and the positions' shape.
pub fn check(
    [rows, columns]: [usize; 2],
    tokens: &[Option<u32>],
    positions: Option<[usize; 2]>,
) -> Result<()> {
    if let Some(&id) = tokens.iter().flatten().find(|&&id| id as usize >= rows) {
        return Err(mismatch("embed", format!("a token below {rows}"), id));
    }
    let expected = [tokens.len(), columns];
    match positions {
        Some(got) if got != expected => Err(mismatch("embed positions", expected, got)),
        _ => Ok(()),
    }
}

/// `y[i, c] = table[tokens[i], c] · scale + positions[i, c]`; a token of `None` is a row of zeros.
pub fn reference(
    table: &TableSource<'_>,
    tokens: &[Option<u32>],
    scale: f32,
    positions: Option<&[f32]>,
) -> Vec<f32> {
    let mut y = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let mut row = vec![0.0; table.columns];
        if let Some(id) = token {
            let start = *id as usize * table.columns;
            match &table.weights {
                Weights::F32(values) => row.copy_from_slice(&values[start..][..table.columns]),
                Weights::Int8 { values, multiplier } => {
                    for (to, &from) in row.iter_mut().zip(&values[start..]) {
                        *to = f32::from(from) / multiplier.of(*id as usize);
                    }
                }
                Weights::Blocks { kind, bytes } => {
                    let width = table.columns / kind.values() * kind.bytes();
                    let start = *id as usize * width;
                    kind.dequantize(bytes.held(start..start + width), &mut row);
                }
            }
        }
        for (c, value) in row.into_iter().enumerate() {
            let position = positions.map_or(0.0, |positions| positions[i * table.columns + c]);
            y.push(value * scale + position);
        }
    }
    y
}
