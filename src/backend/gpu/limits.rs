//! What the device guarantees, which may be forced down to try what small devices do.

/// Limits of a device, as `GPUSupportedLimits` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a storage buffer that one binding may show (`maxStorageBufferBindingSize`).
    pub max_binding: u64,
    /// Bytes of a buffer (`maxBufferSize`).
    pub max_buffer: u64,
    /// Storage buffers of a kernel (`maxStorageBuffersPerShaderStage`).
    pub max_storage_buffers: u32,
    /// Workgroups of a dispatch in each dimension (`maxComputeWorkgroupsPerDimension`).
    pub max_workgroups: u32,
    /// Invocations of a workgroup (`maxComputeInvocationsPerWorkgroup`).
    pub max_invocations: u32,
    /// Bytes of workgroup memory (`maxComputeWorkgroupStorageSize`).
    pub workgroup_bytes: u32,
    /// Workgroups that keep the device busy; no device says it. With fewer, kernels are cut into smaller pieces.
    pub busy: usize,
}

impl Limits {
    /// What every WebGPU device has.
    pub const GUARANTEED: Self = Self {
        max_binding: 128 << 20,
        max_buffer: 256 << 20,
        max_storage_buffers: 8,
        max_workgroups: 65_535,
        max_invocations: 256,
        workgroup_bytes: 16 << 10,
        busy: 128,
    };

    /// [`Limits::busy`] of a device that computes on the CPU.
    pub const BUSY_SOFTWARE: usize = 4;

    /// Bytes that one buffer of weights or activations may have: all of it is bound at once.
    pub fn max_bytes(&self) -> u64 {
        self.max_binding.min(self.max_buffer)
    }

    /// So many rows of `row_bytes` fit into one buffer; at least one is tried.
    pub fn rows_of(&self, row_bytes: u64) -> usize {
        let rows = self.max_bytes() / row_bytes.max(1);
        usize::try_from(rows).unwrap_or(usize::MAX).max(1)
    }

    /// `count` workgroups as `[x, y]`, laid out so that none passes the limit of a dimension; kernels take
    /// `y · num_workgroups.x + x` and skip what is past `count`.
    pub fn spread(&self, count: usize) -> [u32; 2] {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if count <= self.max_workgroups {
            return [count, 1];
        }
        let rows = count.div_ceil(self.max_workgroups);
        [count.div_ceil(rows), rows]
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn workgroups_are_spread_over_two_dimensions() {
        let limits = Limits::GUARANTEED;
        assert_eq!(limits.spread(0), [0, 1]);
        assert_eq!(limits.spread(65_535), [65_535, 1]);
        // 65 536 as two rows of 32 768.
        assert_eq!(limits.spread(65_536), [32_768, 2]);
        let [x, y] = limits.spread(1_000_003);
        assert!(x <= 65_535 && u64::from(x) * u64::from(y) >= 1_000_003);
    }

    #[test]
    fn a_buffer_holds_whole_rows() {
        let limits = Limits { max_binding: 8 << 20, ..Limits::GUARANTEED };
        assert_eq!(limits.rows_of(2304), (8 << 20) / 2304);
        assert_eq!(limits.rows_of(9 << 20), 1);
    }
}
