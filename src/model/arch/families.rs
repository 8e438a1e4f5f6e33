//! What sets the families of decoder-only models apart, as `general.architecture` of a GGUF file names them.

use crate::error::{Error, Result};
use crate::model::{ActivationKind, NormKind, RotaryPairs};

/// One family: everything about its block that the file's numbers and tensors do not say.
#[derive(Debug)]
pub struct Family {
    /// `general.architecture`.
    pub name: &'static str,
    /// Kind of its normalisations.
    pub norm: NormKind,
    /// Non-linearity of the feed-forward layers.
    pub activation: ActivationKind,
    /// Whether the feed-forward is a gated linear unit.
    pub gated: bool,
    /// Whether queries, keys and values are one matrix.
    pub fused_qkv: bool,
    /// Which elements rotary positions turn together; none: the model has no rotary positions.
    pub rotary: Option<RotaryPairs>,
    /// Whether positions are rows of a table.
    pub learned_positions: bool,
    /// Whether every query and key head is normalised.
    pub head_norms: bool,
    /// Whether the output of a sublayer is normalised.
    pub output_norms: bool,
    /// Whether embeddings are multiplied by √hidden_size.
    pub scaled_embeddings: bool,
    /// Blocks see a sliding window, but for every such block.
    pub window_every: Option<usize>,
    /// Rotary base of the blocks with a window, where it is one of its own; these are not stretched either.
    pub window_base: Option<f32>,
    /// Blocks and hidden size of the one model of the family whose scores are divided by √(hidden_size / num_heads).
    pub score_width_of: Option<(usize, usize)>,
}

/// Llama 2 and 3 (Touvron et al. 2023), SmolLM2, Mistral, TinyLlama. The converter has brought the pairs of rotary
/// positions next to one another.
const LLAMA: Family = Family {
    name: "llama",
    norm: NormKind::Rms,
    activation: ActivationKind::Swish,
    gated: true,
    fused_qkv: false,
    rotary: Some(RotaryPairs::Neighbours),
    learned_positions: false,
    head_norms: false,
    output_norms: false,
    scaled_embeddings: false,
    window_every: None,
    window_base: None,
    score_width_of: None,
};

/// Qwen 2 and 2.5 (Yang et al. 2024).
const QWEN2: Family = Family { name: "qwen2", rotary: Some(RotaryPairs::Halves), ..LLAMA };

/// Qwen 3 (Yang et al. 2025).
const QWEN3: Family = Family { name: "qwen3", head_norms: true, ..QWEN2 };

/// Gemma 2 (Gemma Team 2024).
const GEMMA2: Family = Family {
    name: "gemma2",
    activation: ActivationKind::GeluTanh,
    rotary: Some(RotaryPairs::Halves),
    output_norms: true,
    scaled_embeddings: true,
    window_every: Some(2),
    score_width_of: Some((46, 4608)), // 27B
    ..LLAMA
};

/// Gemma 3 (Gemma Team 2025).
const GEMMA3: Family = Family {
    name: "gemma3",
    head_norms: true,
    window_every: Some(6),
    window_base: Some(10_000.0),
    score_width_of: Some((62, 5376)), // 27B
    ..GEMMA2
};

/// GPT-2 (Radford et al. 2019).
const GPT2: Family = Family {
    name: "gpt2",
    norm: NormKind::Layer,
    activation: ActivationKind::GeluTanh,
    gated: false,
    fused_qkv: true,
    rotary: None,
    learned_positions: true,
    ..LLAMA
};

const FAMILIES: &[Family] = &[LLAMA, QWEN2, QWEN3, GEMMA2, GEMMA3, GPT2];

/// The family called `name`.
pub fn family(file: &str, name: &str) -> Result<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| {
        let known: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        Error::Unsupported {
            file: file.to_owned(),
            what: format!("general.architecture '{name}'; known: {}", known.join(", ")),
        }
    })
}

impl Family {
    /// Key, after the architecture's name, of what normalisations add.
    pub fn norm_eps_key(&self) -> &'static str {
        match self.norm {
            NormKind::Layer => "attention.layer_norm_epsilon",
            NormKind::Rms => "attention.layer_norm_rms_epsilon",
        }
    }
}
