//! Files of JavaScript, read by ranges: a `Blob` in a worker, bytes in memory elsewhere.

use super::error::to_js;
use crate::error::{Error, Result};
use crate::formats::ByteSource;
use js_sys::{Reflect, Uint8Array};
use std::{borrow::Cow, cell::RefCell, ops::Range};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, FileReaderSync};

/// Least that is read of a `Blob` at a time: each read asks another process, and tensors are many and mostly small.
const READ_AHEAD: u64 = 4 << 20;

/// A `Blob` or a `Uint8Array` under a file name. Only the ranges asked for come into wasm memory.
pub struct BlobFile {
    name: String,
    bytes: Bytes,
}

enum Bytes {
    /// Read synchronously, which only workers can.
    Blob {
        blob: Blob,
        reader: FileReaderSync,
        /// Where what was read last starts, and its bytes, in JavaScript's memory.
        last: RefCell<(u64, Uint8Array)>,
    },
    Array(Uint8Array),
}

impl BlobFile {
    /// Wraps `data`, a `Blob` or a `Uint8Array`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `data` is neither, or a `Blob` where there is no `FileReaderSync`.
    pub fn new(name: String, data: JsValue) -> Result<Self> {
        let wrong = |what| Error::InvalidArgument { option: "model", what };
        let bytes = match data.dyn_into::<Blob>() {
            Ok(blob) => {
                let reader = FileReaderSync::new().map_err(|_| {
                    wrong(format!("{name}: a Blob can be read in a worker of a browser only"))
                })?;
                let last = RefCell::new((0, Uint8Array::new_with_length(0)));
                Bytes::Blob { blob, reader, last }
            }
            Err(other) => Bytes::Array(
                other
                    .dyn_into()
                    .map_err(|_| wrong(format!("{name}: neither a Blob nor a Uint8Array")))?,
            ),
        };
        Ok(Self { name, bytes })
    }
}

impl ByteSource for BlobFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        match &self.bytes {
            // A whole number below 2^53.
            Bytes::Blob { blob, .. } => blob.size() as u64,
            Bytes::Array(array) => u64::from(array.length()),
        }
    }

    fn read(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let outside = || {
            let (start, end, len) = (range.start, range.end, self.len());
            let what = format!("bytes {start}..{end} asked for, the file has {len}");
            Error::format(&self.name, start, what)
        };
        if range.start > range.end || range.end > self.len() {
            return Err(outside());
        }
        let array = match &self.bytes {
            Bytes::Blob { blob, reader, last } => {
                let gone = |reason: JsValue| {
                    let what = format!("the browser could not read the Blob ({reason:?})");
                    Error::format(&self.name, range.start, what)
                };
                let mut last = last.borrow_mut();
                let known = last.0..last.0 + u64::from(last.1.length());
                if range.start < known.start || range.end > known.end {
                    let end = range.end.max(range.start + READ_AHEAD).min(self.len());
                    let part = blob
                        .slice_with_f64_and_f64(range.start as f64, end as f64)
                        .map_err(gone)?;
                    let bytes = reader.read_as_array_buffer(&part).map_err(gone)?;
                    *last = (range.start, Uint8Array::new(&bytes.into()));
                }
                let within = |at: u64| u32::try_from(at - last.0).map_err(|_| outside());
                last.1.subarray(within(range.start)?, within(range.end)?)
            }
            Bytes::Array(array) => {
                let ends = u32::try_from(range.start).ok().zip(u32::try_from(range.end).ok());
                let (start, end) = ends.ok_or_else(outside)?;
                array.subarray(start, end)
            }
        };
        // A file on disk may have been cut since its size was taken.
        if u64::from(array.length()) != range.end - range.start {
            return Err(outside());
        }
        Ok(Cow::Owned(array.to_vec()))
    }
}

/// The file of a role, if there is one.
pub(super) fn file(
    files: &JsValue,
    role: &str,
) -> std::result::Result<Option<Box<dyn ByteSource>>, JsValue> {
    let file = Reflect::get(files, &JsValue::from_str(role))?;
    if file.is_undefined() {
        return Ok(None);
    }
    let name = Reflect::get(&file, &JsValue::from_str("name"))?.as_string();
    let data = Reflect::get(&file, &JsValue::from_str("data"))?;
    let file = BlobFile::new(name.unwrap_or_else(|| role.to_owned()), data);
    Ok(Some(Box::new(file.map_err(|error| to_js(&error))?)))
}
