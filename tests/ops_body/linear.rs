//! Linear maps and what fuses with them.

use super::{FLOAT_TOLERANCE, Random, Run, as_asked, assert_close, read, run_all};
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::Native;
use multihead::ops::linear::reference;
use multihead::ops::{
    Activation, ActivationQuant, LinearPart, Multiplier, Ops, Residual, Weights, activation,
};

/// `input · Wᵀ + b`.
pub(super) struct Project<'a> {
    pub(super) input: &'a [f32],
    pub(super) in_features: usize,
    pub(super) parts: &'a [LinearPart<'a>],
}

impl Run for Project<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let weights = ops.linear(self.in_features, as_asked(self.parts)).unwrap();
        let input = ops.upload(self.input.len() / self.in_features, self.in_features, self.input);
        let y = ops.project(&input, &weights);
        read(ops, &y).await.unwrap()
    }

    // Mesa's software adapter ends the loops of a kernel after 65535 rounds.
    fn is_for_gpus(&self) -> bool {
        self.in_features < 65_536
    }
}

fn int8_part(
    values: Vec<i8>,
    multiplier: f32,
    bias: Option<Vec<f32>>,
    activation: ActivationQuant,
    out_features: usize,
) -> LinearPart<'static> {
    let weights = Weights::Int8 { values, multiplier: Multiplier::One(multiplier) };
    LinearPart { name: "W".to_owned(), out_features, weights, bias, activation }
}

pub async fn by_hand() {
    // [1, 2; 3, 4; 5, 6] rows; x = [0.5, −1]: 0.5 − 2 + 0.25, 1.5 − 4, 2.5 − 6 − 1
    let part = LinearPart {
        name: "W".to_owned(),
        out_features: 3,
        weights: Weights::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        bias: Some(vec![0.25, 0.0, -1.0]),
        activation: ActivationQuant::None,
    };
    let float = Project { input: &[0.5, -1.0], in_features: 2, parts: &[part] };
    assert_eq!(run_all(&float, "by hand").await, [-1.25, -2.5, -4.5]);

    // x · 2 = [1.5, −3, 300] → [2, −3, 127]; · [10, 20, −1] = 20 − 60 − 127 = −167; / (2 · 4) = −20.875; + 1
    let quant = ActivationQuant::Static(2.0);
    let part = int8_part(vec![10, 20, -1], 4.0, Some(vec![1.0]), quant, 1);
    let int8 = Project { input: &[0.75, -1.5, 150.0], in_features: 3, parts: &[part] };
    assert_eq!(run_all(&int8, "by hand").await, [-19.875]);

    // max |x| = 2, so alpha = 63.5: [63.5, −127] → [64, −127]; · [1, 2] = −190; / 63.5 / 1
    let part = int8_part(vec![1, 2], 1.0, None, ActivationQuant::PerRow, 1);
    let per_row = Project { input: &[1.0, -2.0], in_features: 2, parts: &[part] };
    assert_close(&run_all(&per_row, "by hand").await, &[-190.0 / 63.5], 1e-7, "by hand");

    // max |x| = 2, and int16 bounded by 2147483647 / (128 · 2) and 32767: alpha = 16383.5; [8192, −32767] (half to
    // even); · [1, 2] = −57342; / 16383.5
    let part = int8_part(vec![1, 2], 1.0, None, ActivationQuant::Wide, 1);
    let wide = Project { input: &[0.5, -2.0], in_features: 2, parts: &[part] };
    assert_close(&run_all(&wide, "by hand").await, &[-57_342.0 / 16_383.5], 1e-7, "by hand");

    // A multiplier a row: the sums of before, −190, and 64 · −3 − 127 · 5 = −827; / 63.5, / 63.5 / 2
    let weights =
        Weights::Int8 { values: vec![1, 2, -3, 5], multiplier: Multiplier::Rows(vec![1.0, 2.0]) };
    let part =
        LinearPart { weights, ..int8_part(Vec::new(), 1.0, None, ActivationQuant::PerRow, 2) };
    let parts = [part.clone()];
    let rows = Project { input: &[1.0, -2.0], in_features: 2, parts: &parts };
    let want = [-190.0 / 63.5, -827.0 / 127.0];
    assert_close(&run_all(&rows, "by hand").await, &want, 1e-7, "by hand");
    // Not rounded: 1 − 4, (−3 − 10) / 2
    let part = LinearPart { activation: ActivationQuant::None, ..part };
    let rows = Project { parts: &[part], ..rows };
    assert_eq!(run_all(&rows, "by hand").await, [-3.0, -6.5]);

    // 79 ones and 100, which is more than 8 · √(10079 / 80) = 89.8: 79 · 2 + 100 · 3
    let mut input = vec![1.0; 80];
    input[50] = 100.0;
    let mut weights = vec![2; 80];
    weights[50] = 3;
    let part = int8_part(weights, 1.0, None, ActivationQuant::Near, 1);
    let near = Project { input: &input, in_features: 80, parts: &[part] };
    assert_close(&run_all(&near, "by hand").await, &[458.0], 1e-6, "by hand");

    // Int8 weights with a float32 input: 3 / 4 · 0.5 − 8 / 4 · 2
    let part = int8_part(vec![3, -8], 4.0, None, ActivationQuant::None, 1);
    let dequantized = Project { input: &[0.5, 2.0], in_features: 2, parts: &[part] };
    assert_eq!(run_all(&dequantized, "by hand").await, [-3.625]);
}

fn random_parts(random: &mut Random, in_features: usize) -> Vec<LinearPart<'static>> {
    let alphas = [3.5, 11.0];
    (0..random.between(1, 4))
        .map(|i| {
            let out_features = random.between(1, 40);
            let activation = match random.below(4) {
                0 => ActivationQuant::None,
                1 => ActivationQuant::PerRow,
                2 => ActivationQuant::Wide,
                _ => ActivationQuant::Static(alphas[random.below(2)]),
            };
            let int8 = activation != ActivationQuant::None || random.below(2) == 0;
            LinearPart {
                name: format!("W{i}"),
                out_features,
                weights: random.weights(out_features * in_features, int8),
                bias: (random.below(3) > 0).then(|| random.floats(out_features)),
                activation,
            }
        })
        .collect()
}

pub async fn random_shapes() {
    let mut random = Random::new(1);
    for _ in 0..150 {
        let in_features = random.between(1, 70);
        let rows = random.between(1, 13);
        let parts = random_parts(&mut random, in_features);
        let input = random.floats(rows * in_features);
        let what = format!("{rows} rows, {in_features} features, {:?}", shapes(&parts));
        let got = run_all(&Project { input: &input, in_features, parts: &parts }, &what).await;
        // Sums are integers, or float32 added in the same order: nothing may differ.
        assert_eq!(got, reference(&input, in_features, &parts), "{what}");
    }
}

pub async fn outliers() {
    let mut random = Random::new(15);
    for _ in 0..60 {
        let (in_features, rows) = (random.between(1, 200), random.between(1, 13));
        let mut parts = random_parts(&mut random, in_features);
        for part in &mut parts {
            let values = random.bytes(part.out_features * in_features);
            let multipliers = random.floats(part.out_features).iter().map(|x| 5.0 + x).collect();
            part.weights = Weights::Int8 { values, multiplier: Multiplier::Rows(multipliers) };
            part.activation = ActivationQuant::Near;
        }
        let mut input = random.floats(rows * in_features);
        for _ in 0..random.below(3 * rows) {
            let at = random.below(input.len());
            input[at] *= 100.0;
        }
        let what = format!("{rows} rows, {in_features} features, {:?}", shapes(&parts));
        let got = run_all(&Project { input: &input, in_features, parts: &parts }, &what).await;
        assert_close(&got, &reference(&input, in_features, &parts), FLOAT_TOLERANCE, &what);
    }
}

fn shapes(parts: &[LinearPart]) -> Vec<(usize, ActivationQuant)> {
    parts.iter().map(|part| (part.out_features, part.activation)).collect()
}

pub async fn extremes() {
    let in_features = 4099;
    for weight in [127, -127, -128] {
        for x in [1.0f32, -1.0, f32::INFINITY, f32::NEG_INFINITY] {
            let quant = ActivationQuant::Static(127.0);
            let part = int8_part(vec![weight; in_features * 9], 1.0, None, quant, 9);
            let input = vec![x; in_features];
            let got =
                run_all(&Project { input: &input, in_features, parts: &[part] }, "extremes").await;
            let sum = in_features as i64 * 127 * i64::from(weight) * x.signum() as i64;
            let want = sum as f32 * (1.0 / 127.0);
            assert_eq!(got, [want; 9], "{weight} · {x}");
        }
    }
    // Int16 activations: 2147483647 / (128 · n) as the largest, so that the sum just fits.
    for in_features in [1, 2, 511, 512, 513, 4099, 132_104] {
        let largest = (2_147_483_647 / (128 * in_features)).min(32_767);
        let part = int8_part(vec![-128; in_features], 1.0, None, ActivationQuant::Wide, 1);
        let input = vec![-1.0; in_features];
        let got = run_all(&Project { input: &input, in_features, parts: &[part] }, "wide").await;
        let sum = (largest * 128 * in_features) as f32;
        assert_close(&got, &[sum / largest as f32], 1e-6, &format!("{in_features} wide"));
    }
    // The longest row that is allowed: 132104 · 128 · 127 = 2147482624 < 2^31.
    let in_features = 132_104;
    let quant = ActivationQuant::Static(1.0);
    let part = int8_part(vec![-128; in_features], 1.0, None, quant, 1);
    let input = vec![-127.0; in_features];
    let got = run_all(&Project { input: &input, in_features, parts: &[part] }, "longest row").await;
    assert_eq!(got, [2_147_482_624i64 as f32]);
}

pub async fn rows_are_independent() {
    let mut random = Random::new(2);
    for _ in 0..40 {
        let in_features = random.between(1, 60);
        let parts = random_parts(&mut random, in_features);
        let rows = random.between(2, 11);
        let input = random.floats(rows * in_features);
        let together =
            run_all(&Project { input: &input, in_features, parts: &parts }, "together").await;
        let mut alone = Vec::new();
        for row in input.chunks(in_features) {
            alone.extend(
                run_all(&Project { input: row, in_features, parts: &parts }, "alone").await,
            );
        }
        assert_eq!(together, alone, "{rows} rows, {in_features} features");
    }
}

/// A feed-forward block: activation after the first product, residual after the second.
struct FeedForward<'a> {
    x: &'a [f32],
    hidden_size: usize,
    first: &'a LinearPart<'a>,
    second: &'a LinearPart<'a>,
    activation: Activation,
}

impl Run for FeedForward<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let first =
            ops.linear(self.hidden_size, as_asked(std::slice::from_ref(self.first))).unwrap();
        let second = ops
            .linear(self.first.out_features, as_asked(std::slice::from_ref(self.second)))
            .unwrap();
        let x = ops.upload(self.x.len() / self.hidden_size, self.hidden_size, self.x);
        let mut stream = Residual { x, pending_norm: None };
        let hidden = ops.mlp_in(&mut stream, None, &first, self.activation);
        ops.mlp_out_residual(&hidden, &second, &mut stream, None);
        let mut out = read(ops, &hidden).await.unwrap();
        out.extend(read(ops, &stream.x).await.unwrap());
        out
    }
}

pub async fn epilogues() {
    let mut random = Random::new(3);
    for activation in [Activation::Relu, Activation::Swish, Activation::Gelu] {
        for int8 in [false, true] {
            let (hidden_size, intermediate_size, rows) = (13, 27, 6);
            let quant = if int8 { ActivationQuant::Static(20.0) } else { ActivationQuant::None };
            let mut part = |out_features: usize, in_features: usize| LinearPart {
                name: "W".to_owned(),
                out_features,
                weights: random.weights(out_features * in_features, int8),
                bias: Some(random.floats(out_features)),
                activation: quant,
            };
            let first = part(intermediate_size, hidden_size);
            let second = part(hidden_size, intermediate_size);
            let x = random.floats(rows * hidden_size);
            let block =
                FeedForward { x: &x, hidden_size, first: &first, second: &second, activation };
            let got = run_all(&block, "feed-forward").await;
            let (got_hidden, got_stream) = got.split_at(rows * intermediate_size);
            let mut hidden = reference(&x, hidden_size, std::slice::from_ref(&first));
            hidden.iter_mut().for_each(|x| *x = activation::reference(*x, activation));
            assert_close(got_hidden, &hidden, FLOAT_TOLERANCE, "activation");
            // From the hidden values that the device had: a rounding the other way would be magnified by int8.
            let mut stream = reference(got_hidden, intermediate_size, &[second]);
            stream.iter_mut().zip(&x).for_each(|(y, x)| *y += x);
            assert_close(got_stream, &stream, FLOAT_TOLERANCE, "residual");
        }
    }
}

pub async fn refusals() {
    let cpu = Cpu::<Native>::new();
    let part = |weights: Weights<'static>, activation: ActivationQuant| LinearPart {
        name: "encoder_l1_ffn_W1".to_owned(),
        out_features: 2,
        weights,
        bias: None,
        activation,
    };
    let int8 = |n: usize, multiplier: f32| Weights::Int8 {
        values: vec![1; n],
        multiplier: Multiplier::One(multiplier),
    };
    let refused = [
        (3, part(Weights::F32(vec![0.0; 5]), ActivationQuant::None)),
        (3, part(Weights::F32(vec![0.0; 6]), ActivationQuant::Static(1.0))),
        (3, part(int8(7, 1.0), ActivationQuant::PerRow)),
        (3, part(int8(6, 0.0), ActivationQuant::PerRow)),
        (3, part(int8(6, f32::NAN), ActivationQuant::PerRow)),
        (3, part(int8(6, 1.0), ActivationQuant::Static(0.0))),
        (3, part(int8(6, 1.0), ActivationQuant::Static(f32::INFINITY))),
        (132_105, part(int8(264_210, 1.0), ActivationQuant::PerRow)),
        (usize::MAX, part(int8(6, 1.0), ActivationQuant::PerRow)),
    ];
    for (in_features, part) in refused {
        let error = cpu.linear(in_features, vec![part]).unwrap_err();
        assert!(error.to_string().contains("encoder_l1_ffn_W1"), "{error}");
    }
    let mut part = part(int8(6, 1.0), ActivationQuant::PerRow);
    part.bias = Some(vec![0.0; 3]);
    assert!(cpu.linear(3, vec![part]).is_err());
}
