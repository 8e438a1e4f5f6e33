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
    let mut cpu = Cpu::<Native>::new();
    let x = cpu.upload(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let selected = cpu.select_rows(&x, &[2, 0, 0]);
    assert_eq!(read(&mut cpu, &selected).unwrap(), [5.0, 6.0, 1.0, 2.0, 1.0, 2.0]);
    let none = cpu.select_rows(&x, &[]);
    assert_eq!(cpu.shape(&none), (0, 2));

    let mut cache = cpu.zeros(0, 2);
    let from = cpu.upload(2, 4, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    for i in 0..200 {
        cpu.append_row(&mut cache, &from, i % 2, 1 + i % 2);
        assert_eq!(cpu.shape(&cache), (i + 1, 2));
    }
    let values = read(&mut cpu, &cache).unwrap();
    assert!(values.chunks(4).all(|rows| rows == [1.0, 2.0, 6.0, 7.0]));

    let copy = cpu.copy(&cache);
    drop(cache);
    assert_eq!(read(&mut cpu, &copy).unwrap(), values);
    let zeros = cpu.zeros(20, 20);
    assert!(read(&mut cpu, &zeros).unwrap().iter().all(|&x| x == 0.0));
}

pub fn faults() {
    let mut cpu = Cpu::<Native>::new();
    let x = cpu.upload(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let part = LinearPart {
        name: "W".to_owned(),
        out_features: 4,
        weights: Weights::F32(vec![1.0; 12]),
        bias: None,
        activation: ActivationQuant::None,
    };
    let three_wide = cpu.linear(3, vec![part]).unwrap();
    let weights = Weights::F32(vec![1.0; 12]);
    let table = TableSource { name: "Wemb".to_owned(), rows: 4, columns: 3, weights };
    let table = cpu.table(table).unwrap();
    let output = cpu.output_projection(&table, None, ActivationQuant::None, None, &[]).unwrap();

    let mut expect_fault = |what: &str, call: &mut dyn FnMut(&mut Cpu)| {
        call(&mut cpu);
        let error = read(&mut cpu, &x).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{what}: {error}");
        assert!(read(&mut cpu, &x).is_ok(), "{what}: said once");
    };
    let two_wide = Cpu::<Native>::new().upload(3, 2, &[1.0; 6]);
    let stream = || Residual { x: two_wide.clone(), pending_norm: None };
    expect_fault("project", &mut |cpu| {
        let y = cpu.project(&two_wide, &three_wide);
        assert_eq!((cpu.shape(&y), y.values()), ((3, 4), &[0.0; 12][..]));
    });
    expect_fault("mlp out", &mut |cpu| {
        cpu.mlp_out_residual(&two_wide, &three_wide, &mut stream(), None);
    });
    expect_fault("add", &mut |cpu| {
        let other = cpu.zeros(2, 2);
        cpu.add_residual(&other, &mut stream(), None);
    });
    expect_fault("norm", &mut |cpu| {
        let source = multihead::ops::NormSource {
            kind: multihead::ops::NormKind::Layer,
            scale: vec![1.0; 3],
            bias: None,
            eps: 0.0,
        };
        let norm = cpu.norm(source).unwrap();
        let _ = cpu.finish(stream(), Some(&norm));
    });
    expect_fault("ssru", &mut |cpu| {
        let projected = cpu.zeros(3, 5);
        let mut state = cpu.zeros(3, 2);
        cpu.ssru_residual(&projected, &mut state, &mut stream(), None);
    });
    expect_fault("upload", &mut |cpu| drop(cpu.upload(2, 2, &[1.0; 5])));
    expect_fault("select", &mut |cpu| drop(cpu.select_rows(&two_wide, &[0, 3])));
    expect_fault("append", &mut |cpu| {
        let mut cache = cpu.zeros(0, 2);
        cpu.append_row(&mut cache, &two_wide, 0, 1);
        cpu.append_row(&mut cache, &two_wide, 3, 0);
        assert_eq!(cpu.shape(&cache), (0, 2));
    });
    expect_fault("logits of other width", &mut |cpu| drop(cpu.logits(&two_wide, 0..1, &output)));
    expect_fault("logits past the rows", &mut |cpu| {
        let hidden = cpu.zeros(2, 3);
        drop(cpu.logits(&hidden, 1..3, &output));
    });

    let output = Arc::new(output);
    let mut chosen = Choices::default();
    let mut choices = Choices::default();
    let mut choose = |rows, hidden, cpu: &mut Cpu<Native>| {
        let picks = [Pick { rows, output: Arc::clone(&output), wanted: Wanted::Likeliest(1) }];
        cpu.choose(hidden, &picks, &mut chosen);
        now(cpu.read_chosen(&chosen, &mut choices))
    };
    let hidden = cpu.zeros(2, 3);
    assert!(choose(0..1, &two_wide, &mut cpu).is_err());
    assert!(choose(1..3, &hidden, &mut cpu).is_err());
    assert!(choose(1..2, &hidden, &mut cpu).is_ok());
}
