//! Options from JavaScript objects. A name that is not known is an error that names it.

use super::error::invalid;
#[cfg(any(feature = "translation", feature = "text"))]
use crate::error::Decimal;
#[cfg(feature = "gpu")]
use crate::tasks::GpuRequest;
#[cfg(feature = "encoder")]
use crate::tasks::encoding::{EmbeddingOptions, Pooling, TooLong};
#[cfg(feature = "text")]
use crate::tasks::text_generation::{self, GenerationOptions, KvCache};
#[cfg(feature = "translation")]
use crate::tasks::translation::DecodingOptions;
use crate::tasks::translation::Precision;
use js_sys::{Array, Object};
use wasm_bindgen::{JsCast, JsValue};

/// `{ software, maxBinding }`.
#[cfg(feature = "gpu")]
pub fn gpu_request(options: &JsValue) -> Result<GpuRequest, JsValue> {
    let mut request = GpuRequest::default();
    each(options, |name, value| {
        match name {
            "software" => {
                let software = value.as_bool();
                request.software =
                    software.ok_or_else(|| invalid(name, "true or false expected"))?;
            }
            "maxBinding" => match value.as_f64().filter(|bytes| *bytes >= 1.0) {
                // Floats become the nearest integer that there is.
                Some(bytes) => request.max_binding = Some(bytes as u64),
                None => return Err(invalid(name, "a number of bytes expected")),
            },
            _ => return Err(invalid(name, "no such option; there are software, maxBinding")),
        }
        Ok(())
    })?;
    Ok(request)
}

/// `{ precision }`.
#[cfg(any(feature = "translation", feature = "encoder"))]
pub fn load_precision(options: &JsValue) -> Result<Precision, JsValue> {
    let mut loaded = Precision::Auto;
    each(options, |name, value| {
        match name {
            "precision" => loaded = precision(value)?,
            _ => return Err(invalid(name, "no such option; there is precision")),
        }
        Ok(())
    })?;
    Ok(loaded)
}

/// `{ precision, kvCache }`.
#[cfg(feature = "text")]
pub fn text_load_options(options: &JsValue) -> Result<text_generation::LoadOptions, JsValue> {
    let mut load = text_generation::LoadOptions::default();
    each(options, |name, value| {
        match name {
            "precision" => load.precision = precision(value)?,
            "kvCache" => {
                load.kv_cache = match value.as_string().as_deref() {
                    Some("float") => KvCache::Float,
                    Some("int8") => KvCache::Int8,
                    _ => return Err(invalid(name, "'float' or 'int8' expected")),
                }
            }
            _ => return Err(invalid(name, "no such option; there are precision, kvCache")),
        }
        Ok(())
    })?;
    Ok(load)
}

/// How a call of an encoder goes.
#[cfg(feature = "encoder")]
#[derive(Default)]
pub struct EncoderCall {
    /// Of embeddings; what becomes of long texts is of every call.
    pub embedding: EmbeddingOptions,
    /// How many labels or tokens are wanted.
    pub top: Option<usize>,
}

/// `{ pooling, normalize, tooLong, detail, topK }`.
#[cfg(feature = "encoder")]
pub fn encoder_call(options: &JsValue) -> Result<EncoderCall, JsValue> {
    let mut call = EncoderCall::default();
    each(options, |name, value| {
        let text = value.as_string();
        let embedding = &mut call.embedding;
        match (name, text.as_deref()) {
            ("pooling", Some("mean")) => embedding.pooling = Some(Pooling::Mean),
            ("pooling", Some("cls")) => embedding.pooling = Some(Pooling::First),
            ("pooling", Some("max")) => embedding.pooling = Some(Pooling::Max),
            ("pooling", _) => return Err(invalid(name, "'mean', 'cls' or 'max' expected")),
            ("normalize", _) => match value.as_bool() {
                Some(normalize) => embedding.normalize = Some(normalize),
                None => return Err(invalid(name, "true or false expected")),
            },
            ("tooLong", Some("truncate")) => embedding.too_long = TooLong::Truncate,
            ("tooLong", Some("error")) => embedding.too_long = TooLong::Error,
            ("tooLong", _) => return Err(invalid(name, "'truncate' or 'error' expected")),
            ("detail", _) => embedding.tokens = value.is_truthy(),
            ("topK", _) => match value.as_f64() {
                Some(top) if top.fract() == 0.0 && top >= 1.0 => call.top = Some(top as usize),
                _ => return Err(invalid(name, "a whole number above 0 expected")),
            },
            _ => return Err(invalid(name, "no such option")),
        }
        Ok(())
    })?;
    Ok(call)
}

fn precision(value: &JsValue) -> Result<Precision, JsValue> {
    match value.as_string().as_deref() {
        Some("auto") => Ok(Precision::Auto),
        Some("float32") => Ok(Precision::Float32),
        Some("int8") => Ok(Precision::Int8),
        _ => Err(invalid("precision", "'auto', 'float32' or 'int8' expected")),
    }
}

/// `{ beamSize, lengthPenalty, wordPenalty, maxLengthFactor }`; their ranges are checked where they are used.
#[cfg(feature = "translation")]
pub fn decoding_options(options: &JsValue) -> Result<DecodingOptions, JsValue> {
    let mut decoding = DecodingOptions::default();
    each(options, |name, value| {
        let number = || value.as_f64().ok_or_else(|| invalid(name, "a number expected"));
        match name {
            "beamSize" => {
                let size = number()?;
                if size.fract() != 0.0 || size < 1.0 {
                    return Err(invalid(
                        name,
                        &format!("a whole number above 0 expected, got {}", Decimal(size as f32)),
                    ));
                }
                // Saturates; the search has a limit of its own.
                decoding.beam_size = size as usize;
            }
            "lengthPenalty" => decoding.length_penalty = number()? as f32,
            "wordPenalty" => decoding.word_penalty = number()? as f32,
            "maxLengthFactor" => decoding.max_length_factor = number()? as f32,
            _ => {
                let known = "beamSize, lengthPenalty, wordPenalty, maxLengthFactor";
                return Err(invalid(name, &format!("no such option; there are {known}")));
            }
        }
        Ok(())
    })?;
    Ok(decoding)
}

/// `{ maxNewTokens, contextWindow, temperature, topK, topP, minP, repetitionPenalty, seed, stop, logprobs }`; the ranges
/// of the numbers are checked where they are used.
#[cfg(feature = "text")]
pub fn generation_options(options: &JsValue) -> Result<GenerationOptions, JsValue> {
    let mut generation = GenerationOptions::default();
    each(options, |name, value| {
        let number = || value.as_f64().ok_or_else(|| invalid(name, "a number expected"));
        let whole = || match number()? {
            size if size.fract() == 0.0 && size >= 0.0 => Ok(size),
            size => {
                let size = Decimal(size as f32);
                Err(invalid(name, &format!("a whole number from 0 on expected, got {size}")))
            }
        };
        let sampling = &mut generation.sampling;
        match name {
            // Sizes saturate; what is used is bounded by the context.
            "maxNewTokens" => generation.max_new_tokens = whole()? as usize,
            "contextWindow" => generation.context_window = whole()? as usize,
            "topK" => sampling.top_k = whole()? as usize,
            "seed" => sampling.seed = whole()? as u64,
            "temperature" => sampling.temperature = number()? as f32,
            "topP" => sampling.top_p = number()? as f32,
            "minP" => sampling.min_p = number()? as f32,
            "repetitionPenalty" => sampling.repetition_penalty = number()? as f32,
            "logprobs" => generation.logprobs = value.is_truthy(),
            "stop" => {
                let list = value.dyn_ref::<Array>();
                let strings: Option<Vec<String>> =
                    list.and_then(|list| list.iter().map(|stop| stop.as_string()).collect());
                generation.stop =
                    strings.ok_or_else(|| invalid(name, "a list of strings expected"))?;
            }
            _ => return Err(invalid(name, "no such option")),
        }
        Ok(())
    })?;
    Ok(generation)
}

/// Calls `take` with each own property that is not undefined.
pub(super) fn each(
    options: &JsValue,
    mut take: impl FnMut(&str, &JsValue) -> Result<(), JsValue>,
) -> Result<(), JsValue> {
    if options.is_undefined() {
        return Ok(());
    }
    if !options.is_object() {
        return Err(invalid("options", "an object expected"));
    }
    for entry in Object::entries(options.unchecked_ref()).iter() {
        let entry = Array::from(&entry);
        let value = entry.get(1);
        if !value.is_undefined() {
            take(&entry.get(0).as_string().unwrap_or_default(), &value)?;
        }
    }
    Ok(())
}
