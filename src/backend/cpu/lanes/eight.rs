//! Two vectors side by side.

/// Two vectors that hold something of each of eight columns, aligned so that no load crosses a cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct Eight<V>(pub [V; 2]);

/// A float32 of each column.
pub type Floats = Eight<[f32; 4]>;

impl<T, const N: usize> Eight<[T; N]> {
    /// What is of the first column, then of the second, and so on.
    pub fn lanes_mut(&mut self) -> &mut [T] {
        self.0.as_flattened_mut()
    }
}

impl Floats {
    /// What is of the columns of the first of `all`, then of the second, and so on.
    pub fn lanes(all: &[Self]) -> &[f32] {
        // SAFETY: `Floats` is eight float32 in a row: `repr(C)`, and its alignment of 32 is its size, so nothing pads it.
        unsafe { std::slice::from_raw_parts(all.as_ptr().cast(), 8 * all.len()) }
    }
}
