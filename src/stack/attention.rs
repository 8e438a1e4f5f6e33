//! Multi-head attention of a block: queries, keys and values projected, looked up, projected back.
//!
//! Self-attention and cross-attention are the same code; they differ in where keys and values come from.

use super::kv_cache::{CrossKv, LayerState};
use super::load::{Loader, Norms};
use crate::error::{Error, Result};
use crate::model::{AttentionSpec, StackConfig};
use crate::ops::{AttentionArgs, AttentionSegment, KeyValue, Mask, Ops, Residual, View};
use std::ops::Range;

/// Rows of the sequences of a batch, one under the other.
pub type Rows = Range<usize>;

/// A source that a decoder looks at: one of the batches that were encoded, and its rows there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRows {
    /// Index of the batch.
    pub batch: usize,
    /// Rows of its keys and values.
    pub rows: Rows,
}

/// Attention weights of the heads asked for, `[query rows · heads, longest kv_len]`.
pub type HeadWeights<O> = Option<<O as Ops>::Tensor>;

/// Which inputs the three projections share.
enum Projections<O: Ops> {
    /// All: queries, keys, values side by side.
    Fused(O::Linear),
    /// Queries on their own; keys and values side by side.
    Split { q: O::Linear, kv: O::Linear },
}

/// Scaled dot-product attention in several heads (Vaswani et al. 2017).
pub struct MultiHeadAttention<O: Ops> {
    projections: Projections<O>,
    out: Option<O::Linear>,
    norms: Norms<O>,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    mask: Mask,
}

impl<O: Ops> MultiHeadAttention<O> {
    /// Attention of a stream to itself.
    pub fn load_self(
        load: &Loader<'_, O>,
        spec: &AttentionSpec,
        config: &StackConfig,
    ) -> Result<Self> {
        let mask = if config.causal { Mask::Causal } else { Mask::None };
        Self::load(load, spec, config, true, mask)
    }

    /// Attention of a stream to an encoder's output.
    pub fn load_cross(
        load: &Loader<'_, O>,
        spec: &AttentionSpec,
        config: &StackConfig,
    ) -> Result<Self> {
        Self::load(load, spec, config, false, Mask::None)
    }

    fn load(
        load: &Loader<'_, O>,
        spec: &AttentionSpec,
        config: &StackConfig,
        fused: bool,
        mask: Mask,
    ) -> Result<Self> {
        let projections = if fused {
            Projections::Fused(load.linear(&[&spec.q, &spec.k, &spec.v])?)
        } else {
            Projections::Split {
                q: load.linear(&[&spec.q])?,
                kv: load.linear(&[&spec.k, &spec.v])?,
            }
        };
        Ok(Self {
            projections,
            out: spec.out.as_ref().map(|out| load.linear(&[out])).transpose()?,
            norms: load.norms(&spec.norms, config.hidden_size, config.norm_eps)?,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
            mask,
        })
    }

    /// Width of the queries and of the context.
    fn q_width(&self) -> usize {
        self.num_heads * self.head_dim
    }

    /// Width of the keys, and of the values.
    fn kv_width(&self) -> usize {
        self.num_kv_heads * self.head_dim
    }

    /// An empty cache for `rows` sequences.
    pub fn empty_cache(&self, ops: &mut O, rows: usize) -> LayerState<O> {
        LayerState::Kv((0..rows).map(|_| ops.zeros(0, 2 * self.kv_width())).collect())
    }

    /// Keys and values of an encoder's output, `[source rows, hidden_size]`.
    pub fn project_cross(&self, ops: &mut O, encoder_output: &O::Tensor) -> Result<CrossKv<O>> {
        match &self.projections {
            Projections::Split { kv, .. } => Ok(CrossKv { kv: ops.project(encoder_output, kv) }),
            Projections::Fused(_) => {
                Err(Error::Internal { what: "cross-attention with fused projections".to_owned() })
            }
        }
    }

    /// Self-attention added to the stream. Without a cache every sequence (`rows`) is complete; with one,
    /// `rows` are its newest tokens, and their keys and values are kept.
    pub fn forward_self<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        rows: &[Rows],
        cache: Option<&mut LayerState<O>>,
        weights_of: &[usize],
    ) -> Result<HeadWeights<O>> {
        let Projections::Fused(qkv) = &self.projections else {
            return Err(Error::Internal {
                what: "self-attention with split projections".to_owned(),
            });
        };
        let qkv = ops.project_qkv(stream, self.norms.before.as_ref(), qkv);
        let q_width = self.q_width();
        let q = View { tensor: &qkv, column: 0 };
        match cache {
            None => {
                let segments: Vec<AttentionSegment> = rows
                    .iter()
                    .map(|rows| AttentionSegment {
                        query_rows: rows.clone(),
                        kv: 0,
                        kv_rows: rows.clone(),
                        past_len: 0,
                    })
                    .collect();
                let kv = [self.key_value(&qkv, q_width)];
                self.attend(ops, stream, q, &kv, &segments, weights_of)
            }
            Some(LayerState::Kv(caches)) => {
                let mut segments = Vec::with_capacity(rows.len());
                for (index, (cache, rows)) in caches.iter_mut().zip(rows).enumerate() {
                    let (past_len, _) = ops.shape(cache);
                    for row in rows.clone() {
                        ops.append_row(cache, &qkv, row, q_width);
                    }
                    segments.push(AttentionSegment {
                        query_rows: rows.clone(),
                        kv: index,
                        kv_rows: 0..past_len + rows.len(),
                        past_len,
                    });
                }
                let kv: Vec<_> = caches.iter().map(|cache| self.key_value(cache, 0)).collect();
                self.attend(ops, stream, q, &kv, &segments, weights_of)
            }
            Some(LayerState::Recurrent(_)) => {
                Err(Error::Internal { what: "self-attention with a recurrent state".to_owned() })
            }
        }
    }

    /// Cross-attention added to the stream: query row i looks at the rows `sources[i]` of what was encoded.
    pub fn forward_cross<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        cross: &[&CrossKv<O>],
        sources: &[SourceRows],
        weights_of: &[usize],
    ) -> Result<HeadWeights<O>> {
        let Projections::Split { q, .. } = &self.projections else {
            return Err(Error::Internal { what: "cross-attention without queries".to_owned() });
        };
        let q_tensor = ops.project_qkv(stream, self.norms.before.as_ref(), q);
        let segments: Vec<AttentionSegment> = sources
            .iter()
            .enumerate()
            .map(|(row, source)| AttentionSegment {
                query_rows: row..row + 1,
                kv: source.batch,
                kv_rows: source.rows.clone(),
                past_len: 0,
            })
            .collect();
        let q = View { tensor: &q_tensor, column: 0 };
        let kv: Vec<_> = cross.iter().map(|cross| self.key_value(&cross.kv, 0)).collect();
        self.attend(ops, stream, q, &kv, &segments, weights_of)
    }

    /// Keys from `column` on, values right after them.
    fn key_value<'a>(&self, tensor: &'a O::Tensor, column: usize) -> KeyValue<'a, O::Tensor> {
        KeyValue {
            k: View { tensor, column },
            v: View { tensor, column: column + self.kv_width() },
        }
    }

    fn attend<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        q: View<'_, O::Tensor>,
        kv: &[KeyValue<'_, O::Tensor>],
        segments: &[AttentionSegment],
        weights_of: &[usize],
    ) -> Result<HeadWeights<O>> {
        let (context, weights) = ops.attention(&AttentionArgs {
            q,
            kv,
            segments,
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            scale: 1.0 / libm::sqrtf(self.head_dim as f32),
            mask: self.mask,
            weights_of,
        })?;
        let after = self.norms.after.as_ref();
        match &self.out {
            Some(out) => ops.project_out_residual(&context, out, stream, after),
            None => ops.add_residual(&context, stream, after),
        }
        Ok(weights)
    }
}
