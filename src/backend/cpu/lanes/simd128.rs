//! Lanes of WebAssembly's 128-bit SIMD, with its relaxed instructions where they are compiled for.

use super::{ByteDot, Lanes};
use core::arch::wasm32::*;

/// `simd128` instructions.
#[derive(Debug, Clone, Copy)]
pub struct Simd128;

impl Lanes for Simd128 {
    const NAME: &'static str =
        if cfg!(target_feature = "relaxed-simd") { "relaxed-simd" } else { "simd128" };
    type F32 = v128;
    type I32 = v128;
    type I16 = v128;

    #[inline(always)]
    fn splat(x: f32) -> v128 {
        f32x4_splat(x)
    }
    #[inline(always)]
    fn load(from: &[f32; 4]) -> v128 {
        // SAFETY: `from` is 16 readable bytes, and `v128.load` needs no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(v: v128, to: &mut [f32; 4]) {
        // SAFETY: `to` is 16 writable bytes, and `v128.store` needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn add(a: v128, b: v128) -> v128 {
        f32x4_add(a, b)
    }
    #[inline(always)]
    fn sub(a: v128, b: v128) -> v128 {
        f32x4_sub(a, b)
    }
    #[inline(always)]
    fn mul(a: v128, b: v128) -> v128 {
        f32x4_mul(a, b)
    }
    #[cfg(target_feature = "relaxed-simd")]
    #[inline(always)]
    fn mul_add(a: v128, b: v128, c: v128) -> v128 {
        f32x4_relaxed_madd(a, b, c)
    }
    #[inline(always)]
    fn div(a: v128, b: v128) -> v128 {
        f32x4_div(a, b)
    }
    #[inline(always)]
    fn sqrt(a: v128) -> v128 {
        f32x4_sqrt(a)
    }
    #[inline(always)]
    fn pmin(a: v128, b: v128) -> v128 {
        f32x4_pmin(a, b)
    }
    #[inline(always)]
    fn pmax(a: v128, b: v128) -> v128 {
        f32x4_pmax(a, b)
    }
    #[inline(always)]
    fn less(a: v128, b: v128) -> v128 {
        f32x4_lt(a, b)
    }
    #[inline(always)]
    fn bits(a: v128) -> v128 {
        a
    }
    #[inline(always)]
    fn from_bits(a: v128) -> v128 {
        a
    }

    #[inline(always)]
    fn splat_i32(x: i32) -> v128 {
        i32x4_splat(x)
    }
    #[inline(always)]
    fn store_i32(v: v128, to: &mut [i32; 4]) {
        // SAFETY: `to` is 16 writable bytes, and `v128.store` needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn add_i32(a: v128, b: v128) -> v128 {
        i32x4_add(a, b)
    }
    #[inline(always)]
    fn sub_i32(a: v128, b: v128) -> v128 {
        i32x4_sub(a, b)
    }
    #[inline(always)]
    fn and(a: v128, b: v128) -> v128 {
        v128_and(a, b)
    }
    #[inline(always)]
    fn xor(a: v128, b: v128) -> v128 {
        v128_xor(a, b)
    }
    #[inline(always)]
    fn shl<const N: u32>(a: v128) -> v128 {
        i32x4_shl(a, N)
    }
    #[inline(always)]
    fn shr<const N: u32>(a: v128) -> v128 {
        u32x4_shr(a, N)
    }
    #[inline(always)]
    fn asr<const N: u32>(a: v128) -> v128 {
        i32x4_shr(a, N)
    }
    #[inline(always)]
    fn to_f32(a: v128) -> v128 {
        f32x4_convert_i32x4(a)
    }
    #[inline(always)]
    fn transpose([a, b, c, d]: [v128; 4]) -> [v128; 4] {
        let (ab_low, ab_high) = (
            i32x4_shuffle::<0, 4, 1, 5>(a, b), // a0 b0 a1 b1
            i32x4_shuffle::<2, 6, 3, 7>(a, b),
        );
        let (cd_low, cd_high) = (
            i32x4_shuffle::<0, 4, 1, 5>(c, d), // c0 d0 c1 d1
            i32x4_shuffle::<2, 6, 3, 7>(c, d),
        );
        [
            i64x2_shuffle::<0, 2>(ab_low, cd_low),
            i64x2_shuffle::<1, 3>(ab_low, cd_low),
            i64x2_shuffle::<0, 2>(ab_high, cd_high),
            i64x2_shuffle::<1, 3>(ab_high, cd_high),
        ]
    }

    #[inline(always)]
    fn load_i16(from: &[i16; 8]) -> v128 {
        // SAFETY: `from` is 16 readable bytes, and `v128.load` needs no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_i16(v: v128, to: &mut [i16; 8]) {
        // SAFETY: `to` is 16 writable bytes, and `v128.store` needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn load_i8(from: &[i8; 8]) -> v128 {
        // SAFETY: `from` is 8 readable bytes, and `v128.load8x8_s` needs no alignment.
        unsafe { i16x8_load_extend_i8x8(from.as_ptr()) }
    }
    #[inline(always)]
    fn splat_pair(from: &[i16; 2]) -> v128 {
        // SAFETY: `from` is 4 readable bytes, and `v128.load32_splat` needs no alignment.
        unsafe { v128_load32_splat(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn dot(a: v128, b: v128) -> v128 {
        i32x4_dot_i16x8(a, b)
    }
    #[inline(always)]
    fn narrow(low: v128, high: v128) -> v128 {
        i16x8_narrow_i32x4(low, high)
    }
    #[inline(always)]
    fn narrow_bytes(low: v128, high: v128) -> v128 {
        i8x16_narrow_i16x8(low, high)
    }
    #[inline(always)]
    fn upper_bytes(a: v128) -> v128 {
        i16x8_shr(a, 8)
    }
    #[inline(always)]
    fn widen(a: v128) -> [v128; 2] {
        [i32x4_extend_low_i16x8(a), i32x4_extend_high_i16x8(a)]
    }
    #[inline(always)]
    fn pairs(a: v128) -> v128 {
        a
    }
    #[inline(always)]
    fn from_pairs(a: v128) -> v128 {
        a
    }

    #[cfg(target_feature = "relaxed-simd")]
    fn byte_dot() -> Option<ByteDot> {
        use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
        // 0 until the first call; threads that come at the same time find the same.
        static FOUND: AtomicU8 = AtomicU8::new(0);
        match FOUND.load(Relaxed) {
            0 => {
                let found = super::probe::<Self>();
                let code = match found {
                    None => 1,
                    Some(ByteDot::Signed) => 2,
                    Some(ByteDot::Unsigned) => 3,
                };
                FOUND.store(code, Relaxed);
                found
            }
            1 => None,
            2 => Some(ByteDot::Signed),
            _ => Some(ByteDot::Unsigned),
        }
    }
    #[cfg(not(target_feature = "relaxed-simd"))]
    fn byte_dot() -> Option<ByteDot> {
        None
    }
    #[inline(always)]
    fn load_bytes(from: &[i8; 16]) -> v128 {
        // SAFETY: `from` is 16 readable bytes, and `v128.load` needs no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_bytes(v: v128, to: &mut [i8; 16]) {
        // SAFETY: `to` is 16 writable bytes, and `v128.store` needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn splat_bytes(from: &[i8; 4]) -> v128 {
        // SAFETY: `from` is 4 readable bytes, and `v128.load32_splat` needs no alignment.
        unsafe { v128_load32_splat(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn nibbles(a: v128) -> [v128; 2] {
        let lower = u8x16_splat(0x0f);
        [v128_and(a, lower), v128_and(u16x8_shr(a, 4), lower)]
    }
    #[inline(always)]
    fn look_up(table: v128, indices: v128) -> v128 {
        i8x16_swizzle(table, indices)
    }
    #[inline(always)]
    fn dot_bytes(sum: v128, a: v128, b: v128) -> v128 {
        #[cfg(target_feature = "relaxed-simd")]
        return i32x4_relaxed_dot_i8x16_i7x16_add(a, b, sum);
        #[cfg(not(target_feature = "relaxed-simd"))]
        {
            // Sums of two, in the order of k; then those of four.
            let low = i32x4_dot_i16x8(i16x8_extend_low_i8x16(a), i16x8_extend_low_i8x16(b));
            let high = i32x4_dot_i16x8(i16x8_extend_high_i8x16(a), i16x8_extend_high_i8x16(b));
            let even = i32x4_shuffle::<0, 2, 4, 6>(low, high);
            let odd = i32x4_shuffle::<1, 3, 5, 7>(low, high);
            i32x4_add(sum, i32x4_add(even, odd))
        }
    }
}
