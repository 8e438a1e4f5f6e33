//! Weights by name from a file into packed form, one tensor after the other.

use super::stored::{self, FileBlocks};
use crate::backend::cpu::blocks::BlockType;
use crate::error::{Decimal, Error, Result};
use crate::formats::{DType, TensorData, TensorFile, TensorInfo};
use crate::model::{
    LinearSpec, MatrixLayout, NormKind, NormSpec, OutputSpec, Rotary, RotaryPairs, StackConfig,
    SublayerNorms,
};
use crate::ops::{
    self, ActivationQuant, BlockBytes, LinearPart, Multiplier, NormSource, Ops, RotarySource,
    Stored, TableSource, Weights,
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
    /// Int8 weights throughout, float32 ones quantised by the largest magnitude of each row of output features (of the
    /// whole matrix in Marian's files); activations are int8 too, scaled by each row's largest magnitude.
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
    /// Treatment of rows that meet int8 weights without a multiplier of their own.
    int8_rows: ActivationQuant,
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
        let int8_rows = ActivationQuant::PerRow;
        Self { ops, file, precision, int8_rows, rotaries: RefCell::default() }
    }

    /// The same, with what is far from the rest of its row kept float32 where weights are int8.
    pub fn keeping_outliers(self) -> Self {
        Self { int8_rows: ActivationQuant::Near, ..self }
    }

    /// The device that it packs for.
    pub fn ops(&self) -> &'a O {
        self.ops
    }

    /// All names the file lacks, in one error.
    pub fn require(&self, names: &[&str]) -> Result<()> {
        let absent = |name: &&&str| self.file.find(name).is_none();
        let tensors: Vec<String> =
            names.iter().filter(absent).map(|name| (*name).to_owned()).collect();
        if tensors.is_empty() {
            return Ok(());
        }
        Err(Error::MissingTensor { file: self.file.name().to_owned(), tensors, extra: Vec::new() })
    }

    /// Linear maps of the same input, side by side.
    pub fn linear(&self, specs: &[&LinearSpec]) -> Result<O::Linear> {
        let in_features = specs.first().map_or(0, |spec| spec.in_features);
        let parts = specs.iter().map(|spec| self.part(spec)).collect::<Result<_>>()?;
        self.ops.linear(in_features, parts)
    }

    /// One of several linear maps of the same input.
    pub(super) fn part(&self, spec: &LinearSpec) -> Result<LinearPart<'a>> {
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
            activation: self.activation(weights.stored(), &spec.activation_multiplier)?,
            weights: self.quantised(weights),
            bias,
        })
    }

    /// A matrix as rows of output features, whatever its layout in the file.
    fn matrix(&self, name: &str, shape: [usize; 2], layout: MatrixLayout) -> Result<Weights<'a>> {
        let tensor = self.find(name, &shape)?;
        let floats = |values: Vec<f32>| match layout {
            MatrixLayout::OutIn => Weights::F32(values),
            MatrixLayout::InOut => Weights::F32(transpose(&values, shape[0], shape[1])),
        };
        if let Some(kind) = self.block_type(tensor)? {
            if layout == MatrixLayout::InOut {
                return Err(self.wrong_type(tensor, "rows of output features"));
            }
            let blocks = FileBlocks { file: self.file, tensor, kind };
            return Ok(Weights::Blocks { kind, bytes: BlockBytes::Stored(Rc::new(blocks)) });
        }
        let by_rows = cfg!(feature = "halves") && layout == MatrixLayout::OutIn;
        if by_rows
            && self.wants_int8()
            && let Some(weights) = stored::int8_rows(self.file, tensor)?
        {
            return Ok(weights);
        }
        match self.read(tensor)? {
            TensorData::F32(values) => Ok(floats(values)),
            TensorData::Int8 { values, multiplier } => {
                let multiplier = self.row_multipliers(tensor, multiplier)?;
                Ok(Weights::Int8 { values, multiplier })
            }
            TensorData::Stored(_) => Err(self.wrong_type(tensor, "a type of weights")),
        }
    }

    /// Whether float32 weights are to become int8.
    fn wants_int8(&self) -> bool {
        matches!(self.precision, Precision::Int8 | Precision::Int8AsMarian)
    }

    /// The multipliers of an int8 matrix: its own, or one a row where there is a tensor `<name>_scale`, `[rows, 1]`, of
    /// their inverses (the layout of compressed-tensors).
    fn row_multipliers(&self, tensor: &TensorInfo, own: f32) -> Result<Multiplier> {
        if tensor.dtype != DType::Int8 || !cfg!(feature = "encoder") {
            return Ok(Multiplier::One(own));
        }
        let (name, rows) = (format!("{}_scale", tensor.name), tensor.shape.first().copied());
        let scales = self.floats(&name, &[rows.unwrap_or(0), 1])?;
        let is_bad = |scale: f32| !scale.recip().is_finite() || scale <= 0.0;
        match scales.iter().enumerate().find(|(_, scale)| is_bad(**scale)) {
            None => Ok(Multiplier::Rows(scales.into_iter().map(f32::recip).collect())),
            Some((at, scale)) => {
                let start = self.file.find(&name).map_or(0, |scales| scales.bytes.start);
                Err(Error::Tensor {
                    file: self.file.name().to_owned(),
                    offset: start,
                    what: format!(
                        "value {at} is {}, expected above 0, with an inverse",
                        Decimal(*scale)
                    ),
                    tensor: name,
                })
            }
        }
    }

    /// The block format that a tensor has, if this build reads it.
    fn block_type(&self, tensor: &TensorInfo) -> Result<Option<BlockType>> {
        let kind = stored::block_type(tensor.dtype);
        let is_half = matches!(tensor.dtype, DType::F16 | DType::BF16);
        let is_read = match kind {
            Some(_) => cfg!(feature = "blocks"),
            None => cfg!(feature = "halves") || !is_half,
        };
        if !is_read {
            return Err(self.wrong_type(tensor, "float32 or int8 in this build"));
        }
        Ok(kind)
    }

    /// The values of a tensor that is not in blocks; those of sixteen bits become float32.
    fn read(&self, tensor: &TensorInfo) -> Result<TensorData> {
        match tensor.dtype {
            DType::F16 | DType::BF16 if cfg!(feature = "halves") => {
                let values = stored::floats(self.file, tensor)?;
                Ok(TensorData::F32(values.unwrap_or_default()))
            }
            _ => self.file.read(tensor),
        }
    }

    /// Treatment of the rows that meet these weights.
    fn activation(&self, weights: Stored, names: &[String]) -> Result<ActivationQuant> {
        let quantised = weights == Stored::Int8;
        if weights == Stored::Blocks {
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
            _ => return Ok(self.int8_rows),
        }
        let Some(name) = names.iter().find(|name| self.file.find(name).is_some()) else {
            return Ok(self.int8_rows);
        };
        match self.vector(name, 1)?.first().copied().unwrap_or_default() {
            multiplier if multiplier.is_finite() && multiplier > 0.0 => {
                Ok(ActivationQuant::Static(multiplier))
            }
            found => Err(Error::Format {
                file: self.file.name().to_owned(),
                offset: self.file.find(name).map(|tensor| tensor.bytes.start),
                what: format!(
                    "activation multiplier {name} is {}, expected above 0",
                    Decimal(found)
                ),
            }),
        }
    }

    /// Float32 weights become int8 if that is what was asked for.
    fn quantised(&self, weights: Weights<'a>) -> Weights<'a> {
        match weights {
            Weights::F32(values) if self.wants_int8() => quantise(&values),
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
    pub fn output_table(&self, spec: &OutputSpec) -> Result<O::Table> {
        let (name, rows, columns) = (&spec.table, spec.vocab_size, spec.in_features);
        let shape = match spec.layout {
            MatrixLayout::InOut => [columns, rows],
            MatrixLayout::OutIn => [rows, columns],
        };
        let weights = self.quantised(self.matrix(name, shape, spec.layout)?);
        self.ops.table(TableSource { name: name.clone(), rows, columns, weights })
    }

    /// Treatment of the rows that meet the output projection.
    pub fn output_activation(&self, spec: &OutputSpec) -> Result<ActivationQuant> {
        let weights = match self.file.find(&spec.table).map(|tensor| tensor.dtype) {
            Some(dtype) if dtype.is_int8() => Stored::Int8,
            Some(dtype) if dtype.block_len() > 1 => Stored::Blocks,
            _ => Stored::F32,
        };
        Ok(match self.activation(weights, &spec.activation_multiplier)? {
            // The whole table is multiplied as it lies, which knows no outliers, and where int16 costs no more.
            ActivationQuant::Near => ActivationQuant::Wide,
            other => other,
        })
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
        if let (Some(&bad), Some(name)) =
            (factors.iter().find(|factor| **factor <= 0.0), &spec.factors)
        {
            let bad = Decimal(bad);
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
        let tensor = self.find(name, shape)?;
        if self.block_type(tensor)?.is_some() {
            return Ok(stored::floats(self.file, tensor)?.unwrap_or_default());
        }
        match self.read(tensor)? {
            TensorData::F32(values) => Ok(values),
            _ => Err(self.wrong_type(tensor, "float32")),
        }
    }

    /// A vector of `len` float32 values; the file may have it as `[len]` or `[1, len]`.
    pub fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        self.floats(name, &[len])
    }

    /// The file has a tensor in another type than is read here.
    fn wrong_type(&self, tensor: &TensorInfo, expected: &str) -> Error {
        Error::Format {
            file: self.file.name().to_owned(),
            offset: Some(tensor.bytes.start),
            what: format!("tensor {} is {}, expected {expected}", tensor.name, tensor.dtype),
        }
    }

    /// The tensor `name`, whose shape, leading ones aside, is `shape`.
    fn find(&self, name: &str, shape: &[usize]) -> Result<&'a TensorInfo> {
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
        Ok(tensor)
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
fn quantise(values: &[f32]) -> Weights<'static> {
    let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    // 0, or so small that its inverse has no float32
    let multiplier = Some(127.0 / largest).filter(|inverse| inverse.is_finite()).unwrap_or(1.0);
    let values = values.iter().map(|value| libm::rintf(value * multiplier) as i8).collect();
    Weights::Int8 { values, multiplier: Multiplier::One(multiplier) }
}
