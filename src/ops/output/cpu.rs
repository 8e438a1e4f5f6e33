//! The output projection on the CPU: chosen rows are packed, the whole table is multiplied as it lies.

use super::check;
use crate::backend::cpu::gemm::grouped::{BlockRoom, GroupedMatrix};
use crate::backend::cpu::gemm::{
    BLOCK, Finish, Floats, Output, multiply_float, multiply_int8, pack_dequantized_block,
    pack_float_block,
};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::quantize::RowForm;
use crate::backend::cpu::{Cpu, Scratch, Tensor};
use crate::error::Result;
use crate::ops::ActivationQuant;
use crate::ops::embed::cpu::{CpuTable, TableValues};
use crate::ops::linear::cpu::{Matrix, row_quant};
use crate::ops::linear::mismatch;
use std::ops::Range;

/// Rows of a table as an output projection, with their ids.
#[derive(Debug)]
pub struct CpuOutput {
    columns: usize,
    rows: Rows,
    /// Ids of the candidates; absent where candidate i has id i.
    ids: Option<Vec<u32>>,
    /// Candidates that are never chosen, ascending.
    barred: Vec<usize>,
    candidates: usize,
}

#[derive(Debug)]
enum Rows {
    Packed(Matrix),
    Whole { table: CpuTable, bias: Option<Vec<f32>>, activation: ActivationQuant },
}

impl CpuOutput {
    /// Packs the rows `ids` of `table`, or shares the table.
    pub fn prepare<L: Lanes>(
        table: &CpuTable,
        bias: Option<&[f32]>,
        activation: ActivationQuant,
        ids: Option<&[u32]>,
        barred: &[u32],
    ) -> Result<Self> {
        let shape = [table.rows(), table.columns()];
        check(table.name(), shape, table.values().stored(), bias, activation, ids)?;
        let columns = table.columns();
        let rows = match ids {
            None => {
                Rows::Whole { table: table.clone(), bias: bias.map(<[f32]>::to_vec), activation }
            }
            Some(ids) => {
                let range = |&id: &u32| id as usize * columns..(id as usize + 1) * columns;
                let bias: Option<Vec<f32>> =
                    bias.map(|bias| ids.iter().map(|&id| bias[id as usize]).collect());
                let bias = bias.as_deref();
                Rows::Packed(match table.values() {
                    TableValues::F32(values) => {
                        let rows: Vec<_> = ids.iter().map(|id| &values[range(id)]).collect();
                        Matrix::pack_float_rows::<L>(columns, &rows, bias)
                    }
                    TableValues::Int8 { values, multiplier } => {
                        let row = |id: &u32| (&values[range(id)], multiplier.of(*id as usize));
                        let rows: Vec<_> = ids.iter().map(row).collect();
                        Matrix::pack_int8_rows::<L>(columns, &rows, bias, activation)
                    }
                    TableValues::Grouped(_) => {
                        return Err(mismatch("output projection", "all rows of blocks", ids.len()));
                    }
                })
            }
        };
        let candidates = ids.map_or(table.rows(), <[u32]>::len);
        let ids = ids.map(<[u32]>::to_vec);
        let mut output = Self { columns, rows, ids, barred: Vec::new(), candidates };
        for candidate in barred.iter().filter_map(|&id| output.candidate(id)).collect::<Vec<_>>() {
            let place = output.barred.partition_point(|&other| other < candidate);
            output.barred.insert(place, candidate);
        }
        Ok(output)
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Id of a candidate.
    pub fn id(&self, candidate: usize) -> u32 {
        let own = || u32::try_from(candidate).unwrap_or(u32::MAX);
        match &self.ids {
            Some(ids) => ids.get(candidate).copied().unwrap_or(u32::MAX),
            None => own(),
        }
    }

    /// The candidate of an id, if it is one.
    pub fn candidate(&self, id: u32) -> Option<usize> {
        match &self.ids {
            Some(ids) => ids.binary_search(&id).ok(),
            None => Some(id as usize).filter(|&candidate| candidate < self.candidates),
        }
    }

    /// Candidates that are never chosen, ascending.
    pub fn barred(&self) -> &[usize] {
        &self.barred
    }
}

impl<L: Lanes> Cpu<L> {
    /// Logits of the rows `rows` of `hidden`.
    pub(crate) fn apply_output(
        &mut self,
        hidden: &Tensor,
        rows: Range<usize>,
        output: &CpuOutput,
    ) -> Tensor {
        let mut logits = Tensor::stale(rows.len(), output.candidates);
        match output.rows_of(hidden, &rows) {
            Some(input) => match output.grouped() {
                Some(table) if rows.len() == 1 => {
                    self.grouped_logits(input, &table, logits.values_mut());
                }
                _ => {
                    let (columns, stride) = (output.columns, output.candidates);
                    let rows_each = self.rows_each(rows.len(), columns.saturating_mul(stride));
                    let inputs = input.chunks((rows_each * columns).max(1));
                    let to = logits.values_mut().chunks_mut((rows_each * stride).max(1));
                    self.share(inputs.zip(to), |(input, logits), scratch| {
                        output.multiply::<L>(input, logits, scratch);
                    });
                }
            },
            None => {
                let expected = [rows.end, output.columns];
                self.record_fault(mismatch("logits", expected, [hidden.rows(), hidden.columns()]));
                logits.values_mut().fill(0.0);
            }
        }
        logits
    }

    /// Logits of one row over a whole table of blocks, whose rows threads share.
    fn grouped_logits(&mut self, input: &[f32], table: &Grouped<'_>, logits: &mut [f32]) {
        let matrix = table.matrix;
        let blocks_each =
            self.rows_each(matrix.out_features().div_ceil(BLOCK), BLOCK * matrix.in_features());
        let mut scratch = std::mem::take(&mut self.scratch);
        table.prepare::<L>(input, &mut scratch);
        let parts = logits.chunks_mut(blocks_each * BLOCK).enumerate();
        self.share(parts, |(index, values), own| {
            let (first, stride) = (*index * blocks_each, values.len());
            let mut to = Output { values, stride, column: 0, finish: Finish::Store };
            let room = &mut own.block_room;
            table.multiply_from::<L>(first, input, &scratch, room, &mut to, stride);
        });
        table.add_bias(logits);
        self.scratch = scratch;
    }
}

/// A whole table of blocks, and how the rows that meet it are treated.
struct Grouped<'a> {
    matrix: &'a GroupedMatrix,
    bias: Option<&'a [f32]>,
    activation: ActivationQuant,
}

impl Grouped<'_> {
    fn prepare<L: Lanes>(&self, input: &[f32], scratch: &mut Scratch) {
        if self.activation != ActivationQuant::None {
            let size = self.matrix.group_size();
            scratch.grouped.quantize::<L>(input, self.matrix.in_features(), size);
        }
    }

    fn multiply_from<L: Lanes>(
        &self,
        block: usize,
        input: &[f32],
        scratch: &Scratch,
        room: &mut BlockRoom,
        output: &mut Output<'_>,
        width: usize,
    ) {
        if self.activation == ActivationQuant::None {
            self.matrix.multiply_float_from::<L>(block, input, output, width, room);
        } else {
            self.matrix.multiply_from::<L>(block, &scratch.grouped, output, width, room);
        }
    }

    /// Adds the bias to whole rows of logits.
    fn add_bias(&self, logits: &mut [f32]) {
        let Some(bias) = self.bias else { return };
        for row in logits.chunks_exact_mut(bias.len().max(1)) {
            row.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
        }
    }
}

impl CpuOutput {
    fn grouped(&self) -> Option<Grouped<'_>> {
        let Rows::Whole { table, bias, activation } = &self.rows else { return None };
        let matrix = table.grouped()?;
        Some(Grouped { matrix, bias: bias.as_deref(), activation: *activation })
    }

    /// The rows `rows` of `hidden`, if it has them and they are as wide as the table's.
    pub(crate) fn rows_of<'a>(&self, hidden: &'a Tensor, rows: &Range<usize>) -> Option<&'a [f32]> {
        let columns = hidden.columns();
        let values = hidden.values().get(rows.start.saturating_mul(columns)..)?;
        values.get(..rows.len() * columns).filter(|_| columns == self.columns)
    }

    /// Logits, `[rows, candidates]`, of rows `[rows, columns]`.
    pub(crate) fn multiply<L: Lanes>(
        &self,
        input: &[f32],
        logits: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let stride = self.candidates;
        let mut to = Output { values: logits, stride, column: 0, finish: Finish::Store };
        match &self.rows {
            Rows::Packed(Matrix::Float(matrix)) => {
                matrix.multiply_from::<L>(0, input, &mut to, stride);
            }
            Rows::Packed(Matrix::Grouped(_) | Matrix::GroupedFloat(_)) => {} // refused by `prepare`
            Rows::Packed(Matrix::Int8(matrix)) => {
                let quantized = &mut scratch.quantized;
                let (quant, form) = matrix.input();
                quantized.quantize::<L>(input, self.columns, quant, form);
                matrix.multiply::<L>(quantized, &mut to);
            }
            Rows::Whole { table, bias, activation } => {
                whole_table::<L>(input, table, bias.as_deref(), *activation, &mut to, scratch);
            }
        }
    }
}

/// Logits over every row of a table.
fn whole_table<L: Lanes>(
    input: &[f32],
    table: &CpuTable,
    bias: Option<&[f32]>,
    activation: ActivationQuant,
    output: &mut Output<'_>,
    scratch: &mut Scratch,
) {
    let columns = table.columns();
    match table.values() {
        TableValues::Grouped(matrix) => {
            let table = Grouped { matrix, bias, activation };
            table.prepare::<L>(input, scratch);
            let mut room = std::mem::take(&mut scratch.block_room);
            let width = matrix.out_features();
            table.multiply_from::<L>(0, input, scratch, &mut room, output, width);
            scratch.block_room = room;
            return table.add_bias(output.values);
        }
        TableValues::Int8 { values, multiplier } => {
            if let Some(quant) = row_quant(activation) {
                let rows = &mut scratch.quantized;
                rows.quantize::<L>(input, columns, quant, RowForm::Words);
                return multiply_int8::<L>(
                    rows,
                    columns,
                    values,
                    |row| multiplier.of(row),
                    bias,
                    quant,
                    output,
                );
            }
        }
        TableValues::F32(_) => {}
    }
    // Float32: eight rows are packed at a time, multiplied with all inputs, and forgotten.
    let block = &mut scratch.block_room.floats;
    block.clear();
    block.resize(columns, Floats::default());
    for first in (0..table.rows()).step_by(BLOCK) {
        let width = (table.rows() - first).min(BLOCK);
        let range = first * columns..(first + width) * columns;
        let size = columns.max(1);
        match table.values() {
            TableValues::Grouped(_) => return, // multiplied above
            TableValues::F32(values) => {
                let mut rows = values[range].chunks_exact(size);
                let rows = std::array::from_fn(|_| rows.next().unwrap_or(&[]));
                pack_float_block::<L>(rows, block);
            }
            TableValues::Int8 { values, multiplier } => {
                let mut rows = values[range].chunks_exact(size);
                let rows =
                    std::array::from_fn(|i| (rows.next().unwrap_or(&[]), multiplier.of(first + i)));
                pack_dequantized_block::<L>(rows, block);
            }
        }
        let mut eight_bias = Floats::default();
        if let Some(bias) = bias.and_then(|bias| bias.get(first..)) {
            for (to, &from) in eight_bias.lanes_mut().iter_mut().zip(bias) {
                *to = from;
            }
        }
        output.column = first;
        multiply_float::<L>(input, columns, width, block, &[eight_bias], output);
    }
}
