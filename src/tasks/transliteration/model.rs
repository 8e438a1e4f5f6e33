//! A loaded model over letters: network and symbols.

use super::symbols::{SourceSymbols, TargetSymbols};
use crate::error::{Error, Result};
use crate::formats::ModelFolder;
use crate::formats::safetensors::SafetensorsFolder;
use crate::model::arch::letters::{self, MODEL_TYPE};
use crate::ops::Ops;
use crate::stack::{EncoderDecoder, Precision};

/// How a model is loaded and run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// `Auto` and `Float32` are the same: such models are small, and nothing of them is quantised.
    pub precision: Precision,
}

/// What a caller may want to know of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransliterationInfo {
    /// `model_type` of its configuration.
    pub architecture: String,
    /// Most symbols that are written, the end included.
    pub max_length: usize,
}

/// A model over letters ready for use.
pub struct TransliterationModel<O: Ops> {
    pub(super) ops: O,
    pub(super) network: EncoderDecoder<O>,
    pub(super) output: O::OutputProjection,
    pub(super) source: SourceSymbols,
    pub(super) target: TargetSymbols,
}

/// Whether a folder holds a model over letters, by its `config.json`.
///
/// # Errors
/// Those of reading it.
pub fn is_letters(folder: &ModelFolder) -> Result<bool> {
    let config = folder.config("config.json")?;
    Ok(match config {
        Some(config) => config.string("model_type")? == Some(MODEL_TYPE),
        None => false,
    })
}

impl<O: Ops + Clone> TransliterationModel<O> {
    /// Loads a folder: `config.json` and `model.safetensors`.
    ///
    /// # Errors
    /// Every fault of a file is an error that names it; another kind of model, and another precision than float32, is
    /// [`Error::Unsupported`].
    pub fn load(ops: O, mut folder: ModelFolder, options: LoadOptions) -> Result<Self> {
        let config = folder.required_config("config.json")?;
        let spec = letters::describe(&config)?;
        if !matches!(options.precision, Precision::Auto | Precision::Float32) {
            let what = "another precision than float32: models over letters are computed in that";
            return Err(Error::Unsupported {
                file: config.file().to_owned(),
                what: what.to_owned(),
            });
        }
        let (source, target) = (SourceSymbols::read(&config)?, TargetSymbols::read(&config)?);
        let tensors = SafetensorsFolder::open(&mut folder, "")?;
        let network = EncoderDecoder::load(&ops, &tensors, &spec, Precision::Float32)?;
        let output = network.output_projection(&ops, None)?;
        Ok(Self { ops, network, output, source, target })
    }

    /// Layer and head of the cross-attention that is shown as the alignment.
    pub fn alignment(&self) -> [usize; 2] {
        self.network.alignment().into()
    }

    /// The symbol that a decoder reads first.
    pub fn start(&self) -> u32 {
        self.target.start
    }

    /// What is known of it.
    pub fn info(&self) -> TransliterationInfo {
        TransliterationInfo {
            architecture: MODEL_TYPE.to_owned(),
            max_length: self.target.max_length - 1,
        }
    }
}
