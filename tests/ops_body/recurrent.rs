//! What models had before Transformers: recurrent layers over ragged batches, additive scores, a context beside its query.

use super::{FLOAT_TOLERANCE, Random, Run, assert_close, read, run_all};
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::Native;
use multihead::ops::attention::reference as attention_reference;
use multihead::ops::recurrent::{Widths, reference};
use multihead::ops::{
    AttentionArgs, AttentionSegment, Cell, KeysValues, Mask, Ops, RecurrentSource, Score, View,
};
use std::ops::Range;

struct Recur {
    source: RecurrentSource,
    input: Vec<f32>,
    segments: Vec<AttentionSegment>,
    state: Vec<f32>,
}

impl Recur {
    fn widths(&self) -> Widths {
        Widths::of(self.source.cell, self.source.hidden_size, self.source.directions.len())
    }

    /// Sequences of these lengths, one under the other.
    fn random(random: &mut Random, cell: Cell, lengths: &[usize], directions: usize) -> Self {
        let hidden_size = random.between(1, 40);
        let rows = cell.gates() * hidden_size;
        let mut direction = || {
            (
                random.floats(rows * hidden_size).iter().map(|w| w / 4.0).collect(),
                random.floats(rows),
            )
        };
        let directions: Vec<_> = (0..directions).map(|_| direction()).collect();
        let widths = Widths::of(cell, hidden_size, directions.len());
        let total: usize = lengths.iter().sum();
        Self {
            source: RecurrentSource { cell, hidden_size, directions },
            input: random.floats(total * widths.input),
            segments: segments(lengths),
            state: random.floats(lengths.len() * widths.state),
        }
    }

    /// Outputs, then states.
    fn reference(&self) -> Vec<f32> {
        let mut state = self.state.clone();
        let mut output = reference(&self.source, &self.input, &self.segments, &mut state);
        output.extend(state);
        output
    }
}

fn segments(lengths: &[usize]) -> Vec<AttentionSegment> {
    let mut start = 0;
    let segment = |&length: &usize| {
        let rows: Range<usize> = start..start + length;
        start = rows.end;
        AttentionSegment { query_rows: rows.clone(), kv: 0, kv_rows: rows, past_len: 0 }
    };
    lengths.iter().map(segment).collect()
}

impl Run for Recur {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let widths = self.widths();
        let layer = ops.recurrent(self.source.clone()).unwrap();
        let input = ops.upload(self.input.len() / widths.input, widths.input, &self.input);
        let mut state = ops.upload(self.segments.len(), widths.state, &self.state);
        let output = ops.recur(&input, &layer, &self.segments, &mut state);
        let mut values = read(ops, &output).await.unwrap();
        values.extend(read(ops, &state).await.unwrap());
        values
    }
}

pub async fn by_hand() {
    let layer = |cell: Cell| RecurrentSource {
        cell,
        hidden_size: 1,
        directions: vec![(vec![0.0; cell.gates()], vec![0.0; cell.gates()])],
    };
    // Gates of 0 are half open; tanh(0.549306) = 1/2: 1/2 · 1/2 + 1/2 · 1 = 3/4.
    let gru = Recur {
        source: layer(Cell::Gru),
        input: vec![0.0, 0.0, 0.549_306_1],
        segments: segments(&[1]),
        state: vec![1.0],
    };
    assert_close(&run_all(&gru, "by hand").await, &[0.75, 0.75], 1e-6, "gated unit by hand");
    // A reset gate that is shut, σ(−∞), keeps the state out of the candidate: a recurrent weight of 9 is not felt.
    let shut = Recur {
        source: RecurrentSource {
            directions: vec![(vec![0.0, 0.0, 9.0], vec![0.0; 3])],
            ..layer(Cell::Gru)
        },
        input: vec![-100.0, 0.0, 0.549_306_1],
        ..gru
    };
    assert_close(&run_all(&shut, "by hand").await, &[0.75, 0.75], 1e-6, "reset gate by hand");
    // Cell 1/2 · 1 + 1/2 · 1/2 = 3/4, state 1/2 · tanh(3/4).
    let lstm = Recur {
        source: layer(Cell::Lstm),
        input: vec![0.0, 0.0, 0.549_306_1, 0.0],
        segments: segments(&[1]),
        state: vec![0.3, 1.0],
    };
    let h = 0.317_574_5;
    assert_close(&run_all(&lstm, "by hand").await, &[h, h, 0.75], 1e-6, "memory by hand");
}

pub async fn random_shapes() {
    let mut random = Random::new(41);
    for round in 0..40 {
        let cell = if round % 2 == 0 { Cell::Gru } else { Cell::Lstm };
        let lengths: Vec<usize> = (0..random.between(1, 4)).map(|_| random.below(7)).collect();
        let run = Recur::random(&mut random, cell, &lengths, 1 + round / 2 % 2);
        let got = run_all(&run, "recurrent").await;
        assert_close(&got, &run.reference(), FLOAT_TOLERANCE, "recurrent");
    }
}

/// A sequence gives the same bits alone, and in steps as at once.
pub async fn neighbours() {
    let mut random = Random::new(42);
    for cell in [Cell::Gru, Cell::Lstm] {
        let lengths = [3, 5, 2];
        let all = Recur::random(&mut random, cell, &lengths, 1);
        let widths = all.widths();
        let together = run_all(&all, "recurrent").await;
        let mut start = 0;
        for (index, length) in lengths.into_iter().enumerate() {
            let mut state = all.state[index * widths.state..][..widths.state].to_vec();
            for row in start..start + length {
                let step = Recur {
                    source: all.source.clone(),
                    input: all.input[row * widths.input..][..widths.input].to_vec(),
                    segments: segments(&[1]),
                    state,
                };
                let alone = step.run(&mut Cpu::<Native>::new()).await;
                let (output, next) = alone.split_at(widths.output);
                assert_eq!(output, &together[row * widths.output..][..widths.output]);
                state = next.to_vec();
            }
            start += length;
        }
    }
}

/// A call with additive scores; keys, then values, lie side by side.
struct Additive {
    q: Vec<f32>,
    kv: Vec<f32>,
    weights: Vec<f32>,
    segments: Vec<AttentionSegment>,
    num_heads: usize,
    head_dim: usize,
}

impl Additive {
    fn width(&self) -> usize {
        self.num_heads * self.head_dim
    }

    fn with_args<T, C, R>(
        &self,
        [q, weights]: [&T; 2],
        kv: &[T],
        weights_of: &[usize],
        then: impl FnOnce(&AttentionArgs<'_, T, C>) -> R,
    ) -> R {
        then(&AttentionArgs {
            q: View { tensor: q, column: 0 },
            kv: KeysValues::Tensors(kv),
            k_column: 0,
            v_column: self.width(),
            segments: &self.segments,
            num_heads: self.num_heads,
            num_kv_heads: self.num_heads,
            head_dim: self.head_dim,
            score: Score::Additive(weights),
            scale: 1.0,
            score_cap: None,
            relative: None,
            mask: Mask::None,
            weights_of,
        })
    }

    /// Contexts, then the weights of all heads.
    fn reference(&self) -> Vec<f32> {
        let width = self.width();
        let (q, weights) = ((self.q.clone(), width), (self.weights.clone(), width));
        let kv = [(self.kv.clone(), 2 * width)];
        let heads: Vec<usize> = (0..self.num_heads).collect();
        self.with_args([&q, &weights], &kv, &heads, |args| {
            let (mut y, weights) =
                attention_reference(args, |(values, columns)| (values, *columns));
            y.extend(weights);
            y
        })
    }
}

impl Run for Additive {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let width = self.width();
        let q = ops.upload(self.q.len() / width, width, &self.q);
        let weights = ops.upload(1, width, &self.weights);
        let kv = [ops.upload(self.kv.len() / (2 * width), 2 * width, &self.kv)];
        let heads: Vec<usize> = (0..self.num_heads).collect();
        let (y, probs) =
            self.with_args([&q, &weights], &kv, &heads, |args| ops.attention(args).unwrap());
        let mut values = read(ops, &y).await.unwrap();
        values.extend(read(ops, &probs.unwrap()).await.unwrap());
        values
    }
}

pub async fn additive() {
    // 2 · tanh(0 + 0) = 0 and 2 · tanh(1 − 0.382613) = ln 3: probs 1/4 and 3/4; values 4 and 8 → 7.
    let by_hand = Additive {
        q: vec![1.0],
        kv: vec![-1.0, 4.0, -0.382_612_9, 8.0],
        weights: vec![2.0],
        segments: vec![AttentionSegment { query_rows: 0..1, kv: 0, kv_rows: 0..2, past_len: 0 }],
        num_heads: 1,
        head_dim: 1,
    };
    let got = run_all(&by_hand, "by hand").await;
    assert_close(&got, &[7.0, 0.25, 0.75], 1e-6, "additive scores by hand");

    let mut random = Random::new(43);
    for _ in 0..40 {
        let (num_heads, head_dim) = (random.between(1, 3), random.between(1, 40));
        let (width, mut rows, mut keys) = (num_heads * head_dim, 0, 0);
        let mut segments = Vec::new();
        for _ in 0..random.between(1, 3) {
            let (queries, seen) = (random.between(1, 5), random.between(1, 30));
            segments.push(AttentionSegment {
                query_rows: rows..rows + queries,
                kv: 0,
                kv_rows: keys..keys + seen,
                past_len: 0,
            });
            (rows, keys) = (rows + queries, keys + seen);
        }
        let run = Additive {
            q: random.floats(rows * width),
            kv: random.floats(2 * keys * width),
            weights: random.floats(width),
            segments,
            num_heads,
            head_dim,
        };
        let got = run_all(&run, "additive scores").await;
        assert_close(&got, &run.reference(), FLOAT_TOLERANCE, "additive scores");
    }
}

struct Beside {
    left: usize,
    right: usize,
}

impl Run for Beside {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let values = |width: usize| (0..3 * width).map(|i| i as f32 + 0.5).collect::<Vec<_>>();
        let left = ops.upload(3, self.left, &values(self.left));
        let right = ops.upload(3, self.right, &values(self.right));
        let both = ops.beside(&left, &right);
        assert_eq!(ops.shape(&both), (3, self.left + self.right));
        read(ops, &both).await.unwrap()
    }
}

pub async fn beside() {
    let got = run_all(&Beside { left: 2, right: 1 }, "beside").await;
    assert_eq!(got, [0.5, 1.5, 0.5, 2.5, 3.5, 1.5, 4.5, 5.5, 2.5]);
    run_all(&Beside { left: 65, right: 33 }, "beside").await;
    let mut cpu = Cpu::<Native>::new();
    let (two, three) = (cpu.zeros(2, 1), cpu.zeros(3, 1));
    let both = cpu.beside(&two, &three);
    assert!(read(&mut cpu, &both).await.is_err());
}

pub async fn refusals() {
    let mut random = Random::new(44);
    let mut cpu = Cpu::<Native>::new();
    let good = Recur::random(&mut random, Cell::Gru, &[2, 1], 1);
    let layer = cpu.recurrent(good.source.clone()).unwrap();
    let widths = good.widths();
    let mut asked = async |rows: usize, states: usize, segments: &[AttentionSegment]| {
        let (input, mut state) = (cpu.zeros(rows, widths.input), cpu.zeros(states, widths.state));
        let output = cpu.recur(&input, &layer, segments, &mut state);
        read(&mut cpu, &output).await.is_ok()
    };
    assert!(asked(3, 2, &good.segments).await);
    assert!(!asked(4, 2, &good.segments).await);
    assert!(!asked(3, 3, &good.segments).await);
    assert!(!asked(3, 1, &good.segments[1..]).await);
    for wrong in [
        RecurrentSource { hidden_size: good.source.hidden_size + 1, ..good.source.clone() },
        RecurrentSource { directions: Vec::new(), ..good.source.clone() },
        RecurrentSource { cell: Cell::Lstm, ..good.source.clone() },
    ] {
        assert!(Cpu::<Native>::new().recurrent(wrong).is_err());
    }
}
