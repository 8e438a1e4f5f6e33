//! Queries and keys on their way into attention, on the CPU.

use super::elements;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::{Cpu, Tensor};
use crate::ops::linear::mismatch;
use crate::ops::{HeadArgs, RotarySource};
use std::cell::RefCell;

/// Rotary positions, with the sines and cosines of all positions up to the last one seen.
#[derive(Debug)]
pub struct CpuRotary {
    source: RotarySource,
    /// `[positions, pairs]` of (cos, sin).
    turns: RefCell<Vec<[f32; 2]>>,
}

impl CpuRotary {
    /// Keeps the frequencies.
    pub fn new(source: RotarySource) -> Self {
        Self { source, turns: RefCell::default() }
    }

    /// Computes the turns of all positions below `end`.
    fn reach(&self, end: usize) {
        let mut turns = self.turns.borrow_mut();
        let pairs = self.source.frequencies.len();
        for position in turns.len().checked_div(pairs).unwrap_or(end)..end {
            turns.extend(self.source.frequencies.iter().map(|&frequency| {
                let angle = position as f64 * f64::from(frequency);
                [libm::cos(angle) as f32, libm::sin(angle) as f32]
            }));
        }
    }
}

impl<L: Lanes> Cpu<L> {
    /// Normalises and turns the query and key heads of every row, in place.
    pub(crate) fn prepare_heads(&mut self, qkv: &mut Tensor, args: &HeadArgs<'_, Self>) {
        let heads = args.num_heads + args.num_kv_heads;
        let width = heads * args.head_dim;
        let (rows, columns) = (qkv.rows(), qkv.columns());
        let pairs = args.rotary.map_or(0, |rotary| rotary.source.frequencies.len());
        if columns < width || args.positions.len() != rows || 2 * pairs > args.head_dim {
            let got = [rows, columns, args.positions.len(), 2 * pairs];
            return self.record_fault(mismatch("heads", [rows, width, rows, args.head_dim], got));
        }
        if let Some((q, k)) = args.norms
            && [q.columns(), k.columns()] != [args.head_dim; 2]
        {
            let got = [q.columns(), k.columns()];
            return self.record_fault(mismatch("head norms", args.head_dim, got));
        }
        if width == 0 {
            return;
        }
        let end = args.positions.iter().max().map_or(0, |last| last + 1);
        let turns = args.rotary.map(|rotary| {
            rotary.reach(end);
            (rotary.source.pairs, rotary.turns.borrow())
        });
        for (row, &position) in qkv.values_mut().chunks_exact_mut(columns).zip(args.positions) {
            for (index, head) in row[..width].chunks_exact_mut(args.head_dim).enumerate() {
                if let Some((q, k)) = args.norms {
                    let norm = if index < args.num_heads { q } else { k };
                    norm.normalize_row::<L>(head);
                }
                if let Some((kind, turns)) = &turns {
                    for (i, [cos, sin]) in turns[position * pairs..][..pairs].iter().enumerate() {
                        let (first, second) = elements(*kind, pairs, i);
                        let (a, b) = (head[first], head[second]);
                        head[first] = a * cos - b * sin;
                        head[second] = b * cos + a * sin;
                    }
                }
            }
        }
    }
}
