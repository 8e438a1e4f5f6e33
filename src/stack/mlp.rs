//! Feed-forward sublayer: linear maps with an activation between them, added to the stream.

use super::load::{Loader, Norms};
use crate::error::{Error, Result};
use crate::model::{ActivationKind, MlpSpec, StackConfig};
use crate::ops::{Activation, Ops, Residual};

/// The position-wise feed-forward network (Vaswani et al. 2017), of any depth.
pub struct Mlp<O: Ops> {
    first: Vec<O::Linear>, // all but the last
    last: O::Linear,
    norms: Norms<O>,
    activation: Activation,
}

impl<O: Ops> Mlp<O> {
    /// Loads its weights.
    pub fn load(load: &Loader<'_, O>, spec: &MlpSpec, config: &StackConfig) -> Result<Self> {
        let (last, first) = spec
            .layers
            .split_last()
            .ok_or_else(|| Error::Internal { what: "a feed-forward of no layer".to_owned() })?;
        Ok(Self {
            first: first.iter().map(|layer| load.linear(&[layer])).collect::<Result<_>>()?,
            last: load.linear(&[last])?,
            norms: load.norms(&spec.norms, config.hidden_size, config.norm_eps)?,
            activation: match config.activation {
                ActivationKind::Relu => Activation::Relu,
                ActivationKind::Swish => Activation::Swish,
                ActivationKind::Gelu => Activation::Gelu,
            },
        })
    }

    /// Adds its result to the stream.
    pub fn forward<'w>(&'w self, ops: &mut O, stream: &mut Residual<'w, O>) {
        let (before, after) = (self.norms.before.as_ref(), self.norms.after.as_ref());
        let mut layers = self.first.iter();
        let Some(entry) = layers.next() else {
            // One map alone: no activation.
            let mapped = ops.project_qkv(stream, before, &self.last);
            return ops.add_residual(&mapped, stream, after);
        };
        let mut hidden = ops.mlp_in(stream, before, entry, self.activation);
        for layer in layers {
            hidden = ops.mlp_middle(&hidden, layer, self.activation);
        }
        ops.mlp_out_residual(&hidden, &self.last, stream, after);
    }
}
