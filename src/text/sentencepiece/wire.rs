//! Protocol Buffers wire format, as much of it as a `.spm` file needs: a bounds-checked walk over fields.
//!
//! Own code and no crate: four field kinds of one message type are needed, and every error must carry
//! the byte offset in the file, which the generated readers do not give.

use crate::error::{Error, Result};

/// A message, or a length-delimited field of one, with its place in the file.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    file: &'a str,
    bytes: &'a [u8],
    /// Offset of `bytes` in the file.
    base: u64,
    at: usize,
}

/// The value of one field.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64,
    Bytes(Message<'a>),
}

/// One field: its number, the offset of its tag in the file, and its value.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    file: &'a str,
    pub number: u64,
    pub offset: u64,
    value: Value<'a>,
}

impl<'a> Message<'a> {
    /// The whole file as a message.
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, base: 0, at: 0 }
    }

    /// The bytes of the message.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Offset in the file of the byte that is read next.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// An error at byte `at` of this message.
    pub fn error(&self, at: usize, what: impl Into<String>) -> Error {
        Error::format(self.file, self.base + at as u64, what)
    }

    /// The next field, or `None` at the end of the message.
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let offset = self.offset();
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let len = self.varint()?;
                let base = self.offset();
                Value::Bytes(Message { file: self.file, bytes: self.take(len)?, base, at: 0 })
            }
            5 => match self.take(4)? {
                &[a, b, c, d] => Value::Fixed32([a, b, c, d]),
                _ => return Err(self.error(self.at, "4 bytes expected")),
            },
            kind => {
                return Err(Error::format(
                    self.file,
                    offset,
                    format!("field {} has wire type {kind}; 0, 1, 2 or 5 expected", tag >> 3),
                ));
            }
        };
        Ok(Some(Field { file: self.file, number: tag >> 3, offset, value }))
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(len).ok().and_then(|len| rest.get(..len));
        let Some(taken) = taken else {
            return Err(
                self.error(self.at, format!("{len} bytes announced, {} are left", rest.len()))
            );
        };
        self.at += taken.len();
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(self.error(start, "a variable-length integer is cut off"));
            };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error(start, "a variable-length integer is longer than 10 bytes"))
    }
}

impl<'a> Field<'a> {
    /// An error at this field.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::format(self.file, self.offset, what)
    }

    fn mismatch(&self, expected: &str) -> Error {
        self.error(format!("field {} is not {expected}", self.number))
    }

    /// The value as a nested message or raw bytes.
    pub fn message(&self) -> Result<Message<'a>> {
        match self.value {
            Value::Bytes(message) => Ok(message),
            _ => Err(self.mismatch("length-delimited")),
        }
    }

    /// The value as text.
    pub fn text(&self) -> Result<&'a str> {
        let message = self.message()?;
        std::str::from_utf8(message.bytes).map_err(|bad| {
            message.error(bad.valid_up_to(), format!("field {} is not UTF-8", self.number))
        })
    }

    /// The value as an integer or enumeration.
    pub fn integer(&self) -> Result<u64> {
        match self.value {
            Value::Varint(value) => Ok(value),
            _ => Err(self.mismatch("an integer")),
        }
    }

    /// The value as a truth value.
    pub fn boolean(&self) -> Result<bool> {
        Ok(self.integer()? != 0)
    }

    /// The value as a 32-bit float.
    pub fn float(&self) -> Result<f32> {
        match self.value {
            Value::Fixed32(bytes) => Ok(f32::from_le_bytes(bytes)),
            _ => Err(self.mismatch("a 32-bit float")),
        }
    }
}
