//! Normalisation of rows, by mean and variance or by the root of the mean square: checks and reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::linear::mismatch;
use crate::error::Result;

/// What a normalisation divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// `√(variance + eps)`, after the mean was taken off (Ba et al. 2016).
    Layer,
    /// `√(mean square + eps)` (Zhang and Sennrich 2019).
    Rms,
}

/// Normalisation of each row, then `· scale + bias`.
#[derive(Debug, Clone, PartialEq)]
pub struct NormSource {
    /// What it divides by.
    pub kind: NormKind,
    /// `[hidden_size]`.
    pub scale: Vec<f32>,
    /// `[hidden_size]`; absent in models trained without.
    pub bias: Option<Vec<f32>>,
    /// Added to what the root is taken of.
    pub eps: f32,
}

/// Checks the lengths of a normalisation's vectors.
pub fn check(source: &NormSource) -> Result<()> {
    match &source.bias {
        Some(bias) if bias.len() != source.scale.len() => {
            Err(mismatch("norm", source.scale.len(), bias.len()))
        }
        _ => Ok(()),
    }
}

/// `y[r, c] = (x[r, c] − mean) / √(variance + eps) · scale[c] + bias[c]`, mean and variance over the row `r`
/// (divided by the number of columns), in double precision; with [`NormKind::Rms`] the mean counts as 0.
pub fn reference(x: &[f32], norm: &NormSource) -> Vec<f32> {
    let columns = norm.scale.len();
    let mut y = Vec::new();
    for row in x.chunks(columns.max(1)) {
        let n = columns as f64;
        let mean = match norm.kind {
            NormKind::Layer => row.iter().map(|&x| f64::from(x)).sum::<f64>() / n,
            NormKind::Rms => 0.0,
        };
        let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        let inverse = 1.0 / (variance + f64::from(norm.eps)).sqrt();
        for (c, &x) in row.iter().enumerate() {
            let bias = norm.bias.as_ref().map_or(0.0, |bias| f64::from(bias[c]));
            y.push(((f64::from(x) - mean) * inverse * f64::from(norm.scale[c]) + bias) as f32);
        }
    }
    y
}
