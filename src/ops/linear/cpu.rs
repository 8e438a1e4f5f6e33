//! Linear maps on the CPU: weights packed at load, neighbours with equally quantised inputs as one matrix.

use super::{check, mismatch};
use crate::backend::cpu::blocks::BlockType;
use crate::backend::cpu::gemm::grouped::{BlockRoom, GroupedMatrix};
use crate::backend::cpu::gemm::{
    BLOCK, Finish, FloatMatrix, Floats, Int8Matrix, Output, pack_dequantized_block,
    pack_float_block,
};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::quantize::{RowForm, RowQuant};
use crate::backend::cpu::{Cpu, Scratch, Tensor};
use crate::error::Result;
use crate::ops::{ActivationQuant, BlockBytes, LinearPart, Weights};

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
    Grouped(GroupedMatrix),
    /// Multiplied with float32 rows.
    GroupedFloat(GroupedMatrix),
}

/// What rows become before they meet a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Preparation {
    Rows(RowQuant, RowForm),
    Groups(usize),
}

/// How int8 rows are quantised; nothing for float32 products.
pub(crate) fn row_quant(activation: ActivationQuant) -> Option<RowQuant> {
    match activation {
        ActivationQuant::None | ActivationQuant::PerGroup => None,
        ActivationQuant::Static(multiplier) => Some(RowQuant::Static(multiplier)),
        ActivationQuant::PerRow => Some(RowQuant::PerRow),
        ActivationQuant::Near => Some(RowQuant::Near),
        ActivationQuant::Wide => Some(RowQuant::Wide),
    }
}

impl CpuLinear {
    /// Packs `parts`.
    pub fn pack<L: Lanes>(in_features: usize, parts: &[LinearPart<'_>]) -> Result<Self> {
        let out_features = check(in_features, parts)?;
        let mut groups = Vec::new();
        let mut column = 0;
        for alike in parts.chunk_by(is_alike) {
            let matrix = pack_group::<L>(in_features, alike)?;
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

fn is_alike(a: &LinearPart<'_>, b: &LinearPart<'_>) -> bool {
    let kind = |part: &LinearPart<'_>| match part.weights {
        Weights::Blocks { kind, .. } => Some(kind),
        _ => None,
    };
    a.activation == b.activation && kind(a) == kind(b)
}

fn pack_group<L: Lanes>(in_features: usize, parts: &[LinearPart<'_>]) -> Result<Matrix> {
    let mut bias = Vec::new();
    for part in parts {
        match &part.bias {
            Some(values) => bias.extend_from_slice(values),
            None => bias.resize(bias.len() + part.out_features, 0.0),
        }
    }
    if let Some(LinearPart { weights: Weights::Blocks { kind, .. }, activation, .. }) =
        parts.first()
    {
        let blocks = parts.iter().filter_map(|part| match &part.weights {
            Weights::Blocks { bytes, .. } => Some((part.out_features, bytes)),
            _ => None,
        });
        let matrix = pack_blocks::<L>(*kind, in_features, blocks, Some(&bias))?;
        return Ok(match activation {
            ActivationQuant::None => Matrix::GroupedFloat(matrix),
            _ => Matrix::Grouped(matrix),
        });
    }
    let mut rows = Vec::new();
    for part in parts {
        rows.extend((0..part.out_features).map(|row| (part, row)));
    }
    let range = |row: usize| row * in_features..(row + 1) * in_features;
    let quant = parts.first().and_then(|part| row_quant(part.activation));
    if let Some(quant) = quant {
        let rows = rows.iter().map(|&(part, row)| match &part.weights {
            Weights::Int8 { values, multiplier } => (&values[range(row)], multiplier.of(row)),
            _ => (&[][..], 1.0), // refused by `check`
        });
        return Ok(Matrix::Int8(Int8Matrix::pack::<L>(in_features, rows, Some(&bias), quant)));
    }
    let pack = |first: usize, block: &mut [Floats]| {
        // A block may span parts of either kind, so each row is brought to float32 first.
        let mut floats: [Vec<f32>; BLOCK] = Default::default();
        for (to, &(part, row)) in floats.iter_mut().zip(&rows[first..]) {
            match &part.weights {
                Weights::F32(values) => to.extend_from_slice(&values[range(row)]),
                Weights::Int8 { values, multiplier } => {
                    let multiplier = multiplier.of(row);
                    to.extend(values[range(row)].iter().map(|&w| f32::from(w) / multiplier));
                }
                Weights::Blocks { .. } => {} // packed above
            }
        }
        pack_float_block::<L>(floats.each_ref().map(Vec::as_slice), block);
    };
    Ok(Matrix::Float(FloatMatrix::pack(in_features, rows.len(), Some(&bias), pack)))
}

/// Packs matrices of blocks, given with their numbers of rows, as one below the other.
pub(crate) fn pack_blocks<'a, L: Lanes>(
    kind: BlockType,
    in_features: usize,
    matrices: impl Iterator<Item = (usize, &'a BlockBytes<'a>)>,
    bias: Option<&[f32]>,
) -> Result<GroupedMatrix> {
    let width = in_features / kind.values() * kind.bytes();
    let mut out_features = 0;
    let mut parts = Vec::new();
    for (rows, bytes) in matrices {
        parts.push((out_features, bytes.rows(width)));
        out_features += rows;
    }
    GroupedMatrix::pack::<L>(in_features, out_features, kind.form(), bias, |row, groups| {
        let part = parts.iter_mut().rev().find(|(first, _)| *first <= row);
        if let Some((first, rows)) = part {
            kind.unpack(rows.row(row - *first)?, groups);
        }
        Ok(())
    })
}

impl Matrix {
    pub(crate) fn out_features(&self) -> usize {
        match self {
            Matrix::Float(matrix) => matrix.out_features(),
            Matrix::Int8(matrix) => matrix.out_features(),
            Matrix::Grouped(matrix) | Matrix::GroupedFloat(matrix) => matrix.out_features(),
        }
    }

    fn preparation(&self) -> Option<Preparation> {
        match self {
            Matrix::Float(_) | Matrix::GroupedFloat(_) => None,
            Matrix::Int8(matrix) => {
                let (quant, form) = matrix.input();
                Some(Preparation::Rows(quant, form))
            }
            Matrix::Grouped(matrix) => Some(Preparation::Groups(matrix.group_size())),
        }
    }

    /// `input · Wᵀ + b` for rows `[rows, in_features]` that `scratch` holds prepared: as many columns as `output` is
    /// wide, from the first of block `block` on, but at most `width`.
    fn multiply_from<L: Lanes>(
        &self,
        block: usize,
        input: &[f32],
        scratch: &Scratch,
        room: &mut BlockRoom,
        output: &mut Output<'_>,
        width: usize,
    ) {
        match self {
            Matrix::Float(matrix) => matrix.multiply_from::<L>(block, input, output, width),
            Matrix::Int8(matrix) => {
                matrix.multiply_from::<L>(block, &scratch.quantized, output, width);
            }
            Matrix::Grouped(matrix) => {
                matrix.multiply_from::<L>(block, &scratch.grouped, output, width, room);
            }
            Matrix::GroupedFloat(matrix) => {
                matrix.multiply_float_from::<L>(block, input, output, width, room);
            }
        }
    }

    /// Packs rows of int8, each `in_features` long with its multiplier.
    pub(crate) fn pack_int8_rows<L: Lanes>(
        in_features: usize,
        rows: &[(&[i8], f32)],
        bias: Option<&[f32]>,
        activation: ActivationQuant,
    ) -> Self {
        match row_quant(activation) {
            Some(quant) => {
                let rows = rows.iter().copied();
                Matrix::Int8(Int8Matrix::pack::<L>(in_features, rows, bias, quant))
            }
            None => Matrix::Float(FloatMatrix::pack(in_features, rows.len(), bias, |first, to| {
                let rows = &rows[first..];
                pack_dequantized_block::<L>(
                    std::array::from_fn(|i| rows.get(i).copied().unwrap_or((&[], 1.0))),
                    to,
                );
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
            weights.multiply_rows::<L>(input, output, finish, scratch);
        });
    }

    /// As [`Cpu::apply_linear`] for one row, whose columns threads share.
    fn one_row(&mut self, input: &[f32], weights: &CpuLinear, output: &mut [f32], finish: Finish) {
        let blocks = weights.out_features.div_ceil(BLOCK);
        let blocks_each = self.rows_each(blocks, BLOCK * weights.in_features);
        if blocks_each >= blocks {
            return weights.multiply_rows::<L>(input, output, finish, &mut self.scratch);
        }
        // The parts need what is prepared while `self` is lent to them.
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut prepared = None;
        let mut rest = output;
        for group in &weights.groups {
            let (own, others) = rest.split_at_mut(group.matrix.out_features());
            rest = others;
            scratch.prepare::<L>(input, weights.in_features, &group.matrix, &mut prepared);
            let parts = own.chunks_mut(blocks_each * BLOCK).enumerate();
            self.share(parts, |(index, values), own| {
                let (first, stride) = (*index * blocks_each, values.len());
                let mut output = Output { values, stride, column: 0, finish };
                let room = &mut own.block_room;
                group.matrix.multiply_from::<L>(first, input, &scratch, room, &mut output, stride);
            });
        }
        self.scratch = scratch;
    }
}

impl CpuLinear {
    /// `input · Wᵀ + b` for rows `[rows, in_features]`, on one thread.
    fn multiply_rows<L: Lanes>(
        &self,
        input: &[f32],
        output: &mut [f32],
        finish: Finish,
        scratch: &mut Scratch,
    ) {
        let mut prepared = None;
        let mut room = std::mem::take(&mut scratch.block_room);
        for group in &self.groups {
            let (stride, column) = (self.out_features, group.column);
            let mut output = Output { values: output, stride, column, finish };
            scratch.prepare::<L>(input, self.in_features, &group.matrix, &mut prepared);
            let width = group.matrix.out_features();
            group.matrix.multiply_from::<L>(0, input, scratch, &mut room, &mut output, width);
        }
        scratch.block_room = room;
    }
}

impl Scratch {
    /// Brings rows to the form that `matrix` reads, unless they are in it: `prepared` says what was done last.
    fn prepare<L: Lanes>(
        &mut self,
        input: &[f32],
        in_features: usize,
        matrix: &Matrix,
        prepared: &mut Option<Preparation>,
    ) {
        let Some(wanted) = matrix.preparation() else { return };
        if prepared.replace(wanted) == Some(wanted) {
            return;
        }
        match wanted {
            Preparation::Rows(quant, form) => {
                self.quantized.quantize::<L>(input, in_features, quant, form);
            }
            Preparation::Groups(size) => self.grouped.quantize::<L>(input, in_features, size),
        }
    }
}
