//! Feed-forward sublayer: linear maps with an activation between them, added to the stream.

use super::load::{Loader, Norms};
use crate::error::{Error, Result};
use crate::model::{ActivationKind, MlpJoin, MlpSpec, StackConfig};
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
    layers: Vec<O::Linear>, // with a gate, the first has the gate's columns before its own
    norms: Norms<O>,
    activation: Activation,
    join: MlpJoin,
}

impl<O: Ops> Mlp<O> {
    /// Loads its weights.
    pub fn load(load: &Loader<'_, O>, spec: &MlpSpec, config: &StackConfig) -> Result<Self> {
        if spec.gate.is_some() && spec.layers.len() < 2 {
            return Err(Error::Internal { what: "a gate without what it lets through".to_owned() });
        }
        let gated = |layer, index| match &spec.gate {
            Some(gate) if index == 0 => load.linear(&[gate, layer]),
            _ => load.linear(&[layer]),
        };
        let layers = spec.layers.iter().enumerate().map(|(index, layer)| gated(layer, index));
        Ok(Self {
            is_gated: spec.gate.is_some(),
            layers: layers.collect::<Result<_>>()?,
            norms: load.norms(&spec.norms, config)?,
            activation: activation(config.activation),
            join: spec.join,
        })
    }

    /// The normalisation that is pending after it.
    pub fn pending_norm(&self) -> Option<&O::Norm> {
        self.norms.after.as_ref()
    }

    /// Adds its result to the stream, or puts it in its place. One of no map does nothing.
    pub fn forward<'w>(&'w self, ops: &mut O, stream: &mut Residual<'w, O>) {
        let (before, after) = (self.norms.before.as_ref(), self.norms.after.as_ref());
        let Some((last, first)) = self.layers.split_last() else { return };
        let mut layers = first.iter();
        let Some(entry) = layers.next() else {
            // One map alone: no activation.
            let mapped = ops.project_qkv(stream, before, last, None);
            return self.join(ops, mapped, stream);
        };
        let mut hidden = if self.is_gated {
            ops.mlp_in_gated(stream, before, entry, self.activation)
        } else {
            ops.mlp_in(stream, before, entry, self.activation)
        };
        for layer in layers {
            hidden = ops.mlp_middle(&hidden, layer, self.activation);
        }
        if self.norms.output.is_none() && self.join == MlpJoin::Add {
            return ops.mlp_out_residual(&hidden, last, stream, after);
        }
        let output = ops.project(&hidden, last);
        self.join(ops, output, stream);
    }

    fn join<'w>(&'w self, ops: &mut O, mut output: O::Tensor, stream: &mut Residual<'w, O>) {
        if let Some(norm) = &self.norms.output {
            ops.normalize(&mut output, norm);
        }
        let after = self.norms.after.as_ref();
        match self.join {
            MlpJoin::Add => ops.add_residual(&output, stream, after),
            #[cfg(feature = "recurrent")]
            MlpJoin::Replace => *stream = Residual { x: output, pending_norm: after },
        }
    }
}
