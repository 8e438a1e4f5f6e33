//! Linear maps on the CPU: weights packed at load, neighbours with equally quantised inputs as one matrix.

use super::{check, mismatch};
use crate::backend::cpu::gemm::{
    BLOCK, Finish, FloatMatrix, Floats, Int8Matrix, Output, pack_dequantized_block,
    pack_float_block,
};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::quantize::{QuantizedRows, RowQuant};
use crate::backend::cpu::{Cpu, Tensor};
use crate::error::Result;
use crate::ops::{ActivationQuant, LinearPart, Weights};

/// Packed weights of one or several matrices with the same input.
#[derive(Debug)]
pub struct CpuLinear {
    in_features: usize,
    out_features: usize,
    groups: Vec<Group>,
}

/// Neighbouring parts whose input is treated alike.
#[derive(Debug)]
struct Group {
    /// First column of its output.
    column: usize,
    matrix: Matrix,
}

/// A packed matrix.
#[derive(Debug)]
pub(crate) enum Matrix {
    Float(FloatMatrix),
    Int8(Int8Matrix),
}

/// How int8 rows are quantised; nothing for float32 products.
pub(crate) fn row_quant(activation: ActivationQuant) -> Option<RowQuant> {
    match activation {
        ActivationQuant::None => None,
        ActivationQuant::Static(multiplier) => Some(RowQuant::Static(multiplier)),
        ActivationQuant::PerRow => Some(RowQuant::PerRow),
        ActivationQuant::Wide => Some(RowQuant::Wide),
    }
}

impl CpuLinear {
    /// Packs `parts`.
    pub fn pack<L: Lanes>(in_features: usize, parts: &[LinearPart]) -> Result<Self> {
        let out_features = check(in_features, parts)?;
        let mut groups = Vec::new();
        let mut column = 0;
        for alike in parts.chunk_by(|a, b| a.activation == b.activation) {
            let matrix = pack_group::<L>(in_features, alike);
            let width = matrix.out_features();
            groups.push(Group { column, matrix });
            column += width;
        }
        Ok(Self { in_features, out_features, groups })
    }

    /// Columns of its output.
    pub fn out_features(&self) -> usize {
        self.out_features
    }
}

fn pack_group<L: Lanes>(in_features: usize, parts: &[LinearPart]) -> Matrix {
    let mut rows = Vec::new();
    let mut bias = Vec::new();
    for part in parts {
        rows.extend((0..part.out_features).map(|row| (part, row)));
        match &part.bias {
            Some(values) => bias.extend_from_slice(values),
            None => bias.resize(bias.len() + part.out_features, 0.0),
        }
    }
    let range = |row: usize| row * in_features..(row + 1) * in_features;
    let quant = parts.first().and_then(|part| row_quant(part.activation));
    if let Some(quant) = quant {
        let rows = rows.iter().map(|&(part, row)| match &part.weights {
            Weights::Int8 { values, multiplier } => (&values[range(row)], *multiplier),
            Weights::F32(_) => (&[][..], 1.0), // refused by `check`
        });
        return Matrix::Int8(Int8Matrix::pack::<L>(in_features, rows, Some(&bias), quant));
    }
    let pack = |first: usize, block: &mut [Floats]| {
        // A block may span parts of either kind, so each row is brought to float32 first.
        let mut floats: [Vec<f32>; BLOCK] = Default::default();
        for (to, &(part, row)) in floats.iter_mut().zip(&rows[first..]) {
            match &part.weights {
                Weights::F32(values) => to.extend_from_slice(&values[range(row)]),
                Weights::Int8 { values, multiplier } => {
                    to.extend(values[range(row)].iter().map(|&w| f32::from(w) / multiplier));
                }
            }
        }
        pack_float_block::<L>(floats.each_ref().map(Vec::as_slice), block);
    };
    Matrix::Float(FloatMatrix::pack(in_features, rows.len(), Some(&bias), pack))
}

impl Matrix {
    pub(crate) fn out_features(&self) -> usize {
        match self {
            Matrix::Float(matrix) => matrix.out_features(),
            Matrix::Int8(matrix) => matrix.out_features(),
        }
    }

    /// Packs rows of int8, each `in_features` long with the same multiplier.
    pub(crate) fn pack_int8_rows<L: Lanes>(
        in_features: usize,
        rows: &[&[i8]],
        multiplier: f32,
        bias: Option<&[f32]>,
        activation: ActivationQuant,
    ) -> Self {
        match row_quant(activation) {
            Some(quant) => {
                let rows = rows.iter().map(|&row| (row, multiplier));
                Matrix::Int8(Int8Matrix::pack::<L>(in_features, rows, bias, quant))
            }
            None => Matrix::Float(FloatMatrix::pack(in_features, rows.len(), bias, |first, to| {
                pack_dequantized_block::<L>(eight(&rows[first..]), multiplier, to);
            })),
        }
    }

    /// Packs rows of float32, each `in_features` long.
    pub(crate) fn pack_float_rows<L: Lanes>(
        in_features: usize,
        rows: &[&[f32]],
        bias: Option<&[f32]>,
    ) -> Self {
        Matrix::Float(FloatMatrix::pack(in_features, rows.len(), bias, |first, to| {
            pack_float_block::<L>(eight(&rows[first..]), to);
        }))
    }
}

/// The first eight of `rows`, empty ones where there are fewer.
fn eight<'a, T>(rows: &[&'a [T]]) -> [&'a [T]; BLOCK] {
    std::array::from_fn(|i| rows.get(i).copied().unwrap_or(&[]))
}

impl<L: Lanes> Cpu<L> {
    /// `input · Wᵀ + b`, finished into `output`, whose rows are as many as the input's.
    pub(crate) fn apply_linear(
        &mut self,
        input: &Tensor,
        weights: &CpuLinear,
        output: &mut Tensor,
        finish: Finish,
    ) {
        let expected = ([input.rows(), weights.in_features], [input.rows(), weights.out_features]);
        let got = ([input.rows(), input.columns()], [output.rows(), output.columns()]);
        if expected != got {
            output.values_mut().fill(0.0);
            return self.record_fault(mismatch("linear", expected, got));
        }
        let stride = weights.out_features;
        if input.rows() == 1 {
            return self.one_row(input.values(), weights, output.values_mut(), finish);
        }
        let rows_each = self.rows_each(input.rows(), weights.in_features.saturating_mul(stride));
        let inputs = input.values().chunks((rows_each * weights.in_features).max(1));
        let outputs = output.values_mut().chunks_mut((rows_each * stride).max(1));
        self.share(inputs.zip(outputs), |(input, output), scratch| {
            weights.multiply_rows::<L>(input, output, finish, &mut scratch.quantized);
        });
    }

    /// As [`Cpu::apply_linear`] for one row, whose columns threads share.
    fn one_row(&mut self, input: &[f32], weights: &CpuLinear, output: &mut [f32], finish: Finish) {
        let blocks = weights.out_features.div_ceil(BLOCK);
        let blocks_each = self.rows_each(blocks, BLOCK * weights.in_features);
        if blocks_each >= blocks {
            let rows = &mut self.scratch.quantized;
            return weights.multiply_rows::<L>(input, output, finish, rows);
        }
        let mut rest = output;
        for group in &weights.groups {
            let (own, others) = rest.split_at_mut(group.matrix.out_features());
            rest = others;
            // The parts need the rows while `self` is lent to them.
            let mut rows = std::mem::take(&mut self.scratch.quantized);
            if let Matrix::Int8(matrix) = &group.matrix {
                let (quant, form) = matrix.input();
                rows.quantize::<L>(input, weights.in_features, quant, form);
            }
            let parts = own.chunks_mut(blocks_each * BLOCK).enumerate();
            self.share(parts, |(index, values), _| {
                let (first, stride) = (*index * blocks_each, values.len());
                let mut output = Output { values, stride, column: 0, finish };
                match &group.matrix {
                    Matrix::Float(matrix) => matrix.multiply_from::<L>(first, input, &mut output),
                    Matrix::Int8(matrix) => matrix.multiply_from::<L>(first, &rows, &mut output),
                }
            });
            self.scratch.quantized = rows;
        }
    }
}

impl CpuLinear {
    /// `input · Wᵀ + b` for rows `[rows, in_features]`, on one thread.
    fn multiply_rows<L: Lanes>(
        &self,
        input: &[f32],
        output: &mut [f32],
        finish: Finish,
        rows: &mut QuantizedRows,
    ) {
        let mut quantized = None;
        for group in &self.groups {
            let (stride, column) = (self.out_features, group.column);
            let mut output = Output { values: output, stride, column, finish };
            match &group.matrix {
                Matrix::Float(matrix) => matrix.multiply::<L>(input, &mut output),
                Matrix::Int8(matrix) => {
                    let (quant, form) = matrix.input();
                    if quantized != Some((quant, form)) {
                        rows.quantize::<L>(input, self.in_features, quant, form);
                        quantized = Some((quant, form));
                    }
                    matrix.multiply::<L>(rows, &mut output);
                }
            }
        }
    }
}
