//! Lanes as plain arrays: what each operation means, and what runs where there is no SIMD.

use super::{ByteDot, ByteRule, Lanes, NoByteDot, probe};
use std::array::from_fn;
use std::marker::PhantomData;

/// Lanes without SIMD instructions; a compiler may still find them. `R` is the machine whose products of bytes
/// they stand in for, where another than this one is to be tried.
#[derive(Debug, Clone, Copy)]
pub struct Scalar<R: ByteRule = NoByteDot>(PhantomData<R>);

/// The bytes of eight int16, the lower one of each first.
fn bytes(v: [i16; 8]) -> [i8; 16] {
    from_fn(|i| v[i / 2].to_le_bytes()[i % 2].cast_signed())
}

fn from_bytes(bytes: &[i8; 16]) -> [i16; 8] {
    from_fn(|i| {
        i16::from_le_bytes([bytes[2 * i].cast_unsigned(), bytes[2 * i + 1].cast_unsigned()])
    })
}

impl<R: ByteRule> Lanes for Scalar<R> {
    const NAME: &'static str = R::NAME;
    type F32 = [f32; 4];
    type I32 = [i32; 4];
    type I16 = [i16; 8];

    #[inline(always)]
    fn splat(x: f32) -> [f32; 4] {
        [x; 4]
    }
    #[inline(always)]
    fn load(from: &[f32; 4]) -> [f32; 4] {
        *from
    }
    #[inline(always)]
    fn store(v: [f32; 4], to: &mut [f32; 4]) {
        *to = v;
    }
    #[inline(always)]
    fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn div(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] / b[i])
    }
    #[inline(always)]
    fn sqrt(a: [f32; 4]) -> [f32; 4] {
        // Correctly rounded on every target, unlike the other functions of std.
        a.map(f32::sqrt)
    }
    #[inline(always)]
    fn pmin(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| if b[i] < a[i] { b[i] } else { a[i] })
    }
    #[inline(always)]
    fn pmax(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| if a[i] < b[i] { b[i] } else { a[i] })
    }
    #[inline(always)]
    fn less(a: [f32; 4], b: [f32; 4]) -> [i32; 4] {
        from_fn(|i| if a[i] < b[i] { -1 } else { 0 })
    }
    #[inline(always)]
    fn bits(a: [f32; 4]) -> [i32; 4] {
        a.map(|x| x.to_bits().cast_signed())
    }
    #[inline(always)]
    fn from_bits(a: [i32; 4]) -> [f32; 4] {
        a.map(|x| f32::from_bits(x.cast_unsigned()))
    }

    #[inline(always)]
    fn splat_i32(x: i32) -> [i32; 4] {
        [x; 4]
    }
    #[inline(always)]
    fn store_i32(v: [i32; 4], to: &mut [i32; 4]) {
        *to = v;
    }
    #[inline(always)]
    fn add_i32(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        from_fn(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    fn sub_i32(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        from_fn(|i| a[i].wrapping_sub(b[i]))
    }
    #[inline(always)]
    fn and(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        from_fn(|i| a[i] & b[i])
    }
    #[inline(always)]
    fn xor(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        from_fn(|i| a[i] ^ b[i])
    }
    #[inline(always)]
    fn shl<const N: u32>(a: [i32; 4]) -> [i32; 4] {
        a.map(|x| x.wrapping_shl(N))
    }
    #[inline(always)]
    fn shr<const N: u32>(a: [i32; 4]) -> [i32; 4] {
        a.map(|x| x.cast_unsigned().wrapping_shr(N).cast_signed())
    }
    #[inline(always)]
    fn asr<const N: u32>(a: [i32; 4]) -> [i32; 4] {
        a.map(|x| x.wrapping_shr(N))
    }
    #[inline(always)]
    fn to_f32(a: [i32; 4]) -> [f32; 4] {
        a.map(|x| x as f32)
    }
    #[inline(always)]
    fn transpose(rows: [[i32; 4]; 4]) -> [[i32; 4]; 4] {
        from_fn(|i| from_fn(|j| rows[j][i]))
    }

    #[inline(always)]
    fn load_i16(from: &[i16; 8]) -> [i16; 8] {
        *from
    }
    #[inline(always)]
    fn store_i16(v: [i16; 8], to: &mut [i16; 8]) {
        *to = v;
    }
    #[inline(always)]
    fn load_i8(from: &[i8; 8]) -> [i16; 8] {
        from.map(i16::from)
    }
    #[inline(always)]
    fn splat_pair(from: &[i16; 2]) -> [i16; 8] {
        from_fn(|i| from[i % 2])
    }
    #[inline(always)]
    fn dot(a: [i16; 8], b: [i16; 8]) -> [i32; 4] {
        let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
        from_fn(|i| product(2 * i).wrapping_add(product(2 * i + 1)))
    }
    #[inline(always)]
    fn narrow(low: [i32; 4], high: [i32; 4]) -> [i16; 8] {
        let clamp = |x: i32| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        from_fn(|i| clamp(if i < 4 { low[i] } else { high[i - 4] }))
    }
    #[inline(always)]
    fn narrow_bytes(low: [i16; 8], high: [i16; 8]) -> [i16; 8] {
        let clamp = |x: i16| x.clamp(i8::MIN.into(), i8::MAX.into()) as i8;
        from_bytes(&from_fn(|i| clamp(if i < 8 { low[i] } else { high[i - 8] })))
    }
    #[inline(always)]
    fn upper_bytes(a: [i16; 8]) -> [i16; 8] {
        a.map(|x| x >> 8)
    }
    #[inline(always)]
    fn widen(a: [i16; 8]) -> [[i32; 4]; 2] {
        from_fn(|half| from_fn(|i| i32::from(a[4 * half + i])))
    }
    #[inline(always)]
    fn pairs(a: [i16; 8]) -> [i32; 4] {
        from_fn(|i| {
            i32::from(a[2 * i].cast_unsigned()) | i32::from(a[2 * i + 1].cast_unsigned()) << 16
        })
    }
    #[inline(always)]
    fn from_pairs(a: [i32; 4]) -> [i16; 8] {
        from_fn(|i| (a[i / 2] >> (16 * (i % 2))) as i16)
    }

    fn byte_dot() -> Option<ByteDot> {
        if R::IS_FAST { probe::<Self>() } else { None }
    }
    #[inline(always)]
    fn load_bytes(from: &[i8; 16]) -> [i16; 8] {
        from_bytes(from)
    }
    #[inline(always)]
    fn store_bytes(v: [i16; 8], to: &mut [i8; 16]) {
        *to = bytes(v);
    }
    #[inline(always)]
    fn splat_bytes(from: &[i8; 4]) -> [i16; 8] {
        from_bytes(&from_fn(|i| from[i % 4]))
    }
    #[inline(always)]
    fn nibbles(a: [i16; 8]) -> [[i16; 8]; 2] {
        let a = bytes(a);
        [
            from_bytes(&a.map(|byte| byte & 15)),
            from_bytes(&a.map(|byte| (byte.cast_unsigned() >> 4).cast_signed())),
        ]
    }
    #[inline(always)]
    fn look_up(table: [i16; 8], indices: [i16; 8]) -> [i16; 8] {
        let table = bytes(table);
        from_bytes(&bytes(indices).map(|i| table[usize::from(i.cast_unsigned() & 15)]))
    }
    #[inline(always)]
    fn dot_bytes(sum: [i32; 4], a: [i16; 8], b: [i16; 8]) -> [i32; 4] {
        let (a, b) = (bytes(a), bytes(b));
        let four = |v: [i8; 16], i: usize| from_fn(|j| v[4 * i + j]);
        from_fn(|i| sum[i].wrapping_add(R::dot(four(a, i), four(b, i))))
    }
}
