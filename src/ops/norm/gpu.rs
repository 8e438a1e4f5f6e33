//! Normalisation of rows on the GPU.

use super::check;
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::error::Result;
use crate::ops::linear::mismatch;
use crate::ops::{NormKind, NormSource};

/// Rows overwritten.
pub static IN_PLACE: Kernel = Kernel {
    name: "norm/in place",
    sources: &[
        include_str!("../lanes.wgsl"),
        include_str!("moments.wgsl"),
        include_str!("in_place.wgsl"),
        include_str!("norm.wgsl"),
    ],
    entry: "normalize",
    bindings: &[Access::Read, Access::Write],
};

/// Rows written elsewhere.
pub static APART: Kernel = Kernel {
    name: "norm/apart",
    sources: &[
        include_str!("../lanes.wgsl"),
        include_str!("moments.wgsl"),
        include_str!("apart.wgsl"),
        include_str!("norm.wgsl"),
    ],
    entry: "normalize",
    bindings: &[Access::Read, Access::Read, Access::Write],
};

/// A normalisation on the device.
pub struct GpuNorm {
    kind: NormKind,
    eps: f32,
    columns: usize,
    /// Scale, then bias (zeros without), `[2 · columns]`.
    parameters: Storage,
}

impl GpuNorm {
    /// Puts it on the device.
    ///
    /// # Errors
    /// As [`check`].
    pub fn load(gpu: &Gpu, source: &NormSource) -> Result<Self> {
        check(source)?;
        let columns = source.scale.len();
        let mut words: Vec<u32> = source.scale.iter().map(|x| x.to_bits()).collect();
        let bias = source.bias.iter().flatten().map(|x| x.to_bits());
        words.extend(bias);
        words.resize(2 * columns, 0);
        let parameters = gpu.keep(&words);
        Ok(Self { kind: source.kind, eps: source.eps, columns, parameters })
    }

    /// Whether the mean counts as 0: `RMS` of the kernels.
    pub fn is_rms(&self) -> bool {
        self.kind == NormKind::Rms
    }

    /// Added to what the root is taken of.
    pub fn eps(&self) -> f32 {
        self.eps
    }

    /// Width of the rows.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Scale, then bias (zeros without), `[2 · columns]`.
    pub fn parameters(&self) -> &Storage {
        &self.parameters
    }
}

impl Gpu {
    fn record_norm(&self, norm: &GpuNorm, rows: usize, kernel: &'static Kernel, rest: &[&Storage]) {
        let [across, down] = self.limits().spread(rows);
        let mut bindings = vec![Bind::Buffer(norm.parameters())];
        bindings.extend(rest.iter().map(|storage| Bind::Buffer(storage)));
        self.dispatch(&Dispatch {
            kernel,
            constants: &[("RMS", u32::from(norm.is_rms()))],
            uniforms: &[rows as u32, norm.columns as u32, norm.eps.to_bits()],
            bindings: &bindings,
            workgroups: [across, down, 1],
        });
    }

    fn fits(&self, x: &Tensor, norm: &GpuNorm) -> bool {
        let fits = x.columns() == norm.columns;
        if !fits {
            self.record_fault(mismatch("norm", norm.columns, x.columns()));
        }
        fits
    }

    /// Records `x = norm(x)`, row by row.
    pub(crate) fn apply_norm(&self, x: &Tensor, norm: &GpuNorm) {
        if self.fits(x, norm) {
            self.record_norm(norm, x.rows(), &IN_PLACE, &[x.storage()]);
        }
    }

    /// Records `norm(x)`, row by row, as a tensor of its own.
    pub(crate) fn normalized(&self, x: &Tensor, norm: &GpuNorm) -> Tensor {
        if !self.fits(x, norm) {
            return self.zeroed(x.rows(), x.columns());
        }
        let y = self.stale(x.rows(), x.columns());
        self.record_norm(norm, x.rows(), &APART, &[x.storage(), y.storage()]);
        y
    }
}
