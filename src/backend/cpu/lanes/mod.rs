//! SIMD lanes: the few vector operations that the CPU's algorithms are written over, and, beside the pool's
//! threads, the only unsafe code.
//!
//! Every implementation gives the same bits: IEEE operations that round to nearest, exact integers,
//! and one fixed order wherever lanes are added up. [`Lanes::mul_add`] alone may be fused or not.

#![allow(unsafe_code)]

mod byte_dot;
mod eight;
mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;

use std::fmt::Debug;

pub use byte_dot::{ByteDot, ByteRule, NoByteDot, SaturatingDot, SignedDot, UnsignedDot, probe};
pub use eight::{Eight, Floats};
pub use scalar::Scalar;

/// The fastest lanes of the machine compiled for.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub type Native = simd128::Simd128;
/// The fastest lanes of the machine compiled for.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub type Native = sse2::Sse2;
/// The fastest lanes of the machine compiled for.
#[cfg(not(any(
    all(target_arch = "wasm32", target_feature = "simd128"),
    all(target_arch = "x86_64", target_feature = "sse2")
)))]
pub type Native = Scalar;

/// Vectors of 128 bits: four float32, four int32 or eight int16.
pub trait Lanes: Copy + Debug + 'static {
    /// What the implementation is called.
    const NAME: &'static str;
    /// Four float32.
    type F32: Copy;
    /// Four int32, or the bits of four float32.
    type I32: Copy;
    /// Eight int16 or sixteen int8.
    type I16: Copy;

    /// Has the memory around `from` fetched, for later.
    #[inline(always)]
    fn fetch(from: &f32) {
        // SAFETY: what is borrowed can be read. A volatile read is not left out though nothing is done with it.
        unsafe { std::ptr::read_volatile(from) };
    }

    /// `x` in every lane.
    fn splat(x: f32) -> Self::F32;
    /// Reads four.
    fn load(from: &[f32; 4]) -> Self::F32;
    /// Writes four.
    fn store(v: Self::F32, to: &mut [f32; 4]);
    /// `a + b`.
    fn add(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a − b`.
    fn sub(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a · b`.
    fn mul(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a · b + c`. Where WebAssembly has relaxed instructions it is rounded once if the processor does so in one step, and
    /// twice elsewhere: the one operation whose bits depend on the machine, used by float32 products alone.
    #[inline(always)]
    fn mul_add(a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        Self::add(Self::mul(a, b), c)
    }
    /// `a / b`.
    fn div(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `√a`.
    fn sqrt(a: Self::F32) -> Self::F32;
    /// `if b < a { b } else { a }`, so `a` where either is not a number.
    fn pmin(a: Self::F32, b: Self::F32) -> Self::F32;
    /// `if a < b { b } else { a }`, so `a` where either is not a number.
    fn pmax(a: Self::F32, b: Self::F32) -> Self::F32;
    /// All bits set where `a < b`, else none.
    fn less(a: Self::F32, b: Self::F32) -> Self::I32;
    /// The bits as integers.
    fn bits(a: Self::F32) -> Self::I32;
    /// The bits as floats.
    fn from_bits(a: Self::I32) -> Self::F32;

    /// `x` in every lane.
    fn splat_i32(x: i32) -> Self::I32;
    /// Writes four.
    fn store_i32(v: Self::I32, to: &mut [i32; 4]);
    /// `a + b`, wrapping.
    fn add_i32(a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a − b`, wrapping.
    fn sub_i32(a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a & b`.
    fn and(a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a ^ b`.
    fn xor(a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a << N`.
    fn shl<const N: u32>(a: Self::I32) -> Self::I32;
    /// `a >> N`, zeros coming in.
    fn shr<const N: u32>(a: Self::I32) -> Self::I32;
    /// `a >> N`, copies of the sign coming in.
    fn asr<const N: u32>(a: Self::I32) -> Self::I32;
    /// Rounded to nearest.
    fn to_f32(a: Self::I32) -> Self::F32;
    /// Rows become columns.
    fn transpose(rows: [Self::I32; 4]) -> [Self::I32; 4];

    /// Reads eight.
    fn load_i16(from: &[i16; 8]) -> Self::I16;
    /// Writes eight.
    fn store_i16(v: Self::I16, to: &mut [i16; 8]);
    /// Reads eight int8, sign-extended.
    fn load_i8(from: &[i8; 8]) -> Self::I16;
    /// The same two int16 four times.
    fn splat_pair(from: &[i16; 2]) -> Self::I16;
    /// Lane i is `a[2i] · b[2i] + a[2i + 1] · b[2i + 1]`, wrapping.
    fn dot(a: Self::I16, b: Self::I16) -> Self::I32;
    /// `low` then `high`, each clamped to int16.
    fn narrow(low: Self::I32, high: Self::I32) -> Self::I16;
    /// `low` then `high`, each clamped to int8.
    fn narrow_bytes(low: Self::I16, high: Self::I16) -> Self::I16;
    /// Each eight bits down: the upper byte, sign-extended.
    fn upper_bytes(a: Self::I16) -> Self::I16;
    /// The first four and the last four, sign-extended.
    fn widen(a: Self::I16) -> [Self::I32; 2];
    /// Each two int16 as one int32.
    fn pairs(a: Self::I16) -> Self::I32;
    /// Each int32 as two int16.
    fn from_pairs(a: Self::I32) -> Self::I16;

    /// Whether [`Lanes::dot_bytes`] is one exact instruction here, and how that reads its second operand.
    fn byte_dot() -> Option<ByteDot>;
    /// Reads sixteen int8.
    fn load_bytes(from: &[i8; 16]) -> Self::I16;
    /// Writes sixteen int8.
    fn store_bytes(v: Self::I16, to: &mut [i8; 16]);
    /// The same four int8 four times.
    fn splat_bytes(from: &[i8; 4]) -> Self::I16;
    /// The lower four bits of each byte, and its upper four.
    fn nibbles(a: Self::I16) -> [Self::I16; 2];
    /// Byte i is `table[indices[i]]`; the indices are below 16.
    fn look_up(table: Self::I16, indices: Self::I16) -> Self::I16;
    /// Lane i is `sum[i] + Σ_j a[4i + j] · b[4i + j]`, wrapping; `b` is read as [`Lanes::byte_dot`] says, as int8 if
    /// it says nothing.
    fn dot_bytes(sum: Self::I32, a: Self::I16, b: Self::I16) -> Self::I32;

    /// `(v[0] + v[2]) + (v[1] + v[3])`.
    #[inline(always)]
    fn sum(v: Self::F32) -> f32 {
        let mut lanes = [0.0; 4];
        Self::store(v, &mut lanes);
        (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    }

    /// [`Lanes::sum`] of four vectors at once.
    #[inline(always)]
    fn sums(v: [Self::F32; 4]) -> Self::F32 {
        let [a, b, c, d] = Self::transpose_f32(v);
        Self::add(Self::add(a, c), Self::add(b, d))
    }

    /// Rows become columns.
    #[inline(always)]
    fn transpose_f32(rows: [Self::F32; 4]) -> [Self::F32; 4] {
        Self::transpose(rows.map(|row| Self::bits(row))).map(|column| Self::from_bits(column))
    }
}

#[cfg(test)]
mod tests;
