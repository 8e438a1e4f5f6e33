//! What the distance of two positions is worth to each head, from buckets of distances.

use super::load::Loader;
use crate::error::Result;
use crate::model::RelativePositions;
use crate::ops::Ops;

/// The table of a stack, shared by its blocks.
pub struct RelativeTable {
    num_heads: usize,
    buckets: usize,
    max_distance: usize,
    values: Vec<f32>, // [buckets, num_heads]
}

impl RelativeTable {
    /// Reads it.
    pub fn load<O: Ops>(
        load: &Loader<'_, O>,
        spec: &RelativePositions,
        num_heads: usize,
    ) -> Result<Self> {
        let RelativePositions { table, buckets, max_distance } = spec;
        let values = load.floats(table, &[*buckets, num_heads])?;
        Ok(Self { num_heads, buckets: *buckets, max_distance: *max_distance, values })
    }

    /// For sequences of up to `len` tokens, `[num_heads, 2 · len − 1]`: in column len − 1 + distance what a key that is
    /// so far after its query is worth.
    pub fn rows<O: Ops>(&self, ops: &mut O, len: usize) -> O::Tensor {
        let reach = len.max(1) as isize - 1;
        let mut values = Vec::with_capacity(self.num_heads * (2 * len.max(1) - 1));
        for head in 0..self.num_heads {
            values.extend((-reach..=reach).map(|distance| {
                let bucket = bucket(distance, self.buckets, self.max_distance);
                self.values.get(bucket * self.num_heads + head).copied().unwrap_or(0.0)
            }));
        }
        ops.upload(self.num_heads, 2 * len.max(1) - 1, &values)
    }
}

/// The bucket of a distance, as Raffel et al. 2020 have it for encoders.
fn bucket(distance: isize, buckets: usize, max_distance: usize) -> usize {
    let half = buckets / 2;
    let side = if distance > 0 { half } else { 0 };
    let distance = distance.unsigned_abs();
    let exact = half / 2;
    if distance < exact {
        return side + distance;
    }
    // In float32, as the models were trained.
    let ratio = libm::logf(distance as f32 / exact as f32)
        / libm::log(max_distance as f64 / exact as f64) as f32;
    let beyond = exact.saturating_add((ratio * (half - exact) as f32) as usize);
    side + beyond.min(half.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn buckets_are_those_of_the_paper() {
        // 32 buckets up to 128: 8 exact distances a side, then ⌊8 + 8 · ln(d / 8) / ln 16⌋.
        let of = |distance| bucket(distance, 32, 128);
        assert_eq!([0, -1, -7, -8, -11, -12].map(of), [0, 1, 7, 8, 8, 9]);
        assert_eq!([-16, -32, -64, -90, -127, -128, -1000].map(of), [10, 12, 14, 14, 15, 15, 15]);
        assert_eq!([1, 7, 8, 12, 1000].map(of), [17, 23, 24, 25, 31]);
        // As many exact distances as there are: all beyond share the last bucket of their side.
        assert_eq!([-127, -200, 200].map(|distance| bucket(distance, 512, 128)), [127, 255, 511]);
    }
}
