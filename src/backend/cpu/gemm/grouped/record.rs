//! What a group of eight columns has in memory: codes, then what these are multiplied by and what is added to them, as
//! float16 where a format has no more, since memory is what a product with one row waits for.

use super::form::{GroupForm, vectors};
use super::{GroupedMatrix, Sixteen};
use crate::backend::cpu::half::f32_to_f16;
use crate::backend::cpu::lanes::Lanes;

/// Vectors of a group of eight columns.
pub fn record_len(form: GroupForm) -> usize {
    let factors = if form.has_min { 2 } else { 1 };
    vectors(form.codes) + factors * factor_len(form)
}

/// Vectors of eight factors.
fn factor_len(form: GroupForm) -> usize {
    if form.halves { 1 } else { 2 }
}

/// Appends eight factors.
pub fn push_factors(factors: [f32; 8], form: GroupForm, to: &mut Vec<Sixteen>) {
    let mut bytes = [[0; 16]; 2];
    let (twos, _) = bytes.as_flattened_mut().as_chunks_mut::<2>();
    if form.halves {
        for (to, factor) in twos.iter_mut().zip(factors) {
            *to = f32_to_f16(factor).to_ne_bytes();
        }
    } else {
        let (fours, _) = bytes.as_flattened_mut().as_chunks_mut::<4>();
        for (to, factor) in fours.iter_mut().zip(factors) {
            *to = factor.to_ne_bytes();
        }
    }
    let vectors = bytes.into_iter().take(factor_len(form));
    to.extend(vectors.map(|bytes| Sixteen(bytes.map(u8::cast_signed))));
}

/// The records of a matrix.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    vectors: &'a [Sixteen],
    /// Vectors of a record.
    len: usize,
    /// Groups of a block of columns.
    groups: usize,
    codes: usize,
    factors: usize,
    has_min: bool,
}

impl<'a> Records<'a> {
    pub fn new(matrix: &'a GroupedMatrix) -> Self {
        let GroupedMatrix { form, in_features, .. } = *matrix;
        Self {
            vectors: &matrix.records,
            len: record_len(form),
            groups: in_features / form.size,
            codes: vectors(form.codes),
            factors: factor_len(form),
            has_min: form.has_min,
        }
    }

    /// Groups of a block of columns.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Group `g` of a block.
    #[inline(always)]
    pub fn of(&self, block: usize, g: usize) -> Record<'a> {
        self.at(block * self.groups + g)
    }

    /// A group, counted from the first of the first block on.
    #[inline(always)]
    pub fn at(&self, index: usize) -> Record<'a> {
        let record = &self.vectors[index * self.len..][..self.len];
        let (codes, factors) = record.split_at(self.codes);
        let (scales, mins) = factors.split_at(self.factors);
        Record { codes, scales, mins: if self.has_min { mins } else { &[] } }
    }
}

/// A group of eight columns.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub codes: &'a [Sixteen],
    scales: &'a [Sixteen],
    /// Empty if nothing is added.
    mins: &'a [Sixteen],
}

impl Record<'_> {
    pub fn factors<L: Lanes>(&self, constants: &HalfConstants<L>) -> Factors<L> {
        let load = |vectors: &[Sixteen]| match vectors {
            [halves] => constants.load(halves),
            [low, high] => load_floats::<L>([low, high]),
            _ => [L::splat(0.0); 2],
        };
        Factors {
            scales: load(self.scales),
            mins: (!self.mins.is_empty()).then(|| load(self.mins)),
        }
    }

    /// As [`Record::factors`], of a form known when this is compiled: nothing is asked.
    #[inline(always)]
    pub fn factors_of<L: Lanes, const HALVES: bool, const HAS_MIN: bool>(
        &self,
        constants: &HalfConstants<L>,
    ) -> Factors<L> {
        let load = |vectors: &[Sixteen]| match HALVES {
            true => constants.load(&vectors[0]),
            false => load_floats::<L>([&vectors[0], &vectors[1]]),
        };
        Factors { scales: load(self.scales), mins: HAS_MIN.then(|| load(self.mins)) }
    }
}

/// What makes weights of a group's codes: of columns 0 to 3 and of columns 4 to 7.
#[derive(Clone, Copy)]
pub struct Factors<L: Lanes> {
    pub scales: [L::F32; 2],
    pub mins: Option<[L::F32; 2]>,
}

impl<L: Lanes> Factors<L> {
    /// The weights of codes, from which their zero was taken.
    #[inline(always)]
    pub fn weights(&self, codes: [L::I32; 2]) -> [L::F32; 2] {
        std::array::from_fn(|half| {
            let weight = L::mul(L::to_f32(codes[half]), self.scales[half]);
            self.mins.map_or(weight, |mins| L::add(weight, mins[half]))
        })
    }
}

fn load_floats<L: Lanes>(vectors: [&Sixteen; 2]) -> [L::F32; 2] {
    vectors.map(|four| L::from_bits(L::pairs(L::load_bytes(&four.0))))
}

/// What makes float32 of float16.
#[derive(Clone, Copy)]
pub struct HalfConstants<L: Lanes> {
    kept: L::I32,
    factor: L::F32,
}

impl<L: Lanes> HalfConstants<L> {
    pub fn new() -> Self {
        let (kept, factor) = (f32::from_bits(0x8fff_e000), f32::from_bits((112 + 127) << 23));
        // Engines make a vector that they know anew wherever it is used, which takes three instructions.
        let hidden = std::hint::black_box([[kept; 4], [factor; 4]]);
        Self { kept: L::bits(L::load(&hidden[0])), factor: L::load(&hidden[1]) }
    }

    /// Reads eight float16. Where a float32 has its exponent and fraction, they lack 2^112. Exact for all but infinities,
    /// denormal ones too, at the price of a slow product.
    #[inline(always)]
    fn load(&self, halves: &Sixteen) -> [L::F32; 2] {
        L::widen(L::load_bytes(&halves.0)).map(|half| {
            let moved = L::and(L::shl::<13>(half), self.kept);
            L::mul(L::from_bits(moved), self.factor)
        })
    }
}
