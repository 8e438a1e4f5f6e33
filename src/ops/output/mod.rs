//! The output projection, logits over the rows of a table or over some of them: checks and reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::linear::{check_use, mismatch, reference_dot};
use super::{ActivationQuant, Stored, TableSource};
use crate::error::Result;

/// Checks the bias, the treatment of activations and the candidates: strictly ascending ids within the table.
pub fn check(
    name: &str,
    [rows, columns]: [usize; 2],
    weights: Stored,
    bias: Option<&[f32]>,
    activation: ActivationQuant,
    ids: Option<&[u32]>,
) -> Result<()> {
    check_use(name, [rows, columns], weights, bias, activation)?;
    let Some(ids) = ids else {
        // What multiplies a table as it lies knows no outliers.
        return match activation {
            ActivationQuant::Near => Err(mismatch(
                name,
                "activations without outliers for a whole table",
                activation.name(),
            )),
            _ => Ok(()),
        };
    };
    if weights == Stored::Blocks {
        return Err(mismatch("output projection", "all rows of a table of blocks", ids.len()));
    }
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(mismatch("output projection", "ascending ids", pair));
    }
    match ids.last() {
        Some(&id) if id as usize >= rows => {
            Err(mismatch("output projection", format!("an id below {rows}"), id))
        }
        _ => Ok(()),
    }
}

/// `y[r, i] = Σ_k x[r, k] · table[ids[i], k] + bias[ids[i]]`, quantised as in [`super::linear::reference`].
pub fn reference(
    hidden: &[f32],
    table: &TableSource<'_>,
    bias: Option<&[f32]>,
    activation: ActivationQuant,
    ids: Option<&[u32]>,
) -> Vec<f32> {
    let all: Vec<u32> = (0..table.rows as u32).collect();
    let mut y = Vec::new();
    for x in hidden.chunks(table.columns.max(1)) {
        for &id in ids.unwrap_or(&all) {
            let bias = bias.map_or(0.0, |bias| bias[id as usize]);
            y.push(reference_dot(x, &table.weights, id as usize, activation) + bias);
        }
    }
    y
}
