//! Translates standard input, a line at a time: `translate MODEL_FOLDER [--beam N] [--float32] [--words]`.
//!
//! MODEL_FOLDER holds a Marian `model*.bin`, one or two `.spm` vocabularies and perhaps a `lex*.bin` shortlist, as
//! `cargo xtask models` writes them. `--words` shows under each line which source token each target token looked at.

use multihead::backend::cpu::Cpu;
use multihead::error::Error;
use multihead::formats::{ByteSource, MemoryFile};
use multihead::stack::Precision;
use multihead::tasks::translation::{
    DecodingOptions, LoadOptions, TranslatedSentence, Translator, TranslatorFiles,
};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

type Failure = Box<dyn std::error::Error>;

fn main() {
    if let Err(error) = run() {
        eprintln!("translate: {error}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Failure> {
    let mut options = DecodingOptions::default();
    let mut load = LoadOptions::default();
    let mut folder = None;
    let mut words = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--beam" => {
                options.beam_size = arguments.next().ok_or("--beam needs a number")?.parse()?;
            }
            "--float32" => load.precision = Precision::Float32,
            "--words" => words = true,
            other if other.starts_with('-') => return Err(format!("unknown option {other}").into()),
            path => folder = Some(PathBuf::from(path)),
        }
    }
    let folder = folder.ok_or("usage: translate MODEL_FOLDER [--beam N] [--float32] [--words]")?;
    let translator: Rc<Translator<Cpu>> =
        Rc::new(Translator::load(Cpu::new(), files(&folder)?, load)?);
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let translations = pollster::block_on(translator.translate(vec![line?], options))?;
        for translation in translations {
            writeln!(output, "{}", translation.text)?;
            if words {
                translation
                    .sentences
                    .iter()
                    .try_for_each(|sentence| show(&mut output, sentence))?;
            }
        }
    }
    Ok(())
}

/// Finds the files of a model by the names they have everywhere.
fn files(folder: &Path) -> Result<TranslatorFiles, Failure> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, Failure>>()?;
    names.sort();
    let open = |wanted: &dyn Fn(&str) -> bool| -> Result<Option<Box<dyn ByteSource>>, Failure> {
        let name = |path: &PathBuf| {
            path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
        };
        match names.iter().find(|path| wanted(&name(path))) {
            None => Ok(None),
            Some(path) => Ok(Some(Box::new(MemoryFile::new(name(path), std::fs::read(path)?)))),
        }
    };
    let missing = |what: &str| format!("{} holds no {what}", folder.display());
    let split = open(&|name| name.starts_with("srcvocab"))?;
    let target_vocab = open(&|name| name.starts_with("trgvocab"))?;
    let shared = open(&|name| name.ends_with(".spm"))?;
    Ok(TranslatorFiles {
        model: open(&|name| name.starts_with("model") && name.ends_with(".bin"))?
            .ok_or_else(|| missing("model*.bin"))?,
        source_vocab: split.or(shared).ok_or_else(|| missing("*.spm"))?,
        target_vocab,
        shortlist: open(&|name| name.starts_with("lex") && name.ends_with(".bin"))?,
    })
}

/// One line a target token: what it looked at most, and how much of its attention that had.
fn show(output: &mut impl Write, sentence: &TranslatedSentence) -> Result<(), Error> {
    let width = sentence.source_tokens.len() + 1;
    for (token, row) in sentence.target_tokens.iter().zip(sentence.alignment.chunks(width)) {
        let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((index, weight)) = best else { continue };
        let source = sentence.source_tokens.get(index).map_or("(end)", |token| token.text.trim());
        writeln!(output, "    {:<20} {:3.0}% {source}", token.text.trim(), weight * 100.0)
            .map_err(|error| Error::Internal { what: error.to_string() })?;
    }
    Ok(())
}
