//! Buffers of float32 that return to a free list of their thread when dropped.
//!
//! A decoding step needs the same few sizes again and again, so after the first step nothing is
//! allocated. Sizes are rounded up to one of four classes an octave. The list is bounded, together with what is asked for
//! that it has not, and small buffers go before large ones: an encoder's, large and seldom needed, do not drive out those
//! of every step.

use std::cell::RefCell;

/// Most bytes that a thread keeps for later.
const KEPT_BYTES: usize = 2 << 20;
/// Buffers from so many floats on give way to one that is asked for; those of decoding steps are smaller.
const LARGE: usize = 1 << 14;
/// Smallest buffer, in floats.
const SMALLEST: usize = 64;
/// Four classes an octave, up to more than [`KEPT_BYTES`].
const CLASSES: usize = 4 * 19;

/// `len` floats, with room for the rest of their size class.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Initialised to its full length, of which the first `len` are in use.
    values: Vec<f32>,
    len: usize,
}

/// Buffers at rest, by [`size_class`].
#[derive(Debug)]
struct FreeList {
    classes: [Vec<Vec<f32>>; CLASSES],
    bytes: usize,
}

impl Default for FreeList {
    fn default() -> Self {
        Self { classes: std::array::from_fn(|_| Vec::new()), bytes: 0 }
    }
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
        let (class, size) = size_class(len);
        let recycled = FREE.try_with(|free| free.borrow_mut().take_or_make_room(class, size));
        let recycled = recycled.ok().flatten();
        let values = recycled.unwrap_or_else(|| vec![0.0; size]);
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

    /// Keeps the first `len` floats in use; the room stays.
    pub fn shorten(&mut self, len: usize) {
        self.len = self.len.min(len);
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
        let buffer = self.classes.get_mut(class)?.pop()?;
        self.bytes -= size_of::<f32>() * buffer.len();
        Some(buffer)
    }

    /// A buffer of the class, or, if that is a large one, of less than twice its size; none makes room for a new one.
    fn take_or_make_room(&mut self, class: usize, size: usize) -> Option<Vec<f32>> {
        let (large, _) = size_class(LARGE);
        let found = self.take(class);
        if found.is_some() || class < large {
            return found;
        }
        let found = (class + 1..class + 4).find_map(|larger| self.take(larger));
        if found.is_none() {
            self.make_room(large, size_of::<f32>().saturating_mul(size));
        }
        found
    }

    /// Frees buffers from class `from` on, the largest first, until `bytes` more would be within the bound.
    fn make_room(&mut self, from: usize, bytes: usize) {
        for class in (from..CLASSES).rev() {
            while self.bytes.saturating_add(bytes) > KEPT_BYTES && self.take(class).is_some() {}
        }
    }

    fn put(&mut self, buffer: Vec<f32>) {
        let bytes = size_of::<f32>() * buffer.len();
        let (class, _) = size_class(buffer.len());
        self.make_room(class + 1, bytes);
        if let Some(class) = self.classes.get_mut(class)
            && self.bytes + bytes <= KEPT_BYTES
        {
            self.bytes += bytes;
            class.push(buffer);
        }
    }
}

/// Index of the smallest class that holds `len` floats, and its size: 4, 5, 6 or 7 times a power of two.
fn size_class(len: usize) -> (usize, usize) {
    let len = len.max(SMALLEST);
    let step = 1usize << (len.ilog2() - 2);
    let size = len.checked_next_multiple_of(step).unwrap_or(len);
    let octave = size.ilog2() - SMALLEST.ilog2();
    let quarter = (size >> (size.ilog2() - 2)) & 3;
    (4 * octave as usize + quarter, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_close_above() {
        let sizes = [1, 64, 65, 256, 257, 1535, 2049].map(|len| size_class(len).1);
        assert_eq!(sizes, [64, 64, 80, 256, 320, 1536, 2560]);
        let classes = [64, 65, 96, 112, 113, 128, 160].map(|len| size_class(len).0);
        assert_eq!(classes, [0, 1, 2, 3, 4, 4, 5]);
        // The largest buffer that could be kept has a class; a buffer of any size finds its own again.
        assert!(size_class(KEPT_BYTES / size_of::<f32>()).0 < CLASSES);
        assert!((1..5000).all(|len| {
            let (class, size) = size_class(len);
            size >= len && size_class(size) == (class, size)
        }));
        assert_eq!(size_class(usize::MAX).1, usize::MAX);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let kept = || FREE.with(|free| free.borrow().bytes);
        let large = KEPT_BYTES / size_of::<f32>() / 4;
        let buffers: Vec<_> = (0..9).map(|_| Buffer::stale(large)).collect();
        drop(buffers);
        assert_eq!(kept(), KEPT_BYTES);
        let again: Vec<_> = (0..4).map(|_| Buffer::stale(large)).collect();
        assert_eq!(kept(), 0);
        drop(again);
        // A small one takes the place of a large one, not the other way round.
        drop(Buffer::stale(64));
        assert_eq!(kept(), KEPT_BYTES / 4 * 3 + 64 * size_of::<f32>());
        // One that there is not gets the room of large ones, but no small one's, and is kept in their place: of the three
        // of half a MiB one goes for 5 / 8 MiB.
        drop(Buffer::stale(large + 1));
        let small = FREE.with(|free| free.borrow().classes[0].len());
        assert_eq!((kept(), small), ((1 << 20) + (5 << 17) + 64 * size_of::<f32>(), 1));
        // One that is a little larger serves a large request.
        let larger = Buffer::stale(large + 1);
        let address = larger.values().as_ptr();
        let all: Vec<_> = (0..2).map(|_| Buffer::stale(large)).collect();
        drop(larger);
        assert_eq!(Buffer::stale(large).values().as_ptr(), address);
        drop(all);
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
