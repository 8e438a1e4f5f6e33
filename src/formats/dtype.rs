//! How the values of a tensor are stored, in whatever format.

use std::fmt;

/// How the values of a tensor are stored; all of them little-endian.
///
/// The types from [`DType::Q8_0`] on are ggml's (`ggml-common.h`): a row is cut into blocks of so many values, and a
/// block holds its values as small integers with the scales that belong to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    /// float32.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of a float32.
    BF16,
    /// Marian's types 0x4101 (the fork that Firefox's models come from) and 0x10001 (Marian 1.12): int8 values, then
    /// one float32 multiplier; value = int8 / multiplier.
    Intgemm8,
    /// Marian's type 0x101: plain bytes, such as the configuration.
    Int8,
    /// 8 bits, a scale for 32 values.
    Q8_0,
    /// 4 bits, a scale for 32 values.
    Q4_0,
    /// 4 bits, a scale and a minimum for 32 values.
    Q4_1,
    /// 5 bits, a scale for 32 values.
    Q5_0,
    /// 5 bits, a scale and a minimum for 32 values.
    Q5_1,
    /// 4 bits that choose among 16 uneven values, a scale for 32.
    Iq4Nl,
    /// 4 bits, 256 values: scales and minimums of 32 values, themselves 6 bits with a common factor.
    Q4K,
    /// 5 bits, otherwise as [`DType::Q4K`].
    Q5K,
    /// 6 bits, 256 values: scales of 16 values, themselves 8 bits with a common factor.
    Q6K,
}

impl DType {
    /// Whether the values are plain int8, with at most one multiplier for all.
    pub fn is_int8(self) -> bool {
        matches!(self, DType::Intgemm8 | DType::Int8)
    }

    /// Values that a block holds: a row has a whole number of blocks. 1 where each value stands alone.
    pub fn block_len(self) -> u64 {
        match self {
            DType::F32 | DType::F16 | DType::BF16 | DType::Intgemm8 | DType::Int8 => 1,
            DType::Q4K | DType::Q5K | DType::Q6K => 256,
            DType::Q8_0 | DType::Q4_0 | DType::Q4_1 | DType::Q5_0 | DType::Q5_1 | DType::Iq4Nl => {
                32
            }
        }
    }

    /// Bytes that a block takes.
    pub fn block_bytes(self) -> u64 {
        match self {
            DType::F32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::Intgemm8 | DType::Int8 => 1,
            DType::Q8_0 => 34,
            DType::Q4_0 | DType::Iq4Nl => 18,
            DType::Q4_1 => 20,
            DType::Q5_0 => 22,
            DType::Q5_1 => 24,
            DType::Q4K => 144,
            DType::Q5K => 176,
            DType::Q6K => 210,
        }
    }

    /// Bytes that `elements` values take in the file, without alignment; `None` past 2^64 or in part of a block.
    pub fn bytes_needed(self, elements: u64) -> Option<u64> {
        if !elements.is_multiple_of(self.block_len()) {
            return None;
        }
        let bytes = (elements / self.block_len()).checked_mul(self.block_bytes())?;
        match self {
            DType::Intgemm8 => bytes.checked_add(4),
            _ => Some(bytes),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::F32 => "float32",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::Intgemm8 => "intgemm8",
            DType::Int8 => "int8",
            DType::Q8_0 => "Q8_0",
            DType::Q4_0 => "Q4_0",
            DType::Q4_1 => "Q4_1",
            DType::Q5_0 => "Q5_0",
            DType::Q5_1 => "Q5_1",
            DType::Iq4Nl => "IQ4_NL",
            DType::Q4K => "Q4_K",
            DType::Q5K => "Q5_K",
            DType::Q6K => "Q6_K",
        })
    }
}
