//! Attention weights of the fixtures, on any device.

use super::{encoders, file, fixture, json};
use multihead::error::Result;
use multihead::formats::{ByteSource, MemoryFile, gguf::GgufFile};
use multihead::model::arch;
use multihead::ops::Ops;
use multihead::stack::{BlockWeights, Decoder, Precision, Watch};
use multihead::tasks::attention::{Attention, AttentionRequest, AttentionWeights, room};
use multihead::tasks::encoding::{Answer, EmbeddingOptions, EncodingModel, LoadOptions};
use multihead::tasks::translation::{self, Translator, TranslatorFiles};
use pollster::block_on;
use serde_json::Value;
use std::rc::Rc;

/// Between weights, which are from 0 to 1.
const TOLERANCE: f32 = 1e-4;

/// What is known of a model's weights.
pub fn expected(name: &str) -> Value {
    json(&fixture("attention/expected.json"))[name].clone()
}

/// The list of ids `key` of what is expected.
pub fn ids(expected: &Value, key: &str) -> Vec<u32> {
    let list = expected[key].as_array().unwrap().iter();
    list.map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

/// Compares with the weights of a kind in the fixture: shape, every weight, and that rows sum to 1.
pub fn compare(name: &str, kind: &str, got: &AttentionWeights) {
    let shape = expected(name)["shapes"][kind].clone();
    let [queries, keys] = got.lens;
    let own = [got.of.layers.len(), got.of.heads.len(), queries, keys];
    assert_eq!(shape, serde_json::json!(own), "{name}, {kind}");
    let bytes = std::fs::read(fixture(&format!("attention/{name}-{kind}.f32"))).unwrap();
    let want = bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
    assert_eq!(want.len(), got.weights.len());
    let difference = want.zip(&got.weights).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("{name}, {kind} {own:?}: {difference:.1e}");
    assert!(difference <= TOLERANCE, "{name}, {kind}: {difference}");
    for row in got.weights.chunks(keys) {
        let sum: f32 = row.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{name}, {kind}: {sum}");
    }
}

/// Weights of the text of an encoder's fixture.
pub fn encoder_weights<O: Ops + Clone>(
    ops: &O,
    name: &str,
    request: &AttentionRequest,
) -> AttentionWeights {
    let folder = encoders::folder(&fixture(&format!("encoders/{name}")));
    let options = LoadOptions { precision: Precision::Float32 };
    let model = Rc::new(EncodingModel::load(ops.clone(), folder, options).unwrap());
    let text = expected(name)["text"].as_str().unwrap().to_owned();
    let mut job = model.embed(vec![text], EmbeddingOptions::default());
    job.watch(request).unwrap();
    while !job.is_done() {
        block_on(job.step()).unwrap();
    }
    let Answer::Embeddings(embedded) = job.finish().unwrap() else { panic!() };
    let [attention] = <[_; 1]>::try_from(embedded.attention).unwrap();
    attention
}

/// Weights of the tokens of a decoder's fixture, read in parts of the lengths given.
pub fn decoder_weights<O: Ops + Clone>(
    ops: &O,
    name: &str,
    parts: &[usize],
    request: &AttentionRequest,
) -> AttentionWeights {
    let mut ops = ops.clone();
    let gguf = GgufFile::open(Box::new(file(&fixture(&format!("decoders/{name}.gguf"))))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    let model = Decoder::load(&ops, &gguf, &spec, Precision::Float32).unwrap();
    let tokens = ids(&expected(name), "ids");
    let wanted = request.of([[0, 0], model.attention(), [0, 0]]).unwrap();
    let mut attention = room(&wanted, [[0, 0], [tokens.len(); 2], [0, 0]]).unwrap();
    let mut state = model.start(&mut ops);
    let mut start = 0;
    for part in parts {
        let mut seen = Vec::new();
        let mut take = |layer, weights: BlockWeights<O>| {
            seen.extend(weights.mixer.map(|weights| (layer, weights)));
        };
        let [_, of, _] = &wanted;
        let watch = Watch { layers: &of.layers, mixer: &of.heads, cross: &[], take: &mut take };
        let part = &tokens[start..start + part];
        model.forward_watched(&mut ops, &mut state, part, Some(watch)).unwrap();
        for seen in seen {
            block_on(attention[1].take(&mut ops, seen, start)).unwrap();
        }
        start += part.len();
    }
    let [_, decoder, _] = attention;
    decoder
}

/// Every encoder of the fixtures.
pub fn encoders_agree<O: Ops + Clone>(ops: &O) {
    for name in
        ["bert-embed", "distilbert-embed", "mpnet-embed", "roberta-embed", "xlm-roberta-embed"]
    {
        compare(name, "encoder", &encoder_weights(ops, name, &AttentionRequest::default()));
    }
}

/// Every decoder of the fixtures.
pub fn decoders_agree<O: Ops + Clone>(ops: &O) {
    for name in ["llama", "qwen3", "gemma2", "gemma3", "gpt2"] {
        let got = decoder_weights(ops, name, &[5, 1, 8], &AttentionRequest::default());
        compare(name, "decoder", &got);
    }
}

/// Weights of the pair of a translation model's fixture.
pub fn translation_weights<O: Ops + Clone>(
    ops: &O,
    name: &str,
    request: &AttentionRequest,
) -> Result<Attention> {
    let told = json(&fixture(&format!("marian/{name}.json")));
    let open = |file: &str| Box::new(file_of(file));
    let [source, target] =
        ["source_vocabulary", "target_vocabulary"].map(|side| told[side].as_str().unwrap());
    let files = TranslatorFiles {
        model: open(&format!("{name}.bin")),
        source_vocab: open(source),
        target_vocab: (source != target).then(|| open(target) as Box<dyn ByteSource>),
        shortlist: None,
    };
    let options = translation::LoadOptions { precision: Precision::Float32 };
    let translator = Rc::new(Translator::load(ops.clone(), files, options).unwrap());
    let expected = expected(name);
    // The model puts the end tokens there itself.
    let [source, target] = ["ids", "target_ids"].map(|key| {
        let mut ids = ids(&expected, key);
        assert_eq!(ids.pop(), Some(0));
        ids
    });
    let mut job = translator.start_attention(&source, &target, request)?;
    while !job.is_done() {
        block_on(job.step())?;
    }
    Ok(job.finish())
}

fn file_of(name: &str) -> MemoryFile {
    file(&fixture(&format!("marian/{name}")))
}

/// The translation models of the fixtures: a decoder with self-attention, and recurrent ones.
pub fn translations_agree<O: Ops + Clone>(ops: &O) {
    for name in ["self-attention", "tiny", "base"] {
        let all = AttentionRequest::default();
        let [encoder, decoder, cross] = translation_weights(ops, name, &all).unwrap();
        compare(name, "encoder", &encoder);
        compare(name, "cross", &cross);
        if name == "self-attention" {
            compare(name, "decoder", &decoder);
        }
    }
}
