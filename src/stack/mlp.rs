//! Feed-forward sublayer: linear maps with an activation between them, added to the stream.

use super::load::{Loader, Norms};
use crate::error::{Error, Result};
use crate::model::{ActivationKind, MlpSpec, StackConfig};
use crate::ops::{Activation, Ops, Residual};

/// The device's name of a non-linearity.
pub(super) fn activation(kind: ActivationKind) -> Activation {
    match kind {
        ActivationKind::Relu => Activation::Relu,
        ActivationKind::Swish => Activation::Swish,
        ActivationKind::Gelu => Activation::Gelu,
        ActivationKind::GeluTanh => Activation::GeluTanh,
        ActivationKind::Tanh => Activation::Tanh,
    }
}

/// The position-wise feed-forward network (Vaswani et al. 2017), of any depth.
pub struct Mlp<O: Ops> {
    is_gated: bool,
    first: Vec<O::Linear>, // all but the last; with a gate, the first has the gate's columns before its own
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
        if spec.gate.is_some() && first.is_empty() {
            return Err(Error::Internal { what: "a gate without what it lets through".to_owned() });
        }
        let gated = |layer, index| match &spec.gate {
            Some(gate) if index == 0 => load.linear(&[gate, layer]),
            _ => load.linear(&[layer]),
        };
        let first = first.iter().enumerate().map(|(index, layer)| gated(layer, index));
        Ok(Self {
            is_gated: spec.gate.is_some(),
            first: first.collect::<Result<_>>()?,
            last: load.linear(&[last])?,
            norms: load.norms(&spec.norms, config)?,
            activation: activation(config.activation),
        })
    }

    /// The normalisation that is pending after it.
    pub fn pending_norm(&self) -> Option<&O::Norm> {
        self.norms.after.as_ref()
    }

    /// Adds its result to the stream.
    pub fn forward<'w>(&'w self, ops: &mut O, stream: &mut Residual<'w, O>) {
        let (before, after) = (self.norms.before.as_ref(), self.norms.after.as_ref());
        let mut layers = self.first.iter();
        let Some(entry) = layers.next() else {
            // One map alone: no activation.
            let mapped = ops.project_qkv(stream, before, &self.last, None);
            return ops.add_residual(&mapped, stream, after);
        };
        let mut hidden = if self.is_gated {
            ops.mlp_in_gated(stream, before, entry, self.activation)
        } else {
            ops.mlp_in(stream, before, entry, self.activation)
        };
        for layer in layers {
            hidden = ops.mlp_middle(&hidden, layer, self.activation);
        }
        let Some(norm) = &self.norms.output else {
            return ops.mlp_out_residual(&hidden, &self.last, stream, after);
        };
        let mut output = ops.project(&hidden, &self.last);
        ops.normalize(&mut output, norm);
        ops.add_residual(&output, stream, after);
    }
}
