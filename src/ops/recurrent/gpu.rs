//! Recurrent layers on the GPU: a call a layer, however long the sequences.

use super::{Cell, RecurrentSource, Widths, check};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::error::Result;
use crate::ops::attention::AttentionSegment;
use crate::ops::linear::mismatch;

/// A whole layer.
pub static RECUR: Kernel = Kernel {
    name: "recurrent",
    sources: &[include_str!("../activation/activation.wgsl"), include_str!("recurrent.wgsl")],
    entry: "recur",
    bindings: &[Access::Read, Access::Read, Access::Data, Access::Write, Access::Write],
};

/// Two tensors side by side.
pub static BESIDE: Kernel = Kernel {
    name: "recurrent/beside",
    sources: &[include_str!("beside.wgsl")],
    entry: "put_beside",
    bindings: &[Access::Read, Access::Read, Access::Write],
};

/// A layer's weights on the device.
pub struct GpuRecurrent {
    cell: Cell,
    hidden_size: usize,
    directions: usize,
    /// Of each direction the matrix, then the bias.
    weights: Storage,
}

impl GpuRecurrent {
    /// Puts them on the device.
    ///
    /// # Errors
    /// As [`RecurrentSource::check`].
    pub fn load(gpu: &Gpu, source: &RecurrentSource) -> Result<Self> {
        source.check()?;
        let directions = source.directions.iter().flat_map(|(weights, bias)| [weights, bias]);
        let words: Vec<u32> = directions.flatten().map(|value| value.to_bits()).collect();
        Ok(Self {
            cell: source.cell,
            hidden_size: source.hidden_size,
            directions: source.directions.len(),
            weights: gpu.keep(&words),
        })
    }
}

impl Gpu {
    /// Records a layer: `state` moves over the rows of each sequence; the states after each row.
    pub(crate) fn apply_recurrent(
        &self,
        input: &Tensor,
        layer: &GpuRecurrent,
        segments: &[AttentionSegment],
        state: &Tensor,
    ) -> Tensor {
        let widths = Widths::of(layer.cell, layer.hidden_size, layer.directions);
        let shape = |tensor: &Tensor| [tensor.rows(), tensor.columns()];
        if let Err(error) = check(widths, segments, shape(input), shape(state)) {
            self.record_fault(error);
            return self.zeroed(input.rows(), widths.output);
        }
        let output = self.stale(input.rows(), widths.output);
        let rows = segments.iter().map(|segment| &segment.query_rows);
        let ranges: Vec<u32> = rows.flat_map(|rows| [rows.start as u32, rows.end as u32]).collect();
        if input.rows() == 0 {
            return output;
        }
        let [across, down] = self.limits().spread(segments.len() * layer.directions);
        self.dispatch(&Dispatch {
            kernel: &RECUR,
            constants: &[("GATES", layer.cell.gates() as u32)],
            uniforms: &[layer.hidden_size as u32, layer.directions as u32, segments.len() as u32],
            bindings: &[
                Bind::Buffer(input.storage()),
                Bind::Buffer(&layer.weights),
                Bind::Data(&ranges),
                Bind::Buffer(state.storage()),
                Bind::Buffer(output.storage()),
            ],
            workgroups: [across, down, 1],
        });
        output
    }

    /// Records the columns of `left`, then those of `right`.
    pub(crate) fn put_beside(&self, left: &Tensor, right: &Tensor) -> Tensor {
        let columns = left.columns() + right.columns();
        if left.rows() != right.rows() {
            self.record_fault(mismatch("beside", left.rows(), right.rows()));
            return self.zeroed(left.rows(), columns);
        }
        let y = self.stale(left.rows(), columns);
        let [across, down] = self.limits().spread((y.rows() * columns).div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &BESIDE,
            constants: &[],
            uniforms: &[y.rows() as u32, left.columns() as u32, right.columns() as u32],
            bindings: &[
                Bind::Buffer(left.storage()),
                Bind::Buffer(right.storage()),
                Bind::Buffer(y.storage()),
            ],
            workgroups: [across, down, 1],
        });
        y
    }
}
