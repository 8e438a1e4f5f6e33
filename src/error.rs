//! The one error type: what happened, where (file, offset, tensor, option) and what to do about it.

use std::fmt;

/// Result of every fallible function of the crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A number as messages show it, to a thousandth. What Rust writes floats with weighs as much as a kind of model does in
/// what a page downloads.
pub struct Decimal(pub f32);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_nan() {
            return f.write_str("NaN");
        }
        if self.0.is_sign_negative() {
            f.write_str("-")?;
        }
        if self.0.is_infinite() {
            return f.write_str("infinity");
        }
        let (mut size, mut exponent) = (f64::from(self.0.abs()), 0);
        while size >= 1e9 || (exponent > 0 && size >= 10.0) {
            (size, exponent) = (size / 10.0, exponent + 1);
        }
        while size > 0.0 && (size < 0.001 || (exponent < 0 && size < 1.0)) {
            (size, exponent) = (size * 10.0, exponent - 1);
        }
        let mut thousandths = (size * 1000.0).round_ties_even() as u64;
        if exponent != 0 && thousandths == 10_000 {
            (thousandths, exponent) = (1000, exponent + 1);
        }
        write!(f, "{}", thousandths / 1000)?;
        match thousandths % 1000 {
            0 => Ok(()),
            rest if rest % 100 == 0 => write!(f, ".{}", rest / 100),
            rest if rest % 10 == 0 => write!(f, ".{:02}", rest / 10),
            rest => write!(f, ".{rest:03}"),
        }?;
        match exponent {
            0 => Ok(()),
            exponent => write!(f, "e{exponent}"),
        }
    }
}

/// Everything that can go wrong with a file, an option or a device. Each kind has a stable
/// [`Error::code`] that reaches JavaScript unchanged.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes of a file do not follow its format.
    Format {
        /// Name of the file as the caller gave it.
        file: String,
        /// Byte offset at which reading failed, where one is known.
        offset: Option<u64>,
        /// What was found and what was expected there.
        what: String,
    },
    /// A tensor of a file is damaged: its header contradicts itself, or its data cannot be read.
    Tensor {
        /// Name of the file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Byte offset of the offending header field or value.
        offset: u64,
        /// What was found and what was expected there.
        what: String,
    },
    /// A key of a file's metadata is missing, or its value is damaged or not what is needed.
    Metadata {
        /// Name of the file.
        file: String,
        /// The key.
        key: String,
        /// Byte offset of the offending value, where one is there.
        offset: Option<u64>,
        /// What was found and what was expected there.
        what: String,
    },
    /// A well-formed file asks for something that is not implemented.
    Unsupported {
        /// Name of the file.
        file: String,
        /// The feature, and what is supported instead.
        what: String,
    },
    /// The model description needs tensors that the file does not hold; all are named at once.
    MissingTensor {
        /// Name of the file.
        file: String,
        /// Names of the missing tensors.
        tensors: Vec<String>,
        /// Names of tensors that the description has no use for, though they look as if it had.
        extra: Vec<String>,
    },
    /// A tensor is there but has another shape than the model description says.
    Shape {
        /// Name of the file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Expected shape, for example `[256, 1536]`.
        expected: String,
        /// The shape found.
        got: String,
    },
    /// An option or argument of the caller is out of range.
    InvalidArgument {
        /// Name of the option in the public API (camelCase).
        option: &'static str,
        /// What was given and what is allowed.
        what: String,
    },
    /// More memory is needed than there is.
    OutOfMemory {
        /// What needed the memory.
        what: String,
        /// Bytes asked for.
        bytes: u64,
    },
    /// What an option asks for takes more memory than there may be.
    TooMuch {
        /// Name of the option in the public API (camelCase).
        option: &'static str,
        /// Bytes that it would take.
        bytes: u64,
    },
    /// There is no GPU to compute on, or it was refused.
    #[cfg(feature = "gpu")]
    NoGpu {
        /// What the system says.
        what: String,
    },
    /// The GPU is gone: reset, unplugged, or given up by the system. What lay on it is lost.
    #[cfg(feature = "gpu")]
    DeviceLost {
        /// What the system says.
        what: String,
    },
    /// The GPU refused a command: a bug here or in its driver.
    #[cfg(feature = "gpu")]
    Gpu {
        /// What it says.
        what: String,
    },
    /// An invariant of this crate did not hold: a bug here, not in the input.
    Internal {
        /// The invariant.
        what: String,
    },
}

impl Error {
    /// Stable code of the kind, the `ErrorCode` of the npm package.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Format { .. }
            | Error::Tensor { .. }
            | Error::Metadata { .. }
            | Error::MissingTensor { .. }
            | Error::Shape { .. } => "model-corrupt",
            Error::Unsupported { .. } => "model-unsupported",
            Error::InvalidArgument { .. } => "invalid-argument",
            Error::OutOfMemory { .. } | Error::TooMuch { .. } => "out-of-memory",
            #[cfg(feature = "gpu")]
            Error::DeviceLost { .. } => "device-lost",
            #[cfg(feature = "gpu")]
            // The package computes on the CPU then, and no caller meets it.
            Error::NoGpu { .. } => "gpu-unavailable",
            #[cfg(feature = "gpu")]
            Error::Gpu { .. } => "internal",
            Error::Internal { .. } => "internal",
        }
    }

    /// Name of the file concerned, if one is.
    pub fn file(&self) -> Option<&str> {
        match self {
            Error::Format { file, .. }
            | Error::Tensor { file, .. }
            | Error::Metadata { file, .. }
            | Error::Unsupported { file, .. }
            | Error::MissingTensor { file, .. }
            | Error::Shape { file, .. } => Some(file),
            _ => None,
        }
    }

    /// Byte offset in [`Error::file`], if one is known.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Error::Format { offset, .. } | Error::Metadata { offset, .. } => *offset,
            Error::Tensor { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Name of the (first) tensor concerned, if one is.
    pub fn tensor(&self) -> Option<&str> {
        match self {
            Error::MissingTensor { tensors, extra, .. } => {
                tensors.first().or(extra.first()).map(String::as_str)
            }
            Error::Shape { tensor, .. } | Error::Tensor { tensor, .. } => Some(tensor),
            _ => None,
        }
    }

    /// Name of the option concerned, if one is.
    pub fn option(&self) -> Option<&str> {
        match self {
            Error::InvalidArgument { option, .. } | Error::TooMuch { option, .. } => Some(option),
            _ => None,
        }
    }

    /// Shorthand for [`Error::Format`] at a known offset.
    pub fn format(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Error::Format { file: file.to_owned(), offset: Some(offset), what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Format { file, offset: Some(offset), what } => {
                write!(
                    f,
                    "{file}, byte {offset}: {what}. The file is damaged or of another format; fetch it again"
                )
            }
            Error::Format { file, offset: None, what } => {
                write!(
                    f,
                    "{file}: {what}. The file is damaged or of another format; fetch it again"
                )
            }
            Error::Tensor { file, tensor, offset, what } => {
                write!(
                    f,
                    "{file}, byte {offset}, tensor {tensor}: {what}. The file is damaged or of another format; fetch it again"
                )
            }
            Error::Metadata { file, key, offset, what } => {
                let byte = offset.map(|offset| format!(", byte {offset}")).unwrap_or_default();
                write!(
                    f,
                    "{file}{byte}, metadata key {key}: {what}. The file is damaged, incomplete or of another architecture; fetch it again or take another"
                )
            }
            Error::Unsupported { file, what } => write!(f, "{file}: not supported: {what}"),
            Error::MissingTensor { file, tensors, extra } => {
                let list = |names: &[String], what: &str| match names.len() {
                    0 => String::new(),
                    count => format!(": {count} tensor(s) {what}: {}", names.join(", ")),
                };
                let missing = list(tensors, "missing");
                let extra = list(extra, "more than its configuration says");
                write!(
                    f,
                    "{file}{missing}{extra}. The file is incomplete or of another architecture"
                )
            }
            Error::Shape { file, tensor, expected, got } => {
                write!(f, "{file}: tensor {tensor} has shape {got}, expected {expected}")
            }
            Error::InvalidArgument { option, what } => write!(f, "{option}: {what}"),
            Error::OutOfMemory { what, bytes } => {
                write!(
                    f,
                    "out of memory: {what} needs {bytes} bytes. Unload another model or use a smaller one"
                )
            }
            Error::TooMuch { option, bytes } => {
                write!(
                    f,
                    "{option}: takes {bytes} bytes. Ask for fewer layers or heads, or of less text"
                )
            }
            #[cfg(feature = "gpu")]
            Error::NoGpu { what } => {
                write!(f, "no GPU: {what}. Compute on the CPU, or try another browser or driver")
            }
            #[cfg(feature = "gpu")]
            Error::DeviceLost { what } => {
                write!(f, "the GPU was lost: {what}. Try again, or compute on the CPU")
            }
            #[cfg(feature = "gpu")]
            Error::Gpu { what } => {
                write!(f, "the GPU refused a command: {what}. Compute on the CPU, and report it")
            }
            Error::Internal { what } => write!(f, "internal error (please report it): {what}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_written_to_a_thousandth() {
        for (number, text) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (0.25, "0.25"),
            (2.0625, "2.062"),
            (10.125, "10.125"),
            (123_456.0, "123456"),
            (1e-5, "1e-5"),
            (-2.5e20, "-2.5e20"),
            (f32::NEG_INFINITY, "-infinity"),
            (f32::NAN, "NaN"),
        ] {
            assert_eq!(Decimal(number).to_string(), text);
        }
    }
}
