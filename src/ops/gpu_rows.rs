//! Rows moved about and added up on the GPU; caches are tensors with room.

use super::linear::mismatch;
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};
use std::ops::Range;

/// Rows by index.
pub static SELECT: Kernel = Kernel {
    name: "rows/select",
    sources: &[include_str!("gpu_rows.wgsl")],
    entry: "select_rows",
    bindings: &[Access::Read, Access::Data, Access::Write],
};

/// One tensor added to another.
pub static ADD: Kernel = Kernel {
    name: "rows/add",
    sources: &[include_str!("gpu_add.wgsl")],
    entry: "add",
    bindings: &[Access::Read, Access::Write],
};

impl Gpu {
    /// Records `y[y_row + i] = x[rows[i], x_column..]`, as wide as `y`.
    fn record_select(&self, x: &Tensor, rows: &[u32], x_column: usize, y: &Tensor, y_row: usize) {
        let [across, down] = self.limits().spread((rows.len() * y.columns()).div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &SELECT,
            constants: &[],
            uniforms: &[
                rows.len() as u32,
                y.columns() as u32,
                x.columns() as u32,
                x_column as u32,
                y_row as u32,
            ],
            bindings: &[Bind::Buffer(x.storage()), Bind::Data(rows), Bind::Buffer(y.storage())],
            workgroups: [across, down, 1],
        });
    }

    /// Records the rows `rows` of `x` as a tensor of its own; one that is not there is zeros, and a fault.
    pub(crate) fn selected(&self, x: &Tensor, rows: &[usize]) -> Tensor {
        let y = self.stale(rows.len(), x.columns());
        if let Some(bad) = rows.iter().find(|row| **row >= x.rows()) {
            self.record_fault(mismatch("select rows", x.rows(), bad));
            self.clear(y.storage(), y.bytes());
            return y;
        }
        let rows: Vec<u32> = rows.iter().map(|row| *row as u32).collect();
        self.record_select(x, &rows, 0, &y, 0);
        y
    }

    /// Makes room in `to` for `from[rows, column..]`, as wide as it; gives the row where that begins.
    fn grow(
        &self,
        to: &mut Tensor,
        from: &Tensor,
        rows: &Range<usize>,
        column: usize,
    ) -> Option<usize> {
        let columns = to.columns();
        let end = column.checked_add(columns);
        if rows.end > from.rows() || end.is_none_or(|end| end > from.columns()) {
            let got = [from.rows(), from.columns()];
            self.record_fault(mismatch("append rows", (rows, column, columns), got));
            return None;
        }
        let y_row = to.rows();
        self.extend(to, rows.len());
        Some(y_row)
    }

    /// Records `from[rows, column..]` as the new last rows of `to`, as wide as it.
    pub(crate) fn append(&self, to: &mut Tensor, from: &Tensor, rows: Range<usize>, column: usize) {
        if let Some(y_row) = self.grow(to, from, &rows, column) {
            let rows: Vec<u32> = rows.map(|row| row as u32).collect();
            self.record_select(from, &rows, column, to, y_row);
        }
    }

    /// The same of one row, as a copy: where calls are counted and passes are not.
    pub(crate) fn copy_row(&self, to: &mut Tensor, from: &Tensor, row: usize, column: usize) {
        if let Some(y_row) = self.grow(to, from, &(row..row + 1), column) {
            let start = 4 * (row * from.columns() + column) as u64;
            let bytes = 4 * to.columns() as u64;
            let at = y_row as u64 * bytes;
            self.copy_bytes(from.storage(), start..start + bytes, to.storage(), at);
        }
    }

    /// Records `y += x`.
    pub(crate) fn add(&self, x: &Tensor, y: &Tensor) {
        if (x.rows(), x.columns()) != (y.rows(), y.columns()) {
            let shape = |tensor: &Tensor| [tensor.rows(), tensor.columns()];
            return self.record_fault(mismatch("add residual", shape(y), shape(x)));
        }
        let count = x.rows() * x.columns();
        let [across, down] = self.limits().spread(count.div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &ADD,
            constants: &[],
            uniforms: &[count as u32],
            bindings: &[Bind::Buffer(x.storage()), Bind::Buffer(y.storage())],
            workgroups: [across, down, 1],
        });
    }
}
