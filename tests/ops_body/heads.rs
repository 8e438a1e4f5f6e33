//! What queries and keys go through head by head, and gated feed-forwards.

use super::{FLOAT_TOLERANCE, Random, Run, assert_close, read, run_all};
use multihead::ops::{
    Activation, ActivationQuant, HeadArgs, LinearPart, NormKind, NormSource, Ops, Residual,
    RotaryPairs, RotarySource, Weights, activation, norm, rotary,
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
