//! What the native tests share: where fixtures, models and FLORES lie, and how to load them.
#![allow(dead_code)] // each test file uses its part

pub mod attention;
pub mod encoders;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod letters;
pub mod letters_attention;
pub mod order;
pub mod smollm2;
#[cfg(feature = "gpu")]
pub mod tiny_gguf;

use multihead::backend::cpu::Cpu;
use multihead::formats::{MemoryFile, gguf::GgufFile, marian::MarianFile};
use multihead::model::EncoderDecoderSpec;
use multihead::model::arch;
use multihead::ops::Ops;
use multihead::stack::{Decoder, EncoderDecoder, Precision};
use multihead::tasks::translation::{LoadOptions, Translator, TranslatorFiles};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A committed fixture.
pub fn fixture(path: &str) -> PathBuf {
    root().join("tests/fixtures").join(path)
}

/// A file as the library takes it.
pub fn file(path: &Path) -> MemoryFile {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    MemoryFile::new(name, std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Reads JSON.
pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The files of a downloaded model, by kind; a missing model fails the test and says what to run.
pub fn model_file(id: &str, wanted: impl Fn(&str) -> bool) -> PathBuf {
    let folder = models().join(id);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|_| panic!("models/{id} is missing: run `cargo xtask models` first"));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .find(|path| wanted(&path.file_name().unwrap().to_string_lossy()))
        .unwrap_or_else(|| panic!("models/{id} is incomplete: run `cargo xtask models` again"))
}

/// Where `cargo xtask models` puts them.
pub fn models() -> PathBuf {
    std::env::var_os("MULTIHEAD_MODELS").map_or_else(|| root().join("models"), PathBuf::from)
}

/// A downloaded translation model.
pub fn translator(id: &str, precision: Precision) -> Rc<Translator<Cpu>> {
    let shortlist = file(&model_file(id, |name| name.starts_with("lex.")));
    load_translator(id, precision, Some(shortlist))
}

/// The same scoring all target tokens.
pub fn translator_without_shortlist(id: &str, precision: Precision) -> Rc<Translator<Cpu>> {
    load_translator(id, precision, None)
}

fn load_translator(
    id: &str,
    precision: Precision,
    shortlist: Option<MemoryFile>,
) -> Rc<Translator<Cpu>> {
    let files = TranslatorFiles {
        model: Box::new(file(&model_file(id, |name| name.starts_with("model.")))),
        source_vocab: Box::new(file(&model_file(id, |name| name.ends_with(".spm")))),
        target_vocab: None,
        shortlist: shortlist.map(|shortlist| Box::new(shortlist) as _),
    };
    Rc::new(Translator::load(Cpu::new(), files, LoadOptions { precision }).unwrap())
}

/// The network of a Marian file, without vocabulary and text handling.
pub fn network(path: &Path, precision: Precision) -> (EncoderDecoder<Cpu>, EncoderDecoderSpec) {
    let marian = MarianFile::open(Box::new(file(path))).unwrap();
    let spec = arch::marian::describe(&marian).unwrap();
    (EncoderDecoder::load(&Cpu::new(), &marian, &spec, precision).unwrap(), spec)
}

/// A decoder-only model and its file.
pub fn decoder(path: &Path, precision: Precision) -> (Decoder<Cpu>, GgufFile) {
    decoder_on(&Cpu::new(), path, precision)
}

/// The same on a device.
pub fn decoder_on<O: Ops>(ops: &O, path: &Path, precision: Precision) -> (Decoder<O>, GgufFile) {
    let gguf = GgufFile::open(Box::new(file(path))).unwrap();
    let spec = arch::gguf::describe(&gguf).unwrap();
    (Decoder::load(ops, &gguf, &spec, precision).unwrap(), gguf)
}

/// A file of FLORES dev, one sentence a line; `None`, said loudly, where the data is not at hand.
pub fn flores(name: &str) -> Option<Vec<String>> {
    let folder = std::env::var_os("MULTIHEAD_FLORES")
        .map_or_else(|| root().join("../shared/data/flores-en-pt-dev"), PathBuf::from);
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => Some(text.lines().map(str::to_owned).collect()),
        Err(_) => {
            eprintln!("SKIPPED: no FLORES data ({name}); set MULTIHEAD_FLORES to its folder");
            None
        }
    }
}
