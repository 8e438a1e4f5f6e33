//! Every form of codes against sums in double precision, on every kind of lanes.

use super::super::Finish;
use super::*;
use crate::backend::cpu::lanes::{Native, SaturatingDot, Scalar, SignedDot, UnsignedDot};

const TABLE: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

fn forms() -> Vec<GroupForm> {
    let form = |size, codes, has_min| GroupForm { size, codes, has_min, halves: false };
    let floats = [
        form(32, Codes::Four { zero: 8 }, false),
        form(32, Codes::Four { zero: 0 }, true),
        form(32, Codes::Chosen(&TABLE), false),
        form(32, Codes::Five { zero: 16 }, false),
        form(32, Codes::Five { zero: 0 }, true),
        form(16, Codes::Six { zero: 32 }, false),
        form(32, Codes::Eight, false),
    ];
    let halves = floats.map(|form| GroupForm { halves: true, ..form });
    floats.into_iter().chain(halves).collect()
}

/// Numbers of a fixed sequence (Marsaglia's xorshift).
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    }
}

fn group(form: GroupForm, next: &mut impl FnMut() -> u64) -> Group {
    let mut group = Group::ZERO;
    let bits = match form.codes {
        Codes::Four { .. } | Codes::Chosen(_) => 4,
        Codes::Five { .. } => 5,
        Codes::Six { .. } => 6,
        Codes::Eight => 8,
    };
    // The ends come often.
    group.codes = std::array::from_fn(|_| match next() % 4 {
        0 => 0,
        1 => u8::MAX >> (8 - bits),
        _ => (next() as u8) >> (8 - bits),
    });
    if form.halves {
        // Eleven bits and any exponent down to the denormal ones are float16 numbers.
        group.scale = (next() % 1024) as f32 / 16_384.0 - 0.03125;
        group.min = (next() % 2048) as f32 / 512.0 - 2.0;
        if next().is_multiple_of(8) {
            group.scale /= 1024.0;
        }
    } else {
        group.scale = (next() % 1000) as f32 / 7000.0 - 0.05;
        group.min = (next() % 1000) as f32 / 300.0 - 2.0;
    }
    group
}

fn value(form: GroupForm, group: &Group, i: usize) -> f32 {
    let code = group.codes[i];
    let code = match form.codes {
        Codes::Four { zero } | Codes::Five { zero } | Codes::Six { zero } => {
            f32::from(code) - f32::from(zero)
        }
        Codes::Chosen(table) => f32::from(table[usize::from(code)]),
        Codes::Eight => f32::from(code.cast_signed()),
    };
    let weight = group.scale * code;
    if form.has_min { weight + group.min } else { weight }
}

struct Case {
    form: GroupForm,
    rows: usize,
    columns: usize,
    out_features: usize,
    weights: Vec<Group>,
    input: Vec<f32>,
    bias: Vec<f32>,
}

impl Case {
    fn new(form: GroupForm, rows: usize, groups: usize, out_features: usize) -> Self {
        let mut next = random((rows * 100 + groups * 10 + out_features) as u64);
        let weights = (0..groups * out_features).map(|_| group(form, &mut next)).collect();
        let mut float = || (next() % 65_536) as f32 / 16_384.0 - 2.0;
        let columns = groups * form.size;
        // Every fiftieth is far from the others.
        let outlier = |i: usize| if i % 50 == 7 { 40.0 } else { 1.0 };
        let input = (0..rows * columns).map(|i| outlier(i) * float()).collect();
        let bias = (0..out_features).map(|_| float()).collect();
        Self { form, rows, columns, out_features, weights, input, bias }
    }

    fn pack<L: Lanes>(&self) -> GroupedMatrix {
        let groups = self.columns / self.form.size;
        let bias = Some(&self.bias[..]);
        GroupedMatrix::pack::<L>(self.columns, self.out_features, self.form, bias, |row, to| {
            to.copy_from_slice(&self.weights[row * groups..][..groups]);
            Ok(())
        })
        .unwrap()
    }

    fn run<L: Lanes>(&self, is_float: bool) -> Vec<f32> {
        let matrix = self.pack::<L>();
        let (mut values, stride) = (vec![0.0; self.rows * self.out_features], self.out_features);
        let mut output = Output { values: &mut values, stride, column: 0, finish: Finish::Store };
        if is_float {
            let mut floats = BlockRoom::default();
            matrix.multiply_float_from::<L>(0, &self.input, &mut output, stride, &mut floats);
        } else {
            let mut rows = GroupedRows::default();
            rows.quantize::<L>(&self.input, self.columns, self.form.size);
            matrix.multiply_from::<L>(0, &rows, &mut output, stride, &mut BlockRoom::default());
        }
        values
    }

    fn weight(&self, row: usize, k: usize) -> f32 {
        let groups = self.columns / self.form.size;
        let group = &self.weights[row * groups + k / self.form.size];
        value(self.form, group, k % self.form.size)
    }

    /// In double precision; the input as it is, or rounded to the int8 of its group, but for what is more than six
    /// times the root of its row's mean square.
    fn reference(&self, is_float: bool) -> Vec<f64> {
        let mut input: Vec<f64> = self.input.iter().map(|&x| x.into()).collect();
        for row in input.chunks_mut(self.columns).filter(|_| !is_float) {
            let squares: f64 = row.iter().map(|x| x * x).sum();
            let limit = 6.0 * (squares / self.columns as f64).sqrt();
            for group in row.chunks_mut(self.form.size) {
                let near = group.iter().map(|x| x.abs()).filter(|x| *x <= limit);
                let multiplier = 127.0 / near.fold(0.0, f64::max) as f32;
                for x in group.iter_mut().filter(|x| x.abs() <= limit) {
                    let rounded = (*x as f32 * multiplier).round_ties_even();
                    *x = f64::from(rounded) / f64::from(multiplier);
                }
            }
        }
        let mut y = Vec::new();
        for x in input.chunks(self.columns) {
            for row in 0..self.out_features {
                let products =
                    x.iter().enumerate().map(|(k, x)| x * f64::from(self.weight(row, k)));
                y.push(products.sum::<f64>() + f64::from(self.bias[row]));
            }
        }
        y
    }
}

#[test]
fn every_form_and_machine_gives_the_sums() {
    for form in forms() {
        for (rows, groups, out_features) in [(1, 1, 1), (1, 6, 40), (4, 3, 8), (7, 2, 19)] {
            let case = Case::new(form, rows, groups, out_features);
            for is_float in [false, true] {
                let got = case.run::<Native>(is_float);
                let want = case.reference(is_float);
                let largest = want.iter().fold(1.0f64, |largest, y| largest.max(y.abs()));
                for (got, want) in got.iter().zip(&want) {
                    let difference = (f64::from(*got) - want).abs();
                    assert!(difference < 2e-6 * largest, "{form:?}: {got}, expected {want}");
                }
                let others = [
                    case.run::<Scalar>(is_float),
                    case.run::<Scalar<SignedDot>>(is_float),
                    case.run::<Scalar<UnsignedDot>>(is_float),
                    case.run::<Scalar<SaturatingDot>>(is_float),
                ];
                for other in others {
                    assert_eq!(got, other, "{form:?}");
                }
            }
        }
    }
}

#[test]
fn rows_come_back_as_they_were() {
    fn check<L: Lanes>(case: &Case) {
        let matrix = case.pack::<L>();
        for row in 0..case.out_features {
            let mut got = vec![0.0; case.columns];
            matrix.row::<L>(row, &mut got);
            let want: Vec<f32> = (0..case.columns).map(|k| case.weight(row, k)).collect();
            assert_eq!(got, want, "{:?} {}", case.form, L::NAME);
        }
    }
    for form in forms() {
        let case = Case::new(form, 1, 3, 13);
        check::<Native>(&case);
        check::<Scalar<SignedDot>>(&case);
        check::<Scalar<UnsignedDot>>(&case);
        check::<Scalar<SaturatingDot>>(&case);
    }
}

#[test]
fn one_group_by_hand() {
    // scale 0.5, zero 8: codes 9, 7, 15, 0 are 0.5, −0.5, 3.5, −4; x = [127, −127, 1, 2] and zeros stay themselves.
    let form = GroupForm { size: 32, codes: Codes::Four { zero: 8 }, has_min: false, halves: true };
    let mut group = Group { codes: [8; 32], scale: 0.5, min: 0.0 };
    group.codes[..4].copy_from_slice(&[9, 7, 15, 0]);
    let mut input = vec![0.0; 32];
    input[..4].copy_from_slice(&[127.0, -127.0, 1.0, 2.0]);
    let matrix = GroupedMatrix::pack::<Native>(32, 1, form, None, |_, to| {
        to[0] = group;
        Ok(())
    })
    .unwrap();
    let mut rows = GroupedRows::default();
    rows.quantize::<Native>(&input, 32, 32);
    let mut values = [0.0];
    let mut output = Output { values: &mut values, stride: 1, column: 0, finish: Finish::Store };
    matrix.multiply_from::<Native>(0, &rows, &mut output, 1, &mut BlockRoom::default());
    // 63.5 + 63.5 + 3.5 − 8
    assert_eq!(values, [122.5]);
}
