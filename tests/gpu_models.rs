//! Whole models on a software GPU: SmolLM2's first answers, MiniLM's vectors and translations, each beside what float32 gives
//! elsewhere, with counts of what a step asks of the device.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::backend::cpu::Cpu;
use multihead::backend::gpu::{Counts, Gpu};
use multihead::formats::{gguf::GgufFile, marian::MarianFile};
use multihead::generate::{BeamOptions, Search, SearchInput};
use multihead::model::arch;
use multihead::ops::Ops;
use multihead::stack::{EncoderDecoder, KvCache, Precision};
use multihead::tasks::encoding::{self, Answer, EmbeddingOptions, EncodingModel};
use multihead::tasks::text_generation::{self, GenerationJob, GenerationOptions, TextModel};
use multihead::text::sentencepiece::SentencePiece;
use pollster::block_on;
use std::rc::Rc;
use std::time::Instant;
use support::{
    decoder, decoder_on, encoders, file, fixture, flores, gpu::device, json, model_file, models,
    smollm2,
};

/// What came between two counts.
fn between(before: Counts, after: Counts) -> Counts {
    Counts {
        dispatches: after.dispatches - before.dispatches,
        copies: after.copies - before.copies,
        submits: after.submits - before.submits,
        read_backs: after.read_backs - before.read_backs,
        pipelines: after.pipelines - before.pipelines,
        bind_groups: after.bind_groups - before.bind_groups,
        kept_bytes: after.kept_bytes - before.kept_bytes,
        bytes: after.bytes,
    }
}

fn language_model(gpu: &Gpu) -> Rc<TextModel<Gpu>> {
    let path = model_file(smollm2::MODEL, |name| name.ends_with(".gguf"));
    let options =
        text_generation::LoadOptions { precision: Precision::Float32, kv_cache: KvCache::Float };
    let start = Instant::now();
    let model = TextModel::load(gpu.clone(), Box::new(file(&path)), options).unwrap();
    println!("loaded in {:.1} s: {:?}", start.elapsed().as_secs_f32(), gpu.counts());
    Rc::new(model)
}

/// A generation after `prompt`, whose first token is there: it comes with the prompt, the next eight alone.
fn begun(model: &Rc<TextModel<Gpu>>, prompt: Vec<u32>, count: usize) -> GenerationJob<Gpu> {
    let options = GenerationOptions { max_new_tokens: count, ..Default::default() };
    let mut job = model.session().generate(prompt, options).unwrap();
    while job.new_tokens() == 0 && !job.is_done() {
        block_on(job.step()).unwrap();
    }
    job
}

/// The first answers, with the references' tokens but where those nearly were others.
fn answers_are_those_of_transformers(gpu: &Gpu, chats: usize) {
    let model = language_model(gpu);
    for smollm2::Chat { ids, mut greedy, margins, .. } in
        smollm2::reference().chats.into_iter().take(chats)
    {
        // The reference goes on after the end of an answer.
        greedy.truncate(greedy.iter().position(|id| *id == smollm2::END).unwrap_or(16));
        let want = greedy;
        let mut job = begun(&model, ids, 17);
        let (before, start) = (gpu.counts(), Instant::now());
        block_on(job.step()).unwrap();
        let (counts, seconds) = (between(before, gpu.counts()), start.elapsed().as_secs_f64());
        println!("eight tokens in {seconds:.2} s: {counts:?}");
        while !job.is_done() {
            block_on(job.step()).unwrap();
        }
        let got: Vec<u32> = job.complete().unwrap().tokens.iter().map(|(id, _)| *id).collect();
        let same = got.iter().zip(&want).take_while(|(a, b)| a == b).count();
        let margin = margins.get(same).copied().unwrap_or(0.0);
        println!("{same} of {} tokens the same", want.len());
        let ends = want.len() == 16 || got.len() == want.len();
        assert!((same == want.len() && ends) || margin < 0.1, "{got:?}, expected {want:?}");
        assert_eq!((counts.read_backs, counts.submits), (1, 1), "eight tokens");
        // One compute pass: a copy would end it.
        assert_eq!(counts.copies, 0);
    }
}

#[test]
fn answers_begin_as_transformers_says() {
    let Some(gpu) = device(None) else { return };
    answers_are_those_of_transformers(&gpu, 10);
}

/// Lines of FLORES in two languages surprise the model as much as they do on the CPU in float32.
#[test]
fn perplexity_is_that_of_the_float_path() {
    let Some(gpu) = device(None) else { return };
    let path = model_file(smollm2::MODEL, |name| name.ends_with(".gguf"));
    let (model, gguf) = decoder_on(&gpu, &path, Precision::Float32);
    let (float, _) = decoder(&path, Precision::Float32);
    let reference = smollm2::reference();
    let Some(lines) = smollm2::lines(&reference, &gguf) else { return };
    let (mut loss, mut want, mut count, mut same) = (0.0, 0.0, 0, 0);
    for ids in &lines {
        let got = smollm2::logits(&mut gpu.clone(), &model, ids);
        let expected = smollm2::logits(&mut Cpu::new(), &float, ids);
        for ((got, expected), next) in got.iter().zip(&expected).zip(&ids[1..]) {
            loss -= smollm2::log_probs(got)[*next as usize];
            want -= smollm2::log_probs(expected)[*next as usize];
            same += usize::from(smollm2::likeliest(got) == smollm2::likeliest(expected));
            count += 1;
        }
    }
    let [got, want] = [loss, want].map(|loss: f64| (loss / f64::from(count)).exp());
    println!("perplexity {got:.4}, on the CPU {want:.4}; likeliest the same at {same} of {count}");
    assert!(count >= 500);
    assert!((got / want - 1.0).abs() < 0.005);
}

/// After 128 tokens and more a token binds every weight once, but for the table of which it looks up a row; and at most 190
/// dispatches.
#[test]
fn a_token_reads_every_weight_once() {
    let Some(gpu) = device(None) else { return };
    let model = language_model(&gpu);
    let weights = gpu.counts().bytes;
    let path = model_file(smollm2::MODEL, |name| name.ends_with(".gguf"));
    let gguf = GgufFile::open(Box::new(file(&path))).unwrap();
    let table = gguf.find("token_embd.weight").unwrap();
    let table = table.bytes.end - table.bytes.start;
    // Some chats with what was answered, and a question.
    let chats = smollm2::reference().chats;
    let mut prompt: Vec<u32> =
        chats[..4].iter().flat_map(|chat| [&chat.ids[..], &chat.greedy].concat()).collect();
    prompt.extend(&chats[4].ids);
    assert!(prompt.len() >= 128);
    let (tokens, before, start) = (prompt.len(), gpu.counts(), Instant::now());
    let mut job = begun(&model, prompt, 17);
    let (counts, seconds) = (between(before, gpu.counts()), start.elapsed().as_secs_f32());
    println!("{tokens} tokens and one more in {seconds:.1} s: {counts:?}");
    let before = gpu.counts();
    block_on(job.step()).unwrap();
    let counts = between(before, gpu.counts());
    println!("eight tokens: {counts:?}, weights of {weights} bytes");
    assert_eq!((job.new_tokens(), counts.copies), (9, 0));
    assert!(counts.dispatches <= 8 * 190);
    let looked_up = 8 * table;
    let read = (counts.kept_bytes - looked_up) as f64 / 8.0;
    let times = read / weights as f64;
    println!("{times:.3} of the weights' bytes a token");
    // Every weight is among them: what is left is what every device has, and the rows of a table that are not asked for.
    assert!((0.95..=1.2).contains(&times), "{times}");
}

/// Vectors of the first odd texts, row after row, each at a cosine of at least 0.9999 with transformers'.
fn vectors_like_those_of_transformers(gpu: &Gpu, count: usize) -> Vec<f32> {
    let folder = encoders::folder(&models().join("all-minilm-l6-v2"));
    let options = encoding::LoadOptions { precision: Precision::Float32 };
    let model = Rc::new(EncodingModel::load(gpu.clone(), folder, options).unwrap());
    let expected = json(&fixture("encoders/minilm.json"));
    let (lines, width) = (
        expected["lines"].as_u64().unwrap() as usize,
        expected["width"].as_u64().unwrap() as usize,
    );
    let bytes = std::fs::read(fixture("encoders/minilm.f16")).unwrap();
    let values: Vec<f64> =
        bytes.as_chunks::<2>().0.iter().map(|pair| encoders::half(*pair)).collect();
    let odd = expected["odd"].as_array().unwrap();
    let texts: Vec<String> =
        odd.iter().map(|odd| odd["text"].as_str().unwrap().to_owned()).take(count).collect();
    // Those of FLORES come first, in two languages.
    let vectors = values.chunks(width).skip(2 * lines).take(texts.len());
    let (before, start) = (gpu.counts(), Instant::now());
    let mut job = model.embed(texts.clone(), EmbeddingOptions::default());
    while !job.is_done() {
        block_on(job.step()).unwrap();
    }
    let counts = between(before, gpu.counts());
    println!("{} texts in {:.1} s: {counts:?}", texts.len(), start.elapsed().as_secs_f32());
    let Answer::Embeddings(got) = job.finish().unwrap() else { panic!() };
    let mut least = 1.0f64;
    for (got, want) in got.vectors.chunks(width).zip(vectors) {
        let square = |x: f64| x * x;
        let dot: f64 = got.iter().zip(want).map(|(a, b)| f64::from(*a) * b).sum();
        let lengths = got.iter().map(|x| square(f64::from(*x))).sum::<f64>()
            * want.iter().map(|x| square(*x)).sum::<f64>();
        least = least.min(dot / lengths.sqrt());
    }
    println!("least cosine {least:.6}");
    assert!(least >= 0.9999, "{least}");
    got.vectors
}

#[test]
fn vectors_are_those_of_transformers() {
    let Some(gpu) = device(None) else { return };
    vectors_like_those_of_transformers(&gpu, 24);
}

/// Translations of some lines; `after` each step of the search.
fn translations<O: Ops>(mut ops: O, lines: &[String], after: impl Fn()) -> Vec<String> {
    let path = model_file("en-pt", |name| name.ends_with(".spm"));
    let vocab = SentencePiece::parse("vocab.spm", &std::fs::read(path).unwrap()).unwrap();
    let path = model_file("en-pt", |name| name.starts_with("model."));
    let marian = MarianFile::open(Box::new(file(&path))).unwrap();
    let spec = arch::marian::describe(&marian).unwrap();
    let model = EncoderDecoder::load(&ops, &marian, &spec, Precision::Float32).unwrap();
    let input = |line: &String| SearchInput {
        source: vocab.encode(line).iter().map(|piece| piece.id).chain([0]).collect(),
        candidates: None,
        given: None,
    };
    let inputs: Vec<_> = lines.iter().map(input).collect();
    let options = BeamOptions { max_length_factor: 2.0, ..BeamOptions::default() };
    let mut search = Search::new(&mut ops, &model, false);
    search.add(&mut ops, &model, &inputs, options).unwrap();
    let mut texts = vec![String::new(); lines.len()];
    while !search.is_done() {
        for (index, mut hypotheses) in block_on(search.step(&mut ops, &model)).unwrap() {
            let mut ids = hypotheses.remove(0).tokens;
            ids.retain(|id| *id != 0);
            texts[index] = vocab.decode(&ids);
        }
        after();
    }
    texts
}

#[test]
fn translations_are_those_of_the_float_path() {
    let (Some(gpu), Some(lines)) = (device(None), flores("dev.en")) else { return };
    let lines = &lines[..12];
    let want = translations(Cpu::<multihead::backend::cpu::lanes::Native>::new(), lines, || ());
    let start = Instant::now();
    let (steps, last) = (std::cell::RefCell::new(Vec::new()), std::cell::Cell::new(gpu.counts()));
    let got = translations(gpu.clone(), lines, || {
        let now = gpu.counts();
        steps.borrow_mut().push(between(last.replace(now), now));
    });
    let same = got.iter().zip(&want).filter(|(a, b)| a == b).count();
    println!("{same} of {} the same, {:.1} s", lines.len(), start.elapsed().as_secs_f32());
    // Eight tokens of each sentence at a time; of the longest there are some at the end.
    let steps = steps.borrow();
    println!("eight tokens of each: {:?}", steps.get(1));
    assert!(steps.iter().all(|step| step.read_backs == 1 && step.submits == 1), "{steps:?}");
    assert!(steps.iter().all(|step| step.dispatches <= 8 * 30), "{steps:?}");
    assert_eq!(same, lines.len());
}

/// With bindings of 8 MiB the tables and some matrices lie in several buffers; the results are those of whole ones.
#[test]
fn small_bindings_give_the_same() {
    let small = || device(Some(8 << 20));
    let (Some(gpu), Some(whole)) = (small(), device(None)) else { return };
    assert_eq!((gpu.limits().max_binding, gpu.limits().max_storage_buffers), (8 << 20, 8));
    answers_are_those_of_transformers(&gpu, 1);
    let [got, want] = [&gpu, &whole].map(|gpu| vectors_like_those_of_transformers(gpu, 6));
    assert_eq!(got.len(), want.len());
    // Vectors of length 1: what is added up is the same, in the order of other tiles.
    let farthest = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!("vectors at most {farthest:.1e} away");
    assert!(farthest < 1e-5);
    let Some(lines) = flores("dev.en") else { return };
    let lines = &lines[..4];
    let want = translations(whole, lines, || ());
    assert!(want.iter().all(|text| !text.is_empty()));
    assert_eq!(translations(gpu, lines, || ()), want);
}
