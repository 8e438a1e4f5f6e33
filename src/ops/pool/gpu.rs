//! Pooling on the GPU.

use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};
use crate::ops::Pooling;
use crate::ops::linear::mismatch;
use std::ops::Range;

/// One row a sequence.
pub static POOL: Kernel = Kernel {
    name: "pool",
    sources: &[include_str!("pool.wgsl")],
    entry: "pool",
    bindings: &[Access::Read, Access::Data, Access::Write],
};

impl Gpu {
    /// Records one row of the rows of each sequence.
    pub(crate) fn pooled_rows(
        &self,
        x: &Tensor,
        rows: &[Range<usize>],
        pooling: Pooling,
    ) -> Tensor {
        let y = self.stale(rows.len(), x.columns());
        if let Some(bad) = rows.iter().find(|rows| rows.end > x.rows()) {
            self.record_fault(mismatch("pool", x.rows(), bad));
            self.clear(y.storage(), y.bytes());
            return y;
        }
        let ends = |rows: &Range<usize>| [rows.start as u32, rows.end as u32];
        let ranges: Vec<u32> = rows.iter().flat_map(ends).collect();
        let [across, down] = self.limits().spread((y.rows() * y.columns()).div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &POOL,
            constants: &[(
                "POOLING",
                match pooling {
                    Pooling::Mean => 0,
                    Pooling::First => 1,
                    Pooling::Max => 2,
                },
            )],
            uniforms: &[y.rows() as u32, y.columns() as u32],
            bindings: &[Bind::Buffer(x.storage()), Bind::Data(&ranges), Bind::Buffer(y.storage())],
            workgroups: [across, down, 1],
        });
        y
    }
}
