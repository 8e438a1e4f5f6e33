//! Bind groups, made once for the same buffers.

use super::kernel::Layout;
use std::collections::HashMap;

/// What a bind group binds: its layout, then the buffers' ids.
type Key = Vec<u64>;

/// Bind groups by what they bind.
#[derive(Default)]
pub struct Groups {
    made: HashMap<Key, wgpu::BindGroup>,
    /// The key looked up last, for its room.
    key: Key,
}

/// One binding from 1 on.
pub struct Bound<'a> {
    /// Stands for the buffer.
    pub id: u64,
    pub buffer: &'a wgpu::Buffer,
    /// Bytes that it shows from its dynamic offset on; all if `None`.
    pub window: Option<u64>,
}

/// Bytes of a uniform binding.
pub const UNIFORM_BYTES: u64 = 256;

impl Groups {
    /// The group that binds the uniforms in `ring` and `bound`; whether it was made just now.
    pub fn get(
        &mut self,
        device: &wgpu::Device,
        layout: &Layout,
        ring: &wgpu::Buffer,
        bound: &[Bound<'_>],
    ) -> (&wgpu::BindGroup, bool) {
        self.key.clear();
        self.key.push(layout.id);
        self.key.extend(bound.iter().map(|bound| bound.id));
        let is_new = !self.made.contains_key(&self.key);
        if is_new {
            let binding = |buffer, bytes: Option<u64>| {
                let size = bytes.and_then(std::num::NonZeroU64::new);
                wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size })
            };
            let mut entries = vec![wgpu::BindGroupEntry {
                binding: 0,
                resource: binding(ring, Some(UNIFORM_BYTES)),
            }];
            for (i, bound) in bound.iter().enumerate() {
                entries.push(wgpu::BindGroupEntry {
                    binding: i as u32 + 1,
                    resource: binding(bound.buffer, bound.window),
                });
            }
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout.groups,
                entries: &entries,
            });
            self.made.insert(self.key.clone(), group);
        }
        (&self.made[&self.key], is_new)
    }

    /// Gives up the groups of buffers that are no more.
    pub fn forget(&mut self, gone: &[u64]) {
        if !gone.is_empty() {
            self.made.retain(|key, _| !key.iter().skip(1).any(|id| gone.contains(id)));
        }
    }
}
