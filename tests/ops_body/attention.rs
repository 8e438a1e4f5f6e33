//! Attention: heads, groups, masks, ragged batches.

use super::{FLOAT_TOLERANCE, Random, Run, as_kept, assert_close, read, run_all};
use multihead::backend::cpu::lanes::Native;
use multihead::backend::cpu::{Cpu, Tensor, cache::Cache};
use multihead::ops::attention::{check, reference};
use multihead::ops::{
    AttentionArgs, AttentionSegment, CacheKind, KeysValues, Mask, Ops, Score, View,
};

/// An attention call whose queries, keys and values lie side by side in wider tensors.
pub(super) struct Attend {
    pub(super) q: Vec<f32>,
    pub(super) q_columns: usize,
    pub(super) q_column: usize,
    /// Keys, then values, `[rows, kv_columns]`.
    pub(super) kv: Vec<Vec<f32>>,
    pub(super) kv_columns: usize,
    pub(super) k_column: usize,
    pub(super) v_column: usize,
    pub(super) segments: Vec<AttentionSegment>,
    pub(super) num_heads: usize,
    pub(super) num_kv_heads: usize,
    pub(super) head_dim: usize,
    pub(super) score_cap: Option<f32>,
    /// `[num_heads, 2 · reach + 1]`
    pub(super) relative: Option<Vec<f32>>,
    pub(super) mask: Mask,
    pub(super) weights_of: Vec<usize>,
}

impl Attend {
    fn with_args<T, C, R>(
        &self,
        q: &T,
        kv: KeysValues<'_, T, C>,
        relative: Option<&T>,
        then: impl FnOnce(&AttentionArgs<'_, T, C>) -> R,
    ) -> R {
        then(&AttentionArgs {
            q: View { tensor: q, column: self.q_column },
            kv,
            k_column: self.k_column,
            v_column: self.v_column,
            segments: &self.segments,
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            score: Score::DotProduct,
            scale: 1.0 / (self.head_dim as f32).sqrt(),
            score_cap: self.score_cap,
            relative,
            mask: self.mask,
            weights_of: &self.weights_of,
        })
    }

    fn relative_tensor<O: Ops>(&self, ops: &mut O) -> Option<O::Tensor> {
        let (values, rows) = (self.relative.as_ref()?, self.num_heads);
        Some(ops.upload(rows, values.len() / rows, values))
    }

    pub(super) fn reference(&self) -> Vec<f32> {
        let q = (self.q.clone(), self.q_columns);
        let kv: Vec<_> = self.kv.iter().map(|kv| (kv.clone(), self.kv_columns)).collect();
        let relative = self.relative.as_ref();
        let relative = relative.map(|values| (values.clone(), values.len() / self.num_heads));
        self.with_args(&q, KeysValues::Tensors(&kv), relative.as_ref(), |args| {
            let (mut y, weights) = reference(args, |(values, columns)| (values, *columns));
            y.extend(weights);
            y
        })
    }
}

impl Run for Attend {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let q = ops.upload(self.q.len() / self.q_columns, self.q_columns, &self.q);
        let kv: Vec<_> = self
            .kv
            .iter()
            .map(|kv| ops.upload(kv.len() / self.kv_columns, self.kv_columns, kv))
            .collect();
        let kv = KeysValues::Tensors(&kv);
        let relative = self.relative_tensor(ops);
        let (y, weights) =
            self.with_args(&q, kv, relative.as_ref(), |args| ops.attention(args).unwrap());
        assert_eq!(weights.is_some(), !self.weights_of.is_empty());
        let mut out = read(ops, &y).await.unwrap();
        if let Some(weights) = weights {
            out.extend(read(ops, &weights).await.unwrap());
        }
        out
    }
}

pub async fn by_hand() {
    // Scores 0 and ln 3 (scale 1): probs 1/4 and 3/4; values 4 and 8 → 7.
    let mut attend = Attend {
        q: vec![1.0],
        q_columns: 1,
        q_column: 0,
        kv: vec![vec![0.0, 4.0, 1.098_612_3, 8.0]],
        kv_columns: 2,
        k_column: 0,
        v_column: 1,
        segments: vec![AttentionSegment { query_rows: 0..1, kv: 0, kv_rows: 0..2, past_len: 0 }],
        num_heads: 1,
        num_kv_heads: 1,
        head_dim: 1,
        score_cap: None,
        relative: None,
        mask: Mask::None,
        weights_of: vec![0],
    };
    // The same scores by distances alone: 0 of the key at the query's place, ln 3 of the next one.
    let relative = Attend {
        kv: vec![vec![0.0, 4.0, 0.0, 8.0]],
        relative: Some(vec![100.0, 0.0, 1.098_612_3]),
        segments: attend.segments.clone(),
        weights_of: vec![0],
        ..attend
    };
    assert_close(&run_all(&relative, "by hand").await, &[7.0, 0.25, 0.75], 1e-6, "by hand");
    attend = Attend { kv: vec![vec![0.0, 4.0, 1.098_612_3, 8.0]], relative: None, ..relative };
    assert_close(&run_all(&attend, "by hand").await, &[7.0, 0.25, 0.75], 1e-6, "by hand");
    // Far from 0 it is the same, though exp of the scores themselves would overflow or vanish.
    for offset in [500.0, -500.0] {
        attend.kv = vec![vec![offset, 4.0, offset + 1.098_612_3, 8.0]];
        assert_close(&run_all(&attend, "far from 0").await, &[7.0, 0.25, 0.75], 1e-5, "far from 0");
    }
    // The first of two positions sees only itself.
    let causal = Attend { mask: Mask::Causal, ..attend };
    assert_eq!(run_all(&causal, "by hand").await, [4.0, 1.0, 0.0]);
    // The second of two positions, which sees one key, sees only itself.
    let segments = vec![AttentionSegment { query_rows: 0..1, kv: 0, kv_rows: 0..2, past_len: 1 }];
    let window = Attend { mask: Mask::Window(1), segments: segments.clone(), ..causal };
    assert_eq!(run_all(&window, "by hand").await, [8.0, 0.0, 1.0]);
    // Scores 0 and 1000, capped: 0 and ln 3 · tanh(…) = ln 3.
    let kv = vec![vec![0.0, 4.0, 1000.0, 8.0]];
    let capped =
        Attend { score_cap: Some(1.098_612_3), mask: Mask::Causal, kv, segments, ..window };
    assert_close(&run_all(&capped, "by hand").await, &[7.0, 0.25, 0.75], 1e-6, "by hand");
}

fn random_call(random: &mut Random, sequences: usize, decoding: bool) -> Attend {
    let num_kv_heads = random.between(1, 4);
    let num_heads = num_kv_heads * random.between(1, 4);
    let head_dim = [1, 3, 4, 8, 31, 32, 36, 64][random.below(8)];
    let (q_column, k_column, gap) = (random.below(5), random.below(5), random.below(5));
    let q_columns = q_column + num_heads * head_dim + random.below(3);
    let v_column = k_column + num_kv_heads * head_dim + gap;
    let kv_columns = v_column + num_kv_heads * head_dim;
    let (mut segments, mut kv, mut row) = (Vec::new(), Vec::new(), 0);
    for i in 0..sequences {
        let queries = if decoding { 1 } else { random.between(1, 9) };
        let past_len = random.below(12);
        let spare = random.below(3);
        let keys = queries + past_len;
        kv.push(random.floats((keys + spare) * kv_columns));
        segments.push(AttentionSegment {
            query_rows: row..row + queries,
            kv: i,
            kv_rows: spare..spare + keys,
            past_len,
        });
        row += queries;
    }
    let reach = segments.iter().map(|segment| segment.kv_rows.len()).max().unwrap_or(0) + 90;
    let relative = (random.below(3) == 0).then(|| random.floats(num_heads * (2 * reach + 1)));
    Attend {
        q: random.floats(row * q_columns),
        q_columns,
        q_column,
        kv,
        kv_columns,
        k_column,
        v_column,
        segments,
        num_heads,
        num_kv_heads,
        head_dim,
        score_cap: (random.below(3) == 0).then_some(0.7),
        relative,
        mask: match random.below(3) {
            0 => Mask::None,
            1 => Mask::Causal,
            _ => Mask::Window(random.between(1, 6)),
        },
        weights_of: (0..num_heads).filter(|_| random.below(4) == 0).collect(),
    }
}

pub async fn random_shapes() {
    let mut random = Random::new(4);
    for i in 0..60 {
        let call = random_call(&mut random, 1, false);
        let what = format!(
            "{i}: {} of {} heads of {}, {:?}, {:?}",
            call.num_heads, call.num_kv_heads, call.head_dim, call.mask, call.segments
        );
        assert_close(&run_all(&call, &what).await, &call.reference(), FLOAT_TOLERANCE, &what);
    }
    for mask in [Mask::None, Mask::Causal, Mask::Window(1), Mask::Window(3)] {
        for (query, kv_len) in [(0, 0), (0, 1), (3, 2), (3, 9), (8, 9)] {
            let want: Vec<_> = (0..kv_len).filter(|&key| mask.visible(query, key)).collect();
            assert_eq!(mask.visible_keys(query, kv_len).collect::<Vec<_>>(), want);
        }
    }
}

pub async fn ragged() {
    let mut random = Random::new(5);
    for i in 0..40 {
        let sequences = random.between(2, 5);
        let call = random_call(&mut random, sequences, i % 2 == 0);
        let together = run_all(&call, "ragged").await;
        assert_close(&together, &call.reference(), FLOAT_TOLERANCE, "ragged");
        let context_columns = call.num_heads * call.head_dim;
        for segment in &call.segments {
            let rows = segment.query_rows.clone();
            let alone = Attend {
                q: call.q[rows.start * call.q_columns..rows.end * call.q_columns].to_vec(),
                kv: vec![call.kv[segment.kv].clone()],
                segments: vec![AttentionSegment {
                    query_rows: 0..rows.len(),
                    kv: 0,
                    ..segment.clone()
                }],
                weights_of: Vec::new(),
                relative: call.relative.clone(),
                ..call
            };
            let of_batch = &together[rows.start * context_columns..rows.end * context_columns];
            assert_eq!(run_all(&alone, "alone").await, of_batch, "a sequence alone and in a batch");
        }
    }
}

/// A call whose keys and values are remembered, [keys, values] of each token.
struct Remembered<'a> {
    call: &'a Attend,
    kind: CacheKind,
}

impl Run for Remembered<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let call = self.call;
        let q = ops.upload(call.q.len() / call.q_columns, call.q_columns, &call.q);
        let mut caches = Vec::new();
        for kv in &call.kv {
            let count = kv.len() / call.kv_columns;
            let rows = ops.upload(count, call.kv_columns, kv);
            let mut cache = ops.cache(as_kept(self.kind), call.num_kv_heads, call.head_dim);
            ops.append_to_cache(&mut cache, &rows, 0..count, 0);
            // What is forgotten and what is copied leave no trace.
            let copy = ops.copy_cache(&cache);
            ops.truncate_cache(&mut cache, count / 2);
            for row in count / 2..count {
                ops.append_to_cache(&mut cache, &rows, row..row + 1, 0);
            }
            drop(copy);
            caches.push(cache);
        }
        let kv = KeysValues::Caches(&caches);
        let relative = call.relative_tensor(ops);
        let (y, weights) =
            call.with_args(&q, kv, relative.as_ref(), |args| ops.attention(args).unwrap());
        let mut out = read(ops, &y).await.unwrap();
        if let Some(weights) = weights {
            out.extend(read(ops, &weights).await.unwrap());
        }
        out
    }
}

/// Each head of each row rounded to integers of its largest magnitude over 127.
fn rounded(kv: &[f32], head_dim: usize) -> Vec<f32> {
    let head = |head: &[f32]| -> Vec<f32> {
        let step = head.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs())) / 127.0;
        let round = |x: &f32| if step > 0.0 { (x / step).round_ties_even() * step } else { 0.0 };
        head.iter().map(round).collect()
    };
    kv.chunks(head_dim).flat_map(head).collect()
}

pub async fn remembered() {
    let mut random = Random::new(7);
    for i in 0..40 {
        let mut call = random_call(&mut random, 1 + i % 3, i % 2 == 0);
        // As caches lie: keys, then values, of as many tokens as take several pages.
        let width = call.num_kv_heads * call.head_dim;
        (call.k_column, call.v_column, call.kv_columns) = (0, width, 2 * width);
        for (segment, kv) in call.segments.iter_mut().zip(&mut call.kv) {
            segment.past_len = random.below(90);
            segment.kv_rows.end =
                segment.kv_rows.start + segment.query_rows.len() + segment.past_len;
            *kv = random.floats(segment.kv_rows.end * call.kv_columns);
        }
        let what = format!("{i}: heads of {}, {:?}", call.head_dim, call.segments);
        let want = run_all(&call, &what).await;
        for kind in [CacheKind::Short, CacheKind::Long] {
            assert_eq!(run_all(&Remembered { call: &call, kind }, &what).await, want, "{what}");
        }
        let got = run_all(&Remembered { call: &call, kind: CacheKind::LongInt8 }, &what).await;
        let head_dim = call.head_dim;
        call.kv.iter_mut().for_each(|kv| *kv = rounded(kv, head_dim));
        // A step is a quotient here, and there the inverse of a multiplier: what is near the middle may go to either side.
        assert_close(&got, &call.reference(), 2e-4, &what);
    }
}

pub async fn refusals() {
    let mut random = Random::new(6);
    let good = || Attend {
        q: vec![0.0; 12],
        q_columns: 6,
        q_column: 0,
        kv: vec![vec![0.0; 24]],
        kv_columns: 8,
        k_column: 0,
        v_column: 4,
        segments: vec![AttentionSegment { query_rows: 0..2, kv: 0, kv_rows: 0..3, past_len: 0 }],
        num_heads: 2,
        num_kv_heads: 1,
        head_dim: 3,
        score_cap: None,
        relative: None,
        mask: Mask::None,
        weights_of: vec![1],
    };
    let outcome = |call: &Attend| {
        let mut cpu = Cpu::<Native>::new();
        let q = cpu.upload(2, 6, &call.q);
        let kv = [cpu.upload(3, 8, &call.kv[0])];
        let relative = call.relative_tensor(&mut cpu);
        call.with_args(&q, KeysValues::Tensors(&kv), relative.as_ref(), |args| {
            let shape = |tensor: &Tensor| (tensor.rows(), tensor.columns());
            let checked = check(args, shape, |cache: &Cache| (cache.rows(), cache.columns()));
            assert_eq!(checked.is_err(), cpu.attention(args).is_err());
            checked
        })
    };
    assert_eq!(outcome(&good()).unwrap(), 3);
    let segment = |query_rows, kv, kv_rows| {
        vec![AttentionSegment { query_rows, kv, kv_rows, past_len: random.below(3) }]
    };
    let mut segments = segment;
    let bad = [
        Attend { q_column: 1, ..good() },
        Attend { q_column: usize::MAX, ..good() },
        Attend { k_column: 6, ..good() },
        Attend { v_column: 6, ..good() },
        Attend { num_heads: 0, ..good() },
        Attend { num_kv_heads: 0, ..good() },
        Attend { num_kv_heads: 3, ..good() },
        Attend { head_dim: 0, ..good() },
        Attend { head_dim: usize::MAX, ..good() },
        Attend { weights_of: vec![2], ..good() },
        Attend { relative: Some(vec![0.0; 6]), ..good() }, // [2, 3], where distances go from −1 to 2
        Attend { relative: Some(vec![0.0; 12]), ..good() }, // [2, 6], without a middle
        Attend { segments: segments(0..2, 1, 0..3), ..good() },
        Attend { segments: segments(0..2, 0, 0..4), ..good() },
        Attend { segments: segments(0..1, 0, 0..3), ..good() },
        Attend { segments: segments(1..2, 0, 0..3), ..good() },
        Attend { segments: segments(0..3, 0, 0..3), ..good() },
        Attend { segments: Vec::new(), ..good() },
    ];
    for (i, call) in bad.iter().enumerate() {
        assert!(outcome(call).is_err(), "call {i}");
    }
}
