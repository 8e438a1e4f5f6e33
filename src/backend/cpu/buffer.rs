//! Buffers of float32 that return to a free list of their thread when dropped.
//!
//! A decoding step needs the same few sizes again and again, so after the first step nothing is
//! allocated. Sizes are rounded up to one of four classes an octave, and the list is bounded.

use std::cell::RefCell;

/// Most bytes that a thread keeps for later.
const KEPT_BYTES: usize = 64 << 20;
/// Smallest buffer, in floats.
const SMALLEST: usize = 64;

/// `len` floats, with room for the rest of their size class.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Initialised to its full length, of which the first `len` are in use.
    values: Vec<f32>,
    len: usize,
}

#[derive(Debug, Default)]
struct FreeList {
    buffers: Vec<Vec<f32>>,
    bytes: usize,
}

thread_local! {
    static FREE: RefCell<FreeList> = RefCell::default();
}

impl Buffer {
    /// A buffer of `len` floats whose contents are left over from earlier use.
    pub fn stale(len: usize) -> Self {
        if len == 0 {
            return Self::default();
        }
        let class = size_class(len);
        let recycled = FREE.try_with(|free| free.borrow_mut().take(class)).ok().flatten();
        let values = recycled.unwrap_or_else(|| vec![0.0; class]);
        Self { values, len }
    }

    /// Lengthens to `len` floats, keeping the present ones; what follows them is stale.
    /// Room is doubled, so growing row by row copies each float about once.
    pub fn grow(&mut self, len: usize) {
        let len = len.max(self.len);
        if len > self.values.len() {
            let mut larger = Self::stale(len.max(self.len.saturating_mul(2)));
            larger.values[..self.len].copy_from_slice(&self.values[..self.len]);
            std::mem::swap(self, &mut larger);
        }
        self.len = len;
    }

    /// The floats in use.
    pub fn values(&self) -> &[f32] {
        &self.values[..self.len]
    }

    /// The floats in use.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        if !values.is_empty() {
            // On a thread that is ending the list may be gone already; then the buffer is simply freed.
            let _ = FREE.try_with(|free| free.borrow_mut().put(values));
        }
    }
}

impl FreeList {
    fn take(&mut self, class: usize) -> Option<Vec<f32>> {
        let found = self.buffers.iter().rposition(|buffer| buffer.len() == class)?;
        let buffer = self.buffers.swap_remove(found);
        self.bytes -= size_of::<f32>() * buffer.len();
        Some(buffer)
    }

    fn put(&mut self, buffer: Vec<f32>) {
        let bytes = size_of::<f32>() * buffer.len();
        if self.bytes + bytes > KEPT_BYTES {
            return;
        }
        self.bytes += bytes;
        self.buffers.push(buffer);
    }
}

/// `len` rounded up to 4, 5, 6 or 7 times a power of two.
fn size_class(len: usize) -> usize {
    let len = len.max(SMALLEST);
    let step = 1usize << (len.ilog2() - 2);
    len.checked_next_multiple_of(step).unwrap_or(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_close_above() {
        assert_eq!(size_class(1), 64);
        assert_eq!(size_class(64), 64);
        assert_eq!(size_class(65), 80);
        assert_eq!(size_class(256), 256);
        assert_eq!(size_class(257), 320);
        assert_eq!(size_class(1535), 1536);
        assert_eq!(size_class(usize::MAX), usize::MAX);
    }

    #[test]
    fn dropped_buffers_are_used_again() {
        let mut buffer = Buffer::stale(1000);
        buffer.values_mut().fill(7.0);
        let address = buffer.values().as_ptr();
        drop(buffer);
        let again = Buffer::stale(990);
        assert_eq!(again.values().as_ptr(), address);
        assert_eq!(again.values().len(), 990);
    }

    #[test]
    fn growing_keeps_the_contents() {
        let mut buffer = Buffer::stale(0);
        for len in 1..=500 {
            buffer.grow(len);
            buffer.values_mut()[len - 1] = len as f32;
        }
        assert!(buffer.values().iter().enumerate().all(|(i, &x)| x == (i + 1) as f32));
    }
}
