//! The output projection: packed rows, and the whole table as it lies.

use super::{Random, Run, activation, assert_close, read, run_all};
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::{Native, Scalar};
use multihead::ops::output::reference;
use multihead::ops::{ActivationQuant, Multiplier, Ops, TableSource, Weights};

struct Logits<'a> {
    hidden: &'a [f32],
    table: &'a TableSource<'a>,
    bias: Option<&'a [f32]>,
    activation: ActivationQuant,
    ids: Option<&'a [u32]>,
}

impl Run for Logits<'_> {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32> {
        let table = ops.table(self.table.clone()).unwrap();
        let output = ops
            .output_projection(&table, self.bias, activation(self.activation), self.ids, &[])
            .unwrap();
        // One row more on either side, which must not matter.
        let columns = self.table.columns;
        let mut rows = vec![9.0; columns];
        rows.extend_from_slice(self.hidden);
        rows.resize(rows.len() + columns, 9.0);
        let hidden = ops.upload(rows.len() / columns, columns, &rows);
        let logits = ops.logits(&hidden, 1..rows.len() / columns - 1, &output);
        read(ops, &logits).await.unwrap()
    }
}

fn random_table(random: &mut Random, int8: bool) -> TableSource<'static> {
    let (rows, columns) = (random.between(1, 90), random.between(1, 50));
    let weights = random.weights(rows * columns, int8);
    TableSource { name: "Wemb".to_owned(), rows, columns, weights }
}

async fn check_random(seed: u64, chosen: bool) {
    let mut random = Random::new(seed);
    for i in 0..120 {
        let activation = [
            ActivationQuant::None,
            ActivationQuant::Static(9.0),
            ActivationQuant::PerRow,
            ActivationQuant::None,
        ][i % 4];
        let table = random_table(&mut random, i % 4 != 0);
        let bias = (random.below(3) > 0).then(|| random.floats(table.rows));
        let rows = random.between(1, 6);
        let hidden = random.floats(rows * table.columns);
        let density = random.between(1, 10);
        let ids: Vec<u32> = (0..table.rows as u32).filter(|_| random.below(10) < density).collect();
        let ids = chosen.then_some(&ids[..]);
        let (hidden, bias) = (&hidden[..], bias.as_deref());
        let what = format!("{rows} rows, {} × {}, {activation:?}", table.rows, table.columns);
        let got = run_all(&Logits { hidden, table: &table, bias, activation, ids }, &what).await;
        assert_eq!(got, reference(hidden, &table, bias, activation, ids), "{what}");
    }
}

pub async fn random_shapes() {
    check_random(7, false).await;
}

pub async fn chosen_rows() {
    check_random(8, true).await;
}

/// A table with a multiplier a row, all of it as it lies and rows that are chosen: 1 − 4, (−3 − 10) / 2 with a float32 input;
/// with [64, −127] / 63.5 for it, −190 and −827 over that.
pub async fn multipliers_of_rows() {
    let weights =
        Weights::Int8 { values: vec![1, 2, -3, 5], multiplier: Multiplier::Rows(vec![1.0, 2.0]) };
    let table = TableSource { name: "Wemb".to_owned(), rows: 2, columns: 2, weights };
    for (activation, want) in [
        (ActivationQuant::None, [-3.0, -6.5]),
        (ActivationQuant::PerRow, [-190.0 / 63.5, -827.0 / 127.0]),
    ] {
        for ids in [None, Some(&[0, 1][..]), Some(&[1][..])] {
            let logits =
                Logits { hidden: &[1.0, -2.0], table: &table, bias: None, activation, ids };
            let want = if ids == Some(&[1]) { &want[1..] } else { &want[..] };
            let native = logits.run(&mut Cpu::<Native>::new()).await;
            for got in [native, logits.run(&mut Cpu::<Scalar>::new()).await] {
                assert_close(&got, want, 1e-6, "multipliers of rows");
            }
        }
    }
}

pub async fn refusals() {
    let cpu = Cpu::<Native>::new();
    let source = |weights| TableSource { name: "Wemb".to_owned(), rows: 4, columns: 2, weights };
    assert!(cpu.table(source(Weights::F32(vec![0.0; 7]))).is_err());
    let float = cpu.table(source(Weights::F32(vec![0.0; 8]))).unwrap();
    let project = |bias: Option<&[f32]>, activation, ids: Option<&[u32]>| {
        cpu.output_projection(&float, bias, activation, ids, &[1, 99]).map(|_| ())
    };
    assert!(project(Some(&[0.0; 4]), ActivationQuant::None, Some(&[0, 3])).is_ok());
    assert!(project(None, ActivationQuant::None, Some(&[])).is_ok());
    assert!(project(Some(&[0.0; 3]), ActivationQuant::None, None).is_err());
    // A table that is multiplied as it lies has no outliers set aside.
    let int8 = Weights::Int8 { values: vec![1; 8], multiplier: Multiplier::One(1.0) };
    let int8 = cpu.table(source(int8)).unwrap();
    let near =
        |ids| cpu.output_projection(&int8, None, ActivationQuant::Near, ids, &[]).map(|_| ());
    assert!(near(Some(&[0, 3])).is_ok());
    assert!(near(None).is_err());
    assert!(project(None, ActivationQuant::PerRow, None).is_err());
    assert!(project(None, ActivationQuant::None, Some(&[0, 4])).is_err());
    assert!(project(None, ActivationQuant::None, Some(&[1, 1])).is_err());
    assert!(project(None, ActivationQuant::None, Some(&[2, 1])).is_err());
}
