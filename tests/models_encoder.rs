//! all-MiniLM-L6-v2 as it is published, against a float32 run of transformers (`tests/fixtures/encoders/minilm.py`): lines of
//! FLORES dev in English and Portuguese, and odd texts.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::lanes::Native;
use multihead::tasks::encoding::{
    Answer, Cpu, EmbeddingOptions, EncodingModel, LoadOptions, Precision,
};
use std::rc::Rc;
use std::time::Instant;
use support::encoders::{folder, half};
use support::{fixture, flores, json, models};

/// Texts and their vectors.
struct Reference {
    texts: Vec<String>,
    vectors: Vec<Vec<f64>>,
}

fn reference() -> Reference {
    let expected = json(&fixture("encoders/minilm.json"));
    let (lines, width) = (
        expected["lines"].as_u64().unwrap() as usize,
        expected["width"].as_u64().unwrap() as usize,
    );
    // Without FLORES, which says so, the odd texts alone.
    let flores = ["dev.en", "dev.pt"].map(flores);
    let mut texts: Vec<String> =
        flores.iter().flatten().flat_map(|text| text.iter().take(lines).cloned()).collect();
    let missing = flores.iter().filter(|text| text.is_none()).count() * lines;
    let odd = expected["odd"].as_array().unwrap();
    texts.extend(odd.iter().map(|odd| odd["text"].as_str().unwrap().to_owned()));
    let bytes = std::fs::read(fixture("encoders/minilm.f16")).unwrap();
    let values: Vec<f64> = bytes.as_chunks::<2>().0.iter().map(|pair| half(*pair)).collect();
    let vectors: Vec<Vec<f64>> = values.chunks(width).skip(missing).map(<[f64]>::to_vec).collect();
    assert_eq!(vectors.len(), texts.len());
    Reference { texts, vectors }
}

fn load(precision: Precision) -> Rc<EncodingModel<Cpu>> {
    let start = Instant::now();
    let folder = folder(&models().join("all-minilm-l6-v2"));
    let model = EncodingModel::load(Cpu::new(), folder, LoadOptions { precision }).unwrap();
    println!("{precision:?} loaded in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    Rc::new(model)
}

/// Cosines with the reference: the mean and the least.
fn cosines(precision: Precision) -> (f64, f64) {
    let (model, Reference { texts, vectors }) = (load(precision), reference());
    let start = Instant::now();
    let mut job = model.embed(texts.clone(), EmbeddingOptions::default());
    while !job.is_done() {
        pollster::block_on(job.step()).unwrap();
    }
    let Answer::Embeddings(got) = job.finish().unwrap() else { panic!() };
    let rate = texts.len() as f64 / start.elapsed().as_secs_f64();
    let width = model.info().dimensions;
    let cosine = |(got, want): (&[f32], &Vec<f64>)| {
        let dot = got.iter().zip(want).map(|(a, b)| f64::from(*a) * b).sum::<f64>();
        let square = |x: f64| x * x;
        let lengths = got.iter().map(|x| square(f64::from(*x))).sum::<f64>()
            * want.iter().map(|x| square(*x)).sum::<f64>();
        dot / lengths.sqrt()
    };
    let cosines: Vec<f64> = got.vectors.chunks(width).zip(&vectors).map(cosine).collect();
    for (text, cosine) in texts.iter().zip(&cosines) {
        if *cosine < 0.995 {
            println!("{cosine:.5} {:.60}", text);
        }
    }
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = cosines.iter().copied().fold(1.0, f64::min);
    println!("{precision:?}: mean {mean:.6}, least {least:.6}, {rate:.0} texts a second");
    (mean, least)
}

/// Bytes of the weights at each precision: those of the file, and a quarter of them with a scale a row.
#[test]
fn weights_are_in_memory_once() {
    for (precision, weights) in [(Precision::Float32, 90_868_376u64), (Precision::Int8, 22_717_094)]
    {
        let folder = folder(&models().join("all-minilm-l6-v2"));
        let mut model = None;
        let memory = allocation_counter::measure(|| {
            let options = LoadOptions { precision };
            model = Some(EncodingModel::load(Cpu::<Native>::new(), folder, options).unwrap());
        });
        let (most, left) = (memory.bytes_max, memory.bytes_current);
        println!(
            "{precision:?}: {weights} bytes of weights, {most} while loading, {left} after it"
        );
        assert!(most as f64 <= 1.3 * weights as f64, "{most}");
        drop(model);
    }
}

#[test]
fn float32_vectors_are_those_of_transformers() {
    let (_, least) = cosines(Precision::Float32);
    assert!(least >= 0.9999, "{least}");
}

#[test]
fn int8_vectors_are_near_those_of_transformers() {
    let (mean, least) = cosines(Precision::Int8);
    // With the outliers in a row's scale the mean is below 0.997.
    assert!(mean >= 0.998 && least >= 0.99, "mean {mean}, least {least}");
}
