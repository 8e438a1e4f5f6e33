//! What queries and keys go through head by head, and gated feed-forwards.

use super::{FLOAT_TOLERANCE, Random, Run, assert_close, read, run_all};
use multihead::ops::{
    Activation, ActivationQuant, AttentionArgs, AttentionSegment, CacheKind, HeadArgs, Kept,
    KeysValues, LinearPart, Mask, NormKind, NormSource, Ops, Residual, RotaryPairs, RotarySource,
    Score, View, Weights, activation, attention, norm, rotary,
};

/// A projection by the identity, so that what goes in is what the heads get.
pub(super) fn identity(columns: usize) -> LinearPart<'static> {
    let one = |i: usize| if i.is_multiple_of(columns + 1) { 1.0 } else { 0.0 };
    LinearPart {
        name: "I".to_owned(),
        out_features: columns,
        weights: Weights::F32((0..columns * columns).map(one).collect()),
        bias: None,
        activation: ActivationQuant::None,
    }
}

struct Heads<'a> {
    x: &'a [f32],
    columns: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    norms: Option<[&'a NormSource; 2]>,
    rotary: Option<&'a RotarySource>,
    positions: &'a [usize],
}

impl Run for Heads<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let weights = ops.linear(self.columns, vec![identity(self.columns)]).unwrap();
        let norms = self.norms.map(|norms| norms.map(|norm| ops.norm(norm.clone()).unwrap()));
        let rotary = self.rotary.map(|rotary| ops.rotary(rotary.clone()).unwrap());
        let x = ops.upload(self.positions.len(), self.columns, self.x);
        let mut stream = Residual { x, pending_norm: None };
        let heads = HeadArgs {
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            norms: norms.as_ref().map(|[q, k]| (q, k)),
            rotary: rotary.as_ref(),
            positions: self.positions,
        };
        let y = ops.project_qkv(&mut stream, None, &weights, Some(&heads));
        read(ops, &y).await.unwrap()
    }
}

pub async fn by_hand() {
    // One query and one key head of 4, then values. A quarter turn a position for the first pair, half a turn for the
    // second: at position 1, (a, b) becomes (−b, a), and (c, d) becomes (−c, −d).
    let half = std::f32::consts::PI;
    let run = async |pairs, position: usize| {
        let source = RotarySource { frequencies: vec![half / 2.0, half], pairs };
        let x: Vec<f32> = (1..=10).map(|i| i as f32).collect();
        let heads = Heads {
            x: &x,
            columns: 10,
            num_heads: 1,
            num_kv_heads: 1,
            head_dim: 4,
            norms: None,
            rotary: Some(&source),
            positions: &[position],
        };
        run_all(&heads, "by hand").await
    };
    let neighbours = [-2.0, 1.0, -3.0, -4.0, -6.0, 5.0, -7.0, -8.0, 9.0, 10.0];
    assert_close(&run(RotaryPairs::Neighbours, 1).await, &neighbours, 1e-6, "neighbours");
    // Pairs (1, 3) and (2, 4).
    let halves = [-3.0, -2.0, 1.0, -4.0, -7.0, -6.0, 5.0, -8.0, 9.0, 10.0];
    assert_close(&run(RotaryPairs::Halves, 1).await, &halves, 1e-6, "halves");
    let unturned: Vec<f32> = (1..=10).map(|i| i as f32).collect();
    assert_eq!(run(RotaryPairs::Halves, 0).await, unturned);
}

pub async fn random_shapes() {
    let mut random = Random::new(23);
    for i in 0..40 {
        let num_kv_heads = random.between(1, 3);
        let num_heads = num_kv_heads * random.between(1, 3);
        let head_dim = 2 * random.between(1, 9);
        let columns = (num_heads + 2 * num_kv_heads) * head_dim;
        let positions: Vec<usize> = (0..random.between(1, 4)).map(|_| random.below(3000)).collect();
        let x = random.floats(positions.len() * columns);
        // Some elements of a head may stay.
        let pairs = random.between(1, head_dim / 2);
        let rotary = (i % 4 > 0).then(|| RotarySource {
            frequencies: (0..pairs).map(|_| random.float().abs()).collect(),
            pairs: if i % 2 == 0 { RotaryPairs::Halves } else { RotaryPairs::Neighbours },
        });
        let norms = [0, 1].map(|_| NormSource {
            kind: NormKind::Rms,
            scale: random.floats(head_dim).iter().map(|x| x + 1.0).collect(),
            bias: None,
            eps: 1e-6,
        });
        let norms = (i % 3 > 0).then(|| norms.each_ref());
        let heads = Heads {
            x: &x,
            columns,
            num_heads,
            num_kv_heads,
            head_dim,
            norms,
            rotary: rotary.as_ref(),
            positions: &positions,
        };
        let mut want = x.clone();
        for (row, &position) in want.chunks_mut(columns).zip(&positions) {
            let all = row.chunks_mut(head_dim).take(num_heads + num_kv_heads);
            for (index, head) in all.enumerate() {
                if let Some([q, k]) = norms {
                    let norm = if index < num_heads { q } else { k };
                    head.copy_from_slice(&norm::reference(head, norm));
                }
                if let Some(source) = &rotary {
                    rotary::reference(head, position, source);
                }
            }
        }
        let what = format!("{num_heads} and {num_kv_heads} heads of {head_dim}");
        assert_close(&run_all(&heads, &what).await, &want, FLOAT_TOLERANCE, &what);
    }
}

/// Sequences that remember what they see, in two calls, and look at all of it after each.
struct Remembering<'a> {
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    norms: Option<[&'a NormSource; 2]>,
    rotary: Option<&'a RotarySource>,
    /// Queries, keys and values of a call, and how many rows each sequence has.
    calls: &'a [(Vec<f32>, Vec<usize>)],
}

impl Remembering<'_> {
    fn columns(&self) -> usize {
        (self.num_heads + 2 * self.num_kv_heads) * self.head_dim
    }

    fn kv_width(&self) -> usize {
        self.num_kv_heads * self.head_dim
    }

    /// The sequences of a call and the positions of its rows, given what each has seen; which grows.
    fn segments(seen: &mut [usize], rows: &[usize]) -> (Vec<AttentionSegment>, Vec<usize>) {
        let (mut segments, mut positions) = (Vec::new(), Vec::new());
        for (kv, (seen, rows)) in seen.iter_mut().zip(rows).enumerate() {
            let first = positions.len();
            positions.extend(*seen..*seen + rows);
            segments.push(AttentionSegment {
                query_rows: first..first + rows,
                kv,
                kv_rows: 0..*seen + rows,
                past_len: *seen,
            });
            *seen += rows;
        }
        (segments, positions)
    }

    fn args<'a, T, C>(
        &self,
        q: &'a T,
        kv: KeysValues<'a, T, C>,
        segments: &'a [AttentionSegment],
    ) -> AttentionArgs<'a, T, C> {
        AttentionArgs {
            q: View { tensor: q, column: 0 },
            kv,
            k_column: 0,
            v_column: self.kv_width(),
            segments,
            num_heads: self.num_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: self.head_dim,
            score: Score::DotProduct,
            scale: 0.5,
            score_cap: None,
            relative: None,
            mask: Mask::Causal,
            weights_of: &[],
        }
    }

    fn reference(&self) -> Vec<f32> {
        let (columns, q_width) = (self.columns(), self.num_heads * self.head_dim);
        let sequences = self.calls[0].1.len();
        let mut seen = vec![0; sequences];
        let mut kv = vec![(Vec::new(), 2 * self.kv_width()); sequences];
        let mut want = Vec::new();
        for (x, rows) in self.calls {
            let (segments, positions) = Self::segments(&mut seen, rows);
            let mut x = x.clone();
            for (row, position) in x.chunks_mut(columns).zip(&positions) {
                let all = row.chunks_mut(self.head_dim).take(self.num_heads + self.num_kv_heads);
                for (index, head) in all.enumerate() {
                    if let Some([q, k]) = self.norms {
                        let norm = if index < self.num_heads { q } else { k };
                        head.copy_from_slice(&norm::reference(head, norm));
                    }
                    if let Some(source) = &self.rotary {
                        rotary::reference(head, *position, source);
                    }
                }
            }
            for (row, row_of) in x.chunks(columns).enumerate() {
                let segment = segments.iter().find(|segment| segment.query_rows.contains(&row));
                kv[segment.unwrap().kv].0.extend(&row_of[q_width..]);
            }
            let q = (x, columns);
            let args = self.args(&q, KeysValues::Tensors(&kv), &segments);
            let (context, _) = attention::reference(&args, |(values, columns)| (values, *columns));
            want.extend(context);
        }
        want
    }
}

impl Run for Remembering<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let columns = self.columns();
        let weights = ops.linear(columns, vec![identity(columns)]).unwrap();
        let norms = self.norms.map(|norms| norms.map(|norm| ops.norm(norm.clone()).unwrap()));
        let rotary = self.rotary.map(|rotary| ops.rotary(rotary.clone()).unwrap());
        let mut seen = vec![0; self.calls[0].1.len()];
        let cache = |_: &usize| ops.cache(CacheKind::Long, self.num_kv_heads, self.head_dim);
        let mut caches: Vec<_> = seen.iter().map(cache).collect();
        let mut out = Vec::new();
        for (x, rows) in self.calls {
            let (segments, positions) = Self::segments(&mut seen, rows);
            let x = ops.upload(positions.len(), columns, x);
            let mut stream = Residual { x, pending_norm: None };
            let heads = HeadArgs {
                num_heads: self.num_heads,
                num_kv_heads: self.num_kv_heads,
                head_dim: self.head_dim,
                norms: norms.as_ref().map(|[q, k]| (q, k)),
                rotary: rotary.as_ref(),
                positions: &positions,
            };
            let heads = (norms.is_some() || rotary.is_some()).then_some(&heads);
            let column = self.num_heads * self.head_dim;
            let kept = Kept { caches: &mut caches, segments: &segments, column };
            let qkv = ops.project_qkv_kept(&mut stream, None, &weights, heads, kept);
            let args = self.args(&qkv, KeysValues::Caches(&caches), &segments);
            let (context, _) = ops.attention(&args).unwrap();
            out.extend(read(ops, &context).await.unwrap());
        }
        out
    }
}

pub async fn remembered() {
    let mut random = Random::new(25);
    for i in 0..16 {
        let num_kv_heads = random.between(1, 3);
        let num_heads = num_kv_heads * random.between(1, 3);
        let head_dim = 2 * random.between(1, 9);
        let rotary = RotarySource {
            frequencies: (0..random.between(1, head_dim / 2)).map(|_| random.float()).collect(),
            pairs: if i % 2 == 0 { RotaryPairs::Halves } else { RotaryPairs::Neighbours },
        };
        let norm = NormSource {
            kind: NormKind::Rms,
            scale: random.floats(head_dim).iter().map(|x| x + 1.0).collect(),
            bias: None,
            eps: 1e-6,
        };
        // One sequence, or three; many tokens, then one each, then some.
        let sequences = 1 + i / 2 % 2 * 2;
        let columns = (num_heads + 2 * num_kv_heads) * head_dim;
        let calls = [40, 1, 3].map(|most| {
            let rows: Vec<usize> = (0..sequences).map(|_| random.between(1, most)).collect();
            (random.floats(rows.iter().sum::<usize>() * columns), rows)
        });
        let remembering = Remembering {
            num_heads,
            num_kv_heads,
            head_dim,
            norms: (i % 3 == 1).then_some([&norm; 2]),
            rotary: (i % 5 > 0).then_some(&rotary),
            calls: &calls,
        };
        let what = format!("{sequences} sequences, {num_heads} and {num_kv_heads} of {head_dim}");
        let got = run_all(&remembering, &what).await;
        assert_close(&got, &remembering.reference(), 1e-5, &what);
    }
}

/// `norm(x) · Wᵀ`, whose halves become `activation(first) · second`.
struct Gated<'a> {
    x: &'a [f32],
    columns: usize,
    activation: Activation,
}

impl Run for Gated<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let weights = ops.linear(self.columns, vec![identity(self.columns)]).unwrap();
        let x = ops.upload(self.x.len() / self.columns, self.columns, self.x);
        let mut stream = Residual { x, pending_norm: None };
        let y = ops.mlp_in_gated(&mut stream, None, &weights, self.activation);
        read(ops, &y).await.unwrap()
    }
}

pub async fn gated() {
    // relu(2) · 3 and relu(−2) · 4
    let by_hand = Gated { x: &[2.0, -2.0, 3.0, 4.0], columns: 4, activation: Activation::Relu };
    assert_eq!(run_all(&by_hand, "by hand").await, [6.0, 0.0]);
    let mut random = Random::new(24);
    for activation in [Activation::Relu, Activation::Swish, Activation::Gelu, Activation::GeluTanh]
    {
        for width in [1, 3, 4, 17, 32] {
            let x = random.floats(3 * 2 * width);
            let rows = x.chunks(2 * width);
            let want: Vec<f32> = rows
                .flat_map(|row| {
                    let (gate, up) = row.split_at(width);
                    let products = gate.iter().zip(up);
                    products
                        .map(|(&g, u)| activation::reference(g, activation) * u)
                        .collect::<Vec<_>>()
                })
                .collect();
            let gated = Gated { x: &x, columns: 2 * width, activation };
            assert_close(&run_all(&gated, "gated").await, &want, FLOAT_TOLERANCE, "gated");
        }
    }
}
