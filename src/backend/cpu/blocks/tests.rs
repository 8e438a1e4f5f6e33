//! Blocks by hand: every type's layout at the places where it could be got wrong.

use super::*;

fn dequantized(kind: BlockType, block: &[u8]) -> Vec<f32> {
    assert_eq!(block.len(), kind.bytes());
    let mut values = vec![f32::NAN; kind.values()];
    kind.dequantize(block, &mut values);
    values
}

/// float16 0.5 and −2.
const HALF: [u8; 2] = [0x00, 0x38];
const MINUS_TWO: [u8; 2] = [0x00, 0xc0];

#[test]
fn halves_are_exact() {
    let cases = [
        (0x0000, 0.0),
        (0x8000, -0.0),
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x7bff, 65504.0),
        (0x0400, 6.103_515_6e-5),
        (0x0001, 5.960_464_5e-8),
        (0x83ff, -6.097_555e-5),
        (0x3555, 0.333_251_95),
    ];
    for (bits, value) in cases {
        assert_eq!(f16_to_f32(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
    }
    assert_eq!(f16_to_f32(0x7c00), f32::INFINITY);
    assert!(f16_to_f32(0x7e00).is_nan());
    assert_eq!(bf16_to_f32(0xc040), -3.0);
}

/// The value of a finite float16 by its definition.
fn half_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn every_half_and_what_lies_between_two() {
    for bits in 0..0x7c00 {
        for sign in [0, 0x8000] {
            let value = f16_to_f32(bits | sign);
            assert_eq!(f64::from(value), half_value(bits | sign), "{bits:#x}");
            assert_eq!(value.is_sign_negative(), sign != 0);
            assert_eq!(f32_to_f16(value), bits | sign);
        }
        // Halfway to the next, a float32; behind the largest the next would be 2^16.
        let next = if bits == 0x7bff { 65536.0 } else { half_value(bits + 1) };
        let middle = ((half_value(bits) + next) / 2.0) as f32;
        let even = bits + (bits & 1);
        assert_eq!(f32_to_f16(middle), even, "{bits:#x}");
        assert_eq!(f32_to_f16(-middle), even | 0x8000);
        assert_eq!(f32_to_f16(middle.next_down()), bits);
        assert_eq!(f32_to_f16(middle.next_up()), bits + 1);
    }
    for value in [65536.0, 1e30, f32::INFINITY] {
        assert_eq!(f32_to_f16(value), 0x7c00);
        assert_eq!(f32_to_f16(-value), 0xfc00);
    }
    assert_eq!(f32_to_f16(f32::NAN) & 0x7fff, 0x7e00);
    for bits in (0x7c00..0x8000).chain(0xfc00..=0xffff) {
        let value = f16_to_f32(bits);
        assert!(if bits & 0x3ff == 0 { value.is_infinite() } else { value.is_nan() });
    }
}

#[test]
fn infinite_scales_are_found() {
    for kind in BlockType::ALL {
        // all bits of a block but those of its halves
        let mut row = vec![0xff; 3 * kind.bytes()];
        for block in row.chunks_exact_mut(kind.bytes()) {
            kind.halves().iter().for_each(|at| block[*at..at + 2].copy_from_slice(&[0xff, 0xfb]));
        }
        assert_eq!(kind.find_not_finite(&row), None, "{kind:?}");
        let mut values = vec![f32::NAN; 3 * kind.values()];
        kind.dequantize(&row, &mut values);
        assert!(values.iter().all(|value| value.is_finite()), "{kind:?}");
        for at in kind.halves() {
            for upper in [0x7c, 0xfc, 0x7e, 0xff] {
                let mut bad = row.clone();
                bad[kind.bytes() + at + 1] = upper;
                assert_eq!(kind.find_not_finite(&bad), Some(1), "{kind:?}");
            }
        }
    }
}

#[test]
fn blocks_of_32_by_hand() {
    let mut block = [&HALF[..], &[0; 32]].concat();
    (block[2], block[33]) = (0x80, 0x7f);
    let values = dequantized(BlockType::Q8_0, &block);
    assert_eq!((values[0], values[1], values[31]), (-64.0, 0.0, 63.5));

    // Byte 0: code 1 for value 0 and code 15 for value 16.
    let nibbles = |rest: &[u8]| [rest, &[0xf1], &[0x88; 15]].concat();
    let values = dequantized(BlockType::Q4_0, &nibbles(&HALF));
    assert_eq!((values[0], values[16], values[1]), (-3.5, 3.5, 0.0));
    let values = dequantized(BlockType::Q4_1, &nibbles(&[HALF, MINUS_TWO].concat()));
    assert_eq!((values[0], values[16], values[1]), (-1.5, 5.5, 2.0));
    let values = dequantized(BlockType::Iq4Nl, &nibbles(&HALF));
    assert_eq!((values[0], values[16], values[1]), (-52.0, 56.5, 0.5));
    // Fifth bits: of value 0 and of value 31.
    let fifth = [1, 0, 0, 0x80];
    let values = dequantized(BlockType::Q5_0, &nibbles(&[&HALF[..], &fifth].concat()));
    assert_eq!((values[0], values[16], values[31]), (0.5, -0.5, 4.0));
    let start = [&HALF[..], &MINUS_TWO, &fifth].concat();
    let values = dequantized(BlockType::Q5_1, &nibbles(&start));
    assert_eq!((values[0], values[16], values[31]), (6.5, 5.5, 10.0));
}

#[test]
fn k_blocks_by_hand() {
    // Group 0: scale 3, minimum 5. Group 7: scale 33 = 1 + 2 · 16, minimum 18 = 2 + 1 · 16.
    let mut scales = [0u8; 12];
    (scales[0], scales[4]) = (3, 5);
    scales[11] = 1 | 2 << 4;
    scales[3] |= 2 << 6;
    scales[7] |= 1 << 6;
    let mut nibbles = [0u8; 128];
    nibbles[1] = 0x0a; // value 1 of group 0
    nibbles[127] = 0x70; // value 31 of group 7
    let start = [&HALF[..], &MINUS_TWO, &scales].concat();
    let values = dequantized(BlockType::Q4K, &[&start[..], &nibbles].concat());
    assert_eq!((values[0], values[1], values[255]), (10.0, 1.5 * 10.0 + 10.0, 16.5 * 7.0 + 36.0));
    let mut fifth = [0u8; 32];
    (fifth[1], fifth[31]) = (1, 0x80);
    let values = dequantized(BlockType::Q5K, &[&start[..], &fifth, &nibbles].concat());
    assert_eq!((values[0], values[1], values[255]), (10.0, 1.5 * 26.0 + 10.0, 16.5 * 23.0 + 36.0));

    let (mut lower, mut upper, mut scales) = ([0u8; 128], [0u8; 64], [1u8; 16]);
    lower[64 + 3] = 0x5a; // second run: codes 10 of value 3 and 5 of value 67
    upper[32 + 3] = 2 | 3 << 4; // and upper bits 2 and 3
    scales[15] = 0xff; // −1
    let block = [&lower[..], &upper, &scales, &HALF].concat();
    let values = dequantized(BlockType::Q6K, &block);
    assert_eq!((values[0], values[128 + 3]), (-16.0, 0.5 * (42.0 - 32.0)));
    assert_eq!((values[128 + 67], values[255]), (0.5 * (53.0 - 32.0), 16.0));
}
