//! Lanes of SSE2, which every x86-64 has, so nothing is detected at run time.

use super::{ByteDot, Lanes};
use core::arch::x86_64::*;

/// SSE2 instructions.
#[derive(Debug, Clone, Copy)]
pub struct Sse2;

/// Calls an intrinsic that works on values alone.
macro_rules! sse2 {
    ($call:expr) => {
        // SAFETY: the intrinsic touches no memory and needs only SSE2, for which this module is compiled
        // (`cfg(target_feature = "sse2")` in the parent).
        unsafe { $call }
    };
}

impl Lanes for Sse2 {
    const NAME: &'static str = "sse2";
    type F32 = __m128;
    type I32 = __m128i;
    type I16 = __m128i;

    #[inline(always)]
    fn splat(x: f32) -> __m128 {
        sse2!(_mm_set1_ps(x))
    }
    #[inline(always)]
    fn load(from: &[f32; 4]) -> __m128 {
        // SAFETY: `from` is 16 readable bytes, and `movups` needs no alignment.
        unsafe { _mm_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(v: __m128, to: &mut [f32; 4]) {
        // SAFETY: `to` is 16 writable bytes, and `movups` needs no alignment.
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn add(a: __m128, b: __m128) -> __m128 {
        sse2!(_mm_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(a: __m128, b: __m128) -> __m128 {
        sse2!(_mm_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(a: __m128, b: __m128) -> __m128 {
        sse2!(_mm_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(a: __m128, b: __m128) -> __m128 {
        sse2!(_mm_div_ps(a, b))
    }
    #[inline(always)]
    fn sqrt(a: __m128) -> __m128 {
        sse2!(_mm_sqrt_ps(a))
    }
    #[inline(always)]
    fn pmin(a: __m128, b: __m128) -> __m128 {
        // `minps x, y` is `if x < y { x } else { y }`.
        sse2!(_mm_min_ps(b, a))
    }
    #[inline(always)]
    fn pmax(a: __m128, b: __m128) -> __m128 {
        // `maxps x, y` is `if x > y { x } else { y }`.
        sse2!(_mm_max_ps(b, a))
    }
    #[inline(always)]
    fn less(a: __m128, b: __m128) -> __m128i {
        sse2!(_mm_castps_si128(_mm_cmplt_ps(a, b)))
    }
    #[inline(always)]
    fn bits(a: __m128) -> __m128i {
        sse2!(_mm_castps_si128(a))
    }
    #[inline(always)]
    fn from_bits(a: __m128i) -> __m128 {
        sse2!(_mm_castsi128_ps(a))
    }

    #[inline(always)]
    fn splat_i32(x: i32) -> __m128i {
        sse2!(_mm_set1_epi32(x))
    }
    #[inline(always)]
    fn store_i32(v: __m128i, to: &mut [i32; 4]) {
        // SAFETY: `to` is 16 writable bytes, and `movdqu` needs no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn add_i32(a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_add_epi32(a, b))
    }
    #[inline(always)]
    fn sub_i32(a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_sub_epi32(a, b))
    }
    #[inline(always)]
    fn and(a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_and_si128(a, b))
    }
    #[inline(always)]
    fn xor(a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_xor_si128(a, b))
    }
    #[inline(always)]
    fn shl<const N: u32>(a: __m128i) -> __m128i {
        sse2!(_mm_sll_epi32(a, _mm_cvtsi32_si128(N.cast_signed())))
    }
    #[inline(always)]
    fn shr<const N: u32>(a: __m128i) -> __m128i {
        sse2!(_mm_srl_epi32(a, _mm_cvtsi32_si128(N.cast_signed())))
    }
    #[inline(always)]
    fn asr<const N: u32>(a: __m128i) -> __m128i {
        sse2!(_mm_sra_epi32(a, _mm_cvtsi32_si128(N.cast_signed())))
    }
    #[inline(always)]
    fn to_f32(a: __m128i) -> __m128 {
        sse2!(_mm_cvtepi32_ps(a))
    }
    #[inline(always)]
    fn transpose([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
        sse2!({
            let (ab_low, ab_high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
            [
                _mm_unpacklo_epi64(ab_low, cd_low),
                _mm_unpackhi_epi64(ab_low, cd_low),
                _mm_unpacklo_epi64(ab_high, cd_high),
                _mm_unpackhi_epi64(ab_high, cd_high),
            ]
        })
    }

    #[inline(always)]
    fn load_i16(from: &[i16; 8]) -> __m128i {
        // SAFETY: `from` is 16 readable bytes, and `movdqu` needs no alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_i16(v: __m128i, to: &mut [i16; 8]) {
        // SAFETY: `to` is 16 writable bytes, and `movdqu` needs no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn load_i8(from: &[i8; 8]) -> __m128i {
        // SAFETY: `from` is 8 readable bytes, all that `movq` reads, and it needs no alignment.
        let bytes = unsafe { _mm_loadl_epi64(from.as_ptr().cast()) };
        // Each byte into the upper half of its int16, then an arithmetic shift down.
        sse2!(_mm_srai_epi16::<8>(_mm_unpacklo_epi8(bytes, bytes)))
    }
    #[inline(always)]
    fn splat_pair(from: &[i16; 2]) -> __m128i {
        // SAFETY: `from` is 4 readable bytes, read without alignment.
        let pair = unsafe { from.as_ptr().cast::<i32>().read_unaligned() };
        sse2!(_mm_set1_epi32(pair))
    }
    #[inline(always)]
    fn dot(a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_madd_epi16(a, b))
    }
    #[inline(always)]
    fn narrow(low: __m128i, high: __m128i) -> __m128i {
        sse2!(_mm_packs_epi32(low, high))
    }
    #[inline(always)]
    fn narrow_bytes(low: __m128i, high: __m128i) -> __m128i {
        sse2!(_mm_packs_epi16(low, high))
    }
    #[inline(always)]
    fn upper_bytes(a: __m128i) -> __m128i {
        sse2!(_mm_srai_epi16::<8>(a))
    }
    #[inline(always)]
    fn widen(a: __m128i) -> [__m128i; 2] {
        sse2!([
            _mm_srai_epi32::<16>(_mm_unpacklo_epi16(a, a)),
            _mm_srai_epi32::<16>(_mm_unpackhi_epi16(a, a)),
        ])
    }
    #[inline(always)]
    fn pairs(a: __m128i) -> __m128i {
        a
    }
    #[inline(always)]
    fn from_pairs(a: __m128i) -> __m128i {
        a
    }

    fn byte_dot() -> Option<ByteDot> {
        None
    }
    #[inline(always)]
    fn load_bytes(from: &[i8; 16]) -> __m128i {
        // SAFETY: `from` is 16 readable bytes, and `movdqu` needs no alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store_bytes(v: __m128i, to: &mut [i8; 16]) {
        // SAFETY: `to` is 16 writable bytes, and `movdqu` needs no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn splat_bytes(from: &[i8; 4]) -> __m128i {
        // SAFETY: `from` is 4 readable bytes, read without alignment.
        let four = unsafe { from.as_ptr().cast::<i32>().read_unaligned() };
        sse2!(_mm_set1_epi32(four))
    }
    #[inline(always)]
    fn nibbles(a: __m128i) -> [__m128i; 2] {
        sse2!({
            let lower = _mm_set1_epi8(0x0f);
            [_mm_and_si128(a, lower), _mm_and_si128(_mm_srli_epi16::<4>(a), lower)]
        })
    }
    #[inline(always)]
    fn look_up(table: __m128i, indices: __m128i) -> __m128i {
        // `pshufb` came with SSSE3.
        let (mut from, mut at) = ([0; 16], [0; 16]);
        Self::store_bytes(table, &mut from);
        Self::store_bytes(indices, &mut at);
        Self::load_bytes(&at.map(|i| from[usize::from(i.cast_unsigned() & 15)]))
    }
    #[inline(always)]
    fn dot_bytes(sum: __m128i, a: __m128i, b: __m128i) -> __m128i {
        sse2!({
            let low = |v| _mm_srai_epi16::<8>(_mm_unpacklo_epi8(v, v));
            let high = |v| _mm_srai_epi16::<8>(_mm_unpackhi_epi8(v, v));
            // Sums of two, in the order of k; then those of four.
            let first = _mm_castsi128_ps(_mm_madd_epi16(low(a), low(b)));
            let second = _mm_castsi128_ps(_mm_madd_epi16(high(a), high(b)));
            let even = _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(first, second));
            let odd = _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(first, second));
            _mm_add_epi32(sum, _mm_add_epi32(even, odd))
        })
    }
}
