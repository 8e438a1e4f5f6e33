//! Codes to operands of a product of bytes.

use super::Sixteen;
use crate::backend::cpu::lanes::{ByteDot, Lanes};

/// Makes operands of codes: a quad is four codes of each of columns 0 to 3 and of columns 4 to 7.
pub trait Decode<L: Lanes>: Copy {
    /// Vectors that some quads share, an array of them.
    type Unit: Copy;
    /// How many quads do.
    const QUADS: usize;
    /// Whether an operand comes in two, `16 · upper + lower`, each of four bits.
    const IS_SPLIT: bool;
    /// The units of vectors one after the other.
    fn units(vectors: &[Sixteen]) -> &[Self::Unit];
    /// The operands of quad `q` of a unit; `upper` counts only if they are split.
    fn operands(self, unit: &Self::Unit, q: usize) -> Operands<L>;
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
pub fn load<L: Lanes>(vector: &Sixteen) -> L::I16 {
    L::load_bytes(&vector.0)
}

/// The codes of four bits of quad `q` of two: those of the first are the lower ones of each byte. Of columns 0 to 3 they
/// are in the first vector, of columns 4 to 7 in the second, so that sums of different columns have none in common.
#[inline(always)]
fn nibbles<L: Lanes>(unit: &[Sixteen; 2], q: usize) -> [L::I16; 2] {
    unit.each_ref().map(|vector| L::nibbles(load::<L>(vector))[q])
}

/// Codes of four bits.
#[derive(Clone, Copy)]
pub struct Nibbles {
    pub zero: i32,
}

impl<L: Lanes> Decode<L> for Nibbles {
    type Unit = [Sixteen; 2];
    const QUADS: usize = 2;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, q: usize) -> Operands<L> {
        Operands::whole(nibbles::<L>(unit, q))
    }
    #[inline(always)]
    fn zero(self) -> i32 {
        self.zero
    }
}

/// Bytes that are operands as they are.
#[derive(Clone, Copy)]
pub struct Bytes {
    zero: i32,
    /// 128 in every byte if they are signed.
    flip: i32,
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
    type Unit = [Sixteen; 2];
    const QUADS: usize = 1;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, _: usize) -> Operands<L> {
        Operands::whole([load::<L>(&unit[0]), load::<L>(&unit[1])])
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

/// Int8 with 128 added, multiplied four bits at a time.
#[derive(Clone, Copy)]
pub struct SplitBytes;

impl<L: Lanes> Decode<L> for SplitBytes {
    type Unit = [Sixteen; 2];
    const QUADS: usize = 1;
    const IS_SPLIT: bool = true;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, _: usize) -> Operands<L> {
        let [low, high] = [0, 1].map(|at| L::nibbles(load::<L>(&unit[at])));
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
    type Unit = [Sixteen; 2];
    const QUADS: usize = 2;
    const IS_SPLIT: bool = false;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, q: usize) -> Operands<L> {
        let indices = nibbles::<L>(unit, q);
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
    type Unit = [Sixteen; 2];
    const QUADS: usize = 2;
    const IS_SPLIT: bool = true;
    #[inline(always)]
    fn units(vectors: &[Sixteen]) -> &[Self::Unit] {
        vectors.as_chunks().0
    }
    #[inline(always)]
    fn operands(self, unit: &Self::Unit, q: usize) -> Operands<L> {
        let indices = nibbles::<L>(unit, q);
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
