//! Multi-head attention of a block: queries, keys and values projected, looked up, projected back.
//!
//! Self-attention and cross-attention are the same code; they differ in where keys and values come from.

use super::kv_cache::LayerState;
use super::load::{Loader, Norms};
use crate::error::{Error, Result};
use crate::model::{AttentionSpec, QkvSpec, StackConfig};
#[cfg(feature = "recurrent")]
use crate::model::{ContextJoin, LinearSpec, ScoreSpec};
#[cfg(feature = "recurrent")]
use crate::ops::{ActivationQuant, LinearPart, Score, Weights};
use crate::ops::{
    AttentionArgs, AttentionSegment, CacheKind, HeadArgs, Kept, KeysValues, Mask, Ops, Residual,
    View,
};
use std::rc::Rc;

/// Attention weights of the heads asked for, `[query rows · heads, longest kv_len]`.
pub type HeadWeights<O> = Option<<O as Ops>::Tensor>;

/// Who looks at what.
pub struct Lookup<'a, O: Ops> {
    /// The sequences.
    pub segments: &'a [AttentionSegment],
    /// What the distance of two positions is worth to each head, `[num_heads, 2 · reach + 1]`.
    pub relative: Option<&'a O::Tensor>,
    /// Heads whose weights are wanted.
    pub weights_of: &'a [usize],
}

/// Which inputs the three projections share.
enum Projections<O: Ops> {
    /// All: queries, keys, values side by side.
    Fused(O::Linear),
    /// Queries on their own; keys and values side by side.
    Split { q: O::Linear, kv: O::Linear },
}

/// Attention in several heads (Vaswani et al. 2017), its scores scaled dot products or additive.
pub struct MultiHeadAttention<O: Ops> {
    projections: Projections<O>,
    out: Option<O::Linear>,
    norms: Norms<O>,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    /// Of each query head and each key head.
    head_norms: Option<(O::Norm, O::Norm)>,
    rotary: Option<Rc<O::Rotary>>,
    /// The weights of additive scores, `[num_heads · head_dim]`.
    #[cfg(feature = "recurrent")]
    additive: Option<Vec<f32>>,
    #[cfg(feature = "recurrent")]
    join: ContextJoin,
    scale: f32,
    score_cap: Option<f32>,
    mask: Mask,
}

impl<O: Ops> MultiHeadAttention<O> {
    /// Attention of a stream to itself.
    pub fn load_self(
        load: &Loader<'_, O>,
        spec: &AttentionSpec,
        config: &StackConfig,
    ) -> Result<Self> {
        let mask = match (config.causal, spec.window) {
            (false, _) => Mask::None,
            (true, None) => Mask::Causal,
            (true, Some(width)) => Mask::Window(width),
        };
        let qkv = load.linear(&spec.qkv.parts())?;
        Self::load(load, spec, config, Projections::Fused(qkv), mask)
    }

    /// Attention of a stream to an encoder's output.
    pub fn load_cross(
        load: &Loader<'_, O>,
        spec: &AttentionSpec,
        config: &StackConfig,
    ) -> Result<Self> {
        let projections = match &spec.qkv {
            QkvSpec::Separate { q, k, v } => {
                Projections::Split { q: load.linear(&[q])?, kv: load.linear(&[k, v])? }
            }
            #[cfg(feature = "recurrent")]
            QkvSpec::Some { q, k, v } => {
                let width = config.num_heads * config.head_dim;
                Projections::Split {
                    q: some_linear(load, &[q], width)?,
                    kv: some_linear(load, &[k, v], width)?,
                }
            }
            QkvSpec::Fused(_) => {
                return Err(Error::Internal { what: "cross-attention with one matrix".to_owned() });
            }
        };
        Self::load(load, spec, config, projections, Mask::None)
    }

    fn load(
        load: &Loader<'_, O>,
        spec: &AttentionSpec,
        config: &StackConfig,
        projections: Projections<O>,
        mask: Mask,
    ) -> Result<Self> {
        let head_norm = |spec| load.norm(spec, config.head_dim, config);
        let head_norms = spec.head_norms.as_ref();
        Ok(Self {
            projections,
            out: spec.out.as_ref().map(|out| load.linear(&[out])).transpose()?,
            norms: load.norms(&spec.norms, config)?,
            num_heads: config.num_heads,
            num_kv_heads: config.num_kv_heads,
            head_dim: config.head_dim,
            head_norms: head_norms
                .map(|(q, k)| Ok::<_, Error>((head_norm(q)?, head_norm(k)?)))
                .transpose()?,
            rotary: spec.rotary.as_ref().map(|rotary| load.rotary(rotary)).transpose()?,
            #[cfg(feature = "recurrent")]
            additive: match &spec.score {
                ScoreSpec::DotProduct => None,
                ScoreSpec::Additive { weight } => {
                    Some(load.vector(weight, config.num_heads * config.head_dim)?)
                }
            },
            #[cfg(feature = "recurrent")]
            join: spec.join,
            scale: spec.scale,
            score_cap: spec.score_cap,
            mask,
        })
    }

    /// Heads of the queries.
    pub fn num_heads(&self) -> usize {
        self.num_heads
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
    pub fn empty_cache(&self, ops: &mut O, kind: CacheKind, rows: usize) -> LayerState<O> {
        let (heads, head_dim) = (self.num_kv_heads, self.head_dim);
        LayerState::Kv((0..rows).map(|_| ops.cache(kind, heads, head_dim)).collect())
    }

    /// Keys and values of an encoder's output, `[source rows, hidden_size]`: keys, then values,
    /// `[source rows, 2 · num_kv_heads · head_dim]`.
    pub fn project_cross(&self, ops: &mut O, encoder_output: &O::Tensor) -> Result<O::Tensor> {
        match &self.projections {
            Projections::Split { kv, .. } => Ok(ops.project(encoder_output, kv)),
            Projections::Fused(_) => {
                Err(Error::Internal { what: "cross-attention with fused projections".to_owned() })
            }
        }
    }

    /// Self-attention added to the stream. Without a cache every sequence (a segment) is complete; with one,
    /// segment i has the newest tokens of cache i, and their keys and values are kept. `positions` has one a row.
    pub fn forward_self<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        lookup: Lookup<'_, O>,
        mut cache: Option<&mut LayerState<O>>,
        positions: &[usize],
    ) -> Result<HeadWeights<O>> {
        let Projections::Fused(qkv) = &self.projections else {
            return Err(Error::Internal {
                what: "self-attention with split projections".to_owned(),
            });
        };
        let heads = HeadArgs {
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            norms: self.head_norms.as_ref().map(|(q, k)| (q, k)),
            rotary: self.rotary.as_deref(),
            positions,
        };
        let heads = (heads.norms.is_some() || heads.rotary.is_some()).then_some(&heads);
        let (before, q_width) = (self.norms.before.as_ref(), self.q_width());
        let qkv = match cache.as_deref_mut() {
            Some(LayerState::Kv(caches)) if O::KEEPS_AT_ONCE => {
                let kept = Kept { caches, segments: lookup.segments, column: q_width };
                ops.project_qkv_kept(stream, before, qkv, heads, kept)
            }
            _ => ops.project_qkv(stream, before, qkv, heads),
        };
        match cache {
            None => {
                let kv = KeysValues::Tensors(std::slice::from_ref(&qkv));
                self.attend(ops, stream, &qkv, (kv, q_width), lookup)
            }
            Some(LayerState::Kv(caches)) => {
                if !O::KEEPS_AT_ONCE {
                    for (cache, segment) in caches.iter_mut().zip(lookup.segments) {
                        ops.append_to_cache(cache, &qkv, segment.query_rows.clone(), q_width);
                    }
                }
                let kv = KeysValues::Caches(caches);
                self.attend(ops, stream, &qkv, (kv, 0), lookup)
            }
            Some(LayerState::Recurrent(_)) => {
                Err(Error::Internal { what: "self-attention with a recurrent state".to_owned() })
            }
        }
    }

    /// Cross-attention added to the stream. Segments look at the keys and values of encoded batches, `cross`.
    pub fn forward_cross<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        cross: &[O::Tensor],
        lookup: Lookup<'_, O>,
    ) -> Result<HeadWeights<O>> {
        let Projections::Split { q, .. } = &self.projections else {
            return Err(Error::Internal { what: "cross-attention without queries".to_owned() });
        };
        let q = ops.project_qkv(stream, self.norms.before.as_ref(), q, None);
        self.attend(ops, stream, &q, (KeysValues::Tensors(cross), 0), lookup)
    }

    /// Looks up the queries, which are the first columns of `q`, in what has its keys start at a column; the values
    /// lie right after them.
    fn attend<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        q: &O::Tensor,
        (kv, k_column): (KeysValues<'_, O::Tensor, O::Cache>, usize),
        lookup: Lookup<'_, O>,
    ) -> Result<HeadWeights<O>> {
        #[cfg(feature = "recurrent")]
        let additive = self.additive.as_ref().map(|weights| ops.upload(1, weights.len(), weights));
        let (context, weights) = ops.attention(&AttentionArgs {
            q: View { tensor: q, column: 0 },
            kv,
            k_column,
            v_column: k_column + self.kv_width(),
            segments: lookup.segments,
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            #[cfg(feature = "recurrent")]
            score: additive.as_ref().map_or(Score::DotProduct, Score::Additive),
            scale: self.scale,
            score_cap: self.score_cap,
            relative: lookup.relative,
            mask: self.mask,
            weights_of: lookup.weights_of,
        })?;
        #[cfg(feature = "recurrent")]
        if self.join == ContextJoin::Beside {
            // The queries were made of the stream: no normalisation of it is pending.
            stream.x = ops.beside(&stream.x, &context);
            return Ok(weights);
        }
        let after = self.norms.after.as_ref();
        match (&self.out, &self.norms.output) {
            (Some(out), None) => ops.project_out_residual(&context, out, stream, after),
            (out, norm) => {
                let mut output = match out {
                    Some(out) => ops.project(&context, out),
                    None => context,
                };
                if let Some(norm) = norm {
                    ops.normalize(&mut output, norm);
                }
                ops.add_residual(&output, stream, after);
            }
        }
        Ok(weights)
    }
}

/// Linear maps of the same input side by side; where there is none, the input itself, `width` wide.
#[cfg(feature = "recurrent")]
fn some_linear<O: Ops>(
    load: &Loader<'_, O>,
    specs: &[&Option<LinearSpec>],
    width: usize,
) -> Result<O::Linear> {
    let mut in_features = width;
    let mut parts = Vec::new();
    for spec in specs {
        parts.push(match spec {
            Some(spec) => {
                in_features = spec.in_features;
                load.part(spec)?
            }
            // A product with it is exact.
            None => LinearPart {
                name: "identity".to_owned(),
                out_features: width,
                weights: Weights::F32(
                    (0..width * width).map(|i| f32::from(u8::from(i % (width + 1) == 0))).collect(),
                ),
                bias: None,
                activation: ActivationQuant::None,
            },
        });
    }
    load.ops().linear(in_features, parts)
}
