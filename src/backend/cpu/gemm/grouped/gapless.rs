//! Codes of five and of six bits, packed without gaps: a byte holds a code and a part of one that has no byte of its own.
//!
//! A quad's codes of four columns are sixteen, one in each byte of a vector. Of eight such vectors of five bits, or of
//! four of six bits, five or three are stored, and in the upper bits of their bytes the others.

use super::Sixteen;
use super::decode::{Decode, Operands, load};
use crate::backend::cpu::lanes::Lanes;

/// The codes of a quad of four columns.
type Four = [u8; 16];

/// Packs the codes of a group of six bits, `[quads][columns 0 to 3, columns 4 to 7]`.
pub fn pack_six(quads: &[[Four; 2]], to: &mut Vec<Sixteen>) {
    for pair in quads.as_chunks::<2>().0 {
        let [[a, b], [c, spread]] = pair;
        push(to, a, |i| spread[i] << 6);
        push(to, b, |i| spread[i] >> 2 << 6);
        push(to, c, |i| spread[i] >> 4 << 6);
    }
}

/// Packs the codes of a group of five bits, `[quads][columns 0 to 3, columns 4 to 7]`.
pub fn pack_five(quads: &[[Four; 2]], to: &mut Vec<Sixteen>) {
    for four in quads.as_chunks::<4>().0 {
        let [[a, b], [c, d], [e, x], [y, z]] = four;
        push(to, a, |i| x[i] << 5);
        push(to, b, |i| x[i] >> 3 << 5 | z[i] >> 3 << 7);
        push(to, c, |i| y[i] << 5);
        push(to, d, |i| y[i] >> 3 << 5 | z[i] >> 4 << 7);
        push(to, e, |i| z[i] << 5);
    }
}

fn push(to: &mut Vec<Sixteen>, codes: &Four, upper: impl Fn(usize) -> u8) {
    to.push(Sixteen(std::array::from_fn(|i| (codes[i] | upper(i)).cast_signed())));
}

/// Codes of six bits in groups of sixteen.
#[derive(Clone, Copy)]
pub struct Sixes {
    pub zero: i32,
}

impl<L: Lanes> Decode<L> for Sixes {
    type Unit = [Sixteen; 3];
    const QUADS: usize = 2;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, q: usize) -> Operands<L> {
        let vector = |i: usize| L::pairs(load::<L>(&unit[i]));
        let own = |i: usize| bits::<L>(vector(i), 0x3f);
        let rest = |i: usize| bits::<L>(vector(i), 0xc0);
        operands::<L>(match q {
            0 => [own(0), own(1)],
            _ => {
                let lower = L::xor(L::shr::<6>(rest(0)), L::shr::<4>(rest(1)));
                [own(2), L::xor(lower, L::shr::<2>(rest(2)))]
            }
        })
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        self.zero
    }
}

/// Codes of five bits in groups of 32.
#[derive(Clone, Copy)]
pub struct Fives {
    pub zero: i32,
}

impl<L: Lanes> Decode<L> for Fives {
    type Unit = [Sixteen; 5];
    const QUADS: usize = 4;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, q: usize) -> Operands<L> {
        let vector = |i: usize| L::pairs(load::<L>(&unit[i]));
        let own = |i: usize| bits::<L>(vector(i), 0x1f);
        let lower = |i: usize| bits::<L>(L::shr::<5>(vector(i)), 0x07);
        let upper = |i: usize| bits::<L>(L::shr::<2>(vector(i)), 0x18);
        operands::<L>(match q {
            0 => [own(0), own(1)],
            1 => [own(2), own(3)],
            2 => [own(4), L::xor(lower(0), upper(1))],
            _ => {
                let fourth = bits::<L>(L::shr::<4>(vector(1)), 0x08);
                let fifth = bits::<L>(L::shr::<3>(vector(3)), 0x10);
                let y = L::xor(lower(2), upper(3));
                [y, L::xor(lower(4), L::xor(fourth, fifth))]
            }
        })
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        self.zero
    }
}

/// Those bits of every byte.
#[inline(always)]
fn bits<L: Lanes>(v: L::I32, of_a_byte: u8) -> L::I32 {
    L::and(v, L::splat_i32(i32::from_ne_bytes([of_a_byte; 4])))
}

#[inline(always)]
fn operands<L: Lanes>(whole: [L::I32; 2]) -> Operands<L> {
    Operands::whole(whole.map(|half| L::from_pairs(half)))
}
