//! Encoders for JavaScript: a loaded model, and jobs that are moved on in small steps.

use super::attention;
use super::blob_file::file;
use super::clock::now;
use super::device::{Device, device};
use super::error::{invalid, set, to_js};
use super::options::{EncoderCall, encoder_call, load_precision};
use super::token::{span, token};
use crate::formats::ByteSource;
use crate::tasks::attention::AttentionWeights;
use crate::tasks::encoding::{
    self as task, Answer, Embedded, Entity, Filled, JsonTokenizer, Label, MaskFill, ModelFolder,
    Piece, Precision, Task,
};
use crate::text::utf16::Utf16Index;
use js_sys::{Array, Float32Array, Object, Reflect};
use std::rc::Rc;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

/// A loaded encoder.
#[wasm_bindgen]
pub struct EncoderModel {
    model: Rc<task::EncodingModel<Device>>,
    /// Parts of the warm-up that were done.
    #[cfg(feature = "gpu")]
    warmed: std::cell::Cell<usize>,
}

#[wasm_bindgen]
impl EncoderModel {
    /// Loads files by their path in the model's folder, each `{ name, data }` with a `Blob` or `Uint8Array`, and with the path
    /// as its name. Options: `{ precision }`.
    ///
    /// # Errors
    /// An object `{ code, message, … }` that names the file or option at fault.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &JsValue, options: &JsValue) -> Result<Self, JsValue> {
        let options = task::LoadOptions { precision: load_precision(options)? };
        let model = task::EncodingModel::load(device()?, folder(files)?, options);
        Ok(Self {
            model: Rc::new(model.map_err(|error| to_js(&error))?),
            #[cfg(feature = "gpu")]
            warmed: Default::default(),
        })
    }

    /// `{ precision, architecture, tasks, dimensions, maxTokens, maskToken? }`; tasks are 'embed', 'classify', 'tag', 'fill'.
    #[wasm_bindgen(getter)]
    pub fn info(&self) -> Object {
        let info = self.model.info();
        let object = Object::new();
        let is_int8 = info.precision == Precision::Int8;
        set(&object, "precision", if is_int8 { "int8" } else { "float32" });
        set(&object, "architecture", info.architecture.as_str());
        let name = |task: &Task| match task {
            Task::Embed => "embed",
            Task::Classify => "classify",
            Task::Tag => "tag",
            Task::Fill => "fill",
        };
        let tasks = info.tasks.iter().map(|task| JsValue::from_str(name(task)));
        set(&object, "tasks", tasks.collect::<Array>());
        set(&object, "dimensions", info.dimensions as f64);
        set(&object, "maxTokens", info.max_tokens as f64);
        if let Some(token) = &info.mask_token {
            set(&object, "maskToken", token.as_str());
        }
        object
    }

    /// `Token[]` of a text, without those that the model sees around it.
    pub fn tokenize(&self, text: &str) -> Array {
        tokens(&self.model.tokenizer().encode(text, None).pieces, text)
    }

    /// Begins to embed texts. Options: `{ pooling, normalize, tooLong, detail }`; with `detail` the answer has tokens.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn embed(&self, texts: Vec<String>, options: &JsValue) -> Result<EncoderJob, JsValue> {
        let EncoderCall { embedding, .. } = encoder_call(options)?;
        let kept = if embedding.tokens { texts.clone() } else { Vec::new() };
        let model = Rc::clone(&self.model);
        Ok(EncoderJob { job: self.model.embed(texts, embedding), model, texts: kept })
    }

    /// Begins to label a text. Options: `{ topK, tooLong }`.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn classify(&self, text: String, options: &JsValue) -> Result<EncoderJob, JsValue> {
        let EncoderCall { embedding, top } = encoder_call(options)?;
        let texts = vec![text.clone()];
        let job = self.model.classify(text, top.unwrap_or(usize::MAX), embedding.too_long);
        let model = Rc::clone(&self.model);
        Ok(EncoderJob { job: job.map_err(|error| to_js(&error))?, model, texts })
    }

    /// Begins to label the words of a text. Options: `{ tooLong }`.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    #[wasm_bindgen(js_name = tagTokens)]
    pub fn tag_tokens(&self, text: String, options: &JsValue) -> Result<EncoderJob, JsValue> {
        let EncoderCall { embedding, .. } = encoder_call(options)?;
        let texts = vec![text.clone()];
        let job = self.model.tag(text, embedding.too_long);
        let model = Rc::clone(&self.model);
        Ok(EncoderJob { job: job.map_err(|error| to_js(&error))?, model, texts })
    }

    /// Begins to look for tokens for the gap of a text. Options: `{ topK, tooLong }`; five if nothing is said.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    #[wasm_bindgen(js_name = fillMask)]
    pub fn fill_mask(&self, text: String, options: &JsValue) -> Result<EncoderJob, JsValue> {
        let EncoderCall { embedding, top } = encoder_call(options)?;
        let texts = vec![text.clone()];
        let job = self.model.fill(text, top.unwrap_or(5), embedding.too_long);
        let model = Rc::clone(&self.model);
        Ok(EncoderJob { job: job.map_err(|error| to_js(&error))?, model, texts })
    }
}

#[cfg(feature = "gpu")]
#[wasm_bindgen]
impl EncoderModel {
    /// Does a part of what makes the first call as fast as the others; resolves to how many parts are left.
    ///
    /// # Errors
    /// An object `{ code, message }` of what the GPU reports: 'out-of-memory' if the weights found no room, among others.
    #[wasm_bindgen(js_name = warmUp)]
    pub async fn warm_up(&self) -> Result<usize, JsValue> {
        let part = self.warmed.replace(self.warmed.get() + 1);
        self.model.warm_up(part).await.map_err(|error| to_js(&error))
    }
}

/// Texts being encoded. Freed, it is aborted.
#[wasm_bindgen]
pub struct EncoderJob {
    job: task::EncodingJob<Device>,
    model: Rc<task::EncodingModel<Device>>,
    /// Those that the answer is about, where it has ranges in them.
    texts: Vec<String>,
}

#[wasm_bindgen]
impl EncoderJob {
    /// Whether every text is done.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.job.is_done()
    }

    /// Texts that are done.
    #[wasm_bindgen(getter)]
    pub fn completed(&self) -> u32 {
        self.job.completed() as u32
    }

    /// Has the answer contain attention, an embedding one with `detail`: of the layers and heads named, counted from 0, or of all where a
    /// list is empty. Of `kinds` bit 0 stands for 'encoder', which is all that there is; 0 for all.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn watch(&mut self, kinds: u32, layers: &[u32], heads: &[u32]) -> Result<(), JsValue> {
        let request = attention::request(kinds, layers, heads);
        self.job.watch(&request).map_err(|error| to_js(&error))
    }

    /// Works for about `budget_ms` milliseconds, at least one step.
    ///
    /// # Errors
    /// An object `{ code, message, … }`; the job is of no use after it.
    pub async fn step(&mut self, budget_ms: f64) -> Result<(), JsValue> {
        let end = now() + budget_ms;
        while !self.job.is_done() {
            self.job.step().await.map_err(|error| to_js(&error))?;
            if now() >= end {
                break;
            }
        }
        Ok(())
    }

    /// Of an embedding `{ vectors, truncated, tokens?, attention? }`, `vectors` of all texts one after the other; else
    /// `Classification`, `TaggedTokens` or `MaskFill` of the package.
    ///
    /// # Errors
    /// An object `{ code: 'internal', … }` if the job is not done.
    pub fn finish(self) -> Result<Object, JsValue> {
        let Self { mut job, model, texts } = self;
        let first = texts.first().map(String::as_str).unwrap_or_default();
        let looked = job.take_attention();
        let object = match job.finish().map_err(|error| to_js(&error))? {
            Answer::Embeddings(embedded) => embeddings(&embedded, &texts, model.tokenizer()),
            Answer::Classification(answer) => {
                let object = Object::new();
                set(&object, "labels", answer.labels.iter().map(label).collect::<Array>());
                set(&object, "truncated", answer.truncated);
                object
            }
            Answer::Tagged(answer) => {
                let index = Utf16Index::new(first);
                let entities = answer.entities.iter();
                let entities = entities.map(|entity| self::entity(entity, first, &index));
                let object = Object::new();
                set(&object, "entities", entities.collect::<Array>());
                set(&object, "truncated", answer.truncated);
                object
            }
            Answer::Filled(answer) => filled(&answer, first),
        };
        if let Some((pieces, weights)) = looked {
            set(&object, "attention", attention_of(&weights, &pieces, first, model.tokenizer()));
        }
        Ok(object)
    }
}

/// Files by their path in a model's folder.
pub(super) fn folder(files: &JsValue) -> Result<ModelFolder, JsValue> {
    if !files.is_object() {
        return Err(invalid("model", "files by their paths expected"));
    }
    let mut all: Vec<(String, Box<dyn ByteSource>)> = Vec::new();
    for path in Reflect::own_keys(files)?.iter() {
        let path = path.as_string().unwrap_or_default();
        if let Some(file) = file(files, &path)? {
            all.push((path, file));
        }
    }
    Ok(ModelFolder::new(all))
}

fn embeddings(embedded: &Embedded, texts: &[String], tokenizer: &JsonTokenizer) -> Object {
    let object = Object::new();
    set(&object, "vectors", Float32Array::from(embedded.vectors.as_slice()));
    let truncated = embedded.truncated.iter().map(|truncated| JsValue::from_bool(*truncated));
    set(&object, "truncated", truncated.collect::<Array>());
    if !texts.is_empty() {
        let tokens = embedded.tokens.iter().zip(texts);
        let tokens = tokens.map(|(pieces, text)| self::tokens(pieces, text));
        set(&object, "tokens", tokens.collect::<Array>());
        let attention = embedded.attention.iter().zip(embedded.tokens.iter().zip(texts));
        let attention = attention
            .map(|(weights, (pieces, text))| attention_of(weights, pieces, text, tokenizer));
        set(&object, "attention", attention.collect::<Array>());
    }
    object
}

/// `Attention` of the package. Tokens around the text have their names for a text.
fn attention_of(
    weights: &AttentionWeights,
    pieces: &[Piece],
    text: &str,
    tokenizer: &JsonTokenizer,
) -> Object {
    let index = Utf16Index::new(text);
    let token = |piece: &Piece| {
        let part = match piece.word {
            Some(_) => text.get(piece.range.clone()),
            None => tokenizer.token_text(piece.id),
        };
        token(piece.id, part.unwrap_or_default(), &piece.range, &index)
    };
    let tokens: Array = pieces.iter().map(token).collect();
    let object = Object::new();
    set(
        &object,
        "encoder",
        attention::weights_beside(&weights.weights, &weights.of, &tokens, &tokens),
    );
    object
}

/// `Token[]`, without those around the text.
fn tokens(pieces: &[Piece], text: &str) -> Array {
    let index = Utf16Index::new(text);
    let own = pieces.iter().filter(|piece| piece.word.is_some());
    own.map(|piece| {
        let part = text.get(piece.range.clone()).unwrap_or_default();
        token(piece.id, part, &piece.range, &index)
    })
    .collect()
}

fn label(label: &Label) -> Object {
    let object = Object::new();
    set(&object, "label", label.label.as_str());
    set(&object, "score", label.score);
    object
}

fn entity(entity: &Entity, text: &str, index: &Utf16Index) -> Object {
    let object = Object::new();
    set(&object, "label", entity.label.as_str());
    set(&object, "score", entity.score);
    set(&object, "text", text.get(entity.range.clone()).unwrap_or_default());
    set(&object, "range", span(&entity.range, index));
    object
}

fn filled(answer: &MaskFill, text: &str) -> Object {
    let index = Utf16Index::new(text);
    let candidate = |filled: &Filled| {
        let object = Object::new();
        set(&object, "token", token(filled.id, &filled.token, &answer.range, &index));
        set(&object, "score", filled.score);
        set(&object, "text", filled.text.as_str());
        object
    };
    let object = Object::new();
    set(&object, "candidates", answer.candidates.iter().map(candidate).collect::<Array>());
    set(&object, "truncated", answer.truncated);
    object
}
