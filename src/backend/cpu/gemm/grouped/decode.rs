//! Codes to operands of a product of bytes.

use super::Sixteen;
use crate::backend::cpu::lanes::{ByteDot, Lanes};

/// Makes operands of the codes of a quad: four codes of each of columns 0 to 3 and of columns 4 to 7.
pub trait Decode<L: Lanes>: Copy {
    /// Quads of a group.
    const QUADS: usize;
    /// Vectors that the codes of a group take.
    const VECTORS: usize;
    /// Quads that are packed together.
    const SET: usize = 1;
    /// Whether an operand comes in two, `16 · upper + lower`, each of four bits.
    const IS_SPLIT: bool;
    /// The operands of quad `q` of a group; `upper` counts only if they are split.
    fn operands(self, codes: &[Sixteen], q: usize) -> Operands<L>;
    /// Calls `work` with the operands of each quad of a set, which is decoded in its own way: written out, not a loop.
    #[inline(always)]
    fn each(self, codes: &[Sixteen], set: usize, mut work: impl FnMut(usize, Operands<L>)) {
        work(set, self.operands(codes, set));
    }
    /// What operands have too much.
    fn zero(self) -> i32;
    /// What the bits of an operand are xored with to be a number from 0 on, and what that has too much.
    fn plain(self) -> (i32, i32) {
        (0, self.zero())
    }
}

/// Operands of two times four columns.
pub struct Operands<L: Lanes> {
    pub lower: [L::I16; 2],
    pub upper: [L::I16; 2],
}

impl<L: Lanes> Operands<L> {
    #[inline(always)]
    pub fn whole(operands: [L::I16; 2]) -> Self {
        Self { lower: operands, upper: operands }
    }
}

#[inline(always)]
pub fn load<L: Lanes>(codes: &[Sixteen], at: usize) -> L::I16 {
    L::load_bytes(&codes[at].0)
}

/// Codes of four bits: of columns 0 to 3 the lower ones of each byte, of columns 4 to 7 the upper ones.
#[derive(Clone, Copy)]
pub struct Nibbles {
    pub zero: i32,
}

impl<L: Lanes> Decode<L> for Nibbles {
    const QUADS: usize = 8;
    const VECTORS: usize = 8;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn operands(self, codes: &[Sixteen], q: usize) -> Operands<L> {
        Operands::whole(L::nibbles(load::<L>(codes, q)))
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        self.zero
    }
}

/// Bytes that are operands as they are.
#[derive(Clone, Copy)]
pub struct Bytes {
    pub zero: i32,
    /// 128 in every byte if they are signed.
    pub flip: i32,
}

/// The upper bit of every byte.
const SIGNS: i32 = i32::from_ne_bytes([0x80; 4]);

/// What signed and unsigned operands have too much, and the flip that makes them unsigned.
fn reading(kind: ByteDot) -> (i32, i32) {
    match kind {
        ByteDot::Signed => (0, SIGNS),
        ByteDot::Unsigned => (128, 0),
    }
}

impl Bytes {
    /// Int8, as `kind` reads it.
    pub fn eight(kind: ByteDot) -> Self {
        let (zero, flip) = reading(kind);
        Self { zero, flip }
    }
}

impl<L: Lanes> Decode<L> for Bytes {
    const QUADS: usize = 8;
    const VECTORS: usize = 16;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn operands(self, codes: &[Sixteen], q: usize) -> Operands<L> {
        Operands::whole([load::<L>(codes, 2 * q), load::<L>(codes, 2 * q + 1)])
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        self.zero
    }
    #[inline(always)]
    fn plain(self) -> (i32, i32) {
        (self.flip, if self.flip == 0 { self.zero } else { 128 })
    }
}

/// Int8 with 128 added, multiplied four bits at a time.
#[derive(Clone, Copy)]
pub struct SplitBytes;

impl<L: Lanes> Decode<L> for SplitBytes {
    const QUADS: usize = 8;
    const VECTORS: usize = 16;
    const IS_SPLIT: bool = true;
    #[inline(always)]
    fn operands(self, codes: &[Sixteen], q: usize) -> Operands<L> {
        let [low, high] = [0, 1].map(|half| L::nibbles(load::<L>(codes, 2 * q + half)));
        Operands { lower: [low[0], high[0]], upper: [low[1], high[1]] }
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        128
    }
}

/// Codes of four bits that choose among sixteen int8.
#[derive(Clone, Copy)]
pub struct LookUp<L: Lanes> {
    table: L::I16,
    zero: i32,
    flip: i32,
}

impl<L: Lanes> LookUp<L> {
    pub fn new(table: &[i8; 16], kind: ByteDot) -> Self {
        let (zero, flip) = reading(kind);
        let table = table.map(|value| if zero == 0 { value } else { value ^ i8::MIN });
        Self { table: L::load_bytes(&table), zero, flip }
    }
}

impl<L: Lanes> Decode<L> for LookUp<L> {
    const QUADS: usize = 8;
    const VECTORS: usize = 8;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn operands(self, codes: &[Sixteen], q: usize) -> Operands<L> {
        let indices = L::nibbles(load::<L>(codes, q));
        Operands::whole(indices.map(|indices| L::look_up(self.table, indices)))
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        self.zero
    }
    #[inline(always)]
    fn plain(self) -> (i32, i32) {
        (self.flip, 128)
    }
}

/// As [`LookUp`], multiplied four bits at a time.
#[derive(Clone, Copy)]
pub struct SplitLookUp<L: Lanes> {
    lower: L::I16,
    upper: L::I16,
}

impl<L: Lanes> SplitLookUp<L> {
    pub fn new(table: &[i8; 16]) -> Self {
        let unsigned = table.map(|value| (value ^ i8::MIN).cast_unsigned());
        Self {
            lower: L::load_bytes(&unsigned.map(|value| (value & 15).cast_signed())),
            upper: L::load_bytes(&unsigned.map(|value| (value >> 4).cast_signed())),
        }
    }
}

impl<L: Lanes> Decode<L> for SplitLookUp<L> {
    const QUADS: usize = 8;
    const VECTORS: usize = 8;
    const IS_SPLIT: bool = true;
    #[inline(always)]
    fn operands(self, codes: &[Sixteen], q: usize) -> Operands<L> {
        let indices = L::nibbles(load::<L>(codes, q));
        Operands {
            lower: indices.map(|indices| L::look_up(self.lower, indices)),
            upper: indices.map(|indices| L::look_up(self.upper, indices)),
        }
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        128
    }
}
