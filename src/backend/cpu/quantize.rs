//! Activations on their way into a product with int8 weights: int8 or int16 values, kept as int16 pairs.

use super::lanes::Lanes;
use super::math;

/// Adding 1.5 · 2^23 rounds to the nearest integer, ties to even; these are the bits of 0 so shifted.
const ROUND: f32 = 12_582_912.0;
const ROUND_BITS: i32 = 0x4b40_0000;

/// How rows are brought to integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowQuant {
    /// `round(x · multiplier)`, clamped to ±127.
    Static(f32),
    /// As `Static`, with `127 / max |x|` of each row.
    PerRow,
    /// To int16, with [`wide_limit`]` / max |x|` of each row.
    Wide,
}

/// Largest int16 magnitude with which no int32 sum over `in_features` int8 weights can overflow.
pub fn wide_limit(in_features: usize) -> f32 {
    let products = i32::MAX as usize / (128 * in_features.max(1));
    products.min(32_767) as f32
}

/// Quantised rows.
#[derive(Debug, Default)]
pub struct QuantizedRows {
    /// `[rows, chunks]` of eight values each; the last chunk of a row is padded with zeros.
    values: Vec<[i16; 8]>,
    /// What a row's integers are multiplied by to undo its own multiplier, 1 for `Static`.
    row_scales: Vec<f32>,
    /// Sum of a row's integers, wrapping.
    row_sums: Vec<i32>,
    chunks: usize,
}

impl QuantizedRows {
    /// Quantises `input`, `[rows, in_features]`.
    pub fn quantize<L: Lanes>(&mut self, input: &[f32], in_features: usize, quant: RowQuant) {
        self.chunks = in_features.div_ceil(8);
        let rows = input.len().checked_div(in_features).unwrap_or(0);
        self.values.resize(rows * self.chunks, [0; 8]);
        self.row_scales.clear();
        self.row_sums.clear();
        if in_features == 0 {
            return;
        }
        for (row, to) in
            input.chunks_exact(in_features).zip(self.values.chunks_exact_mut(self.chunks))
        {
            let limit = if quant == RowQuant::Wide { wide_limit(in_features) } else { 127.0 };
            let (multiplier, scale) = match quant {
                RowQuant::Static(multiplier) => (multiplier, 1.0),
                RowQuant::PerRow | RowQuant::Wide => row_multiplier::<L>(row, limit),
            };
            self.row_scales.push(scale);
            self.row_sums.push(quantize_row::<L>(row, multiplier, limit, to));
        }
    }

    /// The int16 pairs of a row, `[in_features / 2]` and zeros after them.
    pub fn row(&self, row: usize) -> &[[i16; 2]] {
        let start = row.saturating_mul(self.chunks);
        let chunks = self.values.get(start..start + self.chunks).unwrap_or(&[]);
        chunks.as_flattened().as_chunks::<2>().0
    }

    /// A row in chunks of eight.
    pub fn row_chunks(&self, row: usize) -> &[[i16; 8]] {
        let start = row.saturating_mul(self.chunks);
        self.values.get(start..start + self.chunks).unwrap_or(&[])
    }

    /// Sum of a row's integers, wrapping.
    pub fn row_sum(&self, row: usize) -> i32 {
        self.row_sums.get(row).copied().unwrap_or(0)
    }

    /// What a row's integer sums are multiplied by, beside the scale of each column.
    pub fn row_scale(&self, row: usize) -> f32 {
        self.row_scales.get(row).copied().unwrap_or(1.0)
    }
}

/// The multiplier that brings the row's largest magnitude to `limit`, and its inverse; a row of zeros stays zero.
fn row_multiplier<L: Lanes>(row: &[f32], limit: f32) -> (f32, f32) {
    let zero = L::splat(0.0);
    let mut lanes = [0.0; 4];
    let magnitudes = math::fold::<L>(row, 0.0, zero, |greatest, v| {
        L::pmax(L::pmax(greatest, v), L::sub(zero, v))
    });
    L::store(magnitudes, &mut lanes);
    let greatest = lanes.into_iter().fold(0.0, |a, b| if a < b { b } else { a });
    let multiplier = limit / greatest;
    if greatest > 0.0 && multiplier.is_finite() {
        (multiplier, 1.0 / multiplier)
    } else {
        (0.0, 0.0)
    }
}

/// Quantises one row; returns the sum of its integers, wrapping.
#[inline(always)]
fn quantize_row<L: Lanes>(row: &[f32], multiplier: f32, limit: f32, to: &mut [[i16; 8]]) -> i32 {
    let multiplier = L::splat(multiplier);
    let (lowest, highest) = (L::splat(-limit), L::splat(limit));
    let quantize = |x: &[f32; 4]| {
        // The bound comes first: where x is not a number, it is what remains.
        let x = L::pmax(lowest, L::mul(L::load(x), multiplier));
        let x = L::add(L::pmin(highest, x), L::splat(ROUND));
        L::sub_i32(L::bits(x), L::splat_i32(ROUND_BITS))
    };
    let ones = L::splat_pair(&[1, 1]);
    let mut sums = L::splat_i32(0);
    let mut keep = |[low, high]: [&[f32; 4]; 2], to: &mut [i16; 8]| {
        let eight = L::narrow(quantize(low), quantize(high));
        sums = L::add_i32(sums, L::dot(eight, ones));
        L::store_i16(eight, to);
    };
    let (chunks, rest) = row.as_chunks::<8>();
    for (chunk, to) in chunks.iter().zip(to.iter_mut()) {
        if let ([low, high], _) = chunk.as_chunks::<4>() {
            keep([low, high], to);
        }
    }
    if let (false, Some(to)) = (rest.is_empty(), to.last_mut()) {
        let mut chunk = [[0.0; 4]; 2];
        for (to, &from) in chunk.as_flattened_mut().iter_mut().zip(rest) {
            *to = from;
        }
        keep(chunk.each_ref(), to);
    }
    let mut lanes = [0; 4];
    L::store_i32(sums, &mut lanes);
    lanes.into_iter().fold(0, i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{Native, Scalar};
    use super::*;

    fn quantized<L: Lanes>(row: &[f32], quant: RowQuant) -> (Vec<i16>, f32) {
        let mut rows = QuantizedRows::default();
        rows.quantize::<L>(row, row.len(), quant);
        (rows.row_chunks(0).as_flattened().to_vec(), rows.row_scale(0))
    }

    #[test]
    fn rounds_half_to_even_and_clamps() {
        let row = [0.5, 1.5, -0.5, -1.5, 2.5, 126.5, 127.49, 1e30, -1e30, f32::NAN, -127.6];
        let want = vec![0, 2, 0, -2, 2, 126, 127, 127, -127, -127, -127, 0, 0, 0, 0, 0];
        assert_eq!(quantized::<Native>(&row, RowQuant::Static(1.0)), (want.clone(), 1.0));
        assert_eq!(quantized::<Scalar>(&row, RowQuant::Static(1.0)), (want, 1.0));
    }

    #[test]
    fn wide_rows_keep_fifteen_bits_and_cannot_overflow() {
        let (values, scale) = quantized::<Native>(&[0.25, -2.0, 1.0], RowQuant::Wide);
        // 0.25 · 16383.5 = 4095.875, 1 · 16383.5 → 16384 (half to even)
        assert_eq!(values, [4096, -32767, 16384, 0, 0, 0, 0, 0]);
        assert!((scale - 2.0 / 32767.0).abs() < 1e-12);
        assert_eq!(wide_limit(511), 32_767.0);
        assert_eq!(wide_limit(1536), 10_922.0); // 1536 · 128 · 10923 > 2^31
    }

    #[test]
    fn per_row_brings_the_largest_to_127() {
        let (values, scale) = quantized::<Native>(&[0.25, -2.0, 1.0], RowQuant::PerRow);
        // 0.25 · 63.5 = 15.875, 1 · 63.5 → 64 (half to even)
        assert_eq!(values, [16, -127, 64, 0, 0, 0, 0, 0]);
        assert!((scale - 2.0 / 127.0).abs() < 1e-9);
        assert_eq!(quantized::<Native>(&[0.0, -0.0], RowQuant::PerRow), (vec![0; 8], 0.0));
    }
}
