//! How weights that share scales are coded, and how the codes of eight columns lie in memory.

use super::{Sixteen, gapless};

/// How the weights of a group are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// Four bits, from which `zero` is taken.
    Four {
        /// The code of nothing.
        zero: u8,
    },
    /// Four bits that choose one of sixteen int8.
    Chosen(&'static [i8; 16]),
    /// Five bits, from which `zero` is taken.
    Five {
        /// The code of nothing.
        zero: u8,
    },
    /// Six bits, from which `zero` is taken.
    Six {
        /// The code of nothing.
        zero: u8,
    },
    /// Int8.
    Eight,
}

/// What all groups of a matrix have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupForm {
    /// Weights of a group, neighbours in a row: 16 of six bits, 32 of any others.
    pub size: usize,
    /// How they are coded.
    pub codes: Codes,
    /// Whether a group has a value to which its weights are added.
    pub has_min: bool,
    /// Whether that value and the factor are float16 numbers.
    pub halves: bool,
}

/// One group on its way into a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// Codes of the first [`GroupForm::size`] weights; int8 codes as they are in memory.
    pub codes: [u8; 32],
    /// Factor of the weights.
    pub scale: f32,
    /// What is added to them.
    pub min: f32,
}

impl Group {
    /// Zeros.
    pub const ZERO: Self = Self { codes: [0; 32], scale: 0.0, min: 0.0 };

    /// The weights it stands for.
    pub fn values(&self, form: GroupForm, to: &mut [f32]) {
        for (to, &code) in to.iter_mut().zip(&self.codes) {
            let code = match form.codes {
                Codes::Four { zero } | Codes::Five { zero } | Codes::Six { zero } => {
                    f32::from(code) - f32::from(zero)
                }
                Codes::Chosen(table) => f32::from(table[usize::from(code & 15)]),
                Codes::Eight => f32::from(code.cast_signed()),
            };
            *to = self.scale * code;
            if form.has_min {
                *to += self.min;
            }
        }
    }
}

/// Vectors of codes of a group of eight columns.
pub fn vectors(codes: Codes) -> usize {
    match codes {
        Codes::Four { .. } | Codes::Chosen(_) => 8,
        Codes::Five { .. } => 10,
        Codes::Six { .. } => 6,
        Codes::Eight => 16,
    }
}

/// Packs the codes of a group, `[quads][columns 0 to 3, columns 4 to 7]`.
pub fn pack_codes(codes: Codes, quads: &[[[u8; 16]; 2]], to: &mut Vec<Sixteen>) {
    match codes {
        Codes::Four { .. } | Codes::Chosen(_) => {
            for [first, second] in quads.as_chunks().0 {
                to.extend(first.iter().zip(second).map(|(low, high)| {
                    Sixteen(std::array::from_fn(|i| ((low[i] & 15) | high[i] << 4).cast_signed()))
                }));
            }
        }
        Codes::Five { .. } => gapless::pack_five(quads, to),
        Codes::Six { .. } => gapless::pack_six(quads, to),
        Codes::Eight => {
            let halves = quads.as_flattened().iter();
            to.extend(halves.map(|half| Sixteen(half.map(u8::cast_signed))));
        }
    }
}
