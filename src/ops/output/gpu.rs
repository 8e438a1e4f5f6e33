//! Logits on the GPU: over all rows of a table as it lies, or over rows named by an index.

use super::check;
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::error::Result;
use crate::ops::ActivationQuant;
use crate::ops::embed::gpu::GpuTable;
use crate::ops::gpu_weights::Matrix;
use crate::ops::linear::gpu::{Finish, Product};
use crate::ops::linear::mismatch;
use std::ops::Range;
use std::rc::Rc;

/// Logits of chosen rows.
pub static CHOSEN: Kernel = Kernel {
    name: "output/chosen",
    sources: &[include_str!("../weights.wgsl"), include_str!("chosen.wgsl")],
    entry: "multiply",
    bindings: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
    ],
};

/// An output projection on the device; the table is the embedding's.
pub struct GpuOutput {
    matrix: Rc<Matrix>,
    /// `[table rows]`, zeros without.
    bias: Rc<Storage>,
    /// The candidates, here and there; all rows if `None`.
    ids: Option<(Vec<u32>, Storage)>,
    /// Candidates, by their place among them, that are never chosen; ascending.
    barred: Vec<u32>,
}

impl GpuOutput {
    /// Prepares the rows `ids` of the table, or all.
    ///
    /// # Errors
    /// As [`check`].
    pub fn prepare(
        gpu: &Gpu,
        table: &GpuTable,
        bias: Option<&[f32]>,
        activation: ActivationQuant,
        ids: Option<&[u32]>,
        barred: &[u32],
    ) -> Result<Self> {
        let matrix = Rc::clone(&table.matrix);
        check(&table.name, [matrix.rows, matrix.columns], table.stored, bias, activation, ids)?;
        let bias = table.bias(gpu, bias);
        let place = |id: &u32| match ids {
            Some(ids) => ids.binary_search(id).ok().map(|place| place as u32),
            None => Some(*id).filter(|id| (*id as usize) < matrix.rows),
        };
        let mut barred: Vec<u32> = barred.iter().filter_map(place).collect();
        barred.sort_unstable();
        barred.dedup();
        Ok(Self { bias, ids: ids.map(|ids| (ids.to_vec(), gpu.upload_words(ids))), barred, matrix })
    }

    /// How many candidates there are.
    pub fn candidates(&self) -> usize {
        self.ids.as_ref().map_or(self.matrix.rows, |(ids, _)| ids.len())
    }

    /// The place of the token `id` among the candidates.
    pub fn place(&self, id: u32) -> Option<u32> {
        match &self.ids {
            Some((ids, _)) => ids.binary_search(&id).ok().map(|place| place as u32),
            None => Some(id).filter(|id| (*id as usize) < self.matrix.rows),
        }
    }

    /// Their ids on the device; none if place and id are the same.
    pub fn ids(&self) -> Option<&Storage> {
        self.ids.as_ref().map(|(_, ids)| ids)
    }

    /// Places of candidates that are never chosen.
    pub fn barred(&self) -> &[u32] {
        &self.barred
    }
}

impl Gpu {
    /// Records the logits of the rows `rows` of `hidden`, `[rows, candidates]`.
    pub(crate) fn logits_of(&self, x: &Tensor, rows: Range<usize>, output: &GpuOutput) -> Tensor {
        let (matrix, count) = (&output.matrix, output.candidates());
        let rows_are_there = rows.start <= rows.end && rows.end <= x.rows();
        if x.columns() != matrix.columns || !rows_are_there {
            let got = (x.rows(), x.columns(), &rows);
            self.record_fault(mismatch("logits", matrix.columns, got));
            return self.zeroed(rows.len(), count);
        }
        let y = self.stale(rows.len(), count);
        let Some(ids) = output.ids() else {
            self.multiply(&Product {
                x,
                rows,
                norm: None,
                matrix,
                bias: &output.bias,
                first_bias: 0,
                y: &y,
                first_column: 0,
                finish: Finish::Store,
            });
            return y;
        };
        let [across, down] = self.limits().spread((rows.len() * count).div_ceil(64));
        for piece in &matrix.pieces {
            self.dispatch(&Dispatch {
                kernel: &CHOSEN,
                constants: &[("FORMAT", matrix.format.code())],
                uniforms: &[
                    rows.len() as u32,
                    rows.start as u32,
                    matrix.columns as u32,
                    count as u32,
                    piece.first_row as u32,
                    piece.rows as u32,
                ],
                bindings: &[
                    Bind::Buffer(&piece.words),
                    Bind::Buffer(&piece.scales),
                    Bind::Buffer(&output.bias),
                    Bind::Buffer(ids),
                    Bind::Buffer(x.storage()),
                    Bind::Buffer(y.storage()),
                ],
                workgroups: [across, down, 1],
            });
        }
        y
    }
}
