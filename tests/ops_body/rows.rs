//! What works on rows: normalisation, activations, the recurrent unit, embedding.

use super::heads::identity;
use super::{FLOAT_TOLERANCE, Random, Run, assert_close, read, run_all};
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::Native;
use multihead::ops::{Activation, NormKind, NormSource, Ops, Pooling, Residual, TableSource};
use multihead::ops::{
    activation, embed as embed_op, norm as norm_op, pool as pool_op, ssru as ssru_op,
};
use std::ops::Range;

struct Norm<'a> {
    x: &'a [f32],
    source: &'a NormSource,
}

impl Run for Norm<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let columns = self.source.scale.len();
        let norm = ops.norm(self.source.clone()).unwrap();
        let x = ops.upload(self.x.len() / columns, columns, self.x);
        let y = ops.finish(Residual { x, pending_norm: Some(&norm) }, None);
        read(ops, &y).await.unwrap()
    }
}

pub async fn layer_norm() {
    // Mean 2, variance 1 (divided by 2, not 1): −1 and 1.
    let source = NormSource {
        kind: NormKind::Layer,
        scale: vec![3.0, 3.0],
        bias: Some(vec![0.5, 0.5]),
        eps: 0.0,
    };
    assert_eq!(run_all(&Norm { x: &[1.0, 3.0], source: &source }, "by hand").await, [-2.5, 3.5]);

    // Mean square (1 + 49) / 2 = 25.
    let source = NormSource { kind: NormKind::Rms, scale: vec![5.0, 10.0], bias: None, eps: 0.0 };
    assert_eq!(run_all(&Norm { x: &[1.0, 7.0], source: &source }, "by hand").await, [1.0, 14.0]);

    let mut random = Random::new(10);
    for columns in [1, 2, 3, 4, 5, 7, 8, 31, 64, 255, 256, 384, 512, 1000] {
        for offset in [0.0, 30.0] {
            let source = NormSource {
                kind: if columns % 3 == 0 { NormKind::Rms } else { NormKind::Layer },
                scale: random.floats(columns),
                bias: (columns % 2 == 0).then(|| random.floats(columns)),
                eps: 1e-6,
            };
            let x: Vec<f32> = random.floats(5 * columns).iter().map(|x| x + offset).collect();
            let what = format!("{columns} columns around {offset}");
            // Far from 0 the input itself is coarser by that factor.
            let tolerance = if offset == 0.0 { 1e-6 } else { 2e-5 };
            let got = run_all(&Norm { x: &x, source: &source }, &what).await;
            assert_close(&got, &norm_op::reference(&x, &source), tolerance, &what);
        }
    }
    // A row without variance, and a vector too short.
    let source = NormSource { kind: NormKind::Layer, scale: vec![1.0; 6], bias: None, eps: 1e-6 };
    assert_eq!(run_all(&Norm { x: &[0.5; 6], source: &source }, "constant").await, [0.0; 6]);
    let source = NormSource { bias: Some(vec![0.0; 5]), ..source };
    assert!(Cpu::<Native>::new().norm(source).is_err());
}

/// Post-norm and pre-norm around a sublayer that adds its own input: `x = N(2 · N(x))`, then `N(x)` is projected.
struct Stream<'a> {
    x: &'a [f32],
    source: &'a NormSource,
    columns: usize,
}

impl Run for Stream<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let norm = ops.norm(self.source.clone()).unwrap();
        let identity = ops.linear(self.columns, vec![identity(self.columns)]).unwrap();
        let x = ops.upload(self.x.len() / self.columns, self.columns, self.x);
        let mut stream = Residual { x, pending_norm: Some(&norm) };
        let once = ops.project_qkv(&mut stream, None, &identity, None);
        assert!(stream.pending_norm.is_none());
        assert_eq!(read(ops, &once).await, read(ops, &stream.x).await);
        ops.project_out_residual(&once, &identity, &mut stream, Some(&norm));
        assert!(stream.pending_norm.is_some());
        // Adding reads the stream, so the pending norm comes first; zeros change nothing after it.
        let zeros = ops.zeros(self.x.len() / self.columns, self.columns);
        ops.add_residual(&zeros, &mut stream, None);
        let before = read(ops, &stream.x).await.unwrap();
        let y = ops.project_qkv(&mut stream, Some(&norm), &identity, None);
        assert_eq!(
            read(ops, &stream.x).await.unwrap(),
            before,
            "a pre-norm leaves the stream as it is"
        );
        read(ops, &y).await.unwrap()
    }
}

pub async fn pending_norms() {
    let mut random = Random::new(11);
    let columns = 10;
    let source = NormSource {
        kind: NormKind::Layer,
        scale: random.floats(columns).iter().map(|x| x + 3.0).collect(),
        bias: Some(random.floats(columns)),
        eps: 1e-9,
    };
    let x = random.floats(3 * columns);
    let mut want = norm_op::reference(&x, &source);
    want.iter_mut().for_each(|x| *x *= 2.0);
    want = norm_op::reference(&norm_op::reference(&want, &source), &source);
    let got = run_all(&Stream { x: &x, source: &source, columns }, "pending norms").await;
    assert_close(&got, &want, FLOAT_TOLERANCE, "pending norms");
}

struct Activate<'a> {
    x: &'a [f32],
    activation: Activation,
}

impl Run for Activate<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let identity = ops.linear(1, vec![identity(1)]).unwrap();
        let x = ops.upload(self.x.len(), 1, self.x);
        let y = ops.mlp_middle(&x, &identity, self.activation);
        read(ops, &y).await.unwrap()
    }
}

pub async fn activations() {
    let mut x: Vec<f32> = (-400..=400).map(|i| i as f32 * 0.05).collect();
    x.extend([-1e4, -95.0, -88.5, 88.5, 95.0, 1e4, 1e-30, -1e-30]);
    for activation in [
        Activation::Relu,
        Activation::Swish,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Tanh,
    ] {
        let got = run_all(&Activate { x: &x, activation }, "activation").await;
        for (&x, &got) in x.iter().zip(&got) {
            let want = activation::reference(x, activation);
            let tolerance = 3e-7 * x.abs().max(1e-3);
            assert!((got - want).abs() <= tolerance, "{activation:?} of {x}: {got}, not {want}");
        }
    }
}

struct Pool<'a> {
    hidden: &'a [f32],
    columns: usize,
    rows: &'a [Range<usize>],
    pooling: Pooling,
}

impl Run for Pool<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let hidden = ops.upload(self.hidden.len() / self.columns, self.columns, self.hidden);
        let pooled = ops.pool(&hidden, self.rows, self.pooling);
        assert_eq!(ops.shape(&pooled), (self.rows.len(), self.columns));
        read(ops, &pooled).await.unwrap()
    }
}

pub async fn pooling() {
    let hidden = [1.0, -8.0, 2.0, -2.0, 6.0, -5.0, 0.5, 0.25];
    let rows = [0..3, 3..4, 4..4];
    for (pooling, want) in [
        (Pooling::Mean, [3.0, -5.0, 0.5, 0.25, 0.0, 0.0]),
        (Pooling::First, [1.0, -8.0, 0.5, 0.25, 0.0, 0.0]),
        (Pooling::Max, [6.0, -2.0, 0.5, 0.25, 0.0, 0.0]),
    ] {
        let run = Pool { hidden: &hidden, columns: 2, rows: &rows, pooling };
        assert_eq!(run_all(&run, "by hand").await, want);
    }
    let mut random = Random::new(14);
    for pooling in [Pooling::Mean, Pooling::First, Pooling::Max] {
        let (columns, first, second) =
            (random.between(1, 40), random.between(1, 9), random.between(1, 9));
        let hidden = random.floats((first + second) * columns);
        let rows = [0..first, first..first + second];
        let run = Pool { hidden: &hidden, columns, rows: &rows, pooling };
        let want = pool_op::reference(&hidden, columns, &rows, pooling);
        assert_close(&run_all(&run, "pooling").await, &want, FLOAT_TOLERANCE, "pooling");
    }
    let mut cpu = Cpu::<Native>::new();
    let hidden = cpu.zeros(3, 2);
    let pooled = cpu.pool(&hidden, &[0..1, 1..4], Pooling::Mean);
    assert!(read(&mut cpu, &pooled).await.is_err());
}

struct Ssru<'a> {
    projected: &'a [f32],
    state: &'a [f32],
    stream: &'a [f32],
    hidden_size: usize,
}

impl Run for Ssru<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let (hidden_size, rows) = (self.hidden_size, self.state.len() / self.hidden_size);
        let projected = ops.upload(rows, 2 * hidden_size, self.projected);
        let mut state = ops.upload(rows, hidden_size, self.state);
        let x = ops.upload(rows, hidden_size, self.stream);
        let mut stream = Residual { x, pending_norm: None };
        ops.ssru_residual(&projected, &mut state, &mut stream, None);
        let mut out = read(ops, &state).await.unwrap();
        out.extend(read(ops, &stream.x).await.unwrap());
        out
    }
}

pub async fn ssru() {
    // f = sigmoid(0) = 1/2: state 1/2 · 3 + 1/2 · −1 = 1, stream 10 + 1; state 1/2 · −5 + 1/2 · 1 = −2, stream 10.
    let by_hand = Ssru {
        projected: &[-1.0, 1.0, 0.0, 0.0],
        state: &[3.0, -5.0],
        stream: &[10.0, 10.0],
        hidden_size: 2,
    };
    assert_eq!(run_all(&by_hand, "by hand").await, [1.0, -2.0, 11.0, 10.0]);
    // What would fade into denormals becomes 0.
    let faded = Ssru { projected: &[0.0, 0.0], state: &[1.5e-30], stream: &[1.0], hidden_size: 1 };
    assert_eq!(run_all(&faded, "faded").await, [0.0, 1.0]);

    let mut random = Random::new(12);
    for _ in 0..40 {
        let (rows, hidden_size) = (random.between(1, 5), random.between(1, 40));
        let projected: Vec<f32> =
            random.floats(2 * rows * hidden_size).iter().map(|x| 4.0 * x).collect();
        let (mut state, mut stream) =
            (random.floats(rows * hidden_size), random.floats(rows * hidden_size));
        let run = Ssru { projected: &projected, state: &state, stream: &stream, hidden_size };
        let got = run_all(&run, "ssru").await;
        ssru_op::reference(&projected, &mut state, &mut stream, hidden_size);
        state.extend(stream);
        assert_close(&got, &state, FLOAT_TOLERANCE, "ssru");
    }
}

struct Embed<'a> {
    table: &'a TableSource<'a>,
    tokens: &'a [Option<u32>],
    scale: f32,
    positions: Option<&'a [f32]>,
}

impl Run for Embed<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let table = ops.table(self.table.clone()).unwrap();
        let (rows, columns) = (self.tokens.len(), self.table.columns);
        let positions = self.positions.map(|values| ops.upload(rows, columns, values));
        let y = ops.embed(&table, self.tokens, self.scale, positions.as_ref()).unwrap();
        read(ops, &y).await.unwrap()
    }
}

pub async fn embed() {
    let mut random = Random::new(13);
    for int8 in [false, true] {
        let (rows, columns) = (17, 11);
        let weights = random.weights(rows * columns, int8);
        let table = TableSource { name: "Wemb".to_owned(), rows, columns, weights };
        let tokens = [Some(3), None, Some(16), Some(0), Some(3)];
        let positions = random.floats(tokens.len() * columns);
        for positions in [None, Some(&positions[..])] {
            let run = Embed { table: &table, tokens: &tokens, scale: 16.0, positions };
            let want = embed_op::reference(&table, &tokens, 16.0, positions);
            assert_eq!(run_all(&run, "embed").await, want);
        }
        let mut cpu = Cpu::<Native>::new();
        let table = cpu.table(table).unwrap();
        assert!(cpu.embed(&table, &[Some(17)], 1.0, None).is_err());
        let positions = cpu.zeros(2, columns);
        assert!(cpu.embed(&table, &[Some(1)], 1.0, Some(&positions)).is_err());
        let nothing = cpu.embed(&table, &[], 1.0, None).unwrap();
        assert_eq!(cpu.shape(&nothing), (0, columns));
    }
}
