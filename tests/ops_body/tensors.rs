//! Rows moved about, and what becomes of calls that cannot be carried out.

use super::read;
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::Native;
use multihead::error::Error;
use multihead::ops::{
    ActivationQuant, Choices, LinearPart, Ops, Pick, Residual, TableSource, Wanted, Weights,
};
use std::sync::Arc;

pub async fn rows() {
    rows_on(&mut Cpu::<Native>::new()).await;
}

pub async fn rows_on<O: Ops>(ops: &mut O) {
    let x = ops.upload(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let selected = ops.select_rows(&x, &[2, 0, 0]);
    assert_eq!(read(ops, &selected).await.unwrap(), [5.0, 6.0, 1.0, 2.0, 1.0, 2.0]);
    let none = ops.select_rows(&x, &[]);
    assert_eq!(ops.shape(&none), (0, 2));

    let mut cache = ops.zeros(0, 2);
    let from = ops.upload(2, 4, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    for i in 0..200 {
        ops.append_row(&mut cache, &from, i % 2, 1 + i % 2);
        assert_eq!(ops.shape(&cache), (i + 1, 2));
    }
    let values = read(ops, &cache).await.unwrap();
    assert!(values.chunks(4).all(|rows| rows == [1.0, 2.0, 6.0, 7.0]));

    let copy = ops.copy(&cache);
    drop(cache);
    assert_eq!(read(ops, &copy).await.unwrap(), values);
    let zeros = ops.zeros(20, 20);
    assert!(read(ops, &zeros).await.unwrap().iter().all(|&x| x == 0.0));
}

pub async fn faults() {
    faults_on(&mut Cpu::<Native>::new()).await;
}

pub async fn faults_on<O: Ops>(ops: &mut O) {
    let x = ops.upload(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let part = LinearPart {
        name: "W".to_owned(),
        out_features: 4,
        weights: Weights::F32(vec![1.0; 12]),
        bias: None,
        activation: ActivationQuant::None,
    };
    let three_wide = ops.linear(3, vec![part]).unwrap();
    let weights = Weights::F32(vec![1.0; 12]);
    let table = TableSource { name: "Wemb".to_owned(), rows: 4, columns: 3, weights };
    let table = ops.table(table).unwrap();
    let output = ops.output_projection(&table, None, ActivationQuant::None, None, &[]).unwrap();

    let two_wide = ops.upload(3, 2, &[1.0; 6]);
    let y = ops.project(&two_wide, &three_wide);
    assert_eq!(ops.shape(&y), (3, 4));
    assert!(read(ops, &y).await.is_err());
    assert_eq!(read(ops, &y).await.unwrap(), [0.0; 12], "zeros");
    let mut expect_fault = async |what: &str, call: &mut dyn FnMut(&mut O)| {
        call(ops);
        let error = read(ops, &x).await.unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{what}: {error}");
        assert!(read(ops, &x).await.is_ok(), "{what}: said once");
    };
    let stream = |ops: &mut O| Residual { x: ops.copy(&two_wide), pending_norm: None };
    expect_fault("project", &mut |ops| drop(ops.project(&two_wide, &three_wide))).await;
    expect_fault("mlp out", &mut |ops| {
        let mut stream = stream(ops);
        ops.mlp_out_residual(&two_wide, &three_wide, &mut stream, None);
    })
    .await;
    expect_fault("add", &mut |ops| {
        let other = ops.zeros(2, 2);
        let mut stream = stream(ops);
        ops.add_residual(&other, &mut stream, None);
    })
    .await;
    expect_fault("norm", &mut |ops| {
        let source = multihead::ops::NormSource {
            kind: multihead::ops::NormKind::Layer,
            scale: vec![1.0; 3],
            bias: None,
            eps: 0.0,
        };
        let norm = ops.norm(source).unwrap();
        let _ = {
            let stream = stream(ops);
            ops.finish(stream, Some(&norm))
        };
    })
    .await;
    expect_fault("ssru", &mut |ops| {
        let projected = ops.zeros(3, 5);
        let mut state = ops.zeros(3, 2);
        let mut stream = stream(ops);
        ops.ssru_residual(&projected, &mut state, &mut stream, None);
    })
    .await;
    expect_fault("upload", &mut |ops| drop(ops.upload(2, 2, &[1.0; 5]))).await;
    expect_fault("select", &mut |ops| drop(ops.select_rows(&two_wide, &[0, 3]))).await;
    expect_fault("append", &mut |ops| {
        let mut cache = ops.zeros(0, 2);
        ops.append_row(&mut cache, &two_wide, 0, 1);
        ops.append_row(&mut cache, &two_wide, 3, 0);
        assert_eq!(ops.shape(&cache), (0, 2));
    })
    .await;
    expect_fault("logits of other width", &mut |ops| drop(ops.logits(&two_wide, 0..1, &output)))
        .await;
    expect_fault("logits past the rows", &mut |ops| {
        let hidden = ops.zeros(2, 3);
        drop(ops.logits(&hidden, 1..3, &output));
    })
    .await;

    let output = Arc::new(output);
    let mut chosen = O::Chosen::default();
    let mut choices = Choices::default();
    let mut choose = async |rows, hidden: &O::Tensor, ops: &mut O| {
        let picks = [Pick { rows, output: Arc::clone(&output), wanted: Wanted::Likeliest(1) }];
        ops.choose(hidden, &picks, &mut chosen);
        ops.read_chosen(&chosen, &mut choices).await
    };
    let hidden = ops.zeros(2, 3);
    assert!(choose(0..1, &two_wide, ops).await.is_err());
    assert!(choose(1..3, &hidden, ops).await.is_err());
    assert!(choose(1..2, &hidden, ops).await.is_ok());
}
