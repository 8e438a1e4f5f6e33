//! How attention is cut up for the GPU: into blocks of query heads that share their keys, and where those are many and blocks
//! are few, the keys into parts.

use super::{AttentionArgs, Mask};
use crate::backend::gpu::Limits;

/// Widest head of the kernels.
pub const MAX_HEAD_DIM: usize = 256;

/// Words of a row: see `arguments.wgsl`.
pub const ROW_WORDS: usize = 5;

/// Keys that a workgroup takes at a time.
const TILE_KEYS: usize = 32;

/// Columns of a head that it takes at a time.
const PIECE_COLUMNS: usize = 64;

/// Workgroups that keep a large device busy.
const BUSY: usize = 128;

/// Keys up to which they are not split: merging parts is a call more, and takes as long as so many keys do.
const SPLIT_FROM: usize = 512;

/// Keys that a part has at least.
const PART_KEYS: usize = 128;

/// Rows of a sequence one after the other, or of several that see the same keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first of them among all rows of the call.
    pub first: usize,
    /// How many there are.
    pub rows: usize,
    /// Keys that one or the other sees.
    pub keys: usize,
}

/// Query rows that look at the same tensor of keys and values, in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Index of the tensor.
    pub kv: usize,
    /// [`ROW_WORDS`] a row.
    pub rows: Vec<u32>,
    /// All rows, in order.
    pub runs: Vec<Run>,
}

/// What looks at each tensor of keys and values.
pub fn calls<T, C>(args: &AttentionArgs<'_, T, C>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for (index, segment) in args.segments.iter().enumerate() {
        if !calls.iter().any(|call| call.kv == segment.kv) {
            calls.push(Call { kv: segment.kv, rows: Vec::new(), runs: Vec::new() });
        }
        let Some(call) = calls.iter_mut().find(|call| call.kv == segment.kv) else { continue };
        let (first, rows) = (call.rows.len() / ROW_WORDS, segment.query_rows.len());
        let seen = |i: usize| args.mask.visible_keys(segment.past_len + i, segment.kv_rows.len());
        for (i, row) in segment.query_rows.clone().enumerate() {
            let seen = seen(i);
            let position = segment.past_len + i;
            let words = [row, segment.kv_rows.start, seen.start, seen.end, position];
            call.rows.extend(words.map(|word| word as u32));
        }
        // Hypotheses of a sentence look at the same keys.
        let before = index.checked_sub(1).and_then(|before| args.segments.get(before));
        let is_same = args.mask == Mask::None
            && before.is_some_and(|b| b.kv == segment.kv && b.kv_rows == segment.kv_rows);
        match call.runs.last_mut() {
            Some(run) if is_same => run.rows += rows,
            _ if rows == 0 => {}
            _ => {
                let keys = seen(rows - 1).end.saturating_sub(seen(0).start);
                call.runs.push(Run { first, rows, keys });
            }
        }
    }
    calls
}

/// What a plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// All rows.
    pub runs: &'a [Run],
    /// Heads of the queries.
    pub num_heads: usize,
    /// Heads of the keys and values.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

/// How attention is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Query heads that a block has room for: 1, 4 or 16.
    pub slots: usize,
    /// Of each block three words: the first row of its run, its first slot counted from there, how many it has.
    pub blocks: Vec<u32>,
    /// Pieces of a head.
    pub pieces: u32,
    /// Parts of the keys of each block.
    pub splits: usize,
    /// Keys of a part.
    pub keys_each: usize,
    /// Workgroups in x and y.
    pub workgroups: [u32; 2],
    /// Workgroups that merge the parts.
    pub merging: [u32; 2],
    /// Float32 values of the parts, if there are several.
    pub scratch: usize,
}

/// The blocks of some runs, and how they are computed. Parts take no more room than a few workgroups have registers,
/// however many keys and rows there are.
pub fn plan(shape: &Shape<'_>, limits: &Limits) -> Plan {
    let Shape { runs, num_heads, num_kv_heads, head_dim } = *shape;
    let group = num_heads / num_kv_heads.max(1);
    let pairs = |slots: usize| {
        let blocks = runs.iter().map(|run| (run.rows * group).div_ceil(slots));
        blocks.sum::<usize>() * num_kv_heads
    };
    let keys = runs.iter().map(|run| run.keys).max().unwrap_or(0);
    let most = match runs.iter().map(|run| run.rows * group).max().unwrap_or(0) {
        ..2 => 1,
        2..5 => 4,
        _ => 16,
    };
    // Blocks a quarter as high read the keys four times as often, but on processors that had nothing to do.
    let is_low = most == 16 && keys <= SPLIT_FROM && pairs(16) < BUSY;
    let slots = if is_low { 4 } else { most };
    let pairs = pairs(slots);
    let splits = match keys > SPLIT_FROM && pairs < BUSY {
        true => BUSY.div_ceil(pairs.max(1)).min(keys.div_ceil(PART_KEYS)),
        false => 1,
    };
    let keys_each = keys.div_ceil(splits).next_multiple_of(TILE_KEYS);
    let splits = keys.div_ceil(keys_each.max(1)).max(1);
    let mut blocks = Vec::new();
    for run in runs {
        let all = run.rows * group;
        for first in (0..all).step_by(slots) {
            blocks.extend([run.first, first, slots.min(all - first)].map(|word| word as u32));
        }
    }
    let is_split = splits > 1;
    Plan {
        slots,
        blocks,
        pieces: head_dim.div_ceil(PIECE_COLUMNS) as u32,
        splits,
        keys_each,
        workgroups: limits.spread(pairs * splits),
        merging: limits.spread(if is_split { pairs * slots } else { 0 }),
        scratch: if is_split { pairs * slots * splits * (head_dim + 2) } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Plan, Run, Shape, calls, plan};
    use crate::backend::gpu::Limits;
    use crate::ops::{AttentionArgs, AttentionSegment, KeysValues, Mask, View};

    fn args<'a>(
        segments: &'a [AttentionSegment],
        kv: &'a [(); 2],
        mask: Mask,
    ) -> AttentionArgs<'a, (), ()> {
        AttentionArgs {
            q: View { tensor: &(), column: 0 },
            kv: KeysValues::Tensors(kv),
            k_column: 0,
            v_column: 0,
            segments,
            num_heads: 1,
            num_kv_heads: 1,
            head_dim: 1,
            #[cfg(feature = "recurrent")]
            score: crate::ops::Score::DotProduct,
            scale: 1.0,
            score_cap: None,
            relative: None,
            mask,
            weights_of: &[],
        }
    }

    fn segment(
        query_rows: std::ops::Range<usize>,
        kv: usize,
        kv_rows: std::ops::Range<usize>,
        past_len: usize,
    ) -> AttentionSegment {
        AttentionSegment { query_rows, kv, kv_rows, past_len }
    }

    #[test]
    fn rows_that_see_the_same_tensor_go_together() {
        let segments =
            [segment(0..2, 0, 0..2, 0), segment(2..3, 1, 0..4, 3), segment(3..4, 0, 2..6, 3)];
        // Row, first key, keys seen from and to, position.
        let first = vec![0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 3, 2, 2, 4, 3];
        let second = vec![2, 0, 2, 4, 3];
        let run = |first, rows, keys| Run { first, rows, keys };
        assert_eq!(
            calls(&args(&segments, &[(), ()], Mask::Window(2))),
            [
                Call { kv: 0, rows: first, runs: vec![run(0, 2, 2), run(2, 1, 2)] },
                Call { kv: 1, rows: second, runs: vec![run(0, 1, 2)] },
            ]
        );
    }

    #[test]
    fn hypotheses_of_a_sentence_are_one_run() {
        let segments =
            [segment(0..1, 0, 0..7, 0), segment(1..2, 0, 0..7, 0), segment(2..3, 0, 7..9, 0)];
        let runs = |mask| calls(&args(&segments, &[(), ()], mask)).remove(0).runs;
        let run = |first, rows, keys| Run { first, rows, keys };
        assert_eq!(runs(Mask::None), [run(0, 2, 7), run(2, 1, 2)]);
        assert_eq!(runs(Mask::Causal), [run(0, 1, 1), run(1, 1, 1), run(2, 1, 1)]);
    }

    fn of(runs: &[Run], num_heads: usize, num_kv_heads: usize, head_dim: usize) -> Plan {
        let shape = Shape { runs, num_heads, num_kv_heads, head_dim };
        plan(&shape, &Limits::GUARANTEED)
    }

    #[test]
    fn few_keys_are_one_call() {
        // A token of nine heads on three: three slots a key head.
        let decode = of(&[Run { first: 0, rows: 1, keys: 300 }], 9, 3, 64);
        assert_eq!((decode.slots, decode.pieces, decode.splits), (4, 1, 1));
        assert_eq!((decode.workgroups, decode.merging, decode.scratch), ([3, 1], [0, 1], 0));
        assert_eq!(decode.blocks, [0, 0, 3]);
        // A head for each: one slot.
        let alone = of(&[Run { first: 0, rows: 1, keys: 20 }], 8, 8, 32);
        assert_eq!((alone.slots, alone.workgroups), (1, [8, 1]));
        // 64 rows of three heads are twelve blocks of sixteen, 36 workgroups: blocks of four instead, 48 by 3.
        let prompt = of(&[Run { first: 0, rows: 64, keys: 64 }], 9, 3, 64);
        assert_eq!((prompt.slots, prompt.workgroups), (4, [144, 1]));
        // 40 sentences of 20 rows, 12 heads: two blocks of sixteen each.
        let runs: Vec<Run> = (0..40).map(|i| Run { first: 20 * i, rows: 20, keys: 20 }).collect();
        let batch = of(&runs, 12, 12, 32);
        assert_eq!((batch.slots, batch.workgroups), (16, [960, 1]));
        assert_eq!(batch.blocks[..9], [0, 0, 16, 0, 16, 4, 20, 0, 16]);
        assert_eq!(of(&[], 9, 3, 64).workgroups, [0, 1]);
    }

    #[test]
    fn many_keys_are_split_where_blocks_are_few() {
        // Three workgroups: 43 parts would keep 128 busy; 2000 keys are 16 parts of at least 128, 125 rounded up.
        let decode = of(&[Run { first: 0, rows: 1, keys: 2000 }], 9, 3, 64);
        assert_eq!((decode.splits, decode.keys_each), (16, 128));
        assert_eq!((decode.workgroups, decode.merging), ([48, 1], [12, 1]));
        // Of three key heads, four slots, sixteen parts: 64 columns, the greatest, the sum.
        assert_eq!(decode.scratch, 3 * 4 * 16 * 66);
        // 36 workgroups: four parts.
        let prompt = of(&[Run { first: 0, rows: 64, keys: 2000 }], 9, 3, 64);
        assert_eq!((prompt.slots, prompt.splits, prompt.keys_each), (16, 4, 512));
        // 32 key heads and 64 rows are enough.
        let large = of(&[Run { first: 0, rows: 64, keys: 2000 }], 32, 32, 128);
        assert_eq!((large.slots, large.splits, large.pieces, large.scratch), (16, 1, 2, 0));
    }

    #[test]
    fn blocks_cover_all_slots_and_parts_all_keys() {
        for (heads, kv_heads) in [(1, 1), (9, 3), (32, 1), (8, 8), (71, 71)] {
            for rows in [1, 2, 5, 64, 1000] {
                for keys in [1, 31, 512, 513, 4097, 100_000] {
                    let plan = of(&[Run { first: 7, rows, keys }], heads, kv_heads, 80);
                    assert!(plan.splits * plan.keys_each >= keys);
                    assert!((plan.splits - 1) * plan.keys_each < keys);
                    let mut next = 0;
                    for block in plan.blocks.as_chunks::<3>().0 {
                        assert_eq!(block[..2], [7, next]);
                        assert!((1..=plan.slots as u32).contains(&block[2]));
                        next += block[2];
                    }
                    assert_eq!(next as usize, rows * heads / kv_heads);
                    let pairs = plan.blocks.len() / 3 * kv_heads;
                    let [x, y] = plan.workgroups;
                    assert!(x as usize * y as usize >= pairs * plan.splits && x <= 65_535);
                }
            }
        }
    }

    #[test]
    fn scratch_does_not_grow_with_keys_and_rows() {
        // Of any length, alone or for all rows at once, as an encoder has it: less than 256 workgroups' registers.
        for keys in [1000, 2000, 4000, 8000, 100_000] {
            for rows in [1, 64, 256, keys] {
                for (heads, kv_heads, head_dim) in [(9, 3, 64), (32, 8, 128), (1, 1, 256)] {
                    let plan = of(&[Run { first: 0, rows, keys }], heads, kv_heads, head_dim);
                    assert!(plan.scratch <= 256 * 16 * (head_dim + 2), "{plan:?}");
                }
            }
        }
    }
}
