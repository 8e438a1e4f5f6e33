//! Head norms and rotary positions on the GPU.

use crate::backend::gpu::{Access, Bind, Dispatch, Gpu, Kernel, Storage, Tensor};
use crate::ops::linear::mismatch;
use crate::ops::{HeadArgs, RotaryPairs, RotarySource};
use std::cell::RefCell;

/// Heads prepared in place.
pub static HEADS: Kernel = Kernel {
    name: "rotary/heads",
    sources: &[
        include_str!("../lanes.wgsl"),
        include_str!("../norm/moments.wgsl"),
        include_str!("not_kept.wgsl"),
        include_str!("heads.wgsl"),
    ],
    entry: "prepare_heads",
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Data, Access::Write],
};

/// Heads prepared, keys and values written to a cache.
pub static HEADS_KEPT: Kernel = Kernel {
    name: "rotary/heads kept",
    sources: &[
        include_str!("../lanes.wgsl"),
        include_str!("../norm/moments.wgsl"),
        include_str!("kept.wgsl"),
        include_str!("heads.wgsl"),
    ],
    entry: "prepare_heads",
    bindings: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Data,
        Access::Write,
        Access::Write,
    ],
};

/// Rotary positions; their sines are computed on the CPU, exactly, and kept on the device.
pub struct GpuRotary {
    source: RotarySource,
    table: RefCell<Option<Table>>,
}

struct Table {
    positions: usize,
    /// cos and sin of each pair at each position, `[positions, pairs, 2]`.
    values: Storage,
}

/// Positions that a table has at least.
const FEWEST_POSITIONS: usize = 256;

impl GpuRotary {
    /// Nothing is computed yet.
    pub fn new(source: RotarySource) -> Self {
        Self { source, table: RefCell::new(None) }
    }

    /// Makes sure that the table has `positions` positions.
    fn reach(&self, gpu: &Gpu, positions: usize) {
        let mut table = self.table.borrow_mut();
        if table.as_ref().is_some_and(|table| table.positions >= positions) {
            return;
        }
        let positions = positions.max(FEWEST_POSITIONS).next_power_of_two();
        let mut words = Vec::with_capacity(2 * positions * self.source.frequencies.len());
        for position in 0..positions {
            for &frequency in &self.source.frequencies {
                let angle = position as f64 * f64::from(frequency);
                words.push((libm::cos(angle) as f32).to_bits());
                words.push((libm::sin(angle) as f32).to_bits());
            }
        }
        *table = Some(Table { positions, values: gpu.keep(&words) });
    }
}

impl Gpu {
    /// Records what becomes of the query and key heads, the first columns of `y`. All keys and values are written to the rows
    /// of a cache from the one given on, if there is one.
    pub(crate) fn prepare_heads(
        &self,
        y: &Tensor,
        args: &HeadArgs<'_, Self>,
        kept: Option<(&Tensor, usize)>,
    ) {
        let all_heads = args.num_heads + args.num_kv_heads;
        let rotary = args.rotary;
        let pairs = rotary.map_or(0, |rotary| rotary.source.frequencies.len());
        let norms_fit = args.norms.is_none_or(|(q, k)| {
            q.columns() == args.head_dim && k.columns() == args.head_dim && q.is_rms() == k.is_rms()
        });
        let width = all_heads.checked_mul(args.head_dim);
        let fits = width.is_some_and(|width| width <= y.columns())
            && args.positions.len() == y.rows()
            && 2 * pairs <= args.head_dim
            && norms_fit;
        if !fits {
            let expected = [args.positions.len(), all_heads, args.head_dim];
            return self.record_fault(mismatch("heads", expected, [y.rows(), y.columns()]));
        }
        let last = args.positions.iter().max().map_or(0, |last| last + 1);
        if let Some(rotary) = rotary {
            rotary.reach(self, last);
        }
        let table = rotary.map(|rotary| rotary.table.borrow());
        let table = table.as_ref().and_then(|table| table.as_ref());
        let norms = args.norms.map(|(q, k)| (q.parameters(), k.parameters()));
        // A binding that is not read has what another has.
        let spare = norms.map(|(q, _)| q).or(table.map(|table| &table.values));
        let Some(spare) = spare else { return };
        let (q, k) = norms.unwrap_or((spare, spare));
        let eps = args.norms.map_or([0.0; 2], |(q, k)| [q.eps(), k.eps()]);
        let rotation = match rotary.map(|rotary| rotary.source.pairs) {
            None => 0,
            Some(RotaryPairs::Neighbours) => 1,
            Some(RotaryPairs::Halves) => 2,
        };
        let positions: Vec<u32> = args.positions.iter().map(|position| *position as u32).collect();
        let own_heads = all_heads + if kept.is_some() { args.num_kv_heads } else { 0 };
        let (cache, first_token) = kept.unzip();
        let [across, down] = self.limits().spread(y.rows() * own_heads);
        let all = [
            Bind::Buffer(q),
            Bind::Buffer(k),
            Bind::Buffer(table.map_or(spare, |table| &table.values)),
            Bind::Data(&positions),
            Bind::Buffer(y.storage()),
            Bind::Buffer(cache.unwrap_or(y).storage()),
        ];
        let (kernel, bindings) = match cache {
            None => (&HEADS, &all[..5]),
            Some(_) => (&HEADS_KEPT, &all[..]),
        };
        self.dispatch(&Dispatch {
            kernel,
            constants: &[
                ("HAS_NORMS", u32::from(norms.is_some())),
                ("RMS", u32::from(args.norms.is_some_and(|(q, _)| q.is_rms()))),
                ("ROTATION", rotation),
            ],
            uniforms: &[
                y.rows() as u32,
                y.columns() as u32,
                args.num_heads as u32,
                all_heads as u32,
                args.head_dim as u32,
                pairs as u32,
                eps[0].to_bits(),
                eps[1].to_bits(),
                own_heads as u32,
                first_token.unwrap_or(0) as u32,
            ],
            bindings,
            workgroups: [across, down, 1],
        });
    }
}
