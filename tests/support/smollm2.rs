//! What transformers makes of SmolLM2 (`tests/fixtures/decoders/smollm2.json`), and what to compare with it.

use super::{fixture, flores};
use multihead::formats::gguf::{GgufFile, Metadata};
use multihead::ops::Ops;
use multihead::stack::Decoder;
use multihead::text::byte_bpe::{ByteBpe, ByteBpeParts};
use pollster::block_on;
use serde::Deserialize;

/// Its name in `models/`.
pub const MODEL: &str = "smollm2-135m-instruct";

/// What ends an answer, `<|im_end|>`.
pub const END: u32 = 2;

#[derive(Deserialize)]
pub struct Reference {
    pub lines: Vec<Line>,
    pub chats: Vec<Chat>,
}

/// A line of FLORES dev: what the reference expects next at each of its tokens.
#[derive(Deserialize)]
pub struct Line {
    pub language: String,
    pub line: usize,
    pub tokens: usize,
    pub best: Vec<u32>,
    /// Of the likeliest token's logit over the next one's.
    pub margins: Vec<f32>,
    /// Of each token of the line but the first.
    pub next_log_probs: Vec<f64>,
}

#[derive(Deserialize)]
pub struct Chat {
    pub prompt: String,
    pub ids: Vec<u32>,
    pub greedy: Vec<u32>,
    pub margins: Vec<f32>,
}

pub fn reference() -> Reference {
    let path = fixture("decoders/smollm2.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn tokenizer(file: &GgufFile) -> ByteBpe {
    let metadata = file.metadata();
    let tokens = metadata.required("tokenizer.ggml.tokens", Metadata::strings).unwrap();
    let merges = metadata.required("tokenizer.ggml.merges", Metadata::strings).unwrap();
    ByteBpe::new(ByteBpeParts {
        file: "smollm2",
        pre_tokenizer: metadata.required("tokenizer.ggml.pre", Metadata::string).unwrap(),
        tokens: Box::new(tokens.iter()),
        kinds: Vec::new(),
        merges: Box::new(merges.iter()),
    })
    .unwrap()
}

/// The ids of the lines of the reference; nothing (said loudly) without FLORES.
pub fn lines(reference: &Reference, file: &GgufFile) -> Option<Vec<Vec<u32>>> {
    let (en, pt) = (flores("dev.en")?, flores("dev.pt")?);
    let tokenizer = tokenizer(file);
    let ids = |line: &Line| {
        let text = if line.language == "en" { &en[line.line] } else { &pt[line.line] };
        let ids: Vec<u32> = tokenizer.encode(text).iter().map(|piece| piece.id).collect();
        assert_eq!(ids.len(), line.tokens, "{} {}", line.language, line.line);
        ids
    };
    Some(reference.lines.iter().map(ids).collect())
}

/// Logits of every token, `[tokens][vocab_size]`.
pub fn logits<O: Ops>(ops: &mut O, model: &Decoder<O>, ids: &[u32]) -> Vec<Vec<f32>> {
    let mut state = model.start(ops);
    let hidden = model.forward(ops, &mut state, ids).unwrap();
    let logits = model.logits(ops, &hidden, 0..ids.len());
    let mut values = Vec::new();
    block_on(ops.read(&logits, &mut values)).unwrap();
    values.chunks(model.vocab_size()).map(<[f32]>::to_vec).collect()
}

pub fn likeliest(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.unwrap().0 as u32
}

pub fn log_probs(logits: &[f32]) -> Vec<f64> {
    let greatest = f64::from(logits[likeliest(logits) as usize]);
    let sum: f64 = logits.iter().map(|&x| (f64::from(x) - greatest).exp()).sum();
    logits.iter().map(|&x| f64::from(x) - greatest - sum.ln()).collect()
}
