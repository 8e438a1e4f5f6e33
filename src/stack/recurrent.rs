//! Recurrent mixers: a state instead of keys and values of every token before.

use super::kv_cache::LayerState;
use super::load::{Loader, Norms};
use crate::error::{Error, Result};
#[cfg(feature = "recurrent")]
use crate::model::{RecurrentKind, RecurrentSpec};
use crate::model::{SsruSpec, StackConfig};
#[cfg(feature = "recurrent")]
use crate::ops::{AttentionSegment, Cell, RecurrentSource};
use crate::ops::{Ops, Residual};

/// Simple recurrent unit with relu (Kim et al. 2019).
pub struct Ssru<O: Ops> {
    input_and_forget: O::Linear, // [hidden_size → 2 · hidden_size]
    out: Option<O::Linear>,
    norms: Norms<O>,
    hidden_size: usize,
}

impl<O: Ops> Ssru<O> {
    /// Loads its weights.
    pub fn load(load: &Loader<'_, O>, spec: &SsruSpec, config: &StackConfig) -> Result<Self> {
        Ok(Self {
            input_and_forget: load.linear(&[&spec.input, &spec.forget])?,
            out: spec.out.as_ref().map(|out| load.linear(&[out])).transpose()?,
            norms: load.norms(&spec.norms, config)?,
            hidden_size: config.hidden_size,
        })
    }

    /// The state before the first token.
    pub fn empty_state(&self, ops: &mut O, rows: usize) -> LayerState<O> {
        LayerState::Recurrent(ops.zeros(rows, self.hidden_size))
    }

    /// One step of every row: the state moves on, its output is added to the stream.
    pub fn forward<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        state: Option<&mut LayerState<O>>,
    ) -> Result<()> {
        let Some(LayerState::Recurrent(state)) = state else {
            return Err(Error::Internal { what: "a recurrent mixer without its state".to_owned() });
        };
        let projected =
            ops.project_qkv(stream, self.norms.before.as_ref(), &self.input_and_forget, None);
        let after = self.norms.after.as_ref();
        let Some(out) = &self.out else {
            ops.ssru_residual(&projected, state, stream, after);
            return Ok(());
        };
        // The unit's own output, as what it adds to a stream of zeros.
        let (rows, width) = ops.shape(state);
        let mut output = Residual { x: ops.zeros(rows, width), pending_norm: None };
        ops.ssru_residual(&projected, state, &mut output, None);
        ops.project_out_residual(&output.x, out, stream, after);
        Ok(())
    }
}

/// A recurrent layer of gated units, in one direction or both ([`RecurrentKind`]). Its output takes the place of the stream.
#[cfg(feature = "recurrent")]
pub struct Recurrent<O: Ops> {
    input: O::Linear, // [in_features → directions · gates · hidden_size]
    layer: O::Recurrent,
    state_width: usize,
}

#[cfg(feature = "recurrent")]
impl<O: Ops> Recurrent<O> {
    /// Loads its weights.
    pub fn load(load: &Loader<'_, O>, spec: &RecurrentSpec) -> Result<Self> {
        let inputs: Vec<_> = spec.directions.iter().map(|one| &one.input).collect();
        let hidden_size = spec.hidden_size;
        let gates = spec.kind.gates() * hidden_size;
        let direction = |one: &crate::model::DirectionSpec| {
            let bias = one.state.bias.as_deref();
            let bias = bias.map(|bias| load.vector(bias, gates)).transpose()?;
            let weights = load.floats(&one.state.weight, &[gates, hidden_size])?;
            Ok((weights, bias.unwrap_or_else(|| vec![0.0; gates])))
        };
        let cell = match spec.kind {
            RecurrentKind::Gru => Cell::Gru,
            RecurrentKind::Lstm => Cell::Lstm,
        };
        let directions = spec.directions.iter().map(direction).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            input: load.linear(&inputs)?,
            state_width: cell.vectors() * directions.len() * hidden_size,
            layer: load.ops().recurrent(RecurrentSource { cell, hidden_size, directions })?,
        })
    }

    /// The state before the first token: zeros, `[rows, vectors · directions · hidden_size]`.
    pub fn empty_state(&self, ops: &mut O, rows: usize) -> LayerState<O> {
        LayerState::Recurrent(ops.zeros(rows, self.state_width))
    }

    /// Reads the rows of each sequence, whose state moves on. The last direction reads backwards.
    pub fn forward<'w>(
        &'w self,
        ops: &mut O,
        stream: &mut Residual<'w, O>,
        segments: &[AttentionSegment],
        state: Option<&mut LayerState<O>>,
    ) -> Result<()> {
        let Some(LayerState::Recurrent(state)) = state else {
            return Err(Error::Internal { what: "a recurrent mixer without its state".to_owned() });
        };
        let input = ops.project_qkv(stream, None, &self.input, None);
        let x = ops.recur(&input, &self.layer, segments, state);
        *stream = Residual { x, pending_norm: None };
        Ok(())
    }
}
