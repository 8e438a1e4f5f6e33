//! Whether a GPU computes right: small calls of what models are made of, beside the references, with one read-back. Each kind
//! of kernel once, not every variant: a software GPU takes a second to compile a product's.

use super::attention::{self, AttentionArgs, AttentionSegment, KeysValues, Mask, View};
use super::choose::gpu::GpuChosen;
use super::{
    Activation, ActivationQuant, HeadArgs, LinearPart, Multiplier, NormKind, NormSource, Ops, Pick,
    Residual, RotaryPairs, RotarySource, TableSource, Wanted, Weights,
};
#[cfg(feature = "recurrent")]
use super::{Cell, RecurrentSource, Score, recurrent};
use super::{activation, choose, linear, norm, rotary};
use crate::backend::cpu::blocks::BlockType;
use crate::backend::gpu::{Gpu, Storage, Tensor};
use crate::error::{Error, Result};
use std::sync::Arc;

/// Of the largest value that is expected.
const TOLERANCE: f32 = 1e-4;

/// Inputs of products: the fewest that all block formats have.
const WIDTH: usize = 256;

/// Outputs of products: more than a workgroup has, and not a multiple of it.
const OUTPUTS: usize = 20;

/// Few rows and many, for which there are kernels of their own.
const ROWS: [usize; 2] = [3, 20];

/// Words of everything that is compared.
const ROOM: usize = 1 << 14;

impl Gpu {
    /// Computes a little of everything and compares.
    ///
    /// # Errors
    /// [`Error::NoGpu`] with the first op that is off, and how far; whatever else the device reports.
    pub async fn self_test(&self) -> Result<()> {
        let mut test = SelfTest {
            gpu: self.clone(),
            results: self.storage(4 * ROOM as u64),
            used: 0,
            expected: Vec::new(),
        };
        test.product()?;
        test.feed_forward()?;
        test.attention()?;
        test.positions()?;
        test.choice()?;
        #[cfg(feature = "recurrent")]
        test.letters()?;
        test.compare().await
    }
}

struct SelfTest {
    gpu: Gpu,
    /// What the device computed, one after the other.
    results: Storage,
    /// Words of it so far.
    used: usize,
    /// What it should have, and of which op.
    expected: Vec<(String, Vec<f32>)>,
}

impl SelfTest {
    /// Has the first words of `got` compared with `want` in the end.
    fn expect(&mut self, name: impl Into<String>, got: &Storage, want: Vec<f32>) {
        let bytes = 4 * want.len() as u64;
        self.gpu.copy_bytes(got, 0..bytes, &self.results, 4 * self.used as u64);
        self.used += want.len();
        self.expected.push((name.into(), want));
    }

    fn upload(&mut self, columns: usize, values: &[f32]) -> Tensor {
        self.gpu.upload(values.len() / columns, columns, values)
    }

    /// Of many rows.
    fn product(&mut self) -> Result<()> {
        // Sixty-fourths are float16 numbers, and so lie as such.
        let halves = values(OUTPUTS * WIDTH, 1).iter().map(|x| (x * 64.0).round() / 64.0).collect();
        let part = part(OUTPUTS, Weights::F32(halves));
        let x = values(ROWS[1] * WIDTH, 2);
        let input = self.upload(WIDTH, &x);
        let loaded = self.gpu.linear(WIDTH, vec![part.clone()])?;
        let got = self.gpu.project(&input, &loaded);
        let want = linear::reference(&x, WIDTH, &[part]);
        self.expect("a product of many rows", got.storage(), want);
        Ok(())
    }

    /// `x + down(swish(gate(norm(x))) · up(norm(x)))`, then the norm of that: products of few rows, of blocks and of int8.
    fn feed_forward(&mut self) -> Result<()> {
        let (kind, count) = (BlockType::Q4K, WIDTH * WIDTH);
        let source =
            NormSource { kind: NormKind::Rms, scale: values(WIDTH, 3), bias: None, eps: 1e-5 };
        let halves = [4, 5].map(|seed| {
            let bytes = blocks(kind, count / kind.values(), seed).into();
            part(WIDTH, Weights::Blocks { kind, bytes })
        });
        let int8 = values(count, 6).iter().map(|x| (x * 127.0) as i8).collect();
        let out = Weights::Int8 { values: int8, multiplier: Multiplier::One(90.0) };
        let out = part(WIDTH, out);
        let norm = self.gpu.norm(source.clone())?;
        let inner = self.gpu.linear(WIDTH, halves.to_vec())?;
        let down = self.gpu.linear(WIDTH, vec![out.clone()])?;
        let x = values(ROWS[0] * WIDTH, 7);
        let mut stream = Residual { x: self.upload(WIDTH, &x), pending_norm: None };
        let hidden = self.gpu.mlp_in_gated(&mut stream, Some(&norm), &inner, Activation::Swish);
        self.gpu.mlp_out_residual(&hidden, &down, &mut stream, Some(&norm));
        let got = self.gpu.finish(stream, None);
        let both = linear::reference(&norm::reference(&x, &source), WIDTH, &halves);
        let gated = |row: &[f32]| -> Vec<f32> {
            let (gate, up) = row.split_at(WIDTH);
            let gate = gate.iter().map(|x| activation::reference(*x, Activation::Swish));
            gate.zip(up).map(|(gate, up)| gate * up).collect()
        };
        let hidden: Vec<f32> = both.chunks(2 * WIDTH).flat_map(gated).collect();
        let added = linear::reference(&hidden, WIDTH, &[out]);
        let sum: Vec<f32> = x.iter().zip(added).map(|(x, y)| x + y).collect();
        self.expect("a feed-forward layer", got.storage(), norm::reference(&sum, &source));
        Ok(())
    }

    /// Causal, two heads that share keys and values.
    fn attention(&mut self) -> Result<()> {
        const DIM: usize = 16;
        let columns = 4 * DIM; // queries of two heads, keys, values
        for rows in ROWS {
            let qkv = (values(rows * columns, 10), columns);
            let tensors = [self.upload(columns, &qkv.0)];
            let segments =
                [AttentionSegment { query_rows: 0..rows, kv: 0, kv_rows: 0..rows, past_len: 0 }];
            let got = self.gpu.attention(&causal(&tensors, &segments, DIM))?.0;
            let want = attention::reference(
                &causal(std::slice::from_ref(&qkv), &segments, DIM),
                |(values, columns)| (values, *columns),
            );
            self.expect(format!("attention of {rows} rows"), got.storage(), want.0);
        }
        Ok(())
    }

    fn positions(&mut self) -> Result<()> {
        const DIM: usize = 8;
        let source =
            RotarySource { frequencies: vec![1.0, 0.3, 0.1, 0.01], pairs: RotaryPairs::Halves };
        let (x, places) = (values(3 * 2 * DIM, 11), [0, 7, 40]);
        let rotary = self.gpu.rotary(source.clone())?;
        let heads = HeadArgs::<Gpu> {
            num_heads: 1,
            num_kv_heads: 1,
            head_dim: DIM,
            norms: None,
            rotary: Some(&rotary),
            positions: &places,
        };
        let got = self.upload(2 * DIM, &x);
        self.gpu.prepare_heads(&got, &heads, None);
        let mut want = x;
        for (i, head) in want.chunks_exact_mut(DIM).enumerate() {
            rotary::reference(head, places.get(i / 2).copied().unwrap_or(0), &source);
        }
        self.expect("rotary positions", got.storage(), want);
        Ok(())
    }

    /// The likeliest of the tokens of a table of blocks, by rows of it; and its log-probability.
    fn choice(&mut self) -> Result<()> {
        let source = TableSource {
            name: "self-test".to_owned(),
            rows: 70,
            columns: WIDTH,
            weights: Weights::Blocks {
                kind: BlockType::Q8_0,
                bytes: blocks(BlockType::Q8_0, 70 * WIDTH / 32, 12).into(),
            },
        };
        let ids: Vec<u32> = (0..70).collect();
        let tokens = [Some(3), None, Some(69)];
        let table = self.gpu.table(source.clone())?;
        let none = ActivationQuant::None;
        let output = self.gpu.output_projection(&table, None, none, None, &[])?;
        let hidden = self.gpu.embed(&table, &tokens, 0.1, None)?;
        let want = super::embed::reference(&source, &tokens, 0.1, None);
        self.expect("an embedding", hidden.storage(), want.clone());
        let pick =
            Pick { rows: 0..tokens.len(), output: Arc::from(output), wanted: Wanted::Likeliest(1) };
        let mut chosen = GpuChosen::default();
        self.gpu.choose(&hidden, &[pick], &mut chosen);
        let weights = part(source.rows, source.weights);
        let logits = linear::reference(&want, WIDTH, &[weights]);
        let best = logits.chunks(source.rows).flat_map(|row| choose::reference(row, &ids, &[], 1));
        let best = best.flat_map(|choice| [f32::from_bits(choice.id), choice.log_prob]).collect();
        let (pairs, _) = chosen.last_ids(tokens.len())?;
        self.expect("the likeliest token", pairs, best);
        Ok(())
    }

    /// What models over letters have: a layer of units in both directions, additive scores, and a context beside its query.
    #[cfg(feature = "recurrent")]
    fn letters(&mut self) -> Result<()> {
        const DIM: usize = 16;
        const STEPS: usize = 5;
        let directions =
            [13, 14].map(|seed| (values(3 * DIM * DIM, seed), values(3 * DIM, seed + 2))).to_vec();
        let source = RecurrentSource { cell: Cell::Gru, hidden_size: DIM, directions };
        let segments =
            [AttentionSegment { query_rows: 0..STEPS, kv: 0, kv_rows: 0..STEPS, past_len: 0 }];
        let (x, mut remembered) = (values(STEPS * 6 * DIM, 17), values(2 * DIM, 18));
        let layer = self.gpu.recurrent(source.clone())?;
        let (input, mut state) = (self.upload(6 * DIM, &x), self.upload(2 * DIM, &remembered));
        let read = [self.gpu.recur(&input, &layer, &segments, &mut state)];
        let want = recurrent::reference(&source, &x, &segments, &mut remembered);
        self.expect("a recurrent layer", read[0].storage(), want.clone());
        // The states of one direction are keys, of the other values.
        let (score, q) = ((values(DIM, 19), DIM), (values(STEPS * DIM, 20), DIM));
        let (weights, queries) = (self.upload(DIM, &score.0), self.upload(DIM, &q.0));
        let args = looking(&queries, &read, &segments, DIM, Score::Additive(&weights));
        let context = self.gpu.attention(&args)?.0;
        let got = self.gpu.beside(&queries, &context);
        let kv = [(want, 2 * DIM)];
        let args =
            looking::<_, (Vec<f32>, usize)>(&q, &kv, &segments, DIM, Score::Additive(&score));
        let context = attention::reference(&args, |(values, columns)| (values, *columns)).0;
        let rows = q.0.chunks(DIM).zip(context.chunks(DIM));
        let want = rows.flat_map(|(q, context)| [q, context].concat()).collect();
        self.expect("additive attention", got.storage(), want);
        Ok(())
    }

    async fn compare(&self) -> Result<()> {
        let mut words = Vec::new();
        self.gpu.read_words(&self.results, self.used, &mut words).await?;
        let mut got = words.iter().map(|word| f32::from_bits(*word));
        for (name, want) in &self.expected {
            let greatest = want.iter().fold(0.0f32, |greatest, x| greatest.max(x.abs()));
            for (want, got) in want.iter().zip(&mut got) {
                let off = match want.is_subnormal() {
                    // An id.
                    true if got.to_bits() == want.to_bits() => 0.0,
                    true => f32::INFINITY,
                    false => (got - want).abs() / greatest,
                };
                if off.is_nan() || off > TOLERANCE {
                    let what = format!(
                        "it computes wrong: {name} gave {got} for {want}, {off:.1e} of the largest value off"
                    );
                    return Err(Error::NoGpu { what });
                }
            }
        }
        Ok(())
    }
}

fn causal<'a, T, C>(
    qkv: &'a [T],
    segments: &'a [AttentionSegment],
    head_dim: usize,
) -> AttentionArgs<'a, T, C> {
    AttentionArgs {
        q: View { tensor: &qkv[0], column: 0 },
        kv: KeysValues::Tensors(qkv),
        k_column: 2 * head_dim,
        v_column: 3 * head_dim,
        segments,
        num_heads: 2,
        num_kv_heads: 1,
        head_dim,
        #[cfg(feature = "recurrent")]
        score: crate::ops::Score::DotProduct,
        scale: 0.5,
        score_cap: None,
        relative: None,
        mask: Mask::Causal,
        weights_of: &[],
    }
}

/// One head, without a mask.
#[cfg(feature = "recurrent")]
fn looking<'a, T, C>(
    q: &'a T,
    kv: &'a [T],
    segments: &'a [AttentionSegment],
    head_dim: usize,
    score: Score<'a, T>,
) -> AttentionArgs<'a, T, C> {
    AttentionArgs {
        q: View { tensor: q, column: 0 },
        kv: KeysValues::Tensors(kv),
        k_column: 0,
        v_column: head_dim,
        segments,
        num_heads: 1,
        num_kv_heads: 1,
        head_dim,
        score,
        scale: 1.0,
        score_cap: None,
        relative: None,
        mask: Mask::None,
        weights_of: &[],
    }
}

fn part(out_features: usize, weights: Weights<'static>) -> LinearPart<'static> {
    let (name, activation) = ("self-test".to_owned(), ActivationQuant::None);
    LinearPart { name, out_features, weights, bias: None, activation }
}

/// Numbers in ±1 that look random, the same for the same seed.
fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        // Knuth's constants of a linear congruential generator.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(next).collect()
}

/// Blocks of random codes whose scales are 2⁻¹¹.
fn blocks(kind: BlockType, count: usize, seed: u32) -> Vec<u8> {
    let codes = values(count * kind.bytes(), seed);
    let mut bytes: Vec<u8> = codes.iter().map(|x| ((x + 1.0) * 127.0) as u8).collect();
    for block in bytes.chunks_exact_mut(kind.bytes()) {
        // Those of minimums too.
        let places: &[usize] = if kind == BlockType::Q4K { &[0, 2] } else { &[0] };
        for place in places {
            block[*place..place + 2].copy_from_slice(&0x1000u16.to_le_bytes());
        }
    }
    bytes
}
