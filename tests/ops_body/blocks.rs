//! Weights in the block formats of GGUF files: products, embeddings and logits.

use super::linear::Project;
use super::{Random, Run, assert_close, read, run_all};
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::blocks::BlockType;
use multihead::backend::cpu::lanes::Native;
use multihead::ops::{ActivationQuant, LinearPart, Ops, TableSource, Weights};
use multihead::ops::{embed, linear as linear_op, output};

/// Random bytes are blocks of any type; their scales, halves at the start or the end, are made small and finite.
fn blocks(random: &mut Random, kind: BlockType, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        let mut block: Vec<u8> = (0..kind.bytes()).map(|_| random.bits() as u8).collect();
        let halves = match kind {
            BlockType::Q4_1 | BlockType::Q5_1 | BlockType::Q4K | BlockType::Q5K => [0, 2],
            BlockType::Q6K => [208, 208],
            _ => [0, 0],
        };
        for at in halves {
            // Exponent 2^−8 to 2^−5, either sign.
            let exponent = 7 + random.below(4);
            block[at + 1] = (random.below(2) << 7 | exponent << 2) as u8 | (block[at + 1] & 3);
        }
        bytes.extend(block);
    }
    bytes
}

pub(super) fn weights(
    random: &mut Random,
    kind: BlockType,
    rows: usize,
    columns: usize,
) -> Weights<'static> {
    Weights::Blocks { kind, bytes: blocks(random, kind, rows * columns / kind.values()).into() }
}

/// Sums of products are added in float32 a group at a time; the reference adds in double precision.
const TOLERANCE: f32 = 5e-6;

pub async fn linear() {
    let mut random = Random::new(20);
    for i in 0..54 {
        let kind = BlockType::ALL[i % 9];
        let activation =
            if i / 9 % 2 == 0 { ActivationQuant::PerGroup } else { ActivationQuant::None };
        let in_features = 256 * random.between(1, 2);
        let rows = random.between(1, 6);
        let mut parts = Vec::new();
        // Two of a kind, and one of another.
        for kind in [kind, kind, BlockType::ALL[random.below(9)]] {
            let out_features = random.between(1, 21);
            parts.push(LinearPart {
                name: "W".to_owned(),
                out_features,
                weights: weights(&mut random, kind, out_features, in_features),
                bias: (random.below(2) == 0).then(|| random.floats(out_features)),
                activation,
            });
        }
        let mut input = random.floats(rows * in_features);
        // Some groups hold what is far from the rest.
        input.iter_mut().step_by(97).for_each(|x| *x *= 40.0);
        let what = format!("{kind:?}, {activation:?}, {rows} rows, {in_features} features");
        let got = run_all(&Project { input: &input, in_features, parts: &parts }, &what).await;
        let want = linear_op::reference(&input, in_features, &parts);
        assert_close(&got, &want, TOLERANCE, &what);
    }
}

/// Rows looked up, then logits over the whole table.
struct Both<'a> {
    table: &'a TableSource<'a>,
    tokens: &'a [Option<u32>],
    hidden: &'a [f32],
    bias: Option<&'a [f32]>,
    activation: ActivationQuant,
}

impl Run for Both<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let table = ops.table(self.table.clone()).unwrap();
        let rows = ops.embed(&table, self.tokens, 0.5, None).unwrap();
        let mut all = read(ops, &rows).await.unwrap();
        let output = ops
            .output_projection(&table, self.bias, super::activation(self.activation), None, &[])
            .unwrap();
        let columns = self.table.columns;
        let hidden = ops.upload(self.hidden.len() / columns, columns, self.hidden);
        let logits = ops.logits(&hidden, 0..self.hidden.len() / columns, &output);
        all.extend(read(ops, &logits).await.unwrap());
        all
    }
}

pub async fn table() {
    let mut random = Random::new(21);
    for i in 0..18 {
        let kind = BlockType::ALL[i % 9];
        let activation = if i < 9 { ActivationQuant::PerGroup } else { ActivationQuant::None };
        let (rows, columns) = (random.between(1, 70), 256);
        let table = TableSource {
            name: "token_embd".to_owned(),
            rows,
            columns,
            weights: weights(&mut random, kind, rows, columns),
        };
        let count = random.between(1, 5);
        let hidden = random.floats(count * columns);
        let bias = (i % 2 == 0).then(|| random.floats(rows));
        let tokens = [Some(0), None, Some(rows as u32 - 1)];
        let bias = bias.as_deref();
        let both = Both { table: &table, tokens: &tokens, hidden: &hidden, bias, activation };
        let got = run_all(&both, &format!("{kind:?}")).await;
        let (embedded, logits) = got.split_at(tokens.len() * columns);
        assert_eq!(embedded, embed::reference(&table, &tokens, 0.5, None), "{kind:?}");
        let want = output::reference(&hidden, &table, bias, activation, None);
        assert_close(logits, &want, TOLERANCE, &format!("{kind:?}"));
    }
}

pub async fn refusals() {
    let mut random = Random::new(22);
    let good = LinearPart {
        name: "W".to_owned(),
        out_features: 3,
        weights: weights(&mut random, BlockType::Q4_0, 3, 64),
        bias: None,
        activation: ActivationQuant::PerGroup,
    };
    let packs = |part: LinearPart<'_>, in_features| {
        Cpu::<Native>::new().linear(in_features, vec![part]).is_ok()
    };
    assert!(packs(good.clone(), 64));
    assert!(packs(LinearPart { activation: ActivationQuant::None, ..good.clone() }, 64));
    assert!(!packs(LinearPart { activation: ActivationQuant::PerRow, ..good.clone() }, 64));
    assert!(!packs(LinearPart { out_features: 2, ..good.clone() }, 64), "bytes left over");
    assert!(!packs(LinearPart { out_features: 6, ..good.clone() }, 48), "part of a block");
    let float = LinearPart { weights: Weights::F32(vec![0.0; 192]), ..good };
    assert!(!packs(float, 64), "float32 has no groups");
}
