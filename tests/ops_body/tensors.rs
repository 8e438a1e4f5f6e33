//! Rows moved about, and what becomes of calls that cannot be carried out.

use super::{now, read};
use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::Native;
use multihead::error::Error;
use multihead::ops::{
    ActivationQuant, Choices, LinearPart, Ops, Pick, Residual, TableSource, Wanted, Weights,
};
use std::sync::Arc;

pub fn rows() {
    rows_on(&mut Cpu::<Native>::new());
}

pub fn rows_on<O: Ops>(ops: &mut O) {
    let x = ops.upload(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let selected = ops.select_rows(&x, &[2, 0, 0]);
    assert_eq!(read(ops, &selected).unwrap(), [5.0, 6.0, 1.0, 2.0, 1.0, 2.0]);
    let none = ops.select_rows(&x, &[]);
    assert_eq!(ops.shape(&none), (0, 2));

    let mut cache = ops.zeros(0, 2);
    let from = ops.upload(2, 4, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    for i in 0..200 {
        ops.append_row(&mut cache, &from, i % 2, 1 + i % 2);
        assert_eq!(ops.shape(&cache), (i + 1, 2));
    }
    let values = read(ops, &cache).unwrap();
    assert!(values.chunks(4).all(|rows| rows == [1.0, 2.0, 6.0, 7.0]));

    let copy = ops.copy(&cache);
    drop(cache);
    assert_eq!(read(ops, &copy).unwrap(), values);
    let zeros = ops.zeros(20, 20);
    assert!(read(ops, &zeros).unwrap().iter().all(|&x| x == 0.0));
}

pub fn faults() {
    faults_on(&mut Cpu::<Native>::new());
}

pub fn faults_on<O: Ops>(ops: &mut O) {
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
    let mut expect_fault = |what: &str, call: &mut dyn FnMut(&mut O)| {
        call(ops);
        let error = read(ops, &x).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{what}: {error}");
        assert!(read(ops, &x).is_ok(), "{what}: said once");
    };
    let stream = |ops: &mut O| Residual { x: ops.copy(&two_wide), pending_norm: None };
    expect_fault("project", &mut |ops| {
        let y = ops.project(&two_wide, &three_wide);
        assert_eq!(ops.shape(&y), (3, 4));
        assert!(read(ops, &y).is_err());
        assert_eq!(read(ops, &y).unwrap(), [0.0; 12], "zeros");
        let _ = ops.project(&two_wide, &three_wide);
    });
    expect_fault("mlp out", &mut |ops| {
        let mut stream = stream(ops);
        ops.mlp_out_residual(&two_wide, &three_wide, &mut stream, None);
    });
    expect_fault("add", &mut |ops| {
        let other = ops.zeros(2, 2);
        let mut stream = stream(ops);
        ops.add_residual(&other, &mut stream, None);
    });
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
    });
    expect_fault("ssru", &mut |ops| {
        let projected = ops.zeros(3, 5);
        let mut state = ops.zeros(3, 2);
        let mut stream = stream(ops);
        ops.ssru_residual(&projected, &mut state, &mut stream, None);
    });
    expect_fault("upload", &mut |ops| drop(ops.upload(2, 2, &[1.0; 5])));
    expect_fault("select", &mut |ops| drop(ops.select_rows(&two_wide, &[0, 3])));
    expect_fault("append", &mut |ops| {
        let mut cache = ops.zeros(0, 2);
        ops.append_row(&mut cache, &two_wide, 0, 1);
        ops.append_row(&mut cache, &two_wide, 3, 0);
        assert_eq!(ops.shape(&cache), (0, 2));
    });
    expect_fault("logits of other width", &mut |ops| drop(ops.logits(&two_wide, 0..1, &output)));
    expect_fault("logits past the rows", &mut |ops| {
        let hidden = ops.zeros(2, 3);
        drop(ops.logits(&hidden, 1..3, &output));
    });

    let output = Arc::new(output);
    let mut chosen = O::Chosen::default();
    let mut choices = Choices::default();
    let mut choose = |rows, hidden: &O::Tensor, ops: &mut O| {
        let picks = [Pick { rows, output: Arc::clone(&output), wanted: Wanted::Likeliest(1) }];
        ops.choose(hidden, &picks, &mut chosen);
        now(ops.read_chosen(&chosen, &mut choices))
    };
    let hidden = ops.zeros(2, 3);
    assert!(choose(0..1, &two_wide, ops).is_err());
    assert!(choose(1..3, &hidden, ops).is_err());
    assert!(choose(1..2, &hidden, ops).is_ok());
}
