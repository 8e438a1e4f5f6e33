//! exp, sigmoid and sums over lanes: our own polynomials, so that every target gives the same bits.

use super::lanes::Lanes;

/// Adding then subtracting 1.5 · 2^23 rounds to the nearest integer (ties to even), which is then in the low bits.
const ROUND: f32 = 12_582_912.0;
/// Beyond ±88 exp leaves float32's normal range.
const LIMIT: f32 = 88.0;

/// e^x with a relative error below 2e-7; 0 below −88 (never denormal), e^88 above 88.
///
/// x = n·ln 2 + r with |r| ≤ ln 2 / 2, then a polynomial of degree 7 in r (coefficients of Cephes' `expf`,
/// Moshier 1992) and n added to the exponent.
#[inline(always)]
pub fn exp<L: Lanes>(x: L::F32) -> L::F32 {
    let nonzero = L::less(L::splat(-LIMIT), x);
    let x = L::pmax(L::splat(-87.0), L::pmin(L::splat(LIMIT), x));
    let shifted = L::add(L::mul(x, L::splat(std::f32::consts::LOG2_E)), L::splat(ROUND));
    let n = L::sub(shifted, L::splat(ROUND));
    // ln 2 in two parts, the first with few enough bits that n times it is exact.
    let r = L::sub(x, L::mul(n, L::splat(355.0 / 512.0)));
    let r = L::add(r, L::mul(n, L::splat(2.121_944_4e-4)));
    let mut p = L::splat(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = L::add(L::mul(p, r), L::splat(c));
    }
    let p = L::add(L::mul(L::mul(r, r), p), L::add(r, L::splat(1.0)));
    let exponent = L::shl::<23>(L::bits(shifted));
    L::from_bits(L::and(L::add_i32(L::bits(p), exponent), nonzero))
}

/// 1 / (1 + e^−x).
#[inline(always)]
pub fn sigmoid<L: Lanes>(x: L::F32) -> L::F32 {
    let one = L::splat(1.0);
    L::div(one, L::add(one, exp::<L>(L::sub(L::splat(0.0), x))))
}

/// `cap · tanh(x / cap)` of each value: what is small stays, nothing is larger than `cap`.
pub fn soft_cap<L: Lanes>(values: &mut [f32], cap: f32) {
    let (cap, inverse) = (L::splat(cap), L::splat(1.0 / cap));
    map::<L>(values, |x| L::mul(cap, tanh::<L>(L::mul(x, inverse))));
}

/// tanh x = 2 · sigmoid(2x) − 1; near 0, where that would cancel, the first terms of its series.
#[inline(always)]
pub fn tanh<L: Lanes>(x: L::F32) -> L::F32 {
    let two = L::splat(2.0);
    let large = L::sub(L::mul(two, sigmoid::<L>(L::mul(two, x))), L::splat(1.0));
    let square = L::mul(x, x);
    let mut p = L::splat(62.0 / 2835.0);
    for c in [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0] {
        p = L::add(L::mul(p, square), L::splat(c));
    }
    let is_small = L::less(square, L::splat(0.04));
    let (small, large) = (L::bits(L::mul(x, p)), L::bits(large));
    // One of the two, bit by bit.
    L::from_bits(L::xor(large, L::and(L::xor(large, small), is_small)))
}

/// Replaces each value by `f` of it, four at a time.
#[inline(always)]
pub fn map<L: Lanes>(values: &mut [f32], f: impl Fn(L::F32) -> L::F32) {
    let (chunks, rest) = values.as_chunks_mut::<4>();
    for chunk in chunks {
        let v = f(L::load(chunk));
        L::store(v, chunk);
    }
    if !rest.is_empty() {
        let mut chunk = [0.0; 4];
        for (to, &from) in chunk.iter_mut().zip(rest.iter()) {
            *to = from;
        }
        let v = f(L::load(&chunk));
        L::store(v, &mut chunk);
        for (to, from) in rest.iter_mut().zip(chunk) {
            *to = from;
        }
    }
}

/// Combines `values` four at a time from `start` on; what is missing of the last four is `padding`.
#[inline(always)]
pub fn fold<L: Lanes>(
    values: &[f32],
    padding: f32,
    start: L::F32,
    f: impl Fn(L::F32, L::F32) -> L::F32,
) -> L::F32 {
    let (chunks, rest) = values.as_chunks::<4>();
    let mut total = start;
    for chunk in chunks {
        total = f(total, L::load(chunk));
    }
    if !rest.is_empty() {
        let mut chunk = [padding; 4];
        for (to, &from) in chunk.iter_mut().zip(rest) {
            *to = from;
        }
        total = f(total, L::load(&chunk));
    }
    total
}

/// Sum of `f` of each value; `f` of `padding` must be 0.
#[inline(always)]
pub fn sum<L: Lanes>(values: &[f32], padding: f32, f: impl Fn(L::F32) -> L::F32) -> f32 {
    L::sum(fold::<L>(values, padding, L::splat(0.0), |total, v| L::add(total, f(v))))
}

/// The largest value, −∞ if there is none.
#[inline(always)]
pub fn max<L: Lanes>(values: &[f32]) -> f32 {
    let least = f32::NEG_INFINITY;
    let mut lanes = [least; 4];
    L::store(fold::<L>(values, least, L::splat(least), L::pmax), &mut lanes);
    lanes.into_iter().fold(least, |a, b| if a < b { b } else { a })
}

/// `exp(x − max) / Σ exp(x − max)` over all of `x`, in place; zeros if there is nothing finite.
#[inline(always)]
pub fn softmax<L: Lanes>(x: &mut [[f32; 4]]) {
    let greatest = L::splat(max::<L>(x.as_flattened()));
    let mut total = L::splat(0.0);
    for chunk in &mut *x {
        let e = exp::<L>(L::sub(L::load(chunk), greatest));
        total = L::add(total, e);
        L::store(e, chunk);
    }
    let total = L::sum(total);
    let factor = L::splat(if total > 0.0 { 1.0 / total } else { 0.0 });
    for chunk in x {
        let v = L::mul(L::load(chunk), factor);
        L::store(v, chunk);
    }
}

/// `to[i] = codes[i] · scale`.
#[inline(always)]
pub fn scaled<L: Lanes>(codes: &[i8], scale: f32, to: &mut [f32]) {
    let (eights, rest) = codes.as_chunks::<8>();
    let (places, last) = to.as_chunks_mut::<8>();
    let factor = L::splat(scale);
    for (eight, to) in eights.iter().zip(places.iter_mut()) {
        let [low, high] = L::widen(L::load_i8(eight)).map(|four| L::mul(L::to_f32(four), factor));
        let (fours, _) = to.as_chunks_mut::<4>();
        for (value, to) in [low, high].into_iter().zip(fours) {
            L::store(value, to);
        }
    }
    for (&code, to) in rest.iter().zip(last) {
        *to = f32::from(code) * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{Native, Scalar};
    use super::*;

    fn apply<L: Lanes>(f: impl Fn(L::F32) -> L::F32, x: f32) -> f32 {
        let mut lanes = [0.0; 4];
        L::store(f(L::splat(x)), &mut lanes);
        assert!(lanes.iter().all(|y| y.to_bits() == lanes[0].to_bits()));
        lanes[0]
    }

    #[test]
    fn exp_is_close_to_double_precision() {
        let mut worst = 0.0f64;
        for i in -879_000..=880_000 {
            let x = i as f32 * 1e-4;
            let got = apply::<Native>(exp::<Native>, x);
            assert_eq!(got.to_bits(), apply::<Scalar>(exp::<Scalar>, x).to_bits(), "{x}");
            let want = libm::exp(f64::from(x));
            if x > -87.0 {
                worst = worst.max((f64::from(got) / want - 1.0).abs());
            }
        }
        assert!(worst < 2e-7, "{worst:e}");
    }

    #[test]
    fn exp_at_its_ends() {
        assert_eq!(apply::<Native>(exp::<Native>, 0.0), 1.0);
        assert_eq!(apply::<Native>(exp::<Native>, -89.0), 0.0);
        assert_eq!(apply::<Native>(exp::<Native>, f32::NEG_INFINITY), 0.0);
        assert!(apply::<Native>(exp::<Native>, f32::INFINITY).is_finite());
    }

    #[test]
    fn sigmoid_is_close_to_double_precision() {
        for i in -300_000..=300_000 {
            let x = i as f32 * 1e-3;
            let want = 1.0 / (1.0 + libm::exp(-f64::from(x)));
            let got = f64::from(apply::<Native>(sigmoid::<Native>, x));
            assert!((got - want).abs() < 1.5e-7, "{x}: {got} {want}");
        }
    }

    #[test]
    fn tanh_is_close_to_double_precision() {
        for i in -20_000..=20_000 {
            let x = i as f32 * 5e-4;
            let want = libm::tanh(f64::from(x));
            let got = apply::<Native>(tanh::<Native>, x);
            assert_eq!(got.to_bits(), apply::<Scalar>(tanh::<Scalar>, x).to_bits());
            assert!((f64::from(got) - want).abs() < 2e-7, "{x}: {got} {want}");
            assert!(x == 0.0 || (f64::from(got) / want - 1.0).abs() < 1e-6, "{x}: {got} {want}");
        }
        assert_eq!(apply::<Native>(tanh::<Native>, f32::INFINITY), 1.0);
        assert_eq!(apply::<Native>(tanh::<Native>, f32::NEG_INFINITY), -1.0);
    }

    #[test]
    fn folds_pad_the_last_lanes() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, -6.0];
        assert_eq!(sum::<Native>(&values, 0.0, |v| v), 9.0);
        assert_eq!(max::<Native>(&values), 5.0);
        assert_eq!(max::<Native>(&[-3.0]), -3.0);
        assert_eq!(max::<Native>(&[]), f32::NEG_INFINITY);
    }
}
