//! Products in every format, of few rows and of many, normalised and gated, on a GPU alone: whole, and in pieces.

#![allow(dead_code)] // tests/ops_parity.rs has this body too, and runs it on the CPU alone

use super::blocks::weights;
use super::{Random, Run, gpu, read};
use multihead::backend::cpu::blocks::{BlockType, f16_to_f32, f32_to_f16};
use multihead::ops::{
    Activation, ActivationQuant, LinearPart, Multiplier, NormKind, NormSource, Ops, Residual,
    Weights,
};

/// What a stream goes through: `norm(x) · Wᵀ + b`, the same with an activation, the same gated, and the last added to it.
struct Products<'a> {
    x: &'a [f32],
    columns: usize,
    norm: &'a NormSource,
    /// Of an even number of outputs.
    first: &'a LinearPart<'a>,
    /// As wide as `x`.
    second: &'a LinearPart<'a>,
}

impl Run for Products<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let first = ops.linear(self.columns, vec![self.first.clone()]).unwrap();
        let second = ops.linear(self.columns, vec![self.second.clone()]).unwrap();
        let norm = ops.norm(self.norm.clone()).unwrap();
        let x = ops.upload(self.x.len() / self.columns, self.columns, self.x);
        let mut stream = Residual { x, pending_norm: None };
        let projected = ops.project_qkv(&mut stream, Some(&norm), &first, None);
        let activated = ops.mlp_in(&mut stream, None, &first, Activation::Gelu);
        let gated = ops.mlp_in_gated(&mut stream, Some(&norm), &first, Activation::Swish);
        let context = ops.copy(&stream.x);
        ops.mlp_out_residual(&context, &second, &mut stream, None);
        let mut all = Vec::new();
        for tensor in [&projected, &activated, &gated, &stream.x] {
            all.extend(read(ops, tensor).await.unwrap());
        }
        all
    }
}

/// Weights of each format that a device keeps apart.
fn formats(random: &mut Random, rows: usize, columns: usize) -> Vec<Weights<'static>> {
    let count = rows * columns;
    let halves = random.floats(count).iter().map(|x| f16_to_f32(f32_to_f16(*x / 64.0))).collect();
    let multiplier = Multiplier::Rows((0..rows).map(|row| 100.0 + row as f32).collect());
    let mut all = vec![
        Weights::F32(random.floats(count)),
        Weights::F32(halves),
        Weights::Int8 { values: random.bytes(count), multiplier },
    ];
    all.extend(BlockType::ALL.map(|kind| weights(random, kind, rows, columns)));
    all
}

/// Runs on the device of this thread's checks.
pub async fn check(rows: &[usize], outputs: &[usize], columns: usize) {
    let mut random = Random::new(31);
    for (&rows, &outputs) in rows.iter().zip(outputs.iter().cycle()) {
        let first = formats(&mut random, outputs, columns);
        let second = formats(&mut random, columns, columns);
        for (i, (first, second)) in first.into_iter().zip(second).enumerate() {
            let norm = NormSource {
                kind: if i % 2 == 0 { NormKind::Rms } else { NormKind::Layer },
                scale: random.floats(columns).iter().map(|x| x + 1.0).collect(),
                bias: (i % 3 == 0).then(|| random.floats(columns)),
                eps: 1e-5,
            };
            let mut part = |weights: Weights<'static>, out_features: usize| LinearPart {
                name: "W".to_owned(),
                out_features,
                weights,
                bias: (i % 4 > 0).then(|| random.floats(out_features)),
                activation: ActivationQuant::None,
            };
            let (first, second) = (part(first, outputs), part(second, columns));
            let x = random.floats(rows * columns);
            let products = Products { x: &x, columns, norm: &norm, first: &first, second: &second };
            let what = format!("format {i}, {rows} rows, {outputs} outputs");
            gpu::compare(&products, &what).await;
        }
    }
}
