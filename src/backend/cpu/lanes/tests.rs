//! The lanes of this machine against plain arithmetic.

use super::{ByteDot, Lanes, Native, SaturatingDot, Scalar, SignedDot, UnsignedDot, probe};

const FLOATS: [f32; 12] =
    [0.0, -0.0, 1.0, -1.5, 3.25e7, -7.0e-20, 1.0e-38, 65504.0, -2.5, 0.1, f32::INFINITY, -1e30];

fn get<L: Lanes>(v: L::F32) -> [u32; 4] {
    let mut lanes = [0.0; 4];
    L::store(v, &mut lanes);
    lanes.map(f32::to_bits)
}

fn get_i32<L: Lanes>(v: L::I32) -> [i32; 4] {
    get::<L>(L::from_bits(v)).map(u32::cast_signed)
}

fn get_i16<L: Lanes>(v: L::I16) -> [i16; 8] {
    let mut lanes = [0; 8];
    L::store_i16(v, &mut lanes);
    lanes
}

/// Every float operation on every pair of [`FLOATS`]; then the integers.
fn transcript<L: Lanes>() -> Vec<[u32; 4]> {
    let mut out = Vec::new();
    for a in FLOATS.as_chunks::<4>().0 {
        for shift in 0..FLOATS.len() - 4 {
            let b = FLOATS[shift..].first_chunk::<4>().unwrap();
            let (a, b) = (L::load(a), L::load(b));
            // Sums and quotients that are not a number differ in sign between machines: leave infinity out of them.
            let finite = L::pmax(L::pmin(b, L::splat(1e30)), L::splat(-1e30));
            out.push(get::<L>(L::add(a, finite)));
            out.push(get::<L>(L::sub(a, finite)));
            out.push(get::<L>(L::mul(a, L::add(finite, L::splat(1e-3)))));
            out.push(get::<L>(L::div(a, L::add(L::mul(finite, finite), L::splat(1e-3)))));
            out.push(get::<L>(L::sqrt(L::mul(finite, finite))));
            out.push(get::<L>(L::pmin(a, b)));
            out.push(get::<L>(L::pmax(a, b)));
            out.push(get::<L>(L::from_bits(L::less(a, b))));
            let (x, y) = (L::bits(a), L::bits(b));
            for v in [
                L::add_i32(x, y),
                L::sub_i32(x, y),
                L::and(x, y),
                L::xor(x, y),
                L::shl::<23>(x),
                L::bits(L::to_f32(x)),
                L::pairs(L::narrow(x, y)),
            ] {
                out.push(get::<L>(L::from_bits(v)));
            }
            out.extend(
                L::transpose([x, y, L::add_i32(x, y), x]).map(|v| get::<L>(L::from_bits(v))),
            );
            out.push(get::<L>(L::sums([a, finite, finite, a])));
            out.push([L::sum(finite).to_bits(); 4]);
        }
    }
    out
}

#[test]
fn native_equals_scalar() {
    assert_eq!(transcript::<Native>(), transcript::<Scalar>());
}

fn by_hand<L: Lanes>() {
    let a = L::load_i16(&[1, 2, 3, 4, -32768, -32768, 127, -128]);
    let b = L::load_i16(&[5, 6, -7, 8, -32768, -32767, -128, -128]);
    // 1·5 + 2·6; −21 + 32; 2^30 + 2^15 · 32767; −16256 + 16384
    assert_eq!(get_i32::<L>(L::dot(a, b)), [17, 11, 1_073_741_824 + 1_073_709_056, 128]);
    let [low, high] = L::widen(a);
    assert_eq!(get_i32::<L>(low), [1, 2, 3, 4]);
    assert_eq!(get_i32::<L>(high), [-32768, -32768, 127, -128]);
    assert_eq!(get_i16::<L>(L::from_pairs(L::pairs(a))), [1, 2, 3, 4, -32768, -32768, 127, -128]);
    let upper = L::upper_bytes(L::load_i16(&[0x7fff, -1, -256, 255, 256, -32768, 0x1234, 0]));
    assert_eq!(get_i16::<L>(upper), [127, -1, -1, 0, 1, -128, 0x12, 0]);
    let bytes = L::load_i8(&[0, 1, -1, 127, -128, 64, -64, 2]);
    assert_eq!(get_i16::<L>(bytes), [0, 1, -1, 127, -128, 64, -64, 2]);
    assert_eq!(get_i16::<L>(L::splat_pair(&[3, -4])), [3, -4, 3, -4, 3, -4, 3, -4]);
    let wide = L::shl::<4>(low);
    assert_eq!(get_i32::<L>(wide), [16, 32, 48, 64]);
    let clamped = L::narrow(L::splat_i32(100_000), L::splat_i32(-100_000));
    assert_eq!(get_i16::<L>(clamped), [32767, 32767, 32767, 32767, -32768, -32768, -32768, -32768]);
    let nan = L::splat(f32::NAN);
    assert_eq!(get::<L>(L::pmax(L::splat(2.0), nan)), [2.0f32.to_bits(); 4]);
    assert_eq!(get::<L>(L::pmin(L::splat(2.0), nan)), [2.0f32.to_bits(); 4]);
    assert_eq!(L::sum(L::load(&[1.0, 2.0, 4.0, 8.0])), 15.0);
}

/// Products of bytes: 127 · 127 three times and −128 · 127; ±1; 1 … 4 squared; zeros.
fn bytes_by_hand<L: Lanes>() {
    let a = [127, 127, 127, -128, 1, -1, 1, -1, 1, 2, 3, 4, 0, 0, 0, 0];
    let b = [127, 127, 127, 127, 9, 8, 7, 6, 1, 2, 3, 4, 127, 127, 127, 127];
    let dot = L::dot_bytes(L::splat_i32(-1), L::load_bytes(&a), L::load_bytes(&b));
    assert_eq!(get_i32::<L>(dot), [3 * 16_129 - 16_256 - 1, 2 - 1, 30 - 1, -1], "{}", L::NAME);
    let same = L::dot_bytes(L::splat_i32(0), L::load_bytes(&a), L::splat_bytes(&[1, 2, 3, 4]));
    assert_eq!(get_i32::<L>(same), [127 * 6 - 512, 1 - 2 + 3 - 4, 30, 0], "{}", L::NAME);
    let mut kept = [0; 16];
    L::store_bytes(L::load_bytes(&a), &mut kept);
    assert_eq!(kept, a);
    let narrowed = L::narrow_bytes(
        L::load_i16(&[0, 1, -1, 127, 128, -128, -129, 32767]),
        L::load_i16(&[-32768, 5, 6, 7, 8, 9, 10, 11]),
    );
    L::store_bytes(narrowed, &mut kept);
    assert_eq!(kept, [0, 1, -1, 127, 127, -128, -128, 127, -128, 5, 6, 7, 8, 9, 10, 11]);
}

fn nibbles_by_hand<L: Lanes>() {
    let get = |v| {
        let mut bytes = [0; 16];
        L::store_bytes(v, &mut bytes);
        bytes
    };
    let packed = [0x21, 0x43, -1, -128, 0x7f, 0x0f, 0x10, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let [low, high] = L::nibbles(L::load_bytes(&packed));
    assert_eq!(get(low), [1, 3, 15, 0, 15, 15, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], "{}", L::NAME);
    assert_eq!(get(high), [2, 4, 15, 8, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "{}", L::NAME);
    let table: [i8; 16] = std::array::from_fn(|i| 100 - 7 * i as i8);
    let chosen = get(L::look_up(L::load_bytes(&table), low));
    assert_eq!(chosen[..6], [93, 79, -5, 100, -5, -5], "{}", L::NAME);
    assert_eq!(get_i32::<L>(L::asr::<4>(L::splat_i32(-33))), [-3; 4], "{}", L::NAME);
    assert_eq!(get_i32::<L>(L::shr::<4>(L::splat_i32(-1))), [0x0fff_ffff; 4], "{}", L::NAME);
}

#[test]
fn half_bytes_come_apart() {
    nibbles_by_hand::<Scalar>();
    nibbles_by_hand::<Native>();
}

#[test]
fn products_of_bytes_are_told_apart() {
    bytes_by_hand::<Scalar>();
    bytes_by_hand::<Native>();
    bytes_by_hand::<Scalar<SignedDot>>();
    bytes_by_hand::<Scalar<UnsignedDot>>();
    assert_eq!(probe::<Scalar>(), Some(ByteDot::Signed));
    assert_eq!(probe::<Scalar<SignedDot>>(), Some(ByteDot::Signed));
    assert_eq!(probe::<Scalar<UnsignedDot>>(), Some(ByteDot::Unsigned));
    assert_eq!(probe::<Scalar<SaturatingDot>>(), None);
    assert_eq!(<Scalar>::byte_dot(), None, "exact, but no instruction");
}

#[test]
fn operations_mean_what_they_say() {
    by_hand::<Scalar>();
    by_hand::<Native>();
}
