//! Attention by additive scores on the GPU: one call, which has the weights of all heads as well.

use super::KeysValues;
use super::gpu::{Arguments, uniforms};
use super::gpu_plan::{ROW_WORDS, calls};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};

/// A query row and head a workgroup.
pub static ADDITIVE: Kernel = Kernel {
    name: "attention/additive",
    sources: &[
        include_str!("arguments.wgsl"),
        include_str!("../activation/activation.wgsl"),
        include_str!("additive.wgsl"),
    ],
    entry: "attend_additive",
    bindings: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Data,
        Access::Write,
        Access::Write,
    ],
};

impl Gpu {
    /// Records attention whose scores are additive, with `weights` of the scores; the arguments were checked.
    pub(super) fn attend_additive(
        &self,
        args: &Arguments<'_>,
        weights: &Tensor,
        longest: usize,
    ) -> (Tensor, Option<Tensor>) {
        let (rows, heads) = (args.q.tensor.rows(), args.num_heads);
        let y = self.stale(rows, heads * args.head_dim);
        let probs = self.stale(rows * heads, longest);
        for call in calls(args) {
            let kv = match args.kv {
                KeysValues::Tensors(tensors) => tensors.get(call.kv),
                KeysValues::Caches(caches) => caches.get(call.kv).map(|cache| &cache.tokens),
            };
            let count = call.rows.len() / ROW_WORDS;
            // It is there: that was checked.
            let Some(kv) = kv.filter(|_| count > 0) else { continue };
            let [across, down] = self.limits().spread(count * heads);
            self.dispatch(&Dispatch {
                kernel: &ADDITIVE,
                constants: &[],
                uniforms: &uniforms(args, kv, call.rows.len(), longest, None),
                bindings: &[
                    Bind::Buffer(args.q.tensor.storage()),
                    Bind::Buffer(kv.storage()),
                    Bind::Buffer(weights.storage()),
                    Bind::Data(&call.rows),
                    Bind::Buffer(probs.storage()),
                    Bind::Buffer(y.storage()),
                ],
                workgroups: [across, down, 1],
            });
        }
        let asked = args.weights_of;
        let of = |row: usize| asked.iter().map(move |head| row * heads + head);
        let wanted: Vec<usize> = (0..rows).flat_map(of).collect();
        let weights = (!asked.is_empty()).then(|| self.selected(&probs, &wanted));
        (y, weights)
    }
}
