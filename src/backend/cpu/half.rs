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

/// Float32 to IEEE half precision: to the nearest, halfway to the even one, past 65504 to infinity.
pub fn f32_to_f16(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let rounded = match magnitude {
        0x7f80_0001.. => 0x7e00,
        // 2^16, which the largest ones are rounded up to
        0x4780_0000.. => 0x7c00,
        0x3880_0000.. => ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - ((127 - 15) << 10),
        // Denormal: beside 0.5 a float32 has no bits below 2^−24, so the sum is rounded there.
        _ => (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5_f32.to_bits(),
    };
    sign | rounded as u16
}

/// The upper half of a float32 to it.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The float16 that `bytes` begin with, and the rest.
pub fn split(bytes: &[u8]) -> (f32, &[u8]) {
    match bytes.split_first_chunk::<2>() {
        Some((two, rest)) => (f16_to_f32(u16::from_le_bytes(*two)), rest),
        None => (0.0, bytes),
    }
}
