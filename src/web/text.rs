//! Text generation for JavaScript: a loaded language model, sessions that remember what they read, jobs that are moved on
//! in small steps.

use super::attention;
use super::blob_file::file;
use super::clock::now;
use super::device::{Device, device};
use super::error::{invalid, set, to_js};
use super::options::{generation_options, text_load_options};
use super::token::token;
use crate::tasks::text_generation::{
    self as task, Completed, FinishReason, KvCache, Part, Precision, Tokenizer,
};
use crate::text::utf16::Utf16Index;
use js_sys::{Array, Float32Array, Object};
use std::{ops::Range, rc::Rc};
use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};

/// A loaded language model.
#[wasm_bindgen]
pub struct TextModel {
    model: Rc<task::TextModel<Device>>,
    /// Parts of the warm-up that were done.
    #[cfg(feature = "gpu")]
    warmed: std::cell::Cell<usize>,
}

#[wasm_bindgen]
impl TextModel {
    /// Loads the GGUF file `{ model: { name, data } }` with a `Blob` or `Uint8Array`. Options: `{ precision, kvCache }`.
    ///
    /// # Errors
    /// An object `{ code, message, … }` that names the file or option at fault.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &JsValue, options: &JsValue) -> Result<Self, JsValue> {
        let source =
            file(files, "model")?.ok_or_else(|| invalid("model", "there is no model file"))?;
        let options = text_load_options(options)?;
        let model = task::TextModel::load(device()?, source, options);
        Ok(Self {
            model: Rc::new(model.map_err(|error| to_js(&error))?),
            #[cfg(feature = "gpu")]
            warmed: Default::default(),
        })
    }

    /// `{ precision, kvCache, contextLength, chatTemplate?, bosToken?, eosToken?, controlTokens }`.
    #[wasm_bindgen(getter)]
    pub fn info(&self) -> Object {
        let info = self.model.info();
        let object = Object::new();
        let is_int8 = info.precision == Precision::Int8;
        set(&object, "precision", if is_int8 { "int8" } else { "float32" });
        let is_int8 = info.kv_cache == KvCache::Int8;
        set(&object, "kvCache", if is_int8 { "int8" } else { "float" });
        set(&object, "contextLength", info.context_len as f64);
        let names = info.control_tokens.iter().map(|name| JsValue::from_str(name));
        set(&object, "controlTokens", names.collect::<Array>());
        let texts = [
            ("chatTemplate", &info.chat_template),
            ("bosToken", &info.bos_token),
            ("eosToken", &info.eos_token),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                set(&object, name, text.as_str());
            }
        }
        object
    }

    /// Ids of a prompt in parts `[text, isTemplate]`: names of control tokens are those tokens in a template's part, and
    /// text in any other.
    ///
    /// # Errors
    /// An object `{ code: 'invalid-argument', … }` for what is no part.
    pub fn encode(&self, parts: &Array) -> Result<Vec<u32>, JsValue> {
        let texts = parts.iter().map(|part| {
            let part = part.dyn_ref::<Array>()?;
            Some((part.get(0).as_string()?, part.get(1).is_truthy()))
        });
        let texts: Option<Vec<_>> = texts.collect();
        let texts = texts.ok_or_else(|| invalid("prompt", "parts [text, isTemplate] expected"))?;
        let parts: Vec<Part<'_>> = texts
            .iter()
            .map(|(text, is_template)| match is_template {
                true => Part::Template(text),
                false => Part::Text(text),
            })
            .collect();
        let tokenizer = self.model.tokenizer();
        let mut pieces = tokenizer.encode_parts(&parts);
        tokenizer.add_marks(&mut pieces);
        Ok(pieces.iter().map(|piece| piece.id).collect())
    }

    /// `Token[]` of a text, in which names of control tokens are text.
    pub fn tokenize(&self, text: &str) -> Array {
        let index = Utf16Index::new(text);
        let pieces = self.model.tokenizer().encode(text);
        pieces
            .into_iter()
            .map(|piece| {
                let part = text.get(piece.range.clone()).unwrap_or_default();
                token(piece.id, part, &piece.range, &index)
            })
            .collect()
    }

    /// Text of ids.
    ///
    /// # Errors
    /// An object `{ code: 'invalid-argument', … }` for an id that the model does not have.
    pub fn detokenize(&self, ids: &[u32]) -> Result<String, JsValue> {
        let count = self.model.info().vocab_size;
        if let Some(id) = ids.iter().find(|id| **id as usize >= count) {
            return Err(invalid("ids", &format!("{id}: the model has {count} tokens")));
        }
        Ok(self.model.tokenizer().decode(ids).text)
    }

    /// An empty session.
    pub fn session(&self) -> TextSession {
        TextSession { model: Rc::clone(&self.model), session: self.model.session() }
    }

    /// Begins to score a text.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn score(&self, text: &str) -> Result<ScoreJob, JsValue> {
        let pieces = self.model.tokenizer().encode(text);
        let ids = pieces.iter().map(|piece| piece.id).collect();
        let job = self.model.score(ids).map_err(|error| to_js(&error))?;
        Ok(ScoreJob { job, tokens: self.tokenize(text) })
    }
}

#[cfg(feature = "gpu")]
#[wasm_bindgen]
impl TextModel {
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

/// What one conversation has read.
#[wasm_bindgen]
pub struct TextSession {
    model: Rc<task::TextModel<Device>>,
    session: task::Session<Device>,
}

#[wasm_bindgen]
impl TextSession {
    /// A session that has read the same, and goes its own way from here.
    ///
    /// # Errors
    /// An object `{ code: 'internal', … }` in the middle of a job's step.
    pub fn fork(&self) -> Result<Self, JsValue> {
        let session = self.session.fork().map_err(|error| to_js(&error))?;
        Ok(Self { model: Rc::clone(&self.model), session })
    }

    /// Begins to write after the prompt `ids`. Options: `{ maxNewTokens, contextWindow, temperature, topK, topP, minP,
    /// repetitionPenalty, seed, stop, logprobs }`.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn generate(&self, ids: Vec<u32>, options: &JsValue) -> Result<TextJob, JsValue> {
        let options = generation_options(options)?;
        let job = self.session.generate(ids, options).map_err(|error| to_js(&error))?;
        let model = Rc::clone(&self.model);
        Ok(TextJob { job, model, prompt_ms: 0.0, new_ms: 0.0 })
    }
}

/// A generation under way. Freed, it is aborted; its session keeps what was read.
#[wasm_bindgen]
pub struct TextJob {
    job: task::GenerationJob<Device>,
    model: Rc<task::TextModel<Device>>,
    prompt_ms: f64,
    new_ms: f64,
}

#[wasm_bindgen]
impl TextJob {
    /// Whether the text is at its end.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.job.is_done()
    }

    /// Has the answer contain attention: of the layers and heads named, counted from 0, or of all where a list is empty.
    /// Of `kinds` bit 1 stands for 'decoder', which is all that there is; 0 for all.
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
            let (start, in_prompt) = (now(), !self.job.is_prompt_read());
            // What is read again for attention is neither.
            let is_written = self.job.is_written();
            self.job.step().await.map_err(|error| to_js(&error))?;
            let stop = now();
            if !is_written {
                *if in_prompt { &mut self.prompt_ms } else { &mut self.new_ms } += stop - start;
            }
            if stop >= end {
                break;
            }
        }
        Ok(())
    }

    /// Text that has come since the last call.
    #[wasm_bindgen(js_name = takeText)]
    pub fn take_text(&mut self) -> String {
        self.job.take_text()
    }

    /// `Completion` of the package.
    ///
    /// # Errors
    /// An object `{ code: 'internal', … }` if the job is not done.
    pub fn finish(self) -> Result<Object, JsValue> {
        let Self { job, model, prompt_ms, new_ms } = self;
        let completed = job.complete().map_err(|error| to_js(&error))?;
        let object = completion_object(&completed, prompt_ms, new_ms);
        if let Some((ids, weights)) = &completed.attention {
            let tokens = all_tokens(ids, model.tokenizer());
            let kinds = Object::new();
            set(
                &kinds,
                "decoder",
                attention::weights_beside(&weights.weights, &weights.of, &tokens, &tokens),
            );
            set(&object, "attention", kinds);
        }
        Ok(object)
    }
}

/// `Token[]` of prompt and answer, whose ranges are in the text that both write together. What writes none has its name.
fn all_tokens(ids: &[u32], tokenizer: &Tokenizer) -> Array {
    let decoded = tokenizer.decode(ids);
    let index = Utf16Index::new(&decoded.text);
    let token = |(id, range): (&u32, &Range<usize>)| match decoded.text.get(range.clone()) {
        Some(text) if !text.is_empty() => token(*id, text, range, &index),
        _ => token(*id, &tokenizer.token_text(*id), range, &index),
    };
    ids.iter().zip(&decoded.ranges).map(token).collect()
}

fn completion_object(completed: &Completed, prompt_ms: f64, new_ms: f64) -> Object {
    let index = Utf16Index::new(&completed.text);
    let tokens: Array = completed
        .tokens
        .iter()
        .map(|(id, range)| {
            let end = range.end.min(completed.text.len());
            let range = range.start.min(end)..end;
            let text = completed.text.get(range.clone()).unwrap_or_default();
            token(*id, text, &range, &index)
        })
        .collect();
    let stats = Object::new();
    set(&stats, "promptTokens", completed.prompt_tokens as f64);
    set(&stats, "cachedTokens", completed.cached_tokens as f64);
    set(&stats, "promptMs", prompt_ms);
    set(&stats, "newTokens", completed.tokens.len() as f64);
    set(&stats, "newMs", new_ms);
    let object = Object::new();
    set(&object, "text", completed.text.as_str());
    set(&object, "tokens", tokens);
    let is_stop = completed.finish_reason == FinishReason::Stop;
    set(&object, "finishReason", if is_stop { "stop" } else { "length" });
    if let Some(logprobs) = &completed.logprobs {
        set(&object, "logprobs", Float32Array::from(logprobs.as_slice()));
    }
    set(&object, "stats", stats);
    object
}

/// A text being scored. Freed, it is aborted.
#[wasm_bindgen]
pub struct ScoreJob {
    job: task::ScoreJob<Device>,
    tokens: Array,
}

#[wasm_bindgen]
impl ScoreJob {
    /// Whether every token has its log-probability.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.job.is_done()
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

    /// `{ tokens, logprobs }`.
    ///
    /// # Errors
    /// An object `{ code: 'internal', … }` if the job is not done.
    pub fn finish(self) -> Result<Object, JsValue> {
        let logprobs = self.job.finish().map_err(|error| to_js(&error))?;
        let object = Object::new();
        set(&object, "tokens", self.tokens);
        set(&object, "logprobs", Float32Array::from(logprobs.as_slice()));
        Ok(object)
    }
}
