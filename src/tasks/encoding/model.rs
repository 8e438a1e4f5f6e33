//! A loaded encoder: network, tokenizer, and what its files say of what it is for.

use super::labels::Labels;
use super::pipeline::Pipeline;
use crate::error::{Error, Result};
use crate::formats::safetensors::SafetensorsFolder;
use crate::formats::{Config, DType, ModelFolder};
use crate::model::{HeadRows, HeadSpec, arch};
use crate::ops::Ops;
use crate::stack::{Encoder, Precision};
use crate::text::json_tokenizer::JsonTokenizer;
use serde_json::Value;

/// How a model is loaded and run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Arithmetic of the matrix products.
    pub precision: Precision,
}

/// What becomes of a text with more tokens than the model can look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TooLong {
    /// Its end is left out, and the answer says so.
    #[default]
    Truncate,
    /// It is an error.
    Error,
}

/// What a model can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Vectors of texts: every encoder can.
    Embed,
    /// Labels of a text.
    Classify,
    /// Labels of words.
    Tag,
    /// Tokens for a gap.
    Fill,
}

/// What a caller may want to know of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodingInfo {
    /// `model_type` of its configuration.
    pub architecture: String,
    /// What it can be asked for.
    pub tasks: Vec<Task>,
    /// The arithmetic in use: `Float32` or `Int8`.
    pub precision: Precision,
    /// Width of an embedding.
    pub dimensions: usize,
    /// Tokens of a text that it looks at, with those that its tokenizer puts around the text.
    pub max_tokens: usize,
    /// The token that stands for a gap.
    pub mask_token: Option<String>,
}

/// An encoder ready for use.
pub struct EncodingModel<O: Ops> {
    pub(super) ops: O,
    pub(super) encoder: Encoder<O>,
    pub(super) tokenizer: JsonTokenizer,
    pub(super) pipeline: Pipeline<O>,
    pub(super) labels: Labels,
    pub(super) mask_id: Option<u32>,
    info: EncodingInfo,
}

impl<O: Ops + Clone> EncodingModel<O> {
    /// Loads a folder: `config.json`, `tokenizer.json`, `model.safetensors` or its parts with their index, and, where
    /// they are there, the files of sentence-transformers.
    ///
    /// # Errors
    /// Every fault of a file is an error that names it; an architecture, a tokenizer or a step that is not known is
    /// [`Error::Unsupported`].
    pub fn load(ops: O, mut folder: ModelFolder, options: LoadOptions) -> Result<Self> {
        let LoadOptions { precision } = options;
        let config = folder.required_config("config.json")?;
        // What is quick to find wrong comes before what takes long.
        let tokenizer = JsonTokenizer::read("tokenizer.json", &folder.bytes("tokenizer.json")?)?;
        check_case(&folder, &tokenizer)?;
        let tensors = SafetensorsFolder::open(&mut folder, "")?;
        let spec = arch::encoders::describe(&config, &tensors)?;
        if tokenizer.vocab_size() > spec.stack.vocab_size {
            let (has, reads) = (tokenizer.vocab_size(), spec.stack.vocab_size);
            let what = format!("{has} tokens, where the model of config.json has {reads}");
            return Err(Error::Unsupported { file: "tokenizer.json".to_owned(), what });
        }
        let head = spec.head.as_ref().map(task_of);
        let labels = Labels::read(&config, spec.head.as_ref())?;
        let max_tokens = max_tokens(&folder, &tokenizer, spec.max_len)?;
        let pipeline = Pipeline::load(&ops, &mut folder, &spec.stack.config, precision)?;
        let mask_token = mask_token(&folder, &tokenizer)?;
        let is_quantised = tensors.tensors().any(|tensor| tensor.dtype == DType::Int8);
        let encoder = Encoder::load(&ops, &tensors, &spec, precision)?;
        let info = EncodingInfo {
            architecture: config.string("model_type")?.unwrap_or_default().to_owned(),
            tasks: std::iter::once(Task::Embed).chain(head).collect(),
            precision: match precision {
                Precision::Auto if is_quantised => Precision::Int8,
                Precision::Auto => Precision::Float32,
                other => other,
            },
            dimensions: pipeline.dimensions,
            max_tokens,
            mask_token: mask_token.clone(),
        };
        let mask_id = mask_token.and_then(|token| tokenizer.token_id(&token));
        Ok(Self { ops, encoder, tokenizer, pipeline, labels, mask_id, info })
    }

    /// What is known of it.
    pub fn info(&self) -> &EncodingInfo {
        &self.info
    }

    /// Its tokenizer.
    pub fn tokenizer(&self) -> &JsonTokenizer {
        &self.tokenizer
    }
}

/// Numbers that are the answer, or part of it. Weights that are finite may still be so large that what is computed with
/// them is not, which is no answer to anything.
pub(super) fn checked(values: Vec<f32>) -> Result<Vec<f32>> {
    match values.iter().find(|value| !value.is_finite()) {
        None => Ok(values),
        Some(value) => {
            let what =
                format!("{value} comes out: its weights take float32 past its largest number");
            Err(Error::Format { file: "model.safetensors".to_owned(), offset: None, what })
        }
    }
}

fn task_of(head: &HeadSpec) -> Task {
    match (head.rows, &head.output) {
        (HeadRows::First, _) => Task::Classify,
        (HeadRows::Every, None) => Task::Tag,
        (HeadRows::Every, Some(_)) => Task::Fill,
    }
}

/// Tokens that are looked at: as sentence-transformers was told, else as the tokenizer was, but never more than there are
/// positions.
fn max_tokens(folder: &ModelFolder, tokenizer: &JsonTokenizer, positions: usize) -> Result<usize> {
    let read = |file: &'static str, key: &str| match folder.config(file)? {
        // Where there is no limit, a number of thirty digits stands for it.
        Some(config) => Ok(config.get(key).and_then(Value::as_f64).map(|limit| (file, limit))),
        None => Ok(None),
    };
    let limit = match read("sentence_bert_config.json", "max_seq_length")? {
        Some(limit) => Some(limit),
        None => read("tokenizer_config.json", "model_max_length")?,
    };
    // What is no size at all is not taken for one.
    let limit =
        limit.filter(|(_, limit)| *limit >= 1.0).map(|(file, limit)| (file, limit as usize));
    let own = limit.filter(|(_, limit)| *limit < positions);
    let (file, limit) = own.unwrap_or(("config.json", positions));
    if limit <= tokenizer.added_tokens() {
        let what = format!(
            "a limit of {limit} tokens, of which the tokenizer takes {} for itself",
            tokenizer.added_tokens()
        );
        return Err(Error::Unsupported { file: file.to_owned(), what });
    }
    Ok(limit)
}

/// Texts may be meant to be in lower case, which tokenizers of such models see to; one that does not would give other
/// vectors.
fn check_case(folder: &ModelFolder, tokenizer: &JsonTokenizer) -> Result<()> {
    const FILE: &str = "sentence_bert_config.json";
    let Some(config) = folder.config(FILE)? else { return Ok(()) };
    let same = |a: &str, b: &str| {
        let ids = |text: &str| {
            tokenizer.encode(text, None).pieces.iter().map(|piece| piece.id).collect::<Vec<_>>()
        };
        ids(a) == ids(b)
    };
    if config.boolean("do_lower_case")? != Some(true) || same("A TEXT", "a text") {
        return Ok(());
    }
    let what = "do_lower_case, where tokenizer.json tells upper case from lower. Give the tokenizer the normalizer Lowercase, \
                or set it to false and lower the texts before they are embedded";
    Err(Error::Unsupported { file: FILE.to_owned(), what: what.to_owned() })
}

/// The token that stands for a gap: as the files say, which have it as a string or as an object with its `content`; else
/// one of the usual names.
fn mask_token(folder: &ModelFolder, tokenizer: &JsonTokenizer) -> Result<Option<String>> {
    let named = |config: Config| {
        let value = config.get("mask_token")?.clone();
        let content = value.get("content").and_then(Value::as_str);
        content.or(value.as_str()).map(str::to_owned)
    };
    for file in ["special_tokens_map.json", "tokenizer_config.json"] {
        if let Some(token) = folder.config(file)?.and_then(named) {
            return Ok(Some(token).filter(|token| tokenizer.token_id(token).is_some()));
        }
    }
    let usual = ["[MASK]", "<mask>"].into_iter().find(|token| tokenizer.token_id(token).is_some());
    Ok(usual.map(str::to_owned))
}
