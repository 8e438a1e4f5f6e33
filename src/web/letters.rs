//! Models over letters for JavaScript: a loaded model, and jobs that are moved on in small steps.

use super::attention;
use super::clock::now;
use super::device::{Device, device};
use super::encoder::folder;
use super::error::{invalid, set, to_js};
use super::options::{each, load_precision};
use super::token::token;
use crate::tasks::attention::{KINDS, Wanted};
use crate::tasks::transliteration::{
    self as task, Candidate, SourceSymbol, TransliterationOptions, WrittenSymbol,
};
use crate::text::utf16::Utf16Index;
use js_sys::{Array, Object};
use std::rc::Rc;
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

/// A loaded model over letters.
#[wasm_bindgen]
pub struct LettersModel {
    model: Rc<task::TransliterationModel<Device>>,
}

#[wasm_bindgen]
impl LettersModel {
    /// Loads `config.json` and `model.safetensors`, each `{ name, data }` with a `Blob` or `Uint8Array`. Options: `{ precision }`.
    ///
    /// # Errors
    /// An object `{ code, message, … }` that names the file or option at fault.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &JsValue, options: &JsValue) -> Result<Self, JsValue> {
        let options = task::LoadOptions { precision: load_precision(options)? };
        let model = task::TransliterationModel::load(device()?, folder(files)?, options);
        Ok(Self { model: Rc::new(model.map_err(|error| to_js(&error))?) })
    }

    /// As that of an encoder, `{ precision, architecture, tasks, dimensions, maxTokens }`, with the one task 'transliterate'
    /// and no dimensions; the tokens are those that are written at most.
    #[wasm_bindgen(getter)]
    pub fn info(&self) -> Object {
        let info = self.model.info();
        let object = Object::new();
        set(&object, "precision", "float32");
        set(&object, "architecture", info.architecture.as_str());
        set(&object, "tasks", Array::of1(&"transliterate".into()));
        set(&object, "dimensions", 0);
        set(&object, "maxTokens", info.max_length as f64);
        object
    }

    /// Begins to transliterate a text. Options: `{ beamSize, candidates }`.
    ///
    /// # Errors
    /// An object `{ code, message, option }`.
    pub fn transliterate(&self, text: String, options: &JsValue) -> Result<LettersJob, JsValue> {
        let job = self.model.transliterate(&text, call_options(options)?);
        let job = job.map_err(|error| to_js(&error))?;
        Ok(LettersJob { model: Rc::clone(&self.model), job, text })
    }
}

#[cfg(feature = "gpu")]
#[wasm_bindgen]
impl LettersModel {
    /// Nothing is done ahead: such models are small. Resolves to how many parts are left.
    ///
    /// # Errors
    /// None.
    #[wasm_bindgen(js_name = warmUp)]
    pub async fn warm_up(&self) -> Result<usize, JsValue> {
        Ok(0)
    }
}

/// A text being transliterated. Freed, it is aborted.
#[wasm_bindgen]
pub struct LettersJob {
    model: Rc<task::TransliterationModel<Device>>,
    job: task::TransliterationJob<Device>,
    text: String,
}

#[wasm_bindgen]
impl LettersJob {
    /// Whether all is written.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.job.is_done()
    }

    /// Texts that are done.
    #[wasm_bindgen(getter)]
    pub fn completed(&self) -> u32 {
        u32::from(self.job.is_done())
    }

    /// Has every candidate come with its attention: of the layers and heads named, counted from 0, or of all where a list is
    /// empty. Of `kinds` bit 0 stands for 'encoder', bit 1 for 'decoder', bit 2 for 'cross'; 0 for all that there are.
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

    /// `Transliteration` of the package.
    ///
    /// # Errors
    /// An object `{ code: 'internal', … }` if the job is not done.
    pub fn finish(self) -> Result<Object, JsValue> {
        let Self { model, job, text } = self;
        let source = job.source().to_vec();
        let found = job.finish().map_err(|error| to_js(&error))?;
        let object = Object::new();
        set(&object, "text", found.first().map_or("", |best| best.text.as_str()));
        let index = Utf16Index::new(&text);
        let symbol = |symbol: &SourceSymbol| {
            let own = text.get(symbol.range.clone()).unwrap_or_default();
            token(symbol.id, own, &symbol.range, &index)
        };
        let keys: Array = source.iter().map(symbol).collect();
        let candidates = found.iter().map(|one| candidate(&model, one, &keys));
        set(&object, "candidates", candidates.collect::<Array>());
        Ok(object)
    }
}

/// `{ text, probability, alignment, attention? }`.
fn candidate(
    model: &task::TransliterationModel<Device>,
    candidate: &Candidate,
    keys: &Array,
) -> Object {
    let Candidate { text, probability, symbols, alignment, attention } = candidate;
    let index = Utf16Index::new(text);
    let written = |symbol: &WrittenSymbol| {
        let own = text.get(symbol.range.clone()).unwrap_or_default();
        token(symbol.id, own, &symbol.range, &index)
    };
    let queries: Array = symbols.iter().map(written).collect();
    let shown = match model.alignment() {
        // There is no attention to the source: weights of no layer and no head.
        _ if alignment.is_empty() => Wanted::default(),
        [layer, head] => Wanted { layers: vec![layer], heads: vec![head] },
    };
    let object = Object::new();
    set(&object, "text", text.as_str());
    set(&object, "probability", *probability);
    set(&object, "alignment", attention::weights_beside(alignment, &shown, &queries, keys));
    if let Some(attention) = attention {
        // A step reads what the one before it has written, and the first one the start.
        let read = Array::of1(&token(model.start(), "", &(0..0), &index));
        let read = read.concat(&queries.slice(0, queries.length().saturating_sub(1)));
        let tokens = [(keys, keys), (&queries, &read), (&queries, keys)];
        let seen = Object::new();
        for ((kind, own), (queries, keys)) in KINDS.into_iter().zip(attention).zip(tokens) {
            if !own.weights.is_empty() {
                set(&seen, kind, attention::weights_beside(&own.weights, &own.of, queries, keys));
            }
        }
        set(&object, "attention", seen);
    }
    object
}

/// `{ beamSize, candidates }`.
fn call_options(options: &JsValue) -> Result<TransliterationOptions, JsValue> {
    let mut call = TransliterationOptions::default();
    each(options, |name, value| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 1.0);
        let number = number.map(|number| number as usize);
        match (name, number) {
            ("beamSize", Some(size)) => call.beam_size = size,
            ("candidates", Some(count)) => call.candidates = Some(count),
            ("beamSize" | "candidates", None) => {
                return Err(invalid(name, "a whole number above 0 expected"));
            }
            _ => return Err(invalid(name, "no such option; there are beamSize, candidates")),
        }
        Ok(())
    })?;
    Ok(call)
}
