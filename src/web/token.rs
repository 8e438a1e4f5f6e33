//! Tokens and ranges as JavaScript objects.

use crate::text::utf16::Utf16Index;
use js_sys::{Array, Object};
use std::ops::Range;

use super::error::set;

/// `Token` of the package: an id, the text that it stands for, and its bytes in the text of `index`.
pub fn token(id: u32, text: &str, range: &Range<usize>, index: &Utf16Index) -> Object {
    let object = Object::new();
    set(&object, "id", id);
    set(&object, "text", text);
    set(&object, "range", span(range, index));
    object
}

/// `[start, end)` in UTF-16 units.
pub fn span(range: &Range<usize>, index: &Utf16Index) -> Array {
    Array::of2(&index.offset(range.start).into(), &index.offset(range.end).into())
}
