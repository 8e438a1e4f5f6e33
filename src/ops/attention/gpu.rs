//! Attention on the GPU: its kernels and their calls.

use super::gpu_plan::{Call, MAX_HEAD_DIM, Plan, ROW_WORDS, Shape, calls, plan};
use super::{AttentionArgs, KeysValues, check};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};
use crate::error::Result;
use crate::ops::linear::mismatch;

/// A block of query heads a workgroup; heads begin at multiples of four.
pub static FOURS: Kernel = Kernel {
    name: "attention/attend by fours",
    sources: &[
        include_str!("arguments.wgsl"),
        include_str!("fours.wgsl"),
        include_str!("scores.wgsl"),
        include_str!("blocks.wgsl"),
        include_str!("attend.wgsl"),
    ],
    ..ONES
};

/// The same, of heads that begin anywhere.
pub static ONES: Kernel = Kernel {
    name: "attention/attend",
    sources: &[
        include_str!("arguments.wgsl"),
        include_str!("ones.wgsl"),
        include_str!("scores.wgsl"),
        include_str!("blocks.wgsl"),
        include_str!("attend.wgsl"),
    ],
    entry: "attend",
    bindings: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Data,
        Access::Data,
        Access::Write,
    ],
};

/// Parts of keys that were split.
pub static MERGE: Kernel = Kernel {
    name: "attention/merge",
    sources: &[
        include_str!("arguments.wgsl"),
        include_str!("blocks.wgsl"),
        include_str!("merge.wgsl"),
    ],
    entry: "merge",
    bindings: &[Access::Read, Access::Data, Access::Data, Access::Write],
};

/// The weights of some heads.
pub static WEIGHTS: Kernel = Kernel {
    name: "attention/weights",
    sources: &[
        include_str!("arguments.wgsl"),
        include_str!("ones.wgsl"),
        include_str!("scores.wgsl"),
        include_str!("weights.wgsl"),
    ],
    entry: "weigh",
    bindings: ONES.bindings,
};

/// Keys and values of one sequence; rows are tokens.
pub struct GpuCache {
    /// `[tokens, 2 · num_kv_heads · head_dim]`: keys, then values.
    pub(crate) tokens: Tensor,
}

/// Arguments of attention on the device.
pub type Arguments<'a> = AttentionArgs<'a, Tensor, GpuCache>;

impl Gpu {
    /// Records attention, and the weights of the heads asked for.
    ///
    /// # Errors
    /// As [`check`], and for heads too wide.
    pub(crate) fn attend(&self, args: &Arguments<'_>) -> Result<(Tensor, Option<Tensor>)> {
        let shape = |tensor: &Tensor| (tensor.rows(), tensor.columns());
        let longest = check(args, shape, |cache: &GpuCache| shape(&cache.tokens))?;
        if args.head_dim > MAX_HEAD_DIM {
            return Err(mismatch("attention on the GPU", MAX_HEAD_DIM, args.head_dim));
        }
        #[cfg(feature = "recurrent")]
        if let super::Score::Additive(weights) = args.score {
            return Ok(self.attend_additive(args, weights, longest));
        }
        let q = args.q.tensor;
        let y = self.stale(q.rows(), args.num_heads * args.head_dim);
        let asked = args.weights_of.len();
        let weights = (asked > 0).then(|| self.zeroed(q.rows() * asked, longest));
        for call in calls(args) {
            let kv = match args.kv {
                KeysValues::Tensors(tensors) => tensors.get(call.kv),
                KeysValues::Caches(caches) => caches.get(call.kv).map(|cache| &cache.tokens),
            };
            // It is there: that was checked.
            let Some(kv) = kv else { continue };
            self.attend_rows(args, kv, &call, &y);
            if let Some(weights) = &weights {
                self.weigh_rows(args, kv, &call.rows, weights);
            }
        }
        Ok((y, weights))
    }

    fn attend_rows(&self, args: &Arguments<'_>, kv: &Tensor, call: &Call, y: &Tensor) {
        let shape = Shape {
            runs: &call.runs,
            num_heads: args.num_heads,
            num_kv_heads: args.num_kv_heads,
            head_dim: args.head_dim,
        };
        let plan = plan(&shape, &self.limits());
        let uniforms = uniforms(args, kv, call.rows.len(), y.columns(), Some(&plan));
        let parts = (plan.splits > 1).then(|| self.storage(4 * plan.scratch as u64));
        let q = &args.q;
        let starts = [q.tensor.columns(), q.column, kv.columns(), args.k_column, args.v_column];
        let by_fours = starts.iter().chain([&args.head_dim]).all(|start| start.is_multiple_of(4));
        let slots = ("SLOTS", plan.slots as u32);
        let [rows, blocks] = [&call.rows, &plan.blocks].map(|words| Bind::Data(words));
        let [across, down] = plan.workgroups;
        self.dispatch(&Dispatch {
            kernel: if by_fours { &FOURS } else { &ONES },
            constants: &[
                ("HAS_RELATIVE", u32::from(args.relative.is_some())),
                slots,
                ("IS_SPLIT", u32::from(parts.is_some())),
                ("PIECES", plan.pieces),
            ],
            uniforms: &uniforms,
            bindings: &[
                Bind::Buffer(q.tensor.storage()),
                Bind::Buffer(kv.storage()),
                Bind::Buffer(args.relative.unwrap_or(kv).storage()),
                rows,
                blocks,
                Bind::Buffer(parts.as_ref().unwrap_or(y.storage())),
            ],
            workgroups: [across, down, 1],
        });
        if let Some(parts) = &parts {
            let [across, down] = plan.merging;
            self.dispatch(&Dispatch {
                kernel: &MERGE,
                constants: &[slots],
                uniforms: &uniforms,
                bindings: &[Bind::Buffer(parts), rows, blocks, Bind::Buffer(y.storage())],
                workgroups: [across, down, 1],
            });
        }
    }

    fn weigh_rows(&self, args: &Arguments<'_>, kv: &Tensor, rows: &[u32], y: &Tensor) {
        let heads: Vec<u32> = args.weights_of.iter().map(|head| *head as u32).collect();
        let count = rows.len() / ROW_WORDS * heads.len();
        let [across, down] = self.limits().spread(count.div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &WEIGHTS,
            constants: &[("HAS_RELATIVE", u32::from(args.relative.is_some()))],
            uniforms: &uniforms(args, kv, rows.len(), y.columns(), None),
            bindings: &[
                Bind::Buffer(args.q.tensor.storage()),
                Bind::Buffer(kv.storage()),
                Bind::Buffer(args.relative.unwrap_or(kv).storage()),
                Bind::Data(rows),
                Bind::Data(&heads),
                Bind::Buffer(y.storage()),
            ],
            workgroups: [across, down, 1],
        });
    }
}

/// The struct of `arguments.wgsl`; there are `words` of rows.
pub(super) fn uniforms(
    args: &Arguments<'_>,
    kv: &Tensor,
    words: usize,
    longest: usize,
    plan: Option<&Plan>,
) -> [u32; 17] {
    let reach = args.relative.map_or(0, |relative| relative.columns() / 2);
    [
        (words / ROW_WORDS) as u32,
        args.num_heads as u32,
        (args.num_heads / args.num_kv_heads) as u32,
        args.head_dim as u32,
        args.q.tensor.columns() as u32,
        args.q.column as u32,
        kv.columns() as u32,
        args.k_column as u32,
        args.v_column as u32,
        reach as u32,
        args.scale.to_bits(),
        args.score_cap.unwrap_or(0.0).to_bits(),
        args.weights_of.len() as u32,
        longest as u32,
        plan.map_or(0, |plan| plan.blocks.len() / 3) as u32,
        plan.map_or(1, |plan| plan.splits) as u32,
        plan.map_or(0, |plan| plan.keys_each) as u32,
    ]
}
