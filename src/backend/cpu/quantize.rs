//! Activations on their way into a product with int8 weights: int8 or int16 values, as int16 pairs or as bytes.

use super::lanes::{ByteDot, Lanes};

/// Adding 1.5 · 2^23 rounds to the nearest integer, ties to even; these are the bits of 0 so shifted.
const ROUND: f32 = 12_582_912.0;
const ROUND_BITS: i32 = 0x4b40_0000;

/// Whether there are rows with outliers: translation does without.
pub const OUTLIERS: bool = cfg!(feature = "encoder");

/// How rows are brought to integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowQuant {
    /// `round(x · multiplier)`, clamped to ±127.
    Static(f32),
    /// As `Static`, with `127 / max |x|` of each row.
    PerRow,
    /// As `PerRow`, but for the [`Outliers`], which stay float32.
    Near,
    /// To int16, with [`wide_limit`]` / max |x|` of each row.
    Wide,
}

/// How the integers of a row are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowForm {
    /// As int16.
    Words,
    /// As int8, or as uint8 with 128 added to each, for products of bytes that read them so.
    Bytes(ByteDot),
}

impl RowForm {
    /// The form for the fastest exact product of `L`.
    pub fn fastest<L: Lanes>(quant: RowQuant) -> Self {
        match L::byte_dot() {
            Some(kind) if quant != RowQuant::Wide => RowForm::Bytes(kind),
            _ => RowForm::Words,
        }
    }
}

/// Largest int16 magnitude with which no int32 sum over `in_features` int8 weights can overflow.
pub fn wide_limit(in_features: usize) -> f32 {
    let products = i32::MAX as usize / (128 * in_features.max(1));
    products.min(32_767) as f32
}

/// Values farther from 0 than so many times the root of their row's mean square are outliers. Encoders have them in a few
/// channels of the residual stream; scaled with them, the others of a row would lose several bits (Dettmers et al. 2022).
const OUTLIER: f32 = 8.0;

/// What is left out of rows of integers.
#[derive(Debug, Default)]
struct Outliers {
    /// Column and value, row after row.
    values: Vec<(usize, f32)>,
    /// Where those of each row end.
    ends: Vec<usize>,
    /// A row without its own.
    near: Vec<f32>,
}

impl Outliers {
    /// Keeps those of a row; gives the row with zeros in their places.
    fn take<'a, L: Lanes>(&'a mut self, row: &'a [f32]) -> &'a [f32] {
        let (greatest, squares) = extent::<L>(row);
        let limit = OUTLIER * (squares / row.len() as f32).sqrt();
        let mut near = row;
        if greatest > limit {
            self.near.clear();
            self.near.extend_from_slice(row);
            for (k, x) in self.near.iter_mut().enumerate().filter(|(_, x)| x.abs() > limit) {
                self.values.push((k, std::mem::take(x)));
            }
            near = &self.near;
        }
        self.ends.push(self.values.len());
        near
    }
}

/// Quantised rows, in one form.
#[derive(Debug, Default)]
pub struct QuantizedRows {
    /// `[rows, chunks]` of eight values each; the last chunk of a row is padded with zeros.
    values: Vec<[i16; 8]>,
    /// `[rows, chunks]` of sixteen values each, padded likewise.
    bytes: Vec<[i8; 16]>,
    /// What a row's integers are multiplied by to undo its own multiplier, 1 for `Static`.
    row_scales: Vec<f32>,
    /// Sum of a row's integers, wrapping; of words only.
    row_sums: Vec<i32>,
    /// Chunks of a row, of whichever form.
    chunks: usize,
    /// What the integers lack.
    outliers: Outliers,
}

impl QuantizedRows {
    /// Quantises `input`, `[rows, in_features]`.
    pub fn quantize<L: Lanes>(
        &mut self,
        input: &[f32],
        in_features: usize,
        quant: RowQuant,
        form: RowForm,
    ) {
        let rows = input.len().checked_div(in_features).unwrap_or(0);
        self.row_scales.clear();
        self.row_sums.clear();
        self.outliers.values.clear();
        self.outliers.ends.clear();
        match form {
            RowForm::Words => {
                self.chunks = in_features.div_ceil(8);
                self.values.resize(rows * self.chunks, [0; 8]);
            }
            RowForm::Bytes(_) => {
                self.chunks = in_features.div_ceil(16);
                self.bytes.resize(rows * self.chunks, [0; 16]);
            }
        }
        if in_features == 0 {
            return;
        }
        let limit = if quant == RowQuant::Wide { wide_limit(in_features) } else { 127.0 };
        for (row, from) in input.chunks_exact(in_features).enumerate() {
            let from = match quant {
                RowQuant::Near if OUTLIERS => self.outliers.take::<L>(from),
                _ => from,
            };
            let (multiplier, scale) = match quant {
                RowQuant::Static(multiplier) => (multiplier, 1.0),
                RowQuant::PerRow | RowQuant::Near | RowQuant::Wide => {
                    row_multiplier::<L>(from, limit)
                }
            };
            self.row_scales.push(scale);
            let chunks = row * self.chunks..(row + 1) * self.chunks;
            match form {
                RowForm::Words => {
                    let sum = quantize_row::<L>(from, multiplier, limit, &mut self.values[chunks]);
                    self.row_sums.push(sum);
                }
                RowForm::Bytes(kind) => {
                    let to = &mut self.bytes[chunks];
                    quantize_row_to_bytes::<L>(from, multiplier, limit, kind, to);
                }
            }
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

    /// The bytes of a row in fours, `[in_features / 4]` and padding after them.
    pub fn fours(&self, row: usize) -> &[[i8; 4]] {
        let start = row.saturating_mul(self.chunks);
        let chunks = self.bytes.get(start..start + self.chunks).unwrap_or(&[]);
        chunks.as_flattened().as_chunks::<4>().0
    }

    /// The outliers of a row, by ascending column; of [`RowQuant::Near`] only.
    #[inline(always)]
    pub fn outliers(&self, row: usize) -> &[(usize, f32)] {
        let Outliers { values, ends, .. } = &self.outliers;
        let start = row.checked_sub(1).and_then(|before| ends.get(before)).copied();
        let end = ends.get(row).copied().unwrap_or(0);
        values.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Sum of a row's integers, wrapping; 0 of bytes.
    pub fn row_sum(&self, row: usize) -> i32 {
        self.row_sums.get(row).copied().unwrap_or(0)
    }

    /// What a row's integer sums are multiplied by, beside the scale of each column.
    pub fn row_scale(&self, row: usize) -> f32 {
        self.row_scales.get(row).copied().unwrap_or(1.0)
    }
}

/// The largest magnitude of a row and the sum of its squares, both in four vectors at once: what is added to one need not
/// wait for what is added to another.
#[inline(always)]
fn extent<L: Lanes>(row: &[f32]) -> (f32, f32) {
    let without_sign = L::splat_i32(i32::MAX);
    let (sixteens, rest) = row.as_chunks::<16>();
    let (mut greatest, mut squares) = ([L::splat(0.0); 4], [L::splat(0.0); 4]);
    let mut add = |sixteen: &[f32; 16]| {
        let fours = sixteen.as_chunks::<4>().0.iter();
        for ((greatest, squares), four) in greatest.iter_mut().zip(&mut squares).zip(fours) {
            let x = L::load(four);
            let magnitude = L::from_bits(L::and(L::bits(x), without_sign));
            *greatest = L::pmax(*greatest, magnitude);
            *squares = L::add(*squares, L::mul(x, x));
        }
    };
    sixteens.iter().for_each(&mut add);
    if !rest.is_empty() {
        let mut last = [0.0; 16];
        for (to, &from) in last.iter_mut().zip(rest) {
            *to = from;
        }
        add(&last);
    }
    let ([a, b, c, d], mut lanes) = (greatest, [0.0; 4]);
    L::store(L::pmax(L::pmax(a, b), L::pmax(c, d)), &mut lanes);
    let greatest = lanes.into_iter().fold(0.0, |a, b| if a < b { b } else { a });
    let [a, b, c, d] = squares;
    (greatest, L::sum(L::add(L::add(a, b), L::add(c, d))))
}

/// The multiplier that brings the row's largest magnitude to `limit`, and its inverse; a row of zeros stays zero.
pub fn row_multiplier<L: Lanes>(row: &[f32], limit: f32) -> (f32, f32) {
    let (greatest, _) = extent::<L>(row);
    let multiplier = limit / greatest;
    if greatest > 0.0 && multiplier.is_finite() {
        (multiplier, 1.0 / multiplier)
    } else {
        (0.0, 0.0)
    }
}

/// Four values as integers of at most `limit`.
#[inline(always)]
fn quantize_four<L: Lanes>(x: &[f32; 4], multiplier: L::F32, limit: f32) -> L::I32 {
    // The bound comes first: where x is not a number, it is what remains.
    let x = L::pmax(L::splat(-limit), L::mul(L::load(x), multiplier));
    let x = L::add(L::pmin(L::splat(limit), x), L::splat(ROUND));
    L::sub_i32(L::bits(x), L::splat_i32(ROUND_BITS))
}

/// Quantises one row to bytes, the padding to whatever zero is.
#[inline(always)]
fn quantize_row_to_bytes<L: Lanes>(
    row: &[f32],
    multiplier: f32,
    limit: f32,
    kind: ByteDot,
    to: &mut [[i8; 16]],
) {
    let multiplier = L::splat(multiplier);
    // Flipping the upper bit adds 128.
    let flips = match kind {
        ByteDot::Signed => 0,
        ByteDot::Unsigned => i32::from_ne_bytes([0x80; 4]),
    };
    let keep = |from: &[f32; 16], to: &mut [i8; 16]| {
        let ([a, b, c, d], _) = from.as_chunks::<4>() else { return };
        let [a, b, c, d] = [a, b, c, d].map(|x| quantize_four::<L>(x, multiplier, limit));
        let bytes = L::narrow_bytes(L::narrow(a, b), L::narrow(c, d));
        let bytes = L::xor(L::pairs(bytes), L::splat_i32(flips));
        L::store_bytes(L::from_pairs(bytes), to);
    };
    let (chunks, rest) = row.as_chunks::<16>();
    for (chunk, to) in chunks.iter().zip(to.iter_mut()) {
        keep(chunk, to);
    }
    if let (false, Some(to)) = (rest.is_empty(), to.last_mut()) {
        let mut chunk = [0.0; 16];
        for (to, &from) in chunk.iter_mut().zip(rest) {
            *to = from;
        }
        keep(&chunk, to);
    }
}

/// Quantises `from`, a multiple of sixteen values, to int8 of at most 127; returns the sum of the integers.
#[inline(always)]
pub fn quantize_bytes<L: Lanes>(from: &[f32], multiplier: f32, to: &mut [[i8; 16]]) -> i32 {
    let multiplier = L::splat(multiplier);
    let mut sums = L::splat_i32(0);
    for (from, to) in from.as_chunks::<16>().0.iter().zip(to) {
        let ([a, b, c, d], _) = from.as_chunks::<4>() else { continue };
        let [a, b, c, d] = [a, b, c, d].map(|x| quantize_four::<L>(x, multiplier, 127.0));
        sums = L::add_i32(sums, L::add_i32(L::add_i32(a, b), L::add_i32(c, d)));
        L::store_bytes(L::narrow_bytes(L::narrow(a, b), L::narrow(c, d)), to);
    }
    let mut lanes = [0; 4];
    L::store_i32(sums, &mut lanes);
    lanes.into_iter().sum()
}

/// Quantises one row; returns the sum of its integers, wrapping.
#[inline(always)]
fn quantize_row<L: Lanes>(row: &[f32], multiplier: f32, limit: f32, to: &mut [[i16; 8]]) -> i32 {
    let multiplier = L::splat(multiplier);
    let quantize = |x: &[f32; 4]| quantize_four::<L>(x, multiplier, limit);
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
        rows.quantize::<L>(row, row.len(), quant, RowForm::Words);
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
    fn bytes_are_the_same_integers() {
        let row = [0.5, 1.5, -0.5, -1.5, 2.5, 126.5, 127.49, 1e30, -1e30, f32::NAN, -127.6];
        let mut rows = QuantizedRows::default();
        let bytes = |rows: &QuantizedRows| rows.fours(0).as_flattened().to_vec();
        let quant = RowQuant::Static(1.0);
        rows.quantize::<Native>(&row, row.len(), quant, RowForm::Bytes(ByteDot::Signed));
        assert_eq!(bytes(&rows), [0, 2, 0, -2, 2, 126, 127, 127, -127, -127, -127, 0, 0, 0, 0, 0]);
        rows.quantize::<Native>(&row, row.len(), quant, RowForm::Bytes(ByteDot::Unsigned));
        let unsigned: Vec<u8> = bytes(&rows).iter().map(|byte| byte.cast_unsigned()).collect();
        assert_eq!(
            unsigned,
            [128, 130, 128, 126, 130, 254, 255, 255, 1, 1, 1, 128, 128, 128, 128, 128]
        );
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
    fn outliers_are_set_aside() {
        // 99 ones and 100: the mean square is 100.99, eight times its root 80.4.
        let mut row = [1.0; 100];
        row[37] = -100.0;
        let mut rows = QuantizedRows::default();
        rows.quantize::<Native>(&[row, [1.0; 100]].concat(), 100, RowQuant::Near, RowForm::Words);
        assert_eq!(rows.outliers(0), [(37, -100.0)]);
        assert_eq!(rows.outliers(1), []);
        let values = rows.row_chunks(0).as_flattened();
        assert_eq!((values[36], values[37], values[38]), (127, 0, 127));
        assert_eq!(rows.row_scale(0), 1.0 / 127.0);
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
