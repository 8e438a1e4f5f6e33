//! Lanes of WebAssembly's 128-bit SIMD.

use super::Lanes;
use core::arch::wasm32::*;

/// `simd128` instructions.
#[derive(Debug, Clone, Copy)]
pub struct Simd128;

impl Lanes for Simd128 {
    const NAME: &'static str = "simd128";
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
    fn shl<const N: u32>(a: v128) -> v128 {
        i32x4_shl(a, N)
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
}
