//! A loaded language model: network, tokenizer, and what its file says of chats.

use super::session::Session;
use super::vocabulary;
use crate::error::Result;
use crate::formats::{ByteSource, gguf::GgufFile};
use crate::model::arch;
use crate::ops::Ops;
use crate::stack::{Decoder, KvCache, Precision};
use crate::text::tokenizer::{PieceKind, Tokenizer};
use std::rc::Rc;

/// How a model is loaded and run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Arithmetic of the matrix products.
    pub precision: Precision,
    /// How sessions remember keys and values.
    pub kv_cache: KvCache,
}

/// What a caller may want to know of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct TextModelInfo {
    /// Positions it was trained for.
    pub context_len: usize,
    /// Tokens there are.
    pub vocab_size: usize,
    /// The arithmetic in use: `Float32` or `Int8`.
    pub precision: Precision,
    /// How keys and values are remembered.
    pub kv_cache: KvCache,
    /// Jinja template that makes a prompt of a chat.
    pub chat_template: Option<String>,
    /// Text of the token that begins a text, for the template.
    pub bos_token: Option<String>,
    /// Text of the token that ends a text, for the template.
    pub eos_token: Option<String>,
    /// Names of the tokens that only a template may write.
    pub control_tokens: Vec<String>,
}

/// A language model ready for use.
pub struct TextModel<O: Ops> {
    pub(super) ops: O,
    pub(super) decoder: Decoder<O>,
    pub(super) tokenizer: Rc<Tokenizer>,
    info: TextModelInfo,
}

impl<O: Ops + Clone> TextModel<O> {
    /// Loads a GGUF file, tensor by tensor.
    ///
    /// # Errors
    /// Every fault of the file is an error that names it; an architecture, a type of tensors or a tokenizer that is not
    /// known is [`crate::error::Error::Unsupported`].
    pub fn load(ops: O, file: Box<dyn ByteSource>, options: LoadOptions) -> Result<Self> {
        let LoadOptions { precision, kv_cache } = options;
        let file = GgufFile::open(file)?;
        let metadata = file.metadata();
        // What is quick to find wrong comes before what takes long.
        let spec = arch::gguf::describe(&file)?;
        let tokenizer = vocabulary::tokenizer(metadata)?;
        let is_quantised = file.tensors().iter().any(|tensor| tensor.dtype.block_len() > 1);
        let decoder = Decoder::load(&ops, &file, &spec, precision)?.with_kv_cache(kv_cache);
        let text = |id: Option<u32>| id.map(|id| tokenizer.token_text(id));
        let info = TextModelInfo {
            context_len: decoder.context_len(),
            vocab_size: decoder.vocab_size(),
            precision: match precision {
                Precision::Auto if is_quantised => Precision::Int8,
                Precision::Auto => Precision::Float32,
                other => other,
            },
            kv_cache,
            chat_template: metadata.string("tokenizer.chat_template")?.map(str::to_owned),
            bos_token: text(tokenizer.bos_id()),
            eos_token: text(tokenizer.eos_id()),
            control_tokens: (0..tokenizer.vocab_size() as u32)
                .filter(|id| {
                    matches!(tokenizer.kind(*id), Some(PieceKind::Control | PieceKind::Unknown))
                })
                .map(|id| tokenizer.token_text(id))
                .collect(),
        };
        Ok(Self { ops, decoder, tokenizer: Rc::new(tokenizer), info })
    }

    /// What is known of it.
    pub fn info(&self) -> &TextModelInfo {
        &self.info
    }

    /// Its tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// An empty session.
    pub fn session(self: &Rc<Self>) -> Session<O> {
        Session::new(Rc::clone(self))
    }
}
