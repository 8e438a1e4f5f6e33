//! Translation for JavaScript: a loaded model, and jobs that are moved on in small steps.

use super::attention;
use super::blob_file::file;
use super::clock::now;
use super::device::{Device, device};
use super::error::{invalid, set, to_js};
use super::options::{decoding_options, load_precision};
use super::token::{span, token};
use crate::error::Error;
use crate::tasks::translation::{self as task, Precision};
use crate::text::utf16::Utf16Index;
use js_sys::{Array, Float32Array, Object};
use std::rc::Rc;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

/// What translating takes beside the weights, with room for the holes that hundreds of calls leave.
const WORKING_BYTES: usize = 8 << 20;

/// Takes the working memory once and gives it back to the allocator: wasm memory then keeps its size from the first
/// call on, where it would grow a little now and then. Pages of it that are never used cost nothing.
fn reserve_working_memory() {
    let mut memory: Vec<u8> = Vec::new();
    // Without it, the calls ask for what they need.
    let _ = memory.try_reserve_exact(WORKING_BYTES);
    std::hint::black_box(&memory);
}

/// A loaded translation model.
#[wasm_bindgen]
pub struct TranslationModel {
    translator: Rc<task::Translator<Device>>,
    /// Parts of the warm-up that were done.
    #[cfg(feature = "gpu")]
    warmed: std::cell::Cell<usize>,
}

#[wasm_bindgen]
impl TranslationModel {
    /// Loads the files `{ model, sourceVocab, targetVocab?, shortlist? }`, each `{ name, data }` with a `Blob` or
    /// `Uint8Array`. Options: `{ precision }`.
    ///
    /// # Errors
    /// An object `{ code, message, … }` that names the file or option at fault.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &JsValue, options: &JsValue) -> Result<Self, JsValue> {
        let needed = |role| {
            file(files, role)?.ok_or_else(|| invalid("model", &format!("there is no {role} file")))
        };
        let files = task::TranslatorFiles {
            model: needed("model")?,
            source_vocab: needed("sourceVocab")?,
            target_vocab: file(files, "targetVocab")?,
            shortlist: file(files, "shortlist")?,
        };
        let options = task::LoadOptions { precision: load_precision(options)? };
        let translator = task::Translator::load(device()?, files, options);
        let translator = Rc::new(translator.map_err(|error| to_js(&error))?);
        reserve_working_memory();
        Ok(Self {
            translator,
            #[cfg(feature = "gpu")]
            warmed: Default::default(),
        })
    }

    /// The arithmetic in use: "float32" or "int8".
    #[wasm_bindgen(getter)]
    pub fn precision(&self) -> String {
        let is_int8 = self.translator.precision() == Precision::Int8;
        if is_int8 { "int8" } else { "float32" }.to_owned()
    }

    /// Source tokens of `text`, end token aside.
    #[wasm_bindgen(js_name = countTokens)]
    pub fn count_tokens(&self, text: &str) -> usize {
        self.translator.count_tokens(text)
    }

    /// Begins the translation of `texts`. Options: `{ beamSize, lengthPenalty, wordPenalty, maxLengthFactor }`.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn start(&self, texts: Vec<String>, options: &JsValue) -> Result<TranslationJob, JsValue> {
        let options = decoding_options(options)?;
        let job = self.translator.start(texts.clone(), options).map_err(|error| to_js(&error))?;
        Ok(TranslationJob { sources: texts, work: Work::Translation(job) })
    }

    /// Begins to read `target` as the translation of `source`. Options as of `start`.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    #[wasm_bindgen(js_name = startAlignment)]
    pub fn start_alignment(
        &self,
        source: String,
        target: String,
        options: &JsValue,
    ) -> Result<TranslationJob, JsValue> {
        let options = decoding_options(options)?;
        let job = self.translator.start_alignment(source.clone(), target, options);
        let work = Work::Alignment(job.map_err(|error| to_js(&error))?);
        Ok(TranslationJob { sources: vec![source], work })
    }

    /// Begins to look at the attention of a sentence and its translation by their ids, end tokens aside: of kinds whose bits (1
    /// 'encoder', 2 'decoder', 4 'cross') are in `kinds`, of the layers and heads named, counted from 0; 0 and empty lists stand
    /// for all. The job ends with an `AttentionWeights` of the package a kind, in that order, without tokens; without weights
    /// for what is not wanted.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    #[wasm_bindgen(js_name = startAttention)]
    pub fn start_attention(
        &self,
        source: &[u32],
        target: &[u32],
        kinds: u32,
        layers: &[u32],
        heads: &[u32],
    ) -> Result<TranslationJob, JsValue> {
        let request = attention::request(kinds, layers, heads);
        let job = self.translator.start_attention(source, target, &request);
        let work = Work::Attention(Box::new(job.map_err(|error| to_js(&error))?));
        Ok(TranslationJob { sources: Vec::new(), work })
    }
}

#[cfg(feature = "gpu")]
#[wasm_bindgen]
impl TranslationModel {
    /// Does a part of what makes the first call as fast as the others; resolves to how many parts are left.
    ///
    /// # Errors
    /// An object `{ code, message }` of what the GPU reports: 'out-of-memory' if the weights found no room, among others.
    #[wasm_bindgen(js_name = warmUp)]
    pub async fn warm_up(&self) -> Result<usize, JsValue> {
        let part = self.warmed.replace(self.warmed.get() + 1);
        self.translator.warm_up(part).await.map_err(|error| to_js(&error))
    }
}

/// A translation under way, or the reading of one. Freed, it is aborted.
#[wasm_bindgen]
pub struct TranslationJob {
    sources: Vec<String>,
    work: Work,
}

enum Work {
    Translation(task::TranslationJob<Device>),
    Alignment(task::AlignmentJob<Device>),
    Attention(Box<task::AttentionJob<Device>>),
}

impl Work {
    fn is_done(&self) -> bool {
        match self {
            Work::Translation(job) => job.is_done(),
            Work::Alignment(job) => job.is_done(),
            Work::Attention(job) => job.is_done(),
        }
    }

    fn finish(self) -> Result<Vec<task::Translation>, JsValue> {
        let finished = match self {
            Work::Translation(job) => job.finish(),
            Work::Alignment(job) => job.finish().map(|translation| vec![translation]),
            Work::Attention(_) => Ok(Vec::new()),
        };
        finished.map_err(|error| to_js(&error))
    }
}

#[wasm_bindgen]
impl TranslationJob {
    /// Whether every sentence is translated.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.work.is_done()
    }

    /// Works for about `budget_ms` milliseconds, at least one step.
    ///
    /// # Errors
    /// An object `{ code, message, … }`; the job is of no use after it.
    pub async fn step(&mut self, budget_ms: f64) -> Result<(), JsValue> {
        let end = now() + budget_ms;
        while !self.work.is_done() {
            let stepped = match &mut self.work {
                Work::Translation(job) => job.step().await,
                Work::Alignment(job) => job.step().await,
                Work::Attention(job) => job.step().await,
            };
            stepped.map_err(|error| to_js(&error))?;
            if now() >= end {
                break;
            }
        }
        Ok(())
    }

    /// What has become known of the translation of text number `index` since the last call, in reading order.
    /// Nothing of a translation that is given.
    #[wasm_bindgen(js_name = takeText)]
    pub fn take_text(&mut self, index: usize) -> String {
        match &mut self.work {
            Work::Translation(job) => job.take_text(index),
            Work::Alignment(_) | Work::Attention(_) => String::new(),
        }
    }

    /// The translated texts.
    ///
    /// # Errors
    /// An object `{ code: 'internal', … }` if the job is not done.
    #[wasm_bindgen(js_name = finishTexts)]
    pub fn finish_texts(self) -> Result<Vec<String>, JsValue> {
        Ok(self.work.finish()?.into_iter().map(|translation| translation.text).collect())
    }

    /// The translations with sentences, tokens and alignments: `Translation[]` of the package. Of attention, its weights.
    ///
    /// # Errors
    /// As [`TranslationJob::finish_texts`].
    pub fn finish(self) -> Result<Array, JsValue> {
        if let Work::Attention(job) = self.work {
            return Ok(job.finish().iter().map(attention::weights).collect());
        }
        let translations = self.work.finish()?;
        if translations.len() != self.sources.len() {
            let what = format!("{} translations of {}", translations.len(), self.sources.len());
            return Err(to_js(&Error::Internal { what }));
        }
        Ok(self
            .sources
            .iter()
            .zip(&translations)
            .map(|(source, translation)| translation_object(source, translation))
            .collect())
    }
}

fn translation_object(source: &str, translation: &task::Translation) -> Object {
    let source = Utf16Index::new(source);
    let target = Utf16Index::new(&translation.text);
    let sentences: Array = translation
        .sentences
        .iter()
        .map(|sentence| sentence_object(sentence, &source, &target))
        .collect();
    let object = Object::new();
    set(&object, "text", translation.text.as_str());
    set(&object, "sentences", sentences);
    object
}

fn sentence_object(
    sentence: &task::TranslatedSentence,
    source: &Utf16Index,
    target: &Utf16Index,
) -> Object {
    let object = Object::new();
    set(&object, "source", span(&sentence.source, source));
    set(&object, "target", span(&sentence.target, target));
    set(&object, "sourceTokens", token_array(&sentence.source_tokens, source));
    set(&object, "targetTokens", token_array(&sentence.target_tokens, target));
    set(&object, "alignment", Float32Array::from(sentence.alignment.as_slice()));
    set(&object, "score", sentence.score);
    object
}

fn token_array(tokens: &[task::Token], index: &Utf16Index) -> Array {
    let token = |own: &task::Token| token(own.id, &own.text, &own.range, index);
    tokens.iter().map(token).collect()
}
