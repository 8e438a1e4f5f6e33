//! The simple recurrent unit on the GPU.

use super::check;
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};

/// One step of every row.
pub static STEP: Kernel = Kernel {
    name: "ssru",
    sources: &[include_str!("../activation/activation.wgsl"), include_str!("ssru.wgsl")],
    entry: "step_states",
    bindings: &[Access::Read, Access::Write, Access::Write],
};

impl Gpu {
    /// Records a step: `state` moves on, and what it gives is added to `stream`.
    pub(crate) fn apply_ssru(&self, projected: &Tensor, state: &Tensor, stream: &Tensor) {
        let shape = |tensor: &Tensor| [tensor.rows(), tensor.columns()];
        if let Err(error) = check(shape(projected), shape(state), shape(stream)) {
            return self.record_fault(error);
        }
        let [rows, hidden] = shape(state);
        let [across, down] = self.limits().spread((rows * hidden).div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &STEP,
            constants: &[],
            uniforms: &[rows as u32, hidden as u32],
            bindings: &[
                Bind::Buffer(projected.storage()),
                Bind::Buffer(state.storage()),
                Bind::Buffer(stream.storage()),
            ],
            workgroups: [across, down, 1],
        });
    }
}
