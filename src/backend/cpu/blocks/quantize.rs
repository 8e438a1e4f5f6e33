//! Float32 to blocks.

use crate::backend::cpu::half::f32_to_f16;

/// Quantises `values` to blocks of [`BlockType::Q8_0`](super::BlockType::Q8_0) as ggml's `quantize_row_q8_0_ref` does:
/// the largest magnitude of 32 values becomes 127, halves go away from zero. As many values as are whole blocks in both.
///
/// Values are finite. Where the largest of a block is past 127 · 65504 its scale is infinite, as in ggml.
pub fn quantize_q8_0(values: &[f32], blocks: &mut [u8]) {
    for (values, block) in values.as_chunks::<32>().0.iter().zip(blocks.as_chunks_mut::<34>().0) {
        let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = largest / 127.0;
        // by the scale itself, not by what float16 leaves of it
        let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
        let (to_scale, codes) = block.split_at_mut(2);
        to_scale.copy_from_slice(&f32_to_f16(scale).to_le_bytes());
        for (code, value) in codes.iter_mut().zip(values) {
            *code = (libm::roundf(value * inverse) as i8).cast_unsigned();
        }
    }
}
