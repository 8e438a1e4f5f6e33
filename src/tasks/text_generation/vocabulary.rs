//! The tokenizer that the metadata of a GGUF file describes.

use crate::error::Result;
use crate::formats::gguf::Metadata;
use crate::text::tokenizer::{SpecialIds, Tokenizer, TokenizerParts};

/// Reads `tokenizer.ggml.*`.
///
/// # Errors
/// As [`Tokenizer::new`], and [`crate::error::Error::Metadata`] for a key of another type.
pub fn tokenizer(metadata: &Metadata) -> Result<Tokenizer> {
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let id = |name: &str| metadata.integer(&key(&format!("{name}_token_id")));
    let tokens = metadata.required(&key("tokens"), Metadata::strings)?;
    let merges = metadata.strings(&key("merges"))?;
    Tokenizer::new(TokenizerParts {
        file: metadata.file(),
        model: metadata.required(&key("model"), Metadata::string)?,
        pre_tokenizer: metadata.string(&key("pre"))?,
        tokens: Box::new(tokens.iter()),
        token_types: &metadata.integers(&key("token_type"))?.unwrap_or_default(),
        scores: metadata.floats(&key("scores"))?.unwrap_or_default(),
        merges: merges.map(|merges| -> Box<dyn Iterator<Item = &str>> { Box::new(merges.iter()) }),
        special_ids: SpecialIds {
            bos: id("bos")?,
            eos: id("eos")?,
            end_of_turn: id("eot")?,
            end_of_message: id("eom")?,
            unknown: id("unknown")?,
        },
        add_bos: metadata.boolean(&key("add_bos_token"))?,
        add_eos: metadata.boolean(&key("add_eos_token"))?,
        add_space_prefix: metadata.boolean(&key("add_space_prefix"))?,
    })
}
