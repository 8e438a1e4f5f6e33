//! Recurrent mixers: one state vector instead of keys and values of every token before.

use super::kv_cache::LayerState;
use super::load::{Loader, Norms};
use crate::error::{Error, Result};
use crate::model::{SsruSpec, StackConfig};
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
