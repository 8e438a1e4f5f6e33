//! The block formats of GGUF files (ggml's `ggml-common.h`): a block's bytes to groups of codes with a scale and a minimum,
//! which is what they mean whatever their layout, and so to float32.

mod k_types;
mod quantize;

use super::gemm::grouped::{Codes, Group, GroupForm};
use super::half;
pub use super::half::{bf16_to_f32, f16_to_f32, f32_to_f16};
pub use quantize::quantize_q8_0;

/// How the values of a row are stored, so many to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockType {
    /// 32 int8, one scale.
    Q8_0,
    /// 32 values of four bits, one scale.
    Q4_0,
    /// 32 values of four bits, one scale, one minimum.
    Q4_1,
    /// 32 values of five bits, one scale.
    Q5_0,
    /// 32 values of five bits, one scale, one minimum.
    Q5_1,
    /// 32 values of four bits that choose from a table, one scale.
    Iq4Nl,
    /// 256 values of four bits, scales and minimums of 32 of them.
    Q4K,
    /// 256 values of five bits, scales and minimums of 32 of them.
    Q5K,
    /// 256 values of six bits, scales of 16 of them.
    Q6K,
}

/// The values that codes of [`BlockType::Iq4Nl`] choose from.
const IQ4_NL: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

impl BlockType {
    /// Every type.
    pub const ALL: [Self; 9] = [
        Self::Q8_0,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Iq4Nl,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
    ];

    /// Values of a block.
    pub fn values(self) -> usize {
        match self {
            Self::Q4K | Self::Q5K | Self::Q6K => 256,
            _ => 32,
        }
    }

    /// Bytes of a block.
    pub fn bytes(self) -> usize {
        match self {
            Self::Q8_0 => 34,
            Self::Q4_0 | Self::Iq4Nl => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// How its groups are coded.
    pub fn form(self) -> GroupForm {
        let (size, codes, has_min) = match self {
            Self::Q8_0 => (32, Codes::Eight, false),
            Self::Q4_0 => (32, Codes::Four { zero: 8 }, false),
            Self::Q4_1 | Self::Q4K => (32, Codes::Four { zero: 0 }, true),
            Self::Q5_0 => (32, Codes::Five { zero: 16 }, false),
            Self::Q5_1 | Self::Q5K => (32, Codes::Five { zero: 0 }, true),
            Self::Iq4Nl => (32, Codes::Chosen(&IQ4_NL), false),
            Self::Q6K => (16, Codes::Six { zero: 32 }, false),
        };
        // Those of the others are products of a float16 and an integer.
        let halves = !matches!(self, Self::Q4K | Self::Q5K | Self::Q6K);
        GroupForm { size, codes, has_min, halves }
    }

    /// The groups of a row: whole blocks of bytes, and as many groups as they hold.
    pub fn unpack(self, row: &[u8], groups: &mut [Group]) {
        let each = self.values() / self.form().size;
        for (block, groups) in row.chunks_exact(self.bytes()).zip(groups.chunks_exact_mut(each)) {
            self.unpack_block(block, groups);
        }
    }

    fn unpack_block(self, block: &[u8], groups: &mut [Group]) {
        if !cfg!(feature = "blocks") {
            return;
        }
        match self {
            Self::Q4K => return k_types::q4(block, groups),
            Self::Q5K => return k_types::q5(block, groups),
            Self::Q6K => return k_types::q6(block, groups),
            _ => {}
        }
        let [group] = groups else { return };
        *group = Group::ZERO;
        let (scale, rest) = half::split(block);
        group.scale = scale;
        let (min, rest) = match self {
            Self::Q4_1 | Self::Q5_1 => half::split(rest),
            _ => (0.0, rest),
        };
        group.min = min;
        if self == Self::Q8_0 {
            group.codes.copy_from_slice(rest);
            return;
        }
        let (fifth, nibbles) = match self {
            Self::Q5_0 | Self::Q5_1 => rest
                .split_first_chunk::<4>()
                .map_or((0, rest), |(bits, rest)| (u32::from_le_bytes(*bits), rest)),
            _ => (0, rest),
        };
        let (low, high) = group.codes.split_at_mut(16);
        for (i, byte) in nibbles.iter().enumerate().take(16) {
            low[i] = (byte & 15) | ((fifth >> i) as u8 & 1) << 4;
            high[i] = (byte >> 4) | ((fifth >> (i + 16)) as u8 & 1) << 4;
        }
    }

    /// Where float16 numbers stand in a block.
    fn halves(self) -> &'static [usize] {
        match self {
            Self::Q8_0 | Self::Q4_0 | Self::Q5_0 | Self::Iq4Nl => &[0],
            Self::Q4_1 | Self::Q5_1 | Self::Q4K | Self::Q5K => &[0, 2],
            Self::Q6K => &[208],
        }
    }

    /// The first block of a row with a scale or minimum that is infinite or no number; where there is none, all values
    /// of the row are finite.
    pub fn find_not_finite(self, row: &[u8]) -> Option<usize> {
        row.chunks_exact(self.bytes()).position(|block| {
            // the upper byte holds the exponent
            self.halves().iter().any(|at| block.get(at + 1).is_some_and(|byte| byte & 0x7c == 0x7c))
        })
    }

    /// The values of a row of whole blocks.
    pub fn dequantize(self, row: &[u8], values: &mut [f32]) {
        let form = self.form();
        let mut groups = [Group::ZERO; 16];
        let each = self.values() / form.size;
        let blocks = row.chunks_exact(self.bytes());
        for (block, values) in blocks.zip(values.chunks_exact_mut(self.values())) {
            self.unpack_block(block, &mut groups[..each]);
            for (group, values) in groups.iter().zip(values.chunks_exact_mut(form.size)) {
                group.values(form, values);
            }
        }
    }
}

#[cfg(test)]
mod tests;
