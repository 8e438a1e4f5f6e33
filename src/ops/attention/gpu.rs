//! Attention on the GPU: which rows see which keys, and the calls.

use super::{AttentionArgs, KeysValues, check};
use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Tensor};
use crate::error::Result;
use crate::ops::linear::mismatch;

/// A workgroup a query row and head.
pub static PLAIN: Kernel = Kernel {
    name: "attention/plain",
    sources: &[
        include_str!("../lanes.wgsl"),
        include_str!("arguments.wgsl"),
        include_str!("plain.wgsl"),
    ],
    entry: "attend",
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Data, Access::Write],
};

/// The weights of some heads.
pub static WEIGHTS: Kernel = Kernel {
    name: "attention/weights",
    sources: &[include_str!("arguments.wgsl"), include_str!("weights.wgsl")],
    entry: "weigh",
    bindings: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Data,
        Access::Data,
        Access::Write,
    ],
};

/// Widest head of the kernels.
const MAX_HEAD_DIM: usize = 256;

/// Keys and values of one sequence; rows are tokens.
pub struct GpuCache {
    /// `[tokens, 2 · num_kv_heads · head_dim]`: keys, then values.
    pub(crate) tokens: Tensor,
}

/// Arguments of attention on the device.
pub type Arguments<'a> = AttentionArgs<'a, Tensor, GpuCache>;

/// Query rows that look at the same tensor of keys and values, in one call: five words each, as `arguments.wgsl` says.
pub fn rows_by_kv<T, C>(args: &AttentionArgs<'_, T, C>) -> Vec<(usize, Vec<u32>)> {
    let mut calls: Vec<(usize, Vec<u32>)> = Vec::new();
    for segment in args.segments {
        if !calls.iter().any(|(kv, _)| *kv == segment.kv) {
            calls.push((segment.kv, Vec::new()));
        }
        let Some((_, rows)) = calls.iter_mut().find(|(kv, _)| *kv == segment.kv) else { continue };
        for (i, row) in segment.query_rows.clone().enumerate() {
            let position = segment.past_len + i;
            let seen = args.mask.visible_keys(position, segment.kv_rows.len());
            let words = [row, segment.kv_rows.start, seen.start, seen.end, position];
            rows.extend(words.map(|word| word as u32));
        }
    }
    calls
}

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
        let q = args.q.tensor;
        let y = self.stale(q.rows(), args.num_heads * args.head_dim);
        let asked = args.weights_of.len();
        let weights = (asked > 0).then(|| self.zeroed(q.rows() * asked, longest));
        for (kv, rows) in rows_by_kv(args) {
            let kv = match args.kv {
                KeysValues::Tensors(tensors) => tensors.get(kv),
                KeysValues::Caches(caches) => caches.get(kv).map(|cache| &cache.tokens),
            };
            // It is there: that was checked.
            let Some(kv) = kv else { continue };
            self.attend_rows(args, kv, &rows, &y);
            if let Some(weights) = &weights {
                self.weigh_rows(args, kv, &rows, weights);
            }
        }
        // Of each row the heads lie side by side.
        Ok((y, weights))
    }

    fn attend_rows(&self, args: &Arguments<'_>, kv: &Tensor, rows: &[u32], y: &Tensor) {
        let [across, down] = self.limits().spread(rows.len() / 5 * args.num_heads);
        self.dispatch(&Dispatch {
            kernel: &PLAIN,
            constants: &[("HAS_RELATIVE", u32::from(args.relative.is_some()))],
            uniforms: &uniforms(args, kv, rows.len() / 5, 0),
            bindings: &[
                Bind::Buffer(args.q.tensor.storage()),
                Bind::Buffer(kv.storage()),
                Bind::Buffer(args.relative.unwrap_or(kv).storage()),
                Bind::Data(rows),
                Bind::Buffer(y.storage()),
            ],
            workgroups: [across, down, 1],
        });
    }

    fn weigh_rows(&self, args: &Arguments<'_>, kv: &Tensor, rows: &[u32], y: &Tensor) {
        let heads: Vec<u32> = args.weights_of.iter().map(|head| *head as u32).collect();
        let [across, down] = self.limits().spread((rows.len() / 5 * heads.len()).div_ceil(64));
        self.dispatch(&Dispatch {
            kernel: &WEIGHTS,
            constants: &[("HAS_RELATIVE", u32::from(args.relative.is_some()))],
            uniforms: &uniforms(args, kv, rows.len() / 5, y.columns()),
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

/// The struct of `arguments.wgsl`.
fn uniforms(args: &Arguments<'_>, kv: &Tensor, count: usize, longest: usize) -> [u32; 14] {
    let reach = args.relative.map_or(0, |relative| relative.columns() / 2);
    [
        count as u32,
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
    ]
}

#[cfg(test)]
mod tests {
    use super::rows_by_kv;
    use crate::ops::{AttentionArgs, AttentionSegment, KeysValues, Mask, View};

    #[test]
    fn rows_that_see_the_same_tensor_go_together() {
        let segment = |query_rows, kv, kv_rows, past_len| AttentionSegment {
            query_rows,
            kv,
            kv_rows,
            past_len,
        };
        let segments =
            [segment(0..2, 0, 0..2, 0), segment(2..3, 1, 0..4, 3), segment(3..4, 0, 2..6, 3)];
        let (tensors, q): ([(); 2], ()) = ([(), ()], ());
        let args = AttentionArgs::<'_, (), ()> {
            q: View { tensor: &q, column: 0 },
            kv: KeysValues::Tensors(&tensors),
            k_column: 0,
            v_column: 0,
            segments: &segments,
            num_heads: 1,
            num_kv_heads: 1,
            head_dim: 1,
            scale: 1.0,
            score_cap: None,
            relative: None,
            mask: Mask::Window(2),
            weights_of: &[],
        };
        // Row, first key, keys seen from and to, position.
        let first = vec![0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 3, 2, 2, 4, 3];
        let second = vec![2, 0, 2, 4, 3];
        assert_eq!(rows_by_kv(&args), [(0, first), (1, second)]);
    }
}
