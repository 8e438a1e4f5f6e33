//! Reading back: the only place that waits.

use super::Gpu;
use super::faults::Answer;
use super::memory::Storage;
use crate::error::{Error, Result};
use std::future::poll_fn;
use std::sync::Arc;

/// Buffers to map, used again.
#[derive(Default)]
pub struct Staging {
    free: Vec<wgpu::Buffer>,
}

impl Gpu {
    /// Submits, waits, and reads the first `count` words of `storage` into `to`, in place of what it held.
    ///
    /// # Errors
    /// The fault kept since the last read, or that the device is lost.
    pub async fn read_words(
        &self,
        storage: &Storage,
        count: usize,
        to: &mut Vec<u32>,
    ) -> Result<()> {
        to.clear();
        let bytes = 4 * count as u64;
        if bytes > storage.size() {
            let what = format!("{count} words of a buffer of {} bytes", storage.size());
            self.record_fault(Error::Internal { what });
        }
        if self.is_rehearsing() {
            to.resize(count, 1);
            return self.take_fault();
        }
        let bytes = bytes.min(storage.size());
        if bytes == 0 {
            self.submit();
            return self.take_fault();
        }
        let buffer = self.staging(bytes);
        self.copy_to_map(storage, &buffer, bytes);
        self.submit();
        let read = self.read_mapped(&buffer, bytes, to).await;
        match read {
            Ok(()) => self.inner.staging.borrow_mut().free.push(buffer),
            Err(_) => {
                self.inner.memory.uncount(buffer.size());
                buffer.destroy();
            }
        }
        read
    }

    /// Maps the first `bytes` of `buffer`, reads them, and unmaps it.
    async fn read_mapped(
        &self,
        buffer: &wgpu::Buffer,
        bytes: u64,
        to: &mut Vec<u32>,
    ) -> Result<()> {
        let answer = self.inner.faults.answer();
        let told = Arc::clone(&answer);
        buffer.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
            Answer::tell(&told, result.is_ok());
        });
        // Browsers call back by themselves, and do nothing here.
        if let Err(error) = self.inner.device.poll(wgpu::PollType::wait_indefinitely()) {
            self.record_fault(Error::Gpu { what: error.to_string() });
        }
        let mapped = poll_fn(|context| Answer::poll(&answer, context)).await;
        self.take_fault()?;
        let view = match mapped {
            true => buffer.get_mapped_range(0..bytes).ok(),
            false => None,
        };
        let Some(view) = view else {
            // Nothing is wrong with the commands: it is gone, and says so a little later, or is of no use any more.
            self.inner.faults.lose("its results could not be read".to_owned());
            return self.take_fault();
        };
        to.extend(view.as_chunks().0.iter().map(|four| u32::from_le_bytes(*four)));
        drop(view);
        buffer.unmap();
        Ok(())
    }

    /// A buffer to map `bytes` of: the smallest that is free, or a new one.
    fn staging(&self, bytes: u64) -> wgpu::Buffer {
        let free = &mut self.inner.staging.borrow_mut().free;
        let fits = free.iter().enumerate().filter(|(_, buffer)| buffer.size() >= bytes);
        if let Some((index, _)) = fits.min_by_key(|(_, buffer)| buffer.size()) {
            return free.swap_remove(index);
        }
        // One grows instead of many being kept.
        if let Some(small) = free.pop() {
            self.inner.memory.uncount(small.size());
            small.destroy();
        }
        let size = bytes.next_power_of_two().max(4096);
        self.inner.memory.count(size);
        self.inner.faults.asked(size);
        self.inner.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read back"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }
}
