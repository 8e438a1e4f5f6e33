//! Linear maps y = x·Wᵀ + b, several side by side: checks and reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "gpu")]
mod gpu_plan;

use super::{ActivationQuant, LinearPart, Multiplier, Stored, Weights};
use crate::backend::cpu::gemm::MAX_IN_FEATURES;
use crate::backend::cpu::quantize::wide_limit;
use crate::error::{Decimal, Error, Result};

/// An [`Error::Internal`] about the shapes of `op`.
pub(crate) fn mismatch(
    op: &str,
    expected: impl std::fmt::Debug,
    got: impl std::fmt::Debug,
) -> Error {
    Error::Internal { what: format!("{op}: expected {expected:?}, got {got:?}") }
}

/// Checks that `weights` fill `[rows, columns]`, that `bias` has `rows` values, and that the treatment of
/// activations goes with them.
pub fn check_weights(
    name: &str,
    [rows, columns]: [usize; 2],
    weights: &Weights<'_>,
    bias: Option<&[f32]>,
    activation: ActivationQuant,
) -> Result<()> {
    let expected = rows
        .checked_mul(columns)
        .ok_or_else(|| mismatch(name, "a size in memory", [rows, columns]))?;
    let got = match weights {
        Weights::F32(values) => values.len(),
        Weights::Int8 { values, multiplier } => {
            let is_bad = |multiplier: &&f32| !multiplier.is_finite() || **multiplier <= 0.0;
            if let Some(bad) = multiplier.all().iter().find(is_bad) {
                let bad = Decimal(*bad).to_string();
                return Err(mismatch(name, "a positive weight multiplier", bad));
            }
            if let Multiplier::Rows(multipliers) = multiplier
                && multipliers.len() != rows
            {
                return Err(mismatch(name, format!("{rows} multipliers"), multipliers.len()));
            }
            values.len()
        }
        Weights::Blocks { .. } if !cfg!(feature = "blocks") => {
            return Err(mismatch(name, "weights that this build reads", "blocks"));
        }
        Weights::Blocks { kind, bytes } => {
            if !columns.is_multiple_of(kind.values()) {
                return Err(mismatch(name, format!("rows of whole blocks of {kind:?}"), columns));
            }
            let blocks = usize::try_from(bytes.len() / kind.bytes() as u64);
            blocks.ok().and_then(|blocks| blocks.checked_mul(kind.values())).unwrap_or(usize::MAX)
        }
    };
    if got != expected {
        return Err(mismatch(name, [rows, columns], format!("{got} values")));
    }
    check_use(name, [rows, columns], weights.stored(), bias, activation)
}

/// Checks that `bias` has a value for each of the rows, and that the treatment of activations goes with the weights.
pub fn check_use(
    name: &str,
    [rows, columns]: [usize; 2],
    weights: Stored,
    bias: Option<&[f32]>,
    activation: ActivationQuant,
) -> Result<()> {
    if let Some(bias) = bias
        && bias.len() != rows
    {
        return Err(mismatch(name, format!("{rows} biases"), bias.len()));
    }
    match (weights, activation) {
        (_, ActivationQuant::None) => Ok(()),
        (Stored::Blocks, ActivationQuant::PerGroup) => Ok(()),
        (Stored::Blocks, _) | (_, ActivationQuant::PerGroup) => Err(mismatch(
            name,
            "activations by group for blocks, and only there",
            activation.name(),
        )),
        (Stored::F32, _) => Err(mismatch(name, "int8 weights for int8 activations", "float32")),
        (_, ActivationQuant::Static(alpha)) if !alpha.is_finite() || alpha <= 0.0 => {
            let alpha = Decimal(alpha).to_string();
            Err(mismatch(name, "a positive activation multiplier", alpha))
        }
        _ if columns > MAX_IN_FEATURES => {
            Err(mismatch(name, format!("at most {MAX_IN_FEATURES} int8 columns"), columns))
        }
        _ => Ok(()),
    }
}

/// Checks the parts of one linear map; returns the columns of its output.
pub fn check(in_features: usize, parts: &[LinearPart<'_>]) -> Result<usize> {
    let mut out_features = 0usize;
    for part in parts {
        let shape = [part.out_features, in_features];
        let bias = part.bias.as_deref();
        check_weights(&part.name, shape, &part.weights, bias, part.activation)?;
        out_features = out_features
            .checked_add(part.out_features)
            .ok_or_else(|| mismatch(&part.name, "a size in memory", shape))?;
    }
    Ok(out_features)
}

/// `y[r, o] = Σ_k x[r, k] · w[o, k] + b[o]` for `input` `[rows, in_features]`; the parts' columns lie side by side.
///
/// Int8: `Σ_k q[r, k] · w[o, k]` in integers, `q = clamp(round_half_even(x · alpha), ±127)`, times
/// 1 / (alpha · multiplier). Int8 weights with float32 activations: `w = int8 / multiplier`. Blocks: `w` as their format
/// says, `x` as it is or rounded in its group, and sums in double precision.
pub fn reference(input: &[f32], in_features: usize, parts: &[LinearPart<'_>]) -> Vec<f32> {
    let mut output = Vec::new();
    for x in input.chunks(in_features.max(1)) {
        for part in parts {
            for o in 0..part.out_features {
                let bias = part.bias.as_ref().map_or(0.0, |bias| bias[o]);
                output.push(reference_dot(x, &part.weights, o, part.activation) + bias);
            }
        }
    }
    output
}

/// One row times the row `o` of `weights`.
pub fn reference_dot(
    x: &[f32],
    weights: &Weights<'_>,
    o: usize,
    activation: ActivationQuant,
) -> f32 {
    let range = o * x.len()..(o + 1) * x.len();
    let (values, multiplier) = match weights {
        Weights::F32(values) => {
            return x.iter().zip(&values[range]).fold(0.0, |sum, (x, w)| sum + x * w);
        }
        Weights::Blocks { kind, bytes } => {
            let width = x.len() / kind.values() * kind.bytes();
            let mut weights = vec![0.0; x.len()];
            kind.dequantize(bytes.held(o * width..(o + 1) * width), &mut weights);
            let rounded = match activation {
                ActivationQuant::None => x.iter().map(|&x| f64::from(x)).collect(),
                _ => rounded(x, kind.form().size),
            };
            let products = rounded.into_iter().zip(weights).map(|(x, w)| x * f64::from(w));
            return products.sum::<f64>() as f32;
        }
        Weights::Int8 { values, multiplier } => (&values[range], multiplier.of(o)),
    };
    let limit = match activation {
        ActivationQuant::Wide => wide_limit(x.len()),
        _ => 127.0,
    };
    let (alpha, scale) = match activation {
        ActivationQuant::None => {
            let products = x.iter().zip(values).map(|(x, &w)| x * (f32::from(w) / multiplier));
            return products.fold(0.0, |sum, product| sum + product);
        }
        ActivationQuant::Static(alpha) => (alpha, 1.0 / (alpha * multiplier)),
        ActivationQuant::Near => return near_dot(x, values, multiplier),
        ActivationQuant::PerRow | ActivationQuant::Wide | ActivationQuant::PerGroup => {
            let greatest = x.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs()));
            let alpha = if greatest > 0.0 { limit / greatest } else { 0.0 };
            let row_scale = if alpha > 0.0 { 1.0 / alpha } else { 0.0 };
            (alpha, row_scale * (1.0 / multiplier))
        }
    };
    let mut sum = 0i32;
    for (x, &w) in x.iter().zip(values) {
        let q = (x * alpha).round_ties_even().clamp(-limit, limit) as i32;
        sum += q * i32::from(w);
    }
    sum as f32 * scale
}

/// [`reference_dot`] of [`ActivationQuant::Near`]: the row without what is farther than eight times the root of its mean
/// square, as integers, and that as it is, in double precision.
fn near_dot(x: &[f32], weights: &[i8], multiplier: f32) -> f32 {
    let squares: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let limit = 8.0 * (squares / x.len() as f64).sqrt();
    let is_near = |x: &&f32| f64::from(x.abs()) <= limit;
    let greatest = x.iter().filter(is_near).fold(0.0f32, |greatest, x| greatest.max(x.abs()));
    let alpha = if greatest > 0.0 { 127.0 / greatest } else { 0.0 };
    let scale = if alpha > 0.0 { 1.0 / f64::from(alpha) } else { 0.0 };
    let mut sum = 0.0;
    for (x, &w) in x.iter().zip(weights) {
        let rounded = match is_near(&x) {
            true => f64::from((x * alpha).round_ties_even()) * scale,
            false => f64::from(*x),
        };
        sum += rounded * f64::from(w) / f64::from(multiplier);
    }
    sum as f32
}

/// A row as products of blocks see it: each group of `size` rounded to integers of at most 127, but for values more than
/// six times the root of the row's mean square.
fn rounded(x: &[f32], size: usize) -> Vec<f64> {
    let squares: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let limit = 6.0 * (squares / x.len() as f64).sqrt();
    let is_near = |x: &&f32| f64::from(x.abs()) <= limit;
    let group = |group: &[f32]| -> Vec<f64> {
        let near = group.iter().filter(is_near);
        let multiplier = 127.0 / near.fold(0.0f32, |greatest, x| greatest.max(x.abs()));
        let round = |x: &f32| match is_near(&x) {
            true if multiplier.is_finite() => {
                f64::from((x * multiplier).round_ties_even()) / f64::from(multiplier)
            }
            true => 0.0,
            false => f64::from(*x),
        };
        group.iter().map(round).collect()
    };
    x.chunks(size).flat_map(group).collect()
}
