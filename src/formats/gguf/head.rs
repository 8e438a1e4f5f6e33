//! Reads a head from front to back in few large reads, whatever the size of what is asked for.

use crate::error::{Error, Result};
use crate::formats::ByteSource;
use std::borrow::Cow;

/// Least that is read at a time, if the file has it: a Blob's read asks another process.
const CHUNK_BYTES: u64 = 1 << 20;

/// What is being read, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// A part of the head, in words.
    Head(&'a str),
    /// The key or the value of a metadata entry, by number while the key is unknown.
    EntryNumber(u64),
    /// The value of this key.
    Key(&'a str),
    /// A tensor of the head, by number while its name is unknown.
    TensorNumber(u64),
    /// A tensor by name.
    Tensor(&'a str),
}

impl Place<'_> {
    /// An error here, at byte `offset`.
    pub(super) fn fail(self, file: &str, offset: u64, what: impl Into<String>) -> Error {
        let (file, what) = (file.to_owned(), what.into());
        match self {
            Place::Head(part) => Error::format(&file, offset, format!("{part}: {what}")),
            Place::EntryNumber(number) => {
                Error::format(&file, offset, format!("metadata entry {number}: {what}"))
            }
            Place::TensorNumber(number) => {
                Error::format(&file, offset, format!("tensor {number} of the head: {what}"))
            }
            Place::Key(key) => {
                Error::Metadata { file, key: key.to_owned(), offset: Some(offset), what }
            }
            Place::Tensor(name) => Error::Tensor { file, tensor: name.to_owned(), offset, what },
        }
    }
}

/// A file being read from its start on.
pub(super) struct Head<'a> {
    source: &'a dyn ByteSource,
    /// What was read last.
    chunk: Cow<'a, [u8]>,
    /// Where in the file the chunk starts.
    start: u64,
    /// Where in the chunk the next byte is.
    at: usize,
}

impl<'a> Head<'a> {
    pub(super) fn new(source: &'a dyn ByteSource) -> Self {
        Self { source, chunk: Cow::Borrowed(&[]), start: 0, at: 0 }
    }

    /// Name of the file, for errors.
    pub(super) fn file(&self) -> &'a str {
        self.source.name()
    }

    /// Length of the file.
    pub(super) fn len(&self) -> u64 {
        self.source.len()
    }

    /// Where in the file the next byte is.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Bytes of the file that were not read yet.
    pub(super) fn left(&self) -> u64 {
        self.len().saturating_sub(self.offset())
    }

    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: u64, place: Place) -> Result<&[u8]> {
        let (offset, left) = (self.offset(), self.left());
        if count > left {
            let what = format!("{count} bytes expected here, {left} are left in the file");
            return Err(place.fail(self.file(), offset, what));
        }
        if count > (self.chunk.len() - self.at) as u64 {
            let end = offset.saturating_add(count.max(CHUNK_BYTES)).min(self.len());
            // the old chunk goes before the new one comes
            self.chunk = Cow::Borrowed(&[]);
            (self.start, self.at) = (offset, 0);
            self.chunk = self.source.read(offset..end)?;
        }
        let found = usize::try_from(count).ok().and_then(|count| {
            let end = self.at.checked_add(count)?;
            Some((self.chunk.get(self.at..end)?, end))
        });
        match found {
            Some((bytes, end)) => {
                self.at = end;
                Ok(bytes)
            }
            None => {
                let what = format!("{count} bytes expected here, {} were read", self.chunk.len());
                Err(place.fail(self.source.name(), offset, what))
            }
        }
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self, place: Place) -> Result<[u8; N]> {
        let (file, offset) = (self.file(), self.offset());
        let bytes = self.bytes(N as u64, place)?;
        bytes.try_into().map_err(|_| place.fail(file, offset, format!("{N} bytes expected")))
    }

    pub(super) fn u32(&mut self, place: Place) -> Result<u32> {
        self.array(place).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, place: Place) -> Result<u64> {
        self.array(place).map(u64::from_le_bytes)
    }

    /// A string: u64 length, then UTF-8.
    pub(super) fn string(&mut self, place: Place) -> Result<&str> {
        let len = self.u64(place)?;
        let (file, offset) = (self.file(), self.offset());
        let bytes = self.bytes(len, place)?;
        str::from_utf8(bytes).map_err(|error| {
            let at = offset + error.valid_up_to() as u64;
            place.fail(file, at, format!("text that is not UTF-8 ({error})"))
        })
    }

    /// As [`Head::string`], of 1 to `limit` bytes.
    pub(super) fn name(&mut self, limit: u64, place: Place) -> Result<String> {
        let (file, offset) = (self.file(), self.offset());
        let name = self.string(place)?;
        if name.is_empty() || name.len() as u64 > limit {
            let what = format!("a name of {} bytes, expected 1 to {limit}", name.len());
            return Err(place.fail(file, offset, what));
        }
        Ok(name.to_owned())
    }

    /// Refuses a count of things of which each takes at least `least` bytes, if the file has no room for so many.
    pub(super) fn check_count(&self, count: u64, least: u64, place: Place) -> Result<()> {
        let left = self.left();
        if count.checked_mul(least).is_none_or(|bytes| bytes > left) {
            let what = format!(
                "a count of {count}, of at least {least} bytes each; {left} are left in the file"
            );
            return Err(place.fail(self.file(), self.offset() - 8, what));
        }
        Ok(())
    }
}
