//! Embedding on the CPU. Tables are not expanded.

use super::{check, check_table};
use crate::backend::cpu::gemm::grouped::GroupedMatrix;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Tensor};
use crate::error::Result;
use crate::ops::linear::cpu::pack_blocks;
use crate::ops::{Multiplier, Stored, TableSource, Weights};
use std::sync::Arc;

/// Rows looked up by id, shared with the output projections that are tied to them.
#[derive(Debug, Clone)]
pub struct CpuTable {
    table: Arc<Table>,
}

#[derive(Debug)]
struct Table {
    name: String,
    rows: usize,
    columns: usize,
    values: TableValues,
}

/// The values of a table.
#[derive(Debug)]
pub(crate) enum TableValues {
    /// Float32 rows.
    F32(Vec<f32>),
    /// Int8 rows; value = int8 / multiplier.
    Int8 { values: Vec<i8>, multiplier: Multiplier },
    /// Packed for products, from which rows can be read as well.
    Grouped(GroupedMatrix),
}

impl TableValues {
    /// How they are stored.
    pub(crate) fn stored(&self) -> Stored {
        match self {
            Self::F32(_) => Stored::F32,
            Self::Int8 { .. } => Stored::Int8,
            Self::Grouped(_) => Stored::Blocks,
        }
    }
}

impl CpuTable {
    /// Keeps the table.
    pub fn new<L: Lanes>(source: TableSource<'_>) -> Result<Self> {
        check_table(&source)?;
        let TableSource { name, rows, columns, weights } = source;
        let values = match weights {
            Weights::Blocks { kind, bytes } => {
                let matrices = std::iter::once((rows, &bytes));
                TableValues::Grouped(pack_blocks::<L>(kind, columns, matrices, None)?)
            }
            Weights::F32(values) => TableValues::F32(values),
            Weights::Int8 { values, multiplier } => TableValues::Int8 { values, multiplier },
        };
        Ok(Self { table: Arc::new(Table { name, rows, columns, values }) })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.table.rows
    }

    /// Width of a row.
    pub fn columns(&self) -> usize {
        self.table.columns
    }

    /// Its name, for errors.
    pub fn name(&self) -> &str {
        &self.table.name
    }

    /// The values of a table of blocks.
    pub(crate) fn grouped(&self) -> Option<&GroupedMatrix> {
        match self.values() {
            TableValues::Grouped(matrix) => Some(matrix),
            TableValues::F32(_) | TableValues::Int8 { .. } => None,
        }
    }

    /// `[rows, columns]`.
    pub(crate) fn values(&self) -> &TableValues {
        &self.table.values
    }
}

impl<L: Lanes> Cpu<L> {
    /// `table[tokens[i]] · scale + positions[i]`.
    pub(crate) fn apply_embed(
        &mut self,
        table: &CpuTable,
        tokens: &[Option<u32>],
        scale: f32,
        positions: Option<&Tensor>,
    ) -> Result<Tensor> {
        let shape = positions.map(|positions| [positions.rows(), positions.columns()]);
        check([table.rows(), table.columns()], tokens, shape)?;
        let columns = table.columns();
        let mut y = Tensor::zeros(tokens.len(), columns);
        for (i, token) in tokens.iter().enumerate() {
            let Some(to) = y.row_mut(i) else { continue };
            if let Some(id) = *token {
                let (row, start) = (id as usize, id as usize * columns);
                match table.values() {
                    TableValues::F32(values) => {
                        for (to, &from) in to.iter_mut().zip(&values[start..start + columns]) {
                            *to = from * scale;
                        }
                    }
                    TableValues::Int8 { values, multiplier } => {
                        let multiplier = multiplier.of(row);
                        for (to, &from) in to.iter_mut().zip(&values[start..start + columns]) {
                            *to = f32::from(from) / multiplier * scale;
                        }
                    }
                    TableValues::Grouped(matrix) => {
                        matrix.row::<L>(row, to);
                        to.iter_mut().for_each(|to| *to *= scale);
                    }
                }
            }
            if let Some(position) = positions.and_then(|positions| positions.row(i)) {
                for (to, &from) in to.iter_mut().zip(position) {
                    *to += from;
                }
            }
        }
        Ok(y)
    }
}
