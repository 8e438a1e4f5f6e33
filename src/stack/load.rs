//! Weights by name from a file into packed form, one tensor after the other.

use crate::backend::cpu::blocks::{BlockType, bf16_to_f32, f16_to_f32};
use crate::error::{Error, Result};
use crate::formats::{DType, TensorData, TensorFile};
use crate::model::{
    LinearSpec, MatrixLayout, NormKind, NormSpec, OutputSpec, Rotary, RotaryPairs, StackConfig,
    SublayerNorms,
};
use crate::ops::{
    self, ActivationQuant, LinearPart, NormSource, Ops, RotarySource, TableSource, Weights,
};
use std::{cell::RefCell, rc::Rc};

/// Arithmetic of the matrix products.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// `Int8` where the file's weights are quantised, else `Float32`.
    #[default]
    Auto,
    /// Float32 throughout; int8 weights are expanded.
    Float32,
    /// Int8 weights throughout, float32 ones quantised by their largest magnitude; activations are int8 too, scaled
    /// by each row's largest magnitude.
    Int8,
    /// As `Int8`, with the activation multipliers of the file where it has any: what Marian computes.
    Int8AsMarian,
    /// As `Auto`, with activations of int16, but for weights in blocks: next to nothing is lost but what the weights lost.
    Int16Activations,
}

/// Reads the tensors a description names.
pub struct Loader<'a, O: Ops> {
    ops: &'a O,
    file: &'a dyn TensorFile,
    precision: Precision,
    /// Rotary positions that are loaded: most models have one kind for all blocks.
    rotaries: RefCell<Vec<(Rotary, Rc<O::Rotary>)>>,
}

/// Normalisations of a sublayer, packed.
pub struct Norms<O: Ops> {
    /// Of its input.
    pub before: Option<O::Norm>,
    /// Of its output.
    pub output: Option<O::Norm>,
    /// Of the stream after it.
    pub after: Option<O::Norm>,
}

impl<'a, O: Ops> Loader<'a, O> {
    /// Reads from `file` what `ops` packs.
    pub fn new(ops: &'a O, file: &'a dyn TensorFile, precision: Precision) -> Self {
        Self { ops, file, precision, rotaries: RefCell::default() }
    }
    /// All names the file lacks, in one error.
    pub fn require(&self, names: &[&str]) -> Result<()> {
        let absent = |name: &&&str| self.file.find(name).is_none();
        let tensors: Vec<String> =
            names.iter().filter(absent).map(|name| (*name).to_owned()).collect();
        if tensors.is_empty() {
            return Ok(());
        }
        Err(Error::MissingTensor { file: self.file.name().to_owned(), tensors })
    }

    /// Linear maps of the same input, side by side.
    pub fn linear(&self, specs: &[&LinearSpec]) -> Result<O::Linear> {
        let in_features = specs.first().map_or(0, |spec| spec.in_features);
        let parts = specs.iter().map(|spec| self.part(spec)).collect::<Result<_>>()?;
        self.ops.linear(in_features, parts)
    }

    fn part(&self, spec: &LinearSpec) -> Result<LinearPart> {
        let shape = match spec.layout {
            MatrixLayout::InOut => [spec.in_features, spec.out_features],
            MatrixLayout::OutIn => [spec.out_features, spec.in_features],
        };
        let weights = self.matrix(&spec.weight, shape, spec.layout)?;
        let bias =
            spec.bias.as_deref().map(|name| self.vector(name, spec.out_features)).transpose()?;
        Ok(LinearPart {
            name: spec.weight.clone(),
            out_features: spec.out_features,
            activation: self.activation(&weights, &spec.activation_multiplier)?,
            weights: self.quantised(weights),
            bias,
        })
    }

    /// A matrix as rows of output features, whatever its layout in the file.
    fn matrix(&self, name: &str, shape: [usize; 2], layout: MatrixLayout) -> Result<Weights> {
        Ok(match self.tensor(name, &shape)? {
            TensorData::F32(values) => Weights::F32(match layout {
                MatrixLayout::OutIn => values,
                MatrixLayout::InOut => transpose(&values, shape[0], shape[1]),
            }),
            TensorData::Int8 { values, multiplier } => Weights::Int8 { values, multiplier },
            TensorData::Stored(bytes) => match (self.stored(name, bytes)?, layout) {
                (Weights::F32(values), MatrixLayout::InOut) => {
                    Weights::F32(transpose(&values, shape[0], shape[1]))
                }
                (Weights::Blocks { .. }, MatrixLayout::InOut) => {
                    return Err(self.wrong_type(name, "rows of output features"));
                }
                (weights, _) => weights,
            },
        })
    }

    /// Values of another type: those of sixteen bits become float32, blocks stay what they are.
    fn stored(&self, name: &str, bytes: Vec<u8>) -> Result<Weights> {
        if !cfg!(feature = "blocks") {
            return Err(self.wrong_type(name, "float32 or int8 in this build"));
        }
        let found = self.file.find(name);
        let dtype = found.map(|tensor| tensor.dtype);
        let not_finite = |at: usize, what: &str| Error::Tensor {
            file: self.file.name().to_owned(),
            tensor: name.to_owned(),
            offset: found.map_or(0, |tensor| tensor.bytes.start) + at as u64,
            what: format!("{what} is infinite or no number, expected a finite one"),
        };
        let halves = |convert: fn(u16) -> f32| {
            let pairs = bytes.as_chunks::<2>().0.iter();
            let values = pairs.map(|pair| convert(u16::from_le_bytes(*pair))).collect::<Vec<_>>();
            match values.iter().position(|value| !value.is_finite()) {
                None => Ok(Weights::F32(values)),
                Some(at) => Err(not_finite(2 * at, &format!("value {at}"))),
            }
        };
        let kind = match dtype {
            Some(DType::F16) => return halves(f16_to_f32),
            Some(DType::BF16) => return halves(bf16_to_f32),
            Some(DType::Q8_0) => BlockType::Q8_0,
            Some(DType::Q4_0) => BlockType::Q4_0,
            Some(DType::Q4_1) => BlockType::Q4_1,
            Some(DType::Q5_0) => BlockType::Q5_0,
            Some(DType::Q5_1) => BlockType::Q5_1,
            Some(DType::Iq4Nl) => BlockType::Iq4Nl,
            Some(DType::Q4K) => BlockType::Q4K,
            Some(DType::Q5K) => BlockType::Q5K,
            Some(DType::Q6K) => BlockType::Q6K,
            _ => return Err(self.wrong_type(name, "a type of weights")),
        };
        match kind.find_not_finite(&bytes) {
            None => Ok(Weights::Blocks { kind, bytes }),
            Some(at) => Err(not_finite(at * kind.bytes(), &format!("a scale of block {at}"))),
        }
    }

    /// Treatment of the rows that meet these weights.
    fn activation(&self, weights: &Weights, names: &[String]) -> Result<ActivationQuant> {
        let quantised = matches!(weights, Weights::Int8 { .. });
        if let Weights::Blocks { .. } = weights {
            return Ok(match self.precision {
                Precision::Float32 => ActivationQuant::None,
                _ => ActivationQuant::PerGroup,
            });
        }
        let int8 = match self.precision {
            Precision::Auto | Precision::Int16Activations => quantised,
            Precision::Float32 => false,
            Precision::Int8 | Precision::Int8AsMarian => true,
        };
        if !int8 {
            return Ok(ActivationQuant::None);
        }
        match self.precision {
            Precision::Int16Activations => return Ok(ActivationQuant::Wide),
            Precision::Int8AsMarian => {}
            _ => return Ok(ActivationQuant::PerRow),
        }
        let Some(name) = names.iter().find(|name| self.file.find(name).is_some()) else {
            return Ok(ActivationQuant::PerRow);
        };
        match self.vector(name, 1)?.first() {
            Some(&multiplier) if multiplier.is_finite() && multiplier > 0.0 => {
                Ok(ActivationQuant::Static(multiplier))
            }
            found => Err(Error::Format {
                file: self.file.name().to_owned(),
                offset: self.file.find(name).map(|tensor| tensor.bytes.start),
                what: format!("activation multiplier {name} is {found:?}, expected above 0"),
            }),
        }
    }

    /// Float32 weights become int8 if that is what was asked for.
    fn quantised(&self, weights: Weights) -> Weights {
        match weights {
            Weights::F32(values)
                if matches!(self.precision, Precision::Int8 | Precision::Int8AsMarian) =>
            {
                quantise(&values)
            }
            other => other,
        }
    }

    /// The embedding table `name`, `[rows, columns]`.
    pub fn table(&self, name: &str, rows: usize, columns: usize) -> Result<O::Table> {
        let weights = self.matrix(name, [rows, columns], MatrixLayout::OutIn)?;
        let weights = self.quantised(weights);
        self.ops.table(TableSource { name: name.to_owned(), rows, columns, weights })
    }

    /// An output projection that is not tied to an embedding table.
    pub fn output_table(&self, spec: &OutputSpec, columns: usize) -> Result<O::Table> {
        let (name, rows) = (&spec.table, spec.vocab_size);
        let shape = match spec.layout {
            MatrixLayout::InOut => [columns, rows],
            MatrixLayout::OutIn => [rows, columns],
        };
        let weights = self.quantised(self.matrix(name, shape, spec.layout)?);
        self.ops.table(TableSource { name: name.clone(), rows, columns, weights })
    }

    /// Treatment of the rows that meet the output projection.
    pub fn output_activation(&self, spec: &OutputSpec) -> Result<ActivationQuant> {
        // Only the kind of the weights matters here, not their values.
        let kind = match self.file.find(&spec.table).map(|tensor| tensor.dtype) {
            Some(dtype) if dtype.is_int8() => Weights::Int8 { values: Vec::new(), multiplier: 1.0 },
            Some(dtype) if dtype.block_len() > 1 => {
                Weights::Blocks { kind: BlockType::Q8_0, bytes: Vec::new() }
            }
            _ => Weights::F32(Vec::new()),
        };
        self.activation(&kind, &spec.activation_multiplier)
    }

    /// A normalisation over rows of `width`.
    pub fn norm(&self, spec: &NormSpec, width: usize, config: &StackConfig) -> Result<O::Norm> {
        let scale = self.vector(&spec.scale, width)?;
        let bias = spec.bias.as_deref().map(|name| self.vector(name, width)).transpose()?;
        let kind = match config.norm {
            NormKind::Layer => ops::NormKind::Layer,
            NormKind::Rms => ops::NormKind::Rms,
        };
        self.ops.norm(NormSource { kind, scale, bias, eps: config.norm_eps })
    }

    /// The normalisations around a sublayer.
    pub fn norms(&self, spec: &SublayerNorms, config: &StackConfig) -> Result<Norms<O>> {
        let one = |spec: &Option<NormSpec>| {
            spec.as_ref().map(|spec| self.norm(spec, config.hidden_size, config)).transpose()
        };
        Ok(Norms {
            before: one(&spec.before)?,
            output: one(&spec.output)?,
            after: one(&spec.after)?,
        })
    }

    /// Rotary positions; blocks with the same share them.
    pub fn rotary(&self, spec: &Rotary) -> Result<Rc<O::Rotary>> {
        if let Some((_, loaded)) = self.rotaries.borrow().iter().find(|(other, _)| other == spec) {
            return Ok(Rc::clone(loaded));
        }
        let pairs = spec.dims / 2;
        let factors = match &spec.factors {
            Some(name) => self.vector(name, pairs)?,
            None => vec![1.0; pairs],
        };
        if let (Some(bad), Some(name)) =
            (factors.iter().find(|factor| **factor <= 0.0), &spec.factors)
        {
            return Err(Error::Format {
                file: self.file.name().to_owned(),
                offset: self.file.find(name).map(|tensor| tensor.bytes.start),
                what: format!("tensor {name} has the divisor {bad}, expected all above 0"),
            });
        }
        let log_base = libm::log(f64::from(spec.base));
        let frequency = |(i, factor): (usize, f32)| {
            let plain = libm::exp(-log_base * (2 * i) as f64 / spec.dims as f64);
            (plain * f64::from(spec.scale) / f64::from(factor)) as f32
        };
        let loaded = Rc::new(self.ops.rotary(RotarySource {
            frequencies: factors.into_iter().enumerate().map(frequency).collect(),
            pairs: match spec.pairs {
                RotaryPairs::Neighbours => ops::RotaryPairs::Neighbours,
                RotaryPairs::Halves => ops::RotaryPairs::Halves,
            },
        })?);
        self.rotaries.borrow_mut().push((spec.clone(), Rc::clone(&loaded)));
        Ok(loaded)
    }

    /// All values of a tensor of the shape `shape`, as float32.
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let stored = match self.tensor(name, shape)? {
            TensorData::F32(values) => return Ok(values),
            TensorData::Int8 { .. } => return Err(self.wrong_type(name, "float32")),
            TensorData::Stored(bytes) => self.stored(name, bytes)?,
        };
        match stored {
            Weights::F32(values) => Ok(values),
            Weights::Blocks { kind, bytes } => {
                let mut values = vec![0.0; bytes.len() / kind.bytes() * kind.values()];
                kind.dequantize(&bytes, &mut values);
                Ok(values)
            }
            Weights::Int8 { .. } => Err(self.wrong_type(name, "float32")),
        }
    }

    /// A vector of `len` float32 values; the file may have it as `[len]` or `[1, len]`.
    pub fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        self.floats(name, &[len])
    }

    /// The file has a tensor in another type than is read here.
    fn wrong_type(&self, name: &str, expected: &str) -> Error {
        let found = self.file.find(name);
        let dtype = found.map(|tensor| tensor.dtype.to_string()).unwrap_or_default();
        Error::Format {
            file: self.file.name().to_owned(),
            offset: found.map(|tensor| tensor.bytes.start),
            what: format!("tensor {name} is {dtype}, expected {expected}"),
        }
    }

    /// The values of a tensor whose shape, leading ones aside, is `shape`.
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorData> {
        self.require(&[name])?;
        let Some(tensor) = self.file.find(name) else {
            return Err(Error::Internal { what: format!("{name} vanished") });
        };
        if significant(&tensor.shape) != significant(shape) {
            return Err(Error::Shape {
                file: self.file.name().to_owned(),
                tensor: name.to_owned(),
                expected: format!("{shape:?}"),
                got: format!("{:?}", tensor.shape),
            });
        }
        self.file.read(tensor)
    }
}

/// A shape without its leading ones.
fn significant(shape: &[usize]) -> &[usize] {
    let ones = shape.iter().take_while(|dim| **dim == 1).count();
    shape.get(ones..).unwrap_or_default()
}

/// `[rows, columns]` → `[columns, rows]`.
fn transpose(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns)
        .flat_map(|column| values.iter().skip(column).step_by(columns.max(1)).take(rows).copied())
        .collect()
}

/// Symmetric quantisation by the largest magnitude: value ≈ int8 / multiplier, |int8| ≤ 127.
fn quantise(values: &[f32]) -> Weights {
    let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    // 0, or so small that its inverse has no float32
    let multiplier = Some(127.0 / largest).filter(|inverse| inverse.is_finite()).unwrap_or(1.0);
    let values = values.iter().map(|value| libm::rintf(value * multiplier) as i8).collect();
    Weights::Int8 { values, multiplier }
}
