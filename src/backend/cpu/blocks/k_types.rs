//! Blocks of 256 values whose groups' scales are integers with a common factor.

use super::half;
use crate::backend::cpu::gemm::grouped::Group;

/// The six bits of the scale and of the minimum of group `i`: eight of each in twelve bytes. Those of the first four
/// groups are the lower six bits of a byte; of the others four bits stand in the last four bytes, and two above the former.
fn scale_and_min(bytes: &[u8; 12], i: usize) -> (u8, u8) {
    if i < 4 {
        return (bytes[i] & 63, bytes[i + 4] & 63);
    }
    let both = bytes[i + 4];
    ((both & 15) | bytes[i - 4] >> 6 << 4, (both >> 4) | bytes[i] >> 6 << 4)
}

/// Q4_K: float16 factors of scales and minimums, these, 128 bytes. Each 32 bytes are two groups, one a half-byte.
pub fn q4(block: &[u8], groups: &mut [Group]) {
    let (scale, min, rest) = factors(block);
    let Some((scales, nibbles)) = rest.split_first_chunk::<12>() else { return };
    fill(groups, nibbles, scales, [scale, min], |_, _| 0);
}

/// Q5_K: as Q4_K, with the fifth bits in 32 bytes before the others, one bit of each byte a group.
pub fn q5(block: &[u8], groups: &mut [Group]) {
    let (scale, min, rest) = factors(block);
    let Some((scales, rest)) = rest.split_first_chunk::<12>() else { return };
    let Some((fifth, nibbles)) = rest.split_first_chunk::<32>() else { return };
    fill(groups, nibbles, scales, [scale, min], |i, k| (fifth[k] >> i & 1) << 4);
}

fn factors(block: &[u8]) -> (f32, f32, &[u8]) {
    let (scale, rest) = half::split(block);
    let (min, rest) = half::split(rest);
    (scale, min, rest)
}

fn fill(
    groups: &mut [Group],
    nibbles: &[u8],
    scales: &[u8; 12],
    [scale, min]: [f32; 2],
    upper: impl Fn(usize, usize) -> u8,
) {
    for (pair, bytes) in nibbles.chunks_exact(32).enumerate() {
        for i in [2 * pair, 2 * pair + 1] {
            let Some(group) = groups.get_mut(i) else { return };
            let (of_scale, of_min) = scale_and_min(scales, i);
            group.scale = scale * f32::from(of_scale);
            group.min = -(min * f32::from(of_min));
            for (k, (code, byte)) in group.codes.iter_mut().zip(bytes).enumerate() {
                *code = (byte >> (4 * (i % 2)) & 15) | upper(i, k);
            }
        }
    }
}

/// Q6_K: 128 bytes of lower four bits, 64 of upper two, sixteen int8 scales, their float16 factor. Values come in two
/// runs of 128; in a run, byte k of the lower bits holds values k and k + 64, byte k of the upper values k, k + 32,
/// k + 64, k + 96.
pub fn q6(block: &[u8], groups: &mut [Group]) {
    let Some((lower, rest)) = block.split_first_chunk::<128>() else { return };
    let Some((upper, rest)) = rest.split_first_chunk::<64>() else { return };
    let Some((scales, rest)) = rest.split_first_chunk::<16>() else { return };
    let (factor, _) = half::split(rest);
    for (i, (group, scale)) in groups.iter_mut().zip(scales).enumerate() {
        group.scale = factor * f32::from(scale.cast_signed());
        group.min = 0.0;
        for (k, code) in group.codes.iter_mut().enumerate().take(16) {
            let value = 16 * i + k;
            let (run, place) = (value / 128, value % 128);
            let low = lower[64 * run + place % 64] >> (4 * (place / 64)) & 15;
            let high = upper[32 * run + place % 32] >> (2 * (place / 32)) & 3;
            *code = low | high << 4;
        }
    }
}
