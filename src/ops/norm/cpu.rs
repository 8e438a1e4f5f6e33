//! Normalisation on the CPU: a pass for each moment, one for the result, in place.

use super::check;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::backend::cpu::{Cpu, Tensor};
use crate::error::Result;
use crate::ops::linear::mismatch;
use crate::ops::{NormKind, NormSource, Residual};

/// What an element costs, in multiply–adds of a product.
const COST: usize = 16;

/// A normalisation; vectors are padded to whole lanes.
#[derive(Debug)]
pub struct CpuNorm {
    kind: NormKind,
    columns: usize,
    scale: Vec<[f32; 4]>,
    bias: Vec<[f32; 4]>,
    eps: f32,
}

impl CpuNorm {
    /// Pads the vectors.
    pub fn pack(source: &NormSource) -> Result<Self> {
        check(source)?;
        let columns = source.scale.len();
        let pad = |values: &[f32]| {
            let mut padded = vec![[0.0; 4]; columns.div_ceil(4)];
            for (to, &from) in padded.as_flattened_mut().iter_mut().zip(values) {
                *to = from;
            }
            padded
        };
        let bias = source.bias.as_deref().unwrap_or(&[]);
        Ok(Self {
            kind: source.kind,
            columns,
            scale: pad(&source.scale),
            bias: pad(bias),
            eps: source.eps,
        })
    }

    /// Width of the rows.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Normalises one row of `columns` values.
    #[inline(always)]
    pub fn normalize_row<L: Lanes>(&self, row: &mut [f32]) {
        let n = self.columns as f32;
        let mean = match self.kind {
            NormKind::Layer => math::sum::<L>(row, 0.0, |x| x) / n,
            NormKind::Rms => 0.0,
        };
        let centre = L::splat(mean);
        let squares = math::sum::<L>(row, mean, |x| {
            let d = L::sub(x, centre);
            L::mul(d, d)
        });
        // √ is correctly rounded on every target.
        let inverse = L::splat(1.0 / (squares / n + self.eps).sqrt());
        let mut vectors = self.scale.iter().zip(&self.bias);
        let normalize = |x: &[f32; 4], (scale, bias): (&[f32; 4], &[f32; 4])| {
            let x = L::mul(L::sub(L::load(x), centre), inverse);
            L::add(L::mul(x, L::load(scale)), L::load(bias))
        };
        let (chunks, rest) = row.as_chunks_mut::<4>();
        for (chunk, vectors) in chunks.iter_mut().zip(&mut vectors) {
            L::store(normalize(chunk, vectors), chunk);
        }
        if let (false, Some(vectors)) = (rest.is_empty(), vectors.next()) {
            let mut chunk = [0.0; 4];
            for (to, &from) in chunk.iter_mut().zip(rest.iter()) {
                *to = from;
            }
            L::store(normalize(&chunk, vectors), &mut chunk);
            for (to, from) in rest.iter_mut().zip(chunk) {
                *to = from;
            }
        }
    }
}

impl<L: Lanes> Cpu<L> {
    /// Normalises every row of `x` in place.
    pub(crate) fn apply_norm(&mut self, x: &mut Tensor, norm: &CpuNorm) {
        if x.columns() != norm.columns {
            return self.record_fault(mismatch("norm", norm.columns, x.columns()));
        }
        if norm.columns > 0 {
            let rows_each = self.rows_each(x.rows(), COST * norm.columns);
            let parts = x.values_mut().chunks_mut(rows_each * norm.columns);
            self.share(parts, |rows, _| {
                for row in rows.chunks_exact_mut(norm.columns) {
                    norm.normalize_row::<L>(row);
                }
            });
        }
    }

    /// Applies the normalisation that waits in `stream`, if any.
    pub(crate) fn settle(&mut self, stream: &mut Residual<'_, Self>) {
        if let Some(norm) = stream.pending_norm.take() {
            self.apply_norm(&mut stream.x, norm);
        }
    }
}
