//! Embedding on the CPU. The table stays as it is in the file: int8 is not expanded.

use super::{check, check_table};
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Tensor};
use crate::error::Result;
use crate::ops::{TableSource, Weights};
use std::sync::Arc;

/// Rows looked up by id, shared with the output projections that are tied to them.
#[derive(Debug, Clone)]
pub struct CpuTable {
    source: Arc<TableSource>,
}

impl CpuTable {
    /// Keeps the table.
    pub fn new(source: TableSource) -> Result<Self> {
        check_table(&source)?;
        Ok(Self { source: Arc::new(source) })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.source.rows
    }

    /// Width of a row.
    pub fn columns(&self) -> usize {
        self.source.columns
    }

    /// Its name, for errors.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// `[rows, columns]`.
    pub fn weights(&self) -> &Weights {
        &self.source.weights
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
                let start = id as usize * columns;
                match table.weights() {
                    Weights::F32(values) => {
                        for (to, &from) in to.iter_mut().zip(&values[start..start + columns]) {
                            *to = from * scale;
                        }
                    }
                    Weights::Int8 { values, multiplier } => {
                        for (to, &from) in to.iter_mut().zip(&values[start..start + columns]) {
                            *to = f32::from(from) / multiplier * scale;
                        }
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
