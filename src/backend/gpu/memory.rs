//! Buffers on the device: made once, used again by size, counted.
//!
//! A buffer that is dropped goes back to its pool at once: commands run in the order in which they were recorded, so a later
//! one may write where an earlier one reads. What is written from the CPU comes before all commands of a submit, so such
//! buffers are taken from those that no command since the last submit uses.

use super::Gpu;
use super::limits::Limits;
use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

/// All buffers of a device.
#[derive(Default)]
pub struct Memory {
    shared: Rc<Shared>,
}

#[derive(Default)]
pub(super) struct Shared {
    bytes: Cell<u64>,
    next_id: Cell<u64>,
    /// Submits so far.
    now: Cell<u64>,
    /// Free buffers by size; of one size the one of the smallest id is taken first, so that a step that takes and gives
    /// back the same sizes has the same buffers every time, and its bind groups.
    free: RefCell<HashMap<u64, BTreeMap<u64, Free>>>,
    /// Whether commands were recorded since the last submit.
    recording: Cell<bool>,
    /// Buffers that are no more, whose bind groups can go; those that recorded commands may use are destroyed then.
    gone: RefCell<Vec<(u64, Option<wgpu::Buffer>)>>,
}

struct Free {
    buffer: wgpu::Buffer,
    last_used: u64,
}

/// A buffer; dropping it gives it back.
pub struct Storage {
    /// Stands for the buffer in the keys of bind groups.
    pub(super) id: u64,
    pub(super) buffer: wgpu::Buffer,
    pub(super) size: u64,
    /// Weights are not taken again: their sizes are theirs alone.
    pub(super) pooled: bool,
    pub(super) memory: Weak<Shared>,
}

/// Submits after which a free buffer that nobody took is given up.
const KEPT_FOR: u64 = 256;

impl Memory {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.get()
    }

    /// Counts a buffer that is made elsewhere; gives its id.
    pub fn count(&self, bytes: u64) -> u64 {
        let shared = &self.shared;
        shared.bytes.set(shared.bytes.get() + bytes);
        let id = shared.next_id.get();
        shared.next_id.set(id + 1);
        id
    }

    /// A buffer that was counted is no more.
    pub fn uncount(&self, bytes: u64) {
        let shared = &self.shared;
        shared.bytes.set(shared.bytes.get().saturating_sub(bytes));
    }

    /// Commands are being recorded.
    pub fn recording(&self) {
        self.shared.recording.set(true);
    }

    /// A submit was made; buffers that were free for long go. Gives the ids of all that went.
    pub fn submitted(&self) -> Vec<u64> {
        let shared = &self.shared;
        let now = shared.now.get() + 1;
        shared.now.set(now);
        shared.recording.set(false);
        let gone = std::mem::take(&mut *shared.gone.borrow_mut());
        let gone = gone.into_iter().map(|(id, buffer)| {
            if let Some(buffer) = buffer {
                buffer.destroy();
            }
            id
        });
        let mut gone: Vec<u64> = gone.collect();
        if now.is_multiple_of(KEPT_FOR) {
            for (size, free) in shared.free.borrow_mut().iter_mut() {
                free.retain(|id, free| {
                    let stays = free.last_used + KEPT_FOR > now;
                    if !stays {
                        free.buffer.destroy();
                        shared.bytes.set(shared.bytes.get().saturating_sub(*size));
                        gone.push(*id);
                    }
                    stays
                });
            }
        }
        gone
    }

    fn take(&self, size: u64, idle: bool) -> Option<(u64, wgpu::Buffer)> {
        let mut free = self.shared.free.borrow_mut();
        let free = free.get_mut(&size)?;
        let now = self.shared.now.get();
        let id = *free.iter().find(|(_, free)| !idle || free.last_used < now)?.0;
        free.remove(&id).map(|free| (id, free.buffer))
    }
}

impl Storage {
    /// Bytes that it holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether there is no such buffer.
    fn is_imagined(&self) -> bool {
        self.memory.strong_count() == 0
    }

    /// Whether it is for what stays.
    pub(super) fn is_kept(&self) -> bool {
        !self.pooled
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        let Some(shared) = self.memory.upgrade() else { return };
        if !self.pooled {
            shared.bytes.set(shared.bytes.get().saturating_sub(self.size));
            // What a browser frees by itself comes late.
            let later = shared.recording.get().then(|| self.buffer.clone());
            if later.is_none() {
                self.buffer.destroy();
            }
            shared.gone.borrow_mut().push((self.id, later));
            return;
        }
        let free = Free { buffer: self.buffer.clone(), last_used: shared.now.get() };
        shared.free.borrow_mut().entry(self.size).or_default().insert(self.id, free);
    }
}

/// A little more than `bytes`: sizes that pools can meet again, at most a quarter more.
fn size_class(bytes: u64) -> u64 {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.next_multiple_of(step)
}

impl Gpu {
    /// A buffer of at least `bytes` for commands that are recorded from now on; what it holds is stale.
    pub fn storage(&self, bytes: u64) -> Storage {
        self.pooled(bytes, false)
    }

    /// A buffer with `words`, which commands recorded from now on see.
    pub fn upload_words(&self, words: &[u32]) -> Storage {
        let storage = self.pooled(4 * words.len() as u64, true);
        self.write(&storage, words);
        storage
    }

    /// A buffer of exactly `words`, for what stays: weights.
    pub fn keep(&self, words: &[u32]) -> Storage {
        let storage = self.kept(4 * words.len() as u64);
        self.write(&storage, words);
        storage
    }

    /// A buffer of exactly `bytes` for what stays, to be written piece by piece by [`Gpu::write_at`].
    pub fn kept(&self, bytes: u64) -> Storage {
        self.make(bytes.max(16).next_multiple_of(4), false)
    }

    fn write(&self, storage: &Storage, words: &[u32]) {
        self.write_at(storage, 0, words);
    }

    /// Writes `words` from the byte `offset` on, before all commands that are not submitted yet.
    pub fn write_at(&self, storage: &Storage, offset: u64, words: &[u32]) {
        if storage.is_imagined() {
            return;
        }
        if offset + 4 * words.len() as u64 > storage.size {
            let what = format!("{} words at byte {offset} of {}", words.len(), storage.size);
            return self.record_fault(Error::Internal { what });
        }
        // A piece at a time, so that the bytes are not in memory twice.
        let mut bytes = Vec::with_capacity(4 * words.len().min(PIECE));
        for (i, piece) in words.chunks(PIECE).enumerate() {
            bytes.clear();
            bytes.extend(piece.iter().flat_map(|word| word.to_le_bytes()));
            let at = offset + (4 * i * PIECE) as u64;
            self.inner.queue.write_buffer(&storage.buffer, at, &bytes);
        }
    }

    fn pooled(&self, bytes: u64, idle: bool) -> Storage {
        let size = size_class(bytes);
        if self.is_rehearsing() {
            return self.imagined(size);
        }
        match self.inner.memory.take(size, idle) {
            Some((id, buffer)) => {
                let memory = Rc::downgrade(&self.inner.memory.shared);
                Storage { id, buffer, size, pooled: true, memory }
            }
            None => self.make(size, true),
        }
    }

    fn make(&self, size: u64, pooled: bool) -> Storage {
        let Limits { max_buffer, max_binding, .. } = self.limits();
        // A quarter more than was asked for must not be what refuses it.
        let real = match size > max_buffer.min(max_binding) {
            false => size,
            true => {
                let what = "a buffer on the GPU, more than it can bind,".to_owned();
                self.record_fault(Error::OutOfMemory { what, bytes: size });
                256
            }
        };
        self.inner.faults.asked(real);
        let buffer = self.inner.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: real,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let id = self.inner.memory.count(real);
        let memory = Rc::downgrade(&self.inner.memory.shared);
        Storage { id, buffer, size: real, pooled: pooled && real == size, memory }
    }
}

/// Words written at a time.
const PIECE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::size_class;

    #[test]
    fn sizes_have_few_classes_and_little_waste() {
        assert_eq!(size_class(0), 256);
        assert_eq!(size_class(257), 512);
        // Steps of an eighth of the next power of two.
        assert_eq!(size_class(1 << 20), 1 << 20);
        assert_eq!(size_class((1 << 20) + 1), (1 << 20) + (1 << 18));
        for bytes in [300u64, 5_000, 99_999, 1_234_567] {
            let size = size_class(bytes);
            assert!(size >= bytes && size <= bytes + (bytes / 4).max(256), "{bytes}: {size}");
        }
    }
}
