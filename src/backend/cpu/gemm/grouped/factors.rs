//! What the weights of a group are multiplied by and what is added to them, of eight columns at once: float16 where a format
//! has no more, since memory is what a product with one row waits for.

use super::Sixteen;
use crate::backend::cpu::half::f32_to_f16;
use crate::backend::cpu::lanes::Lanes;

/// Vectors of eight numbers.
pub fn vectors(halves: bool) -> usize {
    if halves { 1 } else { 2 }
}

/// Appends eight numbers, which must be float16 numbers if `halves`.
pub fn push(numbers: [f32; 8], halves: bool, to: &mut Vec<Sixteen>) {
    let mut bytes = [[0; 16]; 2];
    let (twos, _) = bytes.as_flattened_mut().as_chunks_mut::<2>();
    if halves {
        for (to, number) in twos.iter_mut().zip(numbers) {
            *to = f32_to_f16(number).to_ne_bytes();
        }
    } else {
        let (fours, _) = bytes.as_flattened_mut().as_chunks_mut::<4>();
        for (to, number) in fours.iter_mut().zip(numbers) {
            *to = number.to_ne_bytes();
        }
    }
    let vectors = bytes.into_iter().take(vectors(halves));
    to.extend(vectors.map(|bytes| Sixteen(bytes.map(u8::cast_signed))));
}

/// Reads eight numbers: those of columns 0 to 3 and of columns 4 to 7.
#[inline(always)]
pub fn load<L: Lanes>(vectors: &[Sixteen]) -> [L::F32; 2] {
    match vectors {
        [halves] => L::widen(L::load_bytes(&halves.0)).map(of_half::<L>),
        [low, high] => [low, high].map(|four| L::from_bits(L::pairs(L::load_bytes(&four.0)))),
        _ => [L::splat(0.0); 2],
    }
}

/// Float16 numbers, sign-extended: moved to where a float32 has its exponent and fraction, they lack 2^112. Exact for all
/// but infinities, denormal ones too, at the price of a slow product.
#[inline(always)]
fn of_half<L: Lanes>(bits: L::I32) -> L::F32 {
    let kept = L::splat_i32(0x8fff_e000_u32.cast_signed());
    let scaled = L::from_bits(L::and(L::shl::<13>(bits), kept));
    L::mul(scaled, L::splat(f32::from_bits((112 + 127) << 23)))
}
