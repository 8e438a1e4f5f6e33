//! Gates and bounds on the GPU; plain activations are what products finish with.

use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};
use crate::ops::Activation;
use crate::ops::linear::gpu::activation_code;

/// The gated product of the two halves of each row.
pub static GATE: Kernel = Kernel {
    name: "activation/gate",
    sources: &[include_str!("activation.wgsl"), include_str!("gate.wgsl")],
    entry: "gate",
    bindings: &[Access::Read, Access::Write],
};

/// Values bounded by a hyperbolic tangent.
pub static SOFT_CAP: Kernel = Kernel {
    name: "activation/soft cap",
    sources: &[include_str!("activation.wgsl"), include_str!("soft_cap.wgsl")],
    entry: "soft_cap",
    bindings: &[Access::Write],
};

impl Gpu {
    /// Records `y = activation(g) · u` of the two halves g and u of each row of `both`.
    pub(crate) fn gate(&self, both: &Tensor, activation: Activation, y: &Tensor) {
        let [across, down] = self.limits().spread((y.rows() * y.columns()).div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &GATE,
            constants: &[("FINISH", activation_code(activation))],
            uniforms: &[y.rows() as u32, y.columns() as u32],
            bindings: &[Bind::Buffer(both.storage()), Bind::Buffer(y.storage())],
            workgroups: [across, down, 1],
        });
    }

    /// Records `cap · tanh(x / cap)` of every value.
    pub(crate) fn apply_soft_cap(&self, x: &Tensor, cap: f32) {
        let count = x.rows() * x.columns();
        let [across, down] = self.limits().spread(count.div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &SOFT_CAP,
            constants: &[],
            uniforms: &[count as u32, cap.to_bits()],
            bindings: &[Bind::Buffer(x.storage())],
            workgroups: [across, down, 1],
        });
    }
}
