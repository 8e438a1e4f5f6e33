//! Layer normalisation (Ba et al. 2016): checks and reference.

pub mod cpu;

use super::NormSource;
use super::linear::mismatch;
use crate::error::Result;

/// Checks the lengths of a normalisation's vectors.
pub fn check(source: &NormSource) -> Result<()> {
    match &source.bias {
        Some(bias) if bias.len() != source.scale.len() => {
            Err(mismatch("layer norm", source.scale.len(), bias.len()))
        }
        _ => Ok(()),
    }
}

/// `y[r, c] = (x[r, c] − mean) / √(variance + eps) · scale[c] + bias[c]`, mean and variance over the row `r`
/// (divided by the number of columns), in double precision.
pub fn reference(x: &[f32], norm: &NormSource) -> Vec<f32> {
    let columns = norm.scale.len();
    let mut y = Vec::new();
    for row in x.chunks(columns.max(1)) {
        let n = columns as f64;
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        let inverse = 1.0 / (variance + f64::from(norm.eps)).sqrt();
        for (c, &x) in row.iter().enumerate() {
            let bias = norm.bias.as_ref().map_or(0.0, |bias| f64::from(bias[c]));
            y.push(((f64::from(x) - mean) * inverse * f64::from(norm.scale[c]) + bias) as f32);
        }
    }
    y
}
