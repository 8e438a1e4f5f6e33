//! Values of a Marian configuration, checked: numbers, sublayer operations, layers that share weights.

use crate::error::{Error, Result};
use crate::formats::marian_config::MarianConfig;
use crate::model::{LinearSpec, MatrixLayout};

/// No public model comes near; a larger figure is a damaged file.
pub(super) const MAX_DEPTH: u64 = 1024;

/// What is done to a stream before or after a sublayer: Marian's strings of one letter an operation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) add: bool,
    pub(super) norm: bool,
}

/// Before 1.12, Marian's `gelu` was `x · sigmoid(1.702 · x)`.
pub(super) fn has_sigmoid_gelu(version: Option<&str>) -> bool {
    let mut numbers = version.unwrap_or_default().trim_start_matches('v').split('.');
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    next().zip(next()).is_none_or(|version| version < (1, 12))
}

/// `transformer-tied-layers` lists, for each layer, the 1-based layer whose weights it uses.
pub(super) fn tied_layer(tied: &[&str], index: usize, file: &str) -> Result<usize> {
    match tied.get(index) {
        None => Ok(index + 1),
        Some(layer) => layer.parse::<usize>().ok().filter(|layer| *layer >= 1).ok_or_else(|| {
            invalid(file, format!("transformer-tied-layers has '{layer}', not a layer number"))
        }),
    }
}

pub(super) fn parse_process(
    config: &MarianConfig,
    file: &str,
    key: &str,
    default: &str,
) -> Result<Process> {
    let mut process = Process::default();
    for letter in config.string(key)?.unwrap_or(default).chars() {
        match letter {
            'd' => {} // drop-out, absent when translating
            'a' => process.add = true,
            // Order matters: a sum after the norm is another network.
            'n' => process.norm = true,
            other => {
                return Err(Error::Unsupported {
                    file: file.to_owned(),
                    what: format!("operation '{other}' in {key}; known: d, a, n"),
                });
            }
        }
        if letter == 'a' && process.norm {
            return Err(Error::Unsupported {
                file: file.to_owned(),
                what: format!("{key} adds after it normalises; known: 'a' before 'n'"),
            });
        }
    }
    Ok(process)
}

pub(super) fn depth(config: &MarianConfig, file: &str, key: &str) -> Result<usize> {
    let depth = integer(config, file, key, 1)?;
    if depth == 0 || depth as u64 > MAX_DEPTH {
        return Err(invalid(file, format!("{key} is {depth}, expected 1 to {MAX_DEPTH}")));
    }
    Ok(depth)
}

pub(super) fn required(config: &MarianConfig, file: &str, key: &str) -> Result<usize> {
    match integer(config, file, key, 0)? {
        0 => Err(invalid(file, format!("its configuration lacks {key}"))),
        value => Ok(value),
    }
}

/// Widths are bounded so that no product of two can overflow.
pub(super) fn integer(
    config: &MarianConfig,
    file: &str,
    key: &str,
    default: usize,
) -> Result<usize> {
    let value = config.integer(key)?.unwrap_or(default as u64);
    if value > 1 << 24 {
        return Err(invalid(file, format!("{key} is {value}, more than any model has")));
    }
    Ok(value as usize)
}

pub(super) fn invalid(file: &str, what: String) -> Error {
    Error::Format { file: file.to_owned(), offset: None, what }
}

/// A linear map as it lies in these files.
pub(super) fn linear(
    weight: &str,
    bias: Option<String>,
    in_features: usize,
    out_features: usize,
) -> LinearSpec {
    LinearSpec {
        weight: weight.to_owned(),
        bias,
        activation_multiplier: vec![format!("{weight}_QuantMultA")],
        in_features,
        out_features,
        layout: MatrixLayout::InOut,
    }
}
