//! What surrounds computing on a GPU: the test of the device, warming up, memory that stays, devices that are lost.

use crate::support::gpu::device;
use crate::support::tiny_gguf::with_tokenizer;
use crate::support::{encoders, file, fixture};
use multihead::backend::gpu::Gpu;
use multihead::error::Result;
use multihead::formats::MemoryFile;
use multihead::tasks::encoding::{self, EmbeddingOptions, EncodingModel};
use multihead::tasks::text_generation::{self, GenerationOptions, TextModel};
use multihead::tasks::translation::{self, DecodingOptions, Translator, TranslatorFiles};
use pollster::block_on;
use std::rc::Rc;

fn translator(gpu: &Gpu, name: &str) -> Rc<Translator<Gpu>> {
    let files = TranslatorFiles {
        model: Box::new(file(&fixture(&format!("marian/{name}.bin")))),
        source_vocab: Box::new(file(&fixture("marian/shared-80.spm"))),
        target_vocab: None,
        shortlist: None,
    };
    let options = translation::LoadOptions::default();
    Rc::new(Translator::load(gpu.clone(), files, options).unwrap())
}

fn text_model(gpu: &Gpu, name: &str) -> Rc<TextModel<Gpu>> {
    let bytes = std::fs::read(fixture(&format!("decoders/{name}.gguf"))).unwrap();
    let file = MemoryFile::new(name, with_tokenizer(&bytes));
    let options = text_generation::LoadOptions::default();
    Rc::new(TextModel::load(gpu.clone(), Box::new(file), options).unwrap())
}

fn encoder(gpu: &Gpu, name: &str) -> Rc<EncodingModel<Gpu>> {
    let folder = encoders::folder(&fixture(&format!("encoders/{name}")));
    let options = encoding::LoadOptions::default();
    Rc::new(EncodingModel::load(gpu.clone(), folder, options).unwrap())
}

/// So many texts, of one word, two words and so on.
fn texts(count: usize) -> Vec<String> {
    (1..=count).map(|words| "the cat ".repeat(words)).collect()
}

fn translate(model: &Rc<Translator<Gpu>>, count: usize, beam_size: usize) -> Result<()> {
    let options = DecodingOptions { beam_size, ..Default::default() };
    block_on(model.translate(texts(count), options)).map(|_| ())
}

fn write(model: &Rc<TextModel<Gpu>>, prompt: usize, max_new_tokens: usize) -> Result<()> {
    let options = GenerationOptions { max_new_tokens, ..Default::default() };
    let mut job = model.session().generate(vec![5; prompt], options)?;
    while !job.is_done() {
        block_on(job.step())?;
    }
    Ok(())
}

fn embed(model: &Rc<EncodingModel<Gpu>>, count: usize) -> Result<()> {
    let mut job = model.embed(texts(count), EmbeddingOptions::default());
    while !job.is_done() {
        block_on(job.step())?;
    }
    Ok(())
}

/// A little of everything.
fn use_all(gpu: &Gpu) -> Result<()> {
    translate(&translator(gpu, "tiny-small-vocabulary"), 3, 2)?;
    write(&text_model(gpu, "llama"), 5, 12)?;
    embed(&encoder(gpu, "bert-embed"), 3)
}

#[test]
fn a_device_that_computes_right_passes_its_test() {
    let Some(gpu) = device(None) else { return };
    block_on(gpu.self_test()).unwrap();
    let counts = gpu.counts();
    println!("{counts:?}");
    assert_eq!((counts.submits, counts.read_backs), (1, 1));
}

/// After the warm-up no call makes a pipeline, however many rows it has.
#[test]
fn warm_models_make_no_pipelines() {
    let Some(gpu) = device(None) else { return };
    let warm = |part: &mut dyn FnMut(usize) -> Result<usize>| {
        let (mut parts, before) = (0, gpu.counts());
        while part(parts).unwrap() > 0 {
            parts += 1;
        }
        let after = gpu.counts();
        println!("{} parts, {} pipelines", parts + 1, after.pipelines - before.pipelines);
        assert!(after.pipelines > before.pipelines);
        assert!(after.submits - before.submits < 20, "most of it is a rehearsal");
        after.pipelines
    };
    for name in ["self-attention", "int8"] {
        let model = translator(&gpu, name);
        let warmed = warm(&mut |part| block_on(model.warm_up(part)));
        for count in [1, 2, 7, 20] {
            for beam_size in [1, 4] {
                translate(&model, count, beam_size).unwrap();
            }
        }
        assert_eq!(gpu.counts().pipelines, warmed, "{name}");
    }
    for name in ["gemma2", "llama-k-types"] {
        let model = text_model(&gpu, name);
        let warmed = warm(&mut |part| block_on(model.warm_up(part)));
        let most = model.info().context_len - 13;
        for prompt in [1, 4, 8, 12, 30, 100] {
            write(&model, prompt.min(most), 12).unwrap();
        }
        assert_eq!(gpu.counts().pipelines, warmed, "{name}");
    }
    let model = encoder(&gpu, "mpnet-embed");
    let warmed = warm(&mut |part| block_on(model.warm_up(part)));
    for count in [1, 2, 7, 30] {
        embed(&model, count).unwrap();
    }
    assert_eq!(gpu.counts().pipelines, warmed);
}

/// In the middle of every kind of work: what runs and what comes after it fails, nothing else happens, and models on another
/// device are none the worse.
#[test]
fn a_device_lost_on_the_way_is_an_error_of_all_its_models() {
    let Some(gpu) = device(None) else { return };
    let Some(other) = device(None) else { return };
    let translator = translator(&gpu, "tiny-small-vocabulary");
    let text = text_model(&gpu, "llama");
    let encoder = encoder(&gpu, "bert-embed");
    let session = text.session();
    let mut translation = translator.start(texts(3), DecodingOptions::default()).unwrap();
    let options = GenerationOptions { max_new_tokens: 40, ..Default::default() };
    let mut generation = session.generate(vec![5; 3], options).unwrap();
    let mut embedding = encoder.embed(texts(3), EmbeddingOptions::default());
    for _ in 0..2 {
        block_on(translation.step()).unwrap();
        block_on(generation.step()).unwrap();
        block_on(embedding.step()).unwrap();
    }
    gpu.destroy();
    let code = |error: multihead::error::Error| error.code();
    let embedded = loop {
        if let Err(error) = block_on(embedding.step()) {
            break error;
        }
    };
    assert_eq!(code(embedded), "device-lost");
    assert_eq!(block_on(translation.step()).map_err(code), Err("device-lost"));
    assert_eq!(block_on(generation.step()).map_err(code), Err("device-lost"));
    assert_eq!(translate(&translator, 1, 1).map_err(code), Err("device-lost"));
    assert_eq!(write(&text, 2, 2).map_err(code), Err("device-lost"));
    assert_eq!(embed(&encoder, 1).map_err(code), Err("device-lost"));
    assert_eq!(block_on(text.warm_up(0)).map_err(code), Err("device-lost"));
    drop((translation, generation, embedding, session, translator, text, encoder, gpu));
    use_all(&other).unwrap();
}

/// Models share a device; one that goes leaves the others. Calls and models that come and go leave no memory behind.
#[test]
fn memory_stays_the_same() {
    let Some(gpu) = device(None) else { return };
    let model = text_model(&gpu, "llama");
    let mut bytes = Vec::new();
    for _ in 0..20 {
        use_all(&gpu).unwrap();
        write(&model, 4, 3).unwrap();
        bytes.push(gpu.counts().bytes);
    }
    println!("{bytes:?} after models that came and went");
    assert!(bytes.iter().skip(2).all(|now| *now <= bytes[1]), "{bytes:?}");
    let mut most = 0;
    for call in 0..200 {
        write(&model, 1 + call % 7, 2).unwrap();
        if call == 20 {
            most = gpu.counts().bytes;
        }
    }
    let bytes = gpu.counts().bytes;
    println!("{most} bytes after 20 calls, {bytes} after 200");
    assert!(bytes <= most);
}

/// A buffer that there is no room for, and one that no device could have.
#[test]
fn no_room_is_an_error_that_says_how_much_was_needed() {
    let Some(gpu) = device(Some(1 << 20)) else { return };
    let tensor = gpu.stale(1 << 10, 1 << 10);
    let error = block_on(gpu.caught_up()).unwrap_err();
    assert_eq!(error.code(), "out-of-memory");
    assert!(error.to_string().contains("4194304 bytes"), "{error}");
    drop(tensor);
    let report = gpu.fault_recorder();
    let _kept = gpu.kept(12_345 * 4);
    report(None);
    let error = block_on(gpu.caught_up()).unwrap_err();
    assert_eq!(error.code(), "out-of-memory");
    assert!(error.to_string().contains("49380 bytes"), "{error}");
    report(Some("bad".to_owned()));
    let error = block_on(gpu.caught_up()).unwrap_err();
    assert!(error.to_string().contains("refused a command: bad"), "{error}");
    block_on(gpu.caught_up()).unwrap();
}
