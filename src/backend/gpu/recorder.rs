//! Records dispatches and copies into one command buffer a submit; their arguments go in one write.

use super::groups::{Bound, Groups, UNIFORM_BYTES};
use super::kernel::{Access, Constants, Kernel, Kernels};
use super::memory::Storage;
use super::{Counts, Gpu};
use crate::error::Error;
use std::ops::Range;

/// What stands at a binding.
#[derive(Clone, Copy)]
pub enum Bind<'a> {
    /// A buffer, for [`Access::Read`] and [`Access::Write`].
    Buffer(&'a Storage),
    /// Words that come with the call, for [`Access::Data`].
    Data(&'a [u32]),
}

/// A kernel's call.
pub struct Dispatch<'a> {
    /// Which.
    pub kernel: &'static Kernel,
    /// Its `override` constants.
    pub constants: Constants<'a>,
    /// Words of its uniform struct, at most 64.
    pub uniforms: &'a [u32],
    /// Its bindings from 1 on.
    pub bindings: &'a [Bind<'a>],
    /// Workgroups in x, y and z.
    pub workgroups: [u32; 3],
}

/// Bytes of arguments a submit has room for; more are submitted before.
const RING_BYTES: u64 = 1 << 20;

/// Bytes that a binding of data shows. Longer data have a buffer of their own.
const WINDOW_BYTES: u64 = 64 << 10;

/// Offsets of bindings are multiples of this.
const ALIGNMENT: usize = 256;

/// The id of the ring in keys of bind groups.
const RING_ID: u64 = u64::MAX;

pub struct Recorder {
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    /// Arguments of all dispatches since the last submit.
    ring: wgpu::Buffer,
    /// What will be written there.
    arguments: Vec<u8>,
    kernels: Kernels,
    groups: Groups,
    pub counts: Counts,
}

impl Recorder {
    pub fn new(device: &wgpu::Device) -> Self {
        let ring = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("arguments"),
            // A window that begins at the last argument must end in the buffer.
            size: RING_BYTES + WINDOW_BYTES,
            usage: wgpu::BufferUsages::UNIFORM
                | wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            encoder: None,
            pass: None,
            ring,
            arguments: Vec::new(),
            kernels: Kernels::default(),
            groups: Groups::default(),
            counts: Counts::default(),
        }
    }

    /// The buffer of arguments.
    pub fn ring(&self) -> &wgpu::Buffer {
        &self.ring
    }

    /// Puts words among the arguments; gives their offset.
    fn argue(&mut self, words: &[u32]) -> u32 {
        let offset = self.arguments.len().next_multiple_of(ALIGNMENT);
        self.arguments.resize(offset, 0);
        self.arguments.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        offset as u32
    }

    fn encoder(&mut self, device: &wgpu::Device) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()))
    }
}

impl Gpu {
    /// Records a kernel's call.
    pub fn dispatch(&self, call: &Dispatch<'_>) {
        if call.workgroups.contains(&0) {
            return;
        }
        let accesses = call.kernel.bindings;
        let fits =
            call.bindings.len() == accesses.len()
                && 4 * call.uniforms.len() as u64 <= UNIFORM_BYTES
                && call.bindings.iter().zip(accesses).all(|(bind, access)| {
                    matches!(bind, Bind::Data(_)) == (*access == Access::Data)
                });
        if !fits {
            let what = format!("arguments of the kernel {}", call.kernel.name);
            return self.record_fault(Error::Internal { what });
        }
        // Data too long for a window lie in buffers, which are free again once the call is recorded.
        let long = call.bindings.iter().map(|bind| match bind {
            Bind::Data(words) if 4 * words.len() as u64 > WINDOW_BYTES => {
                Some(self.upload_words(words))
            }
            _ => None,
        });
        let long: Vec<Option<Storage>> = long.collect();
        let words = call.bindings.iter().zip(&long).map(|(bind, long)| match bind {
            Bind::Data(words) if long.is_none() => 4 * words.len() + ALIGNMENT,
            _ => 0,
        });
        if self.is_rehearsing() {
            let recorder = &mut *self.inner.recorder.borrow_mut();
            let (device, Dispatch { kernel, constants, .. }) = (&self.inner.device, call);
            let (_, made) = recorder.kernels.pipeline(device, kernel, constants);
            recorder.counts.pipelines += u64::from(made);
            return;
        }
        let needed = words.sum::<usize>() + UNIFORM_BYTES as usize + ALIGNMENT;
        if (self.inner.recorder.borrow().arguments.len() + needed) as u64 > RING_BYTES {
            self.submit();
        }
        let mut recorder = self.inner.recorder.borrow_mut();
        let recorder = &mut *recorder;
        let mut offsets = vec![recorder.argue(call.uniforms)];
        let mut bound = Vec::with_capacity(call.bindings.len());
        let ring = recorder.ring.clone();
        for (bind, long) in call.bindings.iter().zip(&long) {
            bound.push(match (bind, long) {
                (Bind::Buffer(storage), _) => {
                    recorder.counts.kept_bytes +=
                        if storage.is_kept() { storage.size() } else { 0 };
                    Bound { id: storage.id, buffer: &storage.buffer, window: None }
                }
                (Bind::Data(_), Some(storage)) => {
                    offsets.push(0);
                    Bound { id: storage.id, buffer: &storage.buffer, window: Some(storage.size()) }
                }
                (Bind::Data(words), None) => {
                    offsets.push(recorder.argue(words));
                    Bound { id: RING_ID, buffer: &ring, window: Some(WINDOW_BYTES) }
                }
            });
        }
        let device = &self.inner.device;
        let (pipeline, made) = recorder.kernels.pipeline(device, call.kernel, call.constants);
        recorder.counts.pipelines += u64::from(made);
        if recorder.pass.is_none() {
            let pass = recorder.encoder(device).begin_compute_pass(&Default::default());
            recorder.pass = Some(pass.forget_lifetime());
        }
        let (group, made) = recorder.groups.get(device, &pipeline.layout, &ring, &bound);
        recorder.counts.bind_groups += u64::from(made);
        recorder.counts.dispatches += 1;
        self.inner.memory.recording();
        if let Some(pass) = &mut recorder.pass {
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, group, &offsets);
            let [x, y, z] = call.workgroups;
            pass.dispatch_workgroups(x, y, z);
        }
    }

    /// Records a copy of the bytes `from_bytes` of `from` to the byte `to_byte` of `to`, another buffer.
    pub fn copy_bytes(&self, from: &Storage, from_bytes: Range<u64>, to: &Storage, to_byte: u64) {
        let length = from_bytes.end.saturating_sub(from_bytes.start);
        if length == 0 || self.is_rehearsing() {
            return;
        }
        if from_bytes.end > from.size() || to_byte + length > to.size() || from.id == to.id {
            let what =
                format!("copy of {from_bytes:?} of {} to {to_byte} of {}", from.size(), to.size());
            return self.record_fault(Error::Internal { what });
        }
        let mut recorder = self.inner.recorder.borrow_mut();
        recorder.counts.copies += 1;
        self.inner.memory.recording();
        let encoder = recorder.encoder(&self.inner.device);
        let (source, target) = (&from.buffer, &to.buffer);
        encoder.copy_buffer_to_buffer(source, from_bytes.start, target, to_byte, length);
    }

    /// Records that the bytes `bytes` of `storage` become 0.
    pub fn clear(&self, storage: &Storage, bytes: u64) {
        let bytes = bytes.min(storage.size()).next_multiple_of(4);
        if bytes > 0 && !self.is_rehearsing() {
            self.inner.memory.recording();
            let mut recorder = self.inner.recorder.borrow_mut();
            recorder.counts.copies += 1;
            let encoder = recorder.encoder(&self.inner.device);
            encoder.clear_buffer(&storage.buffer, 0, Some(bytes));
        }
    }

    /// Records a copy of `bytes` from the start of `storage` into a buffer to be mapped.
    pub(super) fn copy_to_map(&self, storage: &Storage, to: &wgpu::Buffer, bytes: u64) {
        let mut recorder = self.inner.recorder.borrow_mut();
        recorder.counts.read_backs += 1;
        self.inner.memory.recording();
        let encoder = recorder.encoder(&self.inner.device);
        encoder.copy_buffer_to_buffer(&storage.buffer, 0, to, 0, bytes);
    }

    /// Hands what was recorded over to the device.
    pub fn submit(&self) {
        let mut recorder = self.inner.recorder.borrow_mut();
        recorder.pass = None;
        let Some(encoder) = recorder.encoder.take() else { return };
        if !recorder.arguments.is_empty() {
            let end = recorder.arguments.len().next_multiple_of(4);
            recorder.arguments.resize(end, 0);
            self.inner.queue.write_buffer(&recorder.ring, 0, &recorder.arguments);
            recorder.arguments.clear();
        }
        self.inner.queue.submit([encoder.finish()]);
        recorder.counts.submits += 1;
        let gone = self.inner.memory.submitted();
        recorder.groups.forget(&gone);
    }
}
