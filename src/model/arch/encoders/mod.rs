//! Encoders in folders of Hugging Face: `config.json` and tensor names to a description, as a [`Family`] says.

mod families;
mod heads;

use crate::error::{Error, Result};
use crate::formats::safetensors::SafetensorsFolder;
use crate::formats::{Config, DType, TensorFile};
use crate::model::{
    ActivationKind, AttentionSpec, BlockSpec, ContextJoin, EncoderSpec, LinearSpec, MatrixLayout,
    MixerKind, MixerSpec, MlpJoin, MlpSpec, NormKind, NormSpec, Positions, QkvSpec,
    RelativePositions, ScoreSpec, StackConfig, StackSpec, SublayerNorms,
};
use families::{Family, family};
use std::collections::BTreeSet;

/// Most blocks of a model that is believed.
const MAX_BLOCKS: usize = 1000;

/// Distance from which on MPNet's relative positions are the same.
const MAX_DISTANCE: usize = 128;

/// Describes the model of a folder's `config.json` and tensors.
///
/// # Errors
/// [`Error::Unsupported`] for another architecture, [`Error::Metadata`] for a hyperparameter that is missing or wrong,
/// [`Error::MissingTensor`] that names all tensors that are missing or too many, [`Error::Tensor`] for one of a type that
/// is not read.
pub fn describe(config: &Config, file: &SafetensorsFolder) -> Result<EncoderSpec> {
    let description = Description::read(config, file)?;
    let spec = description.spec()?;
    description.check_names(&spec)?;
    Ok(spec)
}

struct Description<'a> {
    config: &'a Config,
    file: &'a SafetensorsFolder,
    family: &'static Family,
    /// What the stack's tensors begin with in this file.
    prefix: &'static str,
    hidden_size: usize,
    intermediate_size: usize,
    num_blocks: usize,
    num_heads: usize,
    activation: ActivationKind,
}

impl<'a> Description<'a> {
    fn read(config: &'a Config, file: &'a SafetensorsFolder) -> Result<Self> {
        let family = family(config)?;
        let keys = &family.keys;
        let positive = |key: &str| match config.required_size(key)? {
            0 => Err(config.error(key, "0 found, expected a whole number above 0")),
            size => Ok(size),
        };
        let (hidden_size, num_heads) = (positive(keys.hidden_size)?, positive(keys.num_heads)?);
        if !hidden_size.is_multiple_of(num_heads) {
            let what = format!("{num_heads} found, expected a divisor of {hidden_size}");
            return Err(config.error(keys.num_heads, what));
        }
        let num_blocks = positive(keys.num_blocks)?;
        if num_blocks > MAX_BLOCKS {
            let what = format!("{num_blocks} found, expected 1 to {MAX_BLOCKS}");
            return Err(config.error(keys.num_blocks, what));
        }
        let unsupported = |what| Err(Error::Unsupported { file: config.file().to_owned(), what });
        match config.string("position_embedding_type")? {
            None | Some("absolute") => {}
            Some(other) => {
                return unsupported(format!("position_embedding_type '{other}'; known: absolute"));
            }
        }
        if config.boolean("is_decoder")? == Some(true) {
            return unsupported("is_decoder, a model that writes; encoders are read".to_owned());
        }
        let activation = match config.string(keys.activation)?.unwrap_or("gelu") {
            "gelu" => ActivationKind::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => ActivationKind::GeluTanh,
            "relu" => ActivationKind::Relu,
            "silu" | "swish" => ActivationKind::Swish,
            other => {
                return unsupported(format!(
                    "{} '{other}'; known: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu, silu",
                    keys.activation
                ));
            }
        };
        let embedding = format!("{}{EMBEDDING}", family.prefix);
        let prefix = if file.find(&embedding).is_some() { family.prefix } else { "" };
        let intermediate_size = positive(keys.intermediate_size)?;
        Ok(Self {
            config,
            file,
            family,
            prefix,
            hidden_size,
            intermediate_size,
            num_blocks,
            num_heads,
            activation,
        })
    }

    fn spec(&self) -> Result<EncoderSpec> {
        let config = self.config;
        let positions = config.required_size("max_position_embeddings")?;
        let first = match self.family.positions_after_padding {
            true => config.size("pad_token_id")?.unwrap_or(1).saturating_add(1),
            false => 0,
        };
        let Some(max_len) = positions.checked_sub(first).filter(|len| *len > 0) else {
            let what = format!("{positions} found, expected more than {first}");
            return Err(config.error("max_position_embeddings", what));
        };
        let segments = config.size("type_vocab_size")?.unwrap_or(2);
        let relative = self.family.relative.map(|table| {
            let buckets = config.size("relative_attention_num_buckets")?.unwrap_or(32);
            match buckets {
                4.. if buckets.is_multiple_of(4) => Ok(RelativePositions {
                    table: self.name(table),
                    buckets,
                    max_distance: MAX_DISTANCE,
                }),
                _ => Err(config.error(
                    "relative_attention_num_buckets",
                    format!("{buckets} found, expected a multiple of 4"),
                )),
            }
        });
        let vocab_size = config.required_size("vocab_size")?;
        let norm_eps = config.float("layer_norm_eps")?.unwrap_or(1e-12);
        if norm_eps < 0.0 {
            let what = format!("{norm_eps} found, expected a number from 0 on");
            return Err(config.error("layer_norm_eps", what));
        }
        let stack = StackSpec {
            config: StackConfig {
                hidden_size: self.hidden_size,
                num_heads: self.num_heads,
                num_kv_heads: self.num_heads,
                head_dim: self.hidden_size / self.num_heads,
                mixer: MixerKind::SelfAttention,
                causal: false,
                activation: self.activation,
                positions: Positions::Learned {
                    table: self.name("embeddings.position_embeddings.weight"),
                    first,
                    len: max_len,
                    segments: self
                        .family
                        .segments
                        .then(|| (self.name("embeddings.token_type_embeddings.weight"), segments)),
                },
                embedding_scale: 1.0,
                norm: NormKind::Layer,
                norm_eps,
            },
            relative: relative.transpose()?,
            embedding: self.name(EMBEDDING),
            vocab_size,
            embedding_norm: Some(self.norm(&self.name("embeddings.LayerNorm"))),
            blocks: (0..self.num_blocks).map(|index| self.block(index)).collect(),
            final_residual: false,
            final_norm: None,
        };
        Ok(EncoderSpec { head: self.head(&stack)?, stack, max_len })
    }

    fn block(&self, index: usize) -> BlockSpec {
        let names = &self.family.names;
        let name = |part: &str| self.name(&format!("{}{index}.{part}", names.blocks));
        let (hidden, intermediate) = (self.hidden_size, self.intermediate_size);
        let linear = |part: &str, inputs, outputs| self.linear(&name(part), inputs, outputs);
        let after = |part: &str| SublayerNorms {
            after: Some(self.norm(&name(part))),
            ..Default::default()
        };
        let [q, k, v] = names.qkv.map(|part| linear(part, hidden, hidden));
        let [up, down] = names.mlp;
        BlockSpec {
            mixer: MixerSpec::SelfAttention(Box::new(AttentionSpec {
                qkv: QkvSpec::Separate { q, k, v },
                out: Some(linear(names.out, hidden, hidden)),
                norms: after(names.attention_norm),
                head_norms: None,
                rotary: None,
                score: ScoreSpec::DotProduct,
                join: ContextJoin::Add,
                scale: 1.0 / libm::sqrtf((hidden / self.num_heads) as f32),
                score_cap: None,
                window: None,
            })),
            cross_attention: None,
            mlp: MlpSpec {
                gate: None,
                layers: vec![linear(up, hidden, intermediate), linear(down, intermediate, hidden)],
                norms: after(names.mlp_norm),
                join: MlpJoin::Add,
            },
        }
    }

    /// The name of a tensor of the stack.
    fn name(&self, part: &str) -> String {
        format!("{}{part}", self.prefix)
    }

    fn linear(&self, name: &str, in_features: usize, out_features: usize) -> LinearSpec {
        LinearSpec {
            weight: format!("{name}.weight"),
            bias: Some(format!("{name}.bias")),
            activation_multiplier: Vec::new(),
            in_features,
            out_features,
            layout: MatrixLayout::OutIn,
        }
    }

    /// Files of 2019 call factors gamma and addends beta.
    fn norm(&self, name: &str) -> NormSpec {
        let old = format!("{name}.gamma");
        let [scale, bias] = match self.file.find(&old) {
            Some(_) => ["gamma", "beta"],
            None => ["weight", "bias"],
        };
        NormSpec { scale: format!("{name}.{scale}"), bias: Some(format!("{name}.{bias}")) }
    }

    /// All tensors that are missing, and those of blocks that the configuration does not have.
    fn check_names(&self, spec: &EncoderSpec) -> Result<()> {
        let needed = spec.tensor_names();
        let has = |name: &str| self.file.find(name).is_some();
        let is_int8 =
            |name: &&&str| self.file.find(name).is_some_and(|tensor| tensor.dtype == DType::Int8);
        // What int8 weights are multiplied by.
        let scales = needed.iter().filter(is_int8).map(|name| format!("{name}_scale"));
        let scales: Vec<String> = scales.filter(|name| !has(name)).collect();
        let missing = needed.iter().copied().filter(|name| !has(name));
        let missing: Vec<&str> = missing.chain(scales.iter().map(String::as_str)).collect();
        let other = self.file.others().find(|(_, other)| missing.contains(&other.name.as_str()));
        if let Some((file, other)) = other {
            return Err(Error::Tensor {
                file: file.to_owned(),
                tensor: other.name.clone(),
                offset: other.offset,
                what: format!("is of type {}; F32, F16, BF16 and I8 are read", other.dtype),
            });
        }
        let needed: BTreeSet<&str> = needed.iter().copied().collect();
        let blocks = self.name(self.family.names.blocks);
        let is_extra = |name: &&str| {
            let plain = name.strip_suffix("_scale").unwrap_or(name);
            name.starts_with(&blocks) && !needed.contains(plain)
        };
        let extra = self.file.tensors().map(|tensor| tensor.name.as_str()).filter(is_extra);
        let extra: Vec<String> = extra.map(str::to_owned).collect();
        if missing.is_empty() && extra.is_empty() {
            return Ok(());
        }
        Err(Error::MissingTensor {
            file: self.file.name().to_owned(),
            tensors: missing.into_iter().map(str::to_owned).collect(),
            extra,
        })
    }
}

/// The embedding table, after the prefix.
const EMBEDDING: &str = "embeddings.word_embeddings.weight";
