//! Products of bytes four at a time: what machines make of one instruction, and how to tell.
//!
//! WebAssembly's `i32x4.relaxed_dot_i8x16_i7x16_add_s` promises its result only where the second operand has seven bits.
//! With eight it is ARM's `sdot` (both signed), AVX-VNNI's `vpdpbusd` (the second unsigned) or `pmaddubsw`, which clips
//! sums of two products to int16. The first two are exact, and twice as fast as products of int16.

use super::Lanes;
use std::{fmt::Debug, hint::black_box};

/// How an exact product of bytes reads its second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteDot {
    /// As int8.
    Signed,
    /// As uint8.
    Unsigned,
}

impl ByteDot {
    /// A byte of the second operand as it is read.
    pub fn value(self, byte: i8) -> i32 {
        match self {
            ByteDot::Signed => i32::from(byte),
            ByteDot::Unsigned => i32::from(byte.cast_unsigned()),
        }
    }
}

/// Finds out how [`Lanes::dot_bytes`] reads its second operand here; `None` if it is not exact.
pub fn probe<L: Lanes>() -> Option<ByteDot> {
    // What clips does so at sums of two products of one sign; what wraps must wrap in the sum only.
    let cases: [([i8; 16], [i8; 16], i32); 4] = [
        ([127; 16], [-1; 16], 0),
        ([-128; 16], [-1; 16], i32::MIN + 7),
        ([-128; 16], [-128; 16], i32::MAX),
        (
            [127, 127, -128, -128, -1, 1, 0, 127, -128, 5, 6, 7, 1, 2, 3, 4],
            [-1, -128, 127, -128, -3, 3, -1, 1, 0, 100, -100, 50, 0, 1, 2, -3],
            -9,
        ),
    ];
    let is_exact = |kind: &ByteDot| {
        cases.iter().all(|case| {
            let (a, b, sum) = black_box(case);
            let product = |k: usize| i32::from(a[k]) * kind.value(b[k]);
            let expected: [i32; 4] = std::array::from_fn(|i| {
                (4 * i..4 * i + 4).map(product).fold(*sum, i32::wrapping_add)
            });
            let got = L::dot_bytes(L::splat_i32(*sum), L::load_bytes(a), L::load_bytes(b));
            let mut lanes = [0; 4];
            L::store_i32(got, &mut lanes);
            lanes == expected
        })
    };
    [ByteDot::Signed, ByteDot::Unsigned].into_iter().find(is_exact)
}

/// What a machine makes of a product of bytes, for [`super::Scalar`] to do the same.
pub trait ByteRule: Copy + Debug + 'static {
    /// What lanes of this rule are called.
    const NAME: &'static str;
    /// Whether a probe is worth its while.
    const IS_FAST: bool;
    /// Four products, summed.
    fn dot(a: [i8; 4], b: [i8; 4]) -> i32;
}

fn exact(kind: ByteDot, a: [i8; 4], b: [i8; 4]) -> i32 {
    a.iter().zip(b).map(|(&a, b)| i32::from(a) * kind.value(b)).sum()
}

/// No instruction for it.
#[derive(Debug, Clone, Copy)]
pub struct NoByteDot;

impl ByteRule for NoByteDot {
    const NAME: &'static str = "scalar";
    const IS_FAST: bool = false;
    fn dot(a: [i8; 4], b: [i8; 4]) -> i32 {
        exact(ByteDot::Signed, a, b)
    }
}

/// ARM's `sdot`.
#[derive(Debug, Clone, Copy)]
pub struct SignedDot;

impl ByteRule for SignedDot {
    const NAME: &'static str = "scalar, as sdot";
    const IS_FAST: bool = true;
    fn dot(a: [i8; 4], b: [i8; 4]) -> i32 {
        exact(ByteDot::Signed, a, b)
    }
}

/// AVX-VNNI's `vpdpbusd`.
#[derive(Debug, Clone, Copy)]
pub struct UnsignedDot;

impl ByteRule for UnsignedDot {
    const NAME: &'static str = "scalar, as vpdpbusd";
    const IS_FAST: bool = true;
    fn dot(a: [i8; 4], b: [i8; 4]) -> i32 {
        exact(ByteDot::Unsigned, a, b)
    }
}

/// SSSE3's `pmaddubsw` and `pmaddwd`.
#[derive(Debug, Clone, Copy)]
pub struct SaturatingDot;

impl ByteRule for SaturatingDot {
    const NAME: &'static str = "scalar, as pmaddubsw";
    const IS_FAST: bool = true;
    fn dot(a: [i8; 4], b: [i8; 4]) -> i32 {
        let product = |k: usize| i32::from(a[k]) * ByteDot::Unsigned.value(b[k]);
        let clipped = |sum: i32| sum.clamp(i16::MIN.into(), i16::MAX.into());
        clipped(product(0) + product(1)) + clipped(product(2) + product(3))
    }
}
