//! Blocks of GGUF files as they lie on the GPU: the codes of 32 values are one or two vectors of four words, the value `i` in
//! the `i`-th bits from below; scales, minimums and the bits above the lower four are beside them, row after row.

use crate::backend::cpu::blocks::BlockType;
use crate::backend::cpu::gemm::grouped::Group;

/// The number of a type in `weights.wgsl`.
pub fn code(kind: BlockType) -> u32 {
    match kind {
        BlockType::Q8_0 => 3,
        BlockType::Q4_0 => 4,
        BlockType::Q4_1 => 5,
        BlockType::Q5_0 => 6,
        BlockType::Q5_1 => 7,
        BlockType::Iq4Nl => 8,
        BlockType::Q4K => 9,
        BlockType::Q5K => 10,
        BlockType::Q6K => 11,
    }
}

/// Words of scales of a row of `columns` values before its upper bits: two float16 a word where there is no minimum, float16
/// scale and minimum where there is one; of the K types the factors and the integers of each 256 values, as in the file.
fn words_of_scales(kind: BlockType, columns: usize) -> usize {
    let groups = columns / 32;
    match kind {
        BlockType::Q8_0 | BlockType::Q4_0 | BlockType::Q5_0 | BlockType::Iq4Nl => {
            groups.div_ceil(2)
        }
        BlockType::Q4_1 | BlockType::Q5_1 => groups,
        BlockType::Q4K | BlockType::Q5K => 4 * (groups / 8),
        BlockType::Q6K => 5 * (groups / 8),
    }
}

/// Words of upper bits of 32 values.
fn words_of_upper(kind: BlockType) -> usize {
    match kind {
        BlockType::Q5_0 | BlockType::Q5_1 | BlockType::Q5K => 1,
        BlockType::Q6K => 2,
        _ => 0,
    }
}

/// Words beside the codes of a row.
pub fn scales_of_row(kind: BlockType, columns: usize) -> usize {
    words_of_scales(kind, columns) + columns / 32 * words_of_upper(kind)
}

/// Turns rows of blocks into words.
pub struct Packer {
    kind: BlockType,
    /// Of a row.
    groups: Vec<Group>,
    upper: Vec<u32>,
}

impl Packer {
    /// For rows of `columns` values.
    pub fn new(kind: BlockType, columns: usize) -> Self {
        let groups = vec![Group::ZERO; columns / kind.form().size];
        Self { kind, groups, upper: Vec::new() }
    }

    /// Appends the words of a row, given its bytes.
    pub fn pack(&mut self, row: &[u8], words: &mut Vec<u32>, scales: &mut Vec<u32>) {
        let kind = self.kind;
        kind.unpack(row, &mut self.groups);
        pack_scales(kind, row, scales);
        let size = kind.form().size;
        for groups in self.groups.chunks_exact(32 / size) {
            let mut codes = [0; 32];
            for (to, group) in codes.chunks_exact_mut(size).zip(groups) {
                to.copy_from_slice(&group.codes[..size]);
            }
            if kind == BlockType::Q8_0 {
                words.extend(packed::<8>(&codes, |code| code));
                continue;
            }
            words.extend(packed::<4>(&codes, |code| code & 15));
            match words_of_upper(kind) {
                1 => self.upper.extend(packed::<1>(&codes, |code| code >> 4)),
                2 => self.upper.extend(packed::<2>(&codes, |code| code >> 4)),
                _ => {}
            }
        }
        scales.append(&mut self.upper);
    }
}

/// Words of `BITS` bits of each code.
fn packed<const BITS: usize>(
    codes: &[u8; 32],
    bits: impl Fn(u8) -> u8,
) -> impl Iterator<Item = u32> {
    codes.chunks(32 / BITS).map(move |codes| {
        let shifted = codes.iter().enumerate();
        shifted.fold(0, |word, (i, code)| word | u32::from(bits(*code)) << (BITS * i))
    })
}

/// Appends the scales of a row, as its bytes have them.
fn pack_scales(kind: BlockType, row: &[u8], scales: &mut Vec<u32>) {
    let blocks = row.chunks_exact(kind.bytes());
    let word = |bytes: &[u8]| {
        let bytes = bytes.iter().rev();
        bytes.fold(0, |word, byte| word << 8 | u32::from(*byte))
    };
    match kind {
        BlockType::Q8_0 | BlockType::Q4_0 | BlockType::Q5_0 | BlockType::Iq4Nl => {
            let mut halves = blocks.map(|block| word(&block[..2]));
            while let Some(half) = halves.next() {
                scales.push(half | halves.next().unwrap_or(0) << 16);
            }
        }
        BlockType::Q4_1 | BlockType::Q5_1 => scales.extend(blocks.map(|block| word(&block[..4]))),
        BlockType::Q4K | BlockType::Q5K => {
            scales.extend(blocks.flat_map(|block| block[..16].chunks(4).map(word)));
        }
        // Sixteen int8 scales and their factor, which are the end of a block.
        BlockType::Q6K => scales.extend(blocks.flat_map(|block| block[192..].chunks(4).map(word))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Packer, scales_of_row};
    use crate::backend::cpu::blocks::BlockType;

    fn pack(kind: BlockType, columns: usize, row: &[u8]) -> (Vec<u32>, Vec<u32>) {
        let (mut words, mut scales) = (Vec::new(), Vec::new());
        Packer::new(kind, columns).pack(row, &mut words, &mut scales);
        assert_eq!(scales.len(), scales_of_row(kind, columns));
        (words, scales)
    }

    #[test]
    fn codes_are_in_the_order_of_values() {
        // Byte i of Q4_0 holds the values i and i + 16: here the values are 0, 1, …, 15 and fifteen minus that.
        let mut row = vec![0x34, 0x12];
        row.extend((0..16u8).map(|i| i | (15 - i) << 4));
        let (words, scales) = pack(BlockType::Q4_0, 32, &row);
        assert_eq!(words, [0x7654_3210, 0xfedc_ba98, 0x89ab_cdef, 0x0123_4567]);
        assert_eq!(scales, [0x1234]);
    }

    #[test]
    fn upper_bits_follow_the_scales() {
        // Q5_1: scale, minimum, fifth bits of all values in order, sixteen bytes of the others.
        let mut row = vec![1, 0, 2, 0, 0x01, 0x00, 0x00, 0x80];
        row.extend([0; 16]);
        let (words, scales) = pack(BlockType::Q5_1, 32, &row);
        assert_eq!((words, scales), (vec![0; 4], vec![0x0002_0001, 0x8000_0001]));
    }

    #[test]
    fn int8_and_its_scales_are_words() {
        // Two blocks: their scales share a word.
        let mut row = vec![1, 0];
        row.extend(0..32u8);
        row.extend([2, 0]);
        row.extend([255; 32]);
        let (words, scales) = pack(BlockType::Q8_0, 64, &row);
        assert_eq!(words[..2], [0x0302_0100, 0x0706_0504]);
        assert_eq!(words[8..], [0xffff_ffff; 8]);
        assert_eq!(scales, [0x0002_0001]);
    }
}
