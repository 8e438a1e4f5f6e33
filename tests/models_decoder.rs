//! SmolLM2 as published, against a float32 run of the same dequantised weights by transformers
//! (tests/fixtures/decoders/smollm2.py).
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::formats::gguf::GgufFile;
use multihead::ops::Ops;
use multihead::stack::{Decoder, KvCache, Precision};
use pollster::block_on;
use support::smollm2::{MODEL, likeliest, lines, log_probs, logits, reference};
use support::{decoder, model_file};

fn load(precision: Precision) -> (Decoder<Cpu>, GgufFile) {
    decoder(&model_file(MODEL, |name| name.ends_with(".gguf")), precision)
}

#[test]
fn the_float_path_is_the_reference() {
    let reference = reference();
    let (model, file) = load(Precision::Float32);
    let Some(all) = lines(&reference, &file) else { return };
    let (mut same, mut positions, mut worst) = (0, 0, 0.0f64);
    for (line, ids) in reference.lines.iter().zip(&all) {
        let logits = logits(&mut Cpu::new(), &model, ids);
        for (position, (logits, best)) in logits.iter().zip(&line.best).enumerate() {
            same += usize::from(likeliest(logits) == *best);
            positions += 1;
            if let Some(next) = ids.get(position + 1) {
                let difference = log_probs(logits)[*next as usize] - line.next_log_probs[position];
                worst = worst.max(difference.abs());
            }
        }
    }
    println!(
        "likeliest token the same at {same} of {positions}; log-probabilities within {worst:.1e}"
    );
    assert!(positions >= 500);
    assert!(same as f64 >= 0.995 * positions as f64);
    assert!(worst < 5e-3);
}

#[test]
fn the_default_path_stays_near_the_reference() {
    let reference = reference();
    let (float, file) = load(Precision::Float32);
    let (model, _) = load(Precision::Auto);
    let Some(all) = lines(&reference, &file) else { return };
    let (mut ours, mut theirs, mut count, mut divergence, mut positions) =
        (0.0, 0.0, 0.0, 0.0, 0.0);
    for (line, ids) in reference.lines.iter().zip(&all) {
        let exact = logits(&mut Cpu::new(), &float, ids);
        for (position, logits) in logits(&mut Cpu::new(), &model, ids).iter().enumerate() {
            let best = likeliest(logits);
            let margin = line.margins[position];
            assert!(
                best == line.best[position] || margin <= 0.4,
                "{} {}, position {position}: {best}, margin {margin}",
                line.language,
                line.line
            );
            let own = log_probs(logits);
            let exact = log_probs(&exact[position]);
            divergence += exact.iter().zip(&own).map(|(p, q)| p.exp() * (p - q)).sum::<f64>();
            positions += 1.0;
            if let Some(next) = ids.get(position + 1) {
                ours -= own[*next as usize];
                theirs -= line.next_log_probs[position];
                count += 1.0;
            }
        }
    }
    let (ours, theirs): (f64, f64) = ((ours / count).exp(), (theirs / count).exp());
    let divergence = divergence / positions;
    println!("perplexity {ours:.3}, reference {theirs:.3}; mean KL divergence {divergence:.5}");
    assert!((ours / theirs - 1.0).abs() < 0.01);
    assert!(divergence <= 0.01);
}

#[test]
fn keys_and_values_of_int8_cost_next_to_nothing() {
    let reference = reference();
    let (model, file) = load(Precision::Auto);
    let Some(mut texts) = lines(&reference, &file) else { return };
    // Line by line, and all as one text with hundreds of keys.
    let whole = texts.concat();
    assert!(whole.len() > 500);
    texts.push(whole);
    let perplexities = |model: &Decoder<Cpu>| -> Vec<f64> {
        let loss = |ids: &Vec<u32>| -> f64 {
            let logits = logits(&mut Cpu::new(), model, ids);
            let next = ids.iter().skip(1);
            next.zip(&logits).map(|(next, logits)| -log_probs(logits)[*next as usize]).sum()
        };
        let (whole, lines) = texts.split_last().unwrap();
        let predicted = |texts: &[Vec<u32>]| texts.iter().map(|ids| ids.len() - 1).sum::<usize>();
        let of_lines = lines.iter().map(loss).sum::<f64>() / predicted(lines) as f64;
        let of_whole = loss(whole) / predicted(std::slice::from_ref(whole)) as f64;
        [of_lines, of_whole].map(f64::exp).to_vec()
    };
    let float = perplexities(&model);
    let int8 = perplexities(&model.with_kv_cache(KvCache::Int8));
    println!(
        "perplexity of lines and of one text: {float:.3?}, with keys and values of int8 {int8:.3?}"
    );
    for (int8, float) in int8.iter().zip(&float) {
        assert!(int8 != float);
        assert!((int8 / float - 1.0).abs() < 0.01);
    }
}

#[test]
fn answers_begin_as_the_reference_does() {
    for precision in [Precision::Float32, Precision::Auto] {
        let (model, _) = load(precision);
        for chat in reference().chats {
            let mut ops = Cpu::new();
            let mut state = model.start(&mut ops);
            let mut next = chat.ids.clone();
            for (position, want) in chat.greedy.iter().enumerate() {
                let hidden = model.forward(&mut ops, &mut state, &next).unwrap();
                let logits = model.logits(&mut ops, &hidden, next.len() - 1..next.len());
                let mut values = Vec::new();
                block_on(ops.read(&logits, &mut values)).unwrap();
                let got = likeliest(&values);
                if got != *want {
                    let margin = chat.margins[position];
                    println!(
                        "{precision:?}, {:?}: differs at {position}, margin {margin}",
                        chat.prompt
                    );
                    assert!(margin < 0.4 && precision == Precision::Auto, "{:?}", chat.prompt);
                    break;
                }
                next = vec![got];
            }
        }
    }
}
