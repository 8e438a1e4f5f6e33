//! Rows moved about on the CPU.

use super::linear::mismatch;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Tensor};

impl<L: Lanes> Cpu<L> {
    /// A tensor of given values; of another number of them, zeros and a fault.
    pub(crate) fn tensor_of(&mut self, rows: usize, columns: usize, values: &[f32]) -> Tensor {
        let mut tensor = Tensor::zeros(rows, columns);
        if tensor.values().len() == values.len() {
            tensor.values_mut().copy_from_slice(values);
        } else {
            self.record_fault(mismatch("upload", [rows, columns], values.len()));
        }
        tensor
    }

    /// The rows `rows` of `tensor`; one that is not there is zeros, and a fault.
    pub(crate) fn selected(&mut self, tensor: &Tensor, rows: &[usize]) -> Tensor {
        let mut selected = Tensor::stale(rows.len(), tensor.columns());
        for (i, &row) in rows.iter().enumerate() {
            match (selected.row_mut(i), tensor.row(row)) {
                (Some(to), Some(from)) => to.copy_from_slice(from),
                (to, _) => {
                    to.into_iter().for_each(|to| to.fill(0.0));
                    self.record_fault(mismatch("select rows", tensor.rows(), row));
                }
            }
        }
        selected
    }

    /// Writes `from[row, column..]` as the new last row of `to`, as wide as it.
    pub(crate) fn append_from(
        &mut self,
        to: &mut Tensor,
        from: &Tensor,
        row: usize,
        column: usize,
    ) {
        let columns = to.columns();
        let values =
            from.row(row).and_then(|row| row.get(column..)).and_then(|row| row.get(..columns));
        if !values.is_some_and(|values| to.push_row(values)) {
            let got = [from.rows(), from.columns()];
            self.record_fault(mismatch("append row", [row + 1, column + columns], got));
        }
    }

    /// The columns of `left`, then those of `right`.
    #[cfg(feature = "recurrent")]
    pub(crate) fn put_beside(&mut self, left: &Tensor, right: &Tensor) -> Tensor {
        let mut both = Tensor::zeros(left.rows(), left.columns() + right.columns());
        if left.rows() != right.rows() {
            self.record_fault(mismatch("beside", left.rows(), right.rows()));
            return both;
        }
        for index in 0..left.rows() {
            let rows = (both.row_mut(index), left.row(index), right.row(index));
            if let (Some(both), Some(left), Some(right)) = rows {
                let (start, end) = both.split_at_mut(left.len());
                start.copy_from_slice(left);
                end.copy_from_slice(right);
            }
        }
        both
    }
}
