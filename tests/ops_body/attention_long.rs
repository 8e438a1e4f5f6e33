//! Attention of the lengths, widths and groups of heads for which devices have other ways: keys in parts, heads in pieces,
//! blocks of queries that are full or have room.

use super::attention::Attend;
use super::{Random, assert_close, run_all};
use multihead::ops::{AttentionSegment, Mask};

/// Float32 sums over thousands of keys against double precision.
const LONG_TOLERANCE: f32 = 1e-5;

struct Case {
    rows: usize,
    past_len: usize,
    /// Of queries, and of keys and values.
    heads: [usize; 2],
    head_dim: usize,
    mask: Mask,
}

fn call(random: &mut Random, case: &Case, columns_before: usize) -> Attend {
    let Case { rows, past_len, heads: [num_heads, num_kv_heads], head_dim, mask } = *case;
    let keys = rows + past_len;
    let q_columns = columns_before + num_heads * head_dim;
    let v_column = columns_before + num_kv_heads * head_dim;
    let kv_columns = v_column + num_kv_heads * head_dim;
    Attend {
        q: random.floats(rows * q_columns),
        q_columns,
        q_column: columns_before,
        kv: vec![random.floats(keys * kv_columns)],
        kv_columns,
        k_column: columns_before,
        v_column,
        segments: vec![AttentionSegment { query_rows: 0..rows, kv: 0, kv_rows: 0..keys, past_len }],
        num_heads,
        num_kv_heads,
        head_dim,
        score_cap: None,
        relative: None,
        mask,
        weights_of: Vec::new(),
    }
}

pub async fn long() {
    let mut random = Random::new(31);
    let case =
        |rows, past_len, heads, head_dim, mask| Case { rows, past_len, heads, head_dim, mask };
    let cases = [
        // A token after many: three heads that share their keys, one, twenty, heads in four pieces.
        case(1, 1299, [9, 3], 64, Mask::Causal),
        case(1, 600, [2, 2], 31, Mask::Causal),
        case(1, 700, [20, 1], 8, Mask::Causal),
        case(1, 900, [4, 2], 256, Mask::Window(800)),
        // Some rows after many; of the first window the last keys, and none of the first ones.
        case(40, 700, [4, 2], 36, Mask::Window(550)),
        case(40, 700, [2, 2], 16, Mask::Window(3)),
        case(5, 520, [40, 2], 8, Mask::None),
        case(9, 1000, [3, 1], 130, Mask::Causal),
        // Many rows and heads with few keys; heads in two pieces and in four.
        case(20, 0, [70, 70], 4, Mask::None),
        case(20, 3, [66, 33], 12, Mask::Causal),
        case(70, 0, [3, 1], 128, Mask::Causal),
        case(3, 40, [2, 1], 253, Mask::Causal),
    ];
    for (i, case) in cases.iter().enumerate() {
        for columns_before in [0, 1] {
            let mut call = call(&mut random, case, columns_before);
            if i % 4 == 2 {
                call.score_cap = Some(1.5);
                let reach = call.segments[0].kv_rows.len();
                call.relative = Some(random.floats(call.num_heads * (2 * reach + 1)));
            }
            let Case { rows, past_len, heads, head_dim, mask } = case;
            let what = format!("{rows} after {past_len}, {heads:?} heads of {head_dim}, {mask:?}");
            assert_close(&run_all(&call, &what).await, &call.reference(), LONG_TOLERANCE, &what);
        }
    }
}

pub async fn shared_keys() {
    // Three rows see the keys of one sentence, two those of another, as hypotheses do.
    let mut random = Random::new(32);
    for keys in [7, 40, 1100] {
        let case = Case { rows: 5, past_len: keys, heads: [6, 3], head_dim: 8, mask: Mask::None };
        let mut call = call(&mut random, &case, 0);
        let segment = |row: usize| AttentionSegment {
            query_rows: row..row + 1,
            kv: 0,
            kv_rows: if row < 3 { 0..keys } else { keys..keys + 4 },
            past_len: row,
        };
        call.segments = (0..5).map(segment).collect();
        call.weights_of = vec![4];
        let what = format!("{keys} keys");
        assert_close(&run_all(&call, &what).await, &call.reference(), LONG_TOLERANCE, &what);
    }
}
