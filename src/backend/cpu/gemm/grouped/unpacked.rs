//! A block of columns with its codes as operands and its factors as float32, for many rows to meet.

use super::decode::{Decode, Operands};
use super::record::{Factors, HalfConstants, Records};
use super::{Floats, Sixteen};
use crate::backend::cpu::lanes::Lanes;

/// Operands and factors of a block.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// `[in_features / 4]`: the operands of a quad.
    lower: Vec<[Sixteen; 2]>,
    /// Their upper parts; empty if they are not split.
    upper: Vec<[Sixteen; 2]>,
    /// `[groups]`
    scales: Vec<Floats>,
    /// `[groups]`; empty if nothing is added.
    mins: Vec<Floats>,
}

impl Unpacked {
    /// Unpacks a block.
    pub fn unpack<L: Lanes, D: Decode<L>>(
        &mut self,
        decode: D,
        records: Records<'_>,
        block: usize,
    ) {
        let constants = HalfConstants::<L>::new();
        self.lower.clear();
        self.upper.clear();
        self.scales.clear();
        self.mins.clear();
        for g in 0..records.groups() {
            let record = records.of(block, g);
            for unit in D::units(record.codes) {
                for q in 0..D::QUADS {
                    let operands = decode.operands(unit, q);
                    self.lower.push(operands.lower.map(vector::<L>));
                    if D::IS_SPLIT {
                        self.upper.push(operands.upper.map(vector::<L>));
                    }
                }
            }
            let factors = record.factors(&constants);
            self.scales.push(eight::<L>(factors.scales));
            self.mins.extend(factors.mins.map(eight::<L>));
        }
    }

    /// Groups.
    pub fn groups(&self) -> usize {
        self.scales.len()
    }

    /// The operands from quad `first` on, `count` of them; the second ones are the upper parts, if they are split.
    #[inline(always)]
    pub fn quads(&self, first: usize, count: usize) -> [&[[Sixteen; 2]]; 2] {
        [&self.lower, &self.upper].map(|all| all.get(first..first + count).unwrap_or(&[]))
    }

    /// The factors of group `g`.
    #[inline(always)]
    pub fn factors<L: Lanes>(&self, g: usize) -> Factors<L> {
        let load = |eight: &Floats| eight.0.each_ref().map(L::load);
        Factors { scales: load(&self.scales[g]), mins: self.mins.get(g).map(load) }
    }
}

/// Reads the operands of a quad.
#[inline(always)]
pub fn load<L: Lanes>(lower: &[Sixteen; 2], upper: Option<&[Sixteen; 2]>) -> Operands<L> {
    let load = |two: &[Sixteen; 2]| two.each_ref().map(|vector| L::load_bytes(&vector.0));
    let lower = load(lower);
    Operands { lower, upper: upper.map_or(lower, load) }
}

fn vector<L: Lanes>(operand: L::I16) -> Sixteen {
    let mut bytes = [0; 16];
    L::store_bytes(operand, &mut bytes);
    Sixteen(bytes)
}

fn eight<L: Lanes>(factors: [L::F32; 2]) -> Floats {
    let mut eight = Floats::default();
    factors.into_iter().zip(&mut eight.0).for_each(|(four, to)| L::store(four, to));
    eight
}
