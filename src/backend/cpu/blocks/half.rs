//! Floats of sixteen bits.

/// IEEE half precision to float32, exactly.
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10 & 31);
    let fraction = u32::from(bits & 0x3ff);
    match exponent {
        // Denormal, or 0: fraction · 2^−24.
        0 => {
            let magnitude = fraction as f32 * f32::from_bits((127 - 24) << 23);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}

/// The upper half of a float32 to it.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The float16 that `bytes` begin with, and the rest.
pub(super) fn split(bytes: &[u8]) -> (f32, &[u8]) {
    match bytes.split_first_chunk::<2>() {
        Some((two, rest)) => (f16_to_f32(u16::from_le_bytes(*two)), rest),
        None => (0.0, bytes),
    }
}
