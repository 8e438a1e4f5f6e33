//! Pooling on the CPU.

use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Tensor};
use crate::ops::Pooling;
use crate::ops::linear::mismatch;
use std::ops::Range;

impl<L: Lanes> Cpu<L> {
    /// One row of each sequence, summed in the order of its rows.
    pub(crate) fn apply_pool(
        &mut self,
        hidden: &Tensor,
        rows: &[Range<usize>],
        pooling: Pooling,
    ) -> Tensor {
        let mut pooled = Tensor::zeros(rows.len(), hidden.columns());
        for (i, rows) in rows.iter().enumerate() {
            let Some(to) = pooled.row_mut(i) else { continue };
            let mut own = rows.clone().map_while(|row| hidden.row(row));
            let Some(first) = own.next() else {
                if !rows.is_empty() {
                    self.record_fault(mismatch("pool", rows, hidden.rows()));
                }
                continue;
            };
            to.copy_from_slice(first);
            if pooling == Pooling::First {
                continue;
            }
            let mut count = 1;
            for row in own {
                count += 1;
                for (to, &x) in to.iter_mut().zip(row) {
                    *to = if pooling == Pooling::Max { to.max(x) } else { *to + x };
                }
            }
            if count != rows.len() {
                self.record_fault(mismatch("pool", rows, hidden.rows()));
            }
            if pooling == Pooling::Mean {
                let count = count as f32;
                to.iter_mut().for_each(|to| *to /= count);
            }
        }
        pooled
    }
}
