//! Decoder-only models in GGUF files: hyperparameters and tensor names to a description, as a [`Family`] says.

use super::families::{Family, family};
use crate::error::{Error, Result};
use crate::formats::gguf::{GgufFile, Metadata};
use crate::model::{
    AttentionSpec, BlockSpec, ContextJoin, DecoderSpec, LinearSpec, MatrixLayout, MixerKind,
    MixerSpec, MlpJoin, MlpSpec, NormSpec, OutputSpec, Positions, QkvSpec, Rotary, ScoreSpec,
    StackConfig, StackSpec, SublayerNorms,
};

/// Most blocks of a model that is believed.
const MAX_BLOCKS: usize = 1000;

/// Describes the model in `file`.
///
/// # Errors
/// [`Error::Unsupported`] for another architecture, [`Error::Metadata`] for a hyperparameter that is missing or wrong.
pub fn describe(file: &GgufFile) -> Result<DecoderSpec> {
    let architecture = file.metadata().required("general.architecture", Metadata::string)?;
    let family = family(file.name(), architecture)?;
    Description::read(file, architecture, family)?.spec()
}

struct Description<'a> {
    file: &'a GgufFile,
    family: &'static Family,
    hidden_size: usize,
    intermediate_size: usize,
    num_blocks: usize,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    vocab_size: usize,
    context_len: usize,
    norm_eps: f32,
    rotary: Option<Rotary>,
    window: Option<usize>,
    score_cap: Option<f32>,
    logit_cap: Option<f32>,
}

/// Hyperparameters, whose keys begin with the architecture's name.
struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'a str,
}

impl Keys<'_> {
    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn size(&self, key: &str) -> Result<usize> {
        self.metadata.required(&self.key(key), Metadata::integer)
    }

    fn size_or(&self, key: &str, default: usize) -> Result<usize> {
        Ok(self.metadata.integer(&self.key(key))?.unwrap_or(default))
    }

    fn float(&self, key: &str) -> Result<Option<f32>> {
        self.metadata.float(&self.key(key))
    }

    /// A bound that scores or logits are held in; 0 is how some files say that there is none.
    fn cap(&self, key: &str) -> Result<Option<f32>> {
        match self.float(key)? {
            Some(cap) if cap < 0.0 => {
                Err(self.error(key, format!("{cap} found, expected a number from 0 on")))
            }
            cap => Ok(cap.filter(|cap| *cap > 0.0)),
        }
    }

    fn string(&self, key: &str) -> Result<Option<&str>> {
        self.metadata.string(&self.key(key))
    }

    fn error(&self, key: &str, what: String) -> Error {
        let file = self.metadata.file().to_owned();
        Error::Metadata { file, key: self.key(key), offset: None, what }
    }
}

impl<'a> Description<'a> {
    fn read(file: &'a GgufFile, architecture: &'a str, family: &'static Family) -> Result<Self> {
        let keys = Keys { metadata: file.metadata(), architecture };
        let unsupported = |what: String| Error::Unsupported { file: file.name().to_owned(), what };
        if keys.size_or("expert_count", 0)? > 0 {
            return Err(unsupported("a mixture of experts".to_owned()));
        }
        let hidden_size = keys.size("embedding_length")?;
        let num_heads = keys.size("attention.head_count")?;
        let num_kv_heads = keys.size_or("attention.head_count_kv", num_heads)?;
        let num_blocks = keys.size("block_count")?;
        if num_blocks == 0 || num_blocks > MAX_BLOCKS {
            let what = format!("{num_blocks} found, expected 1 to {MAX_BLOCKS}");
            return Err(keys.error("block_count", what));
        }
        if num_heads == 0 || num_kv_heads == 0 || !num_heads.is_multiple_of(num_kv_heads) {
            let what = format!("{num_kv_heads} found, expected a divisor of {num_heads}");
            return Err(keys.error("attention.head_count_kv", what));
        }
        let head_dim = keys.size_or("attention.key_length", hidden_size / num_heads)?;
        if keys.size_or("attention.value_length", head_dim)? != head_dim {
            return Err(unsupported("values of another width than keys".to_owned()));
        }
        if head_dim == 0 || hidden_size == 0 || head_dim.checked_mul(num_heads).is_none() {
            let what = format!("heads of width {head_dim} in rows of {hidden_size}");
            return Err(keys.error("attention.key_length", what));
        }
        let norm_eps = keys.metadata.required(&keys.key(family.norm_eps_key()), Metadata::float)?;
        if norm_eps < 0.0 {
            let what = format!("{norm_eps} found, expected a number from 0 on");
            return Err(keys.error(family.norm_eps_key(), what));
        }
        let window = family.window_every.map(|_| keys.size("attention.sliding_window"));
        let window = window.transpose()?;
        if window == Some(0) {
            let what = "0 found, which leaves no token to be seen".to_owned();
            return Err(keys.error("attention.sliding_window", what));
        }
        let vocab_size =
            file.find("token_embd.weight").and_then(|table| table.shape.first().copied());
        Ok(Self {
            file,
            family,
            hidden_size,
            intermediate_size: keys.size("feed_forward_length")?,
            num_blocks,
            num_heads,
            num_kv_heads,
            head_dim,
            vocab_size: vocab_size.unwrap_or(0),
            context_len: keys.size("context_length")?,
            norm_eps,
            rotary: rotary(file, &keys, family, head_dim)?,
            window,
            score_cap: keys.cap("attn_logit_softcapping")?,
            logit_cap: keys.cap("final_logit_softcapping")?,
        })
    }

    fn spec(&self) -> Result<DecoderSpec> {
        let positions = if self.family.learned_positions {
            Positions::Learned {
                table: "position_embd.weight".to_owned(),
                first: 0,
                len: self.context_len,
                segments: None,
            }
        } else {
            Positions::None
        };
        let stack = StackSpec {
            config: StackConfig {
                hidden_size: self.hidden_size,
                num_heads: self.num_heads,
                num_kv_heads: self.num_kv_heads,
                head_dim: self.head_dim,
                mixer: MixerKind::SelfAttention,
                causal: true,
                activation: self.family.activation,
                positions,
                embedding_scale: if self.family.scaled_embeddings {
                    libm::sqrtf(self.hidden_size as f32)
                } else {
                    1.0
                },
                norm: self.family.norm,
                norm_eps: self.norm_eps,
            },
            relative: None,
            embedding: "token_embd.weight".to_owned(),
            vocab_size: self.vocab_size,
            embedding_norm: None,
            blocks: (0..self.num_blocks).map(|index| self.block(index)).collect(),
            final_residual: false,
            final_norm: Some(self.norm("output_norm")),
        };
        let own = self.file.find("output.weight").is_some();
        let output = OutputSpec {
            table: if own { "output.weight" } else { "token_embd.weight" }.to_owned(),
            layout: MatrixLayout::OutIn,
            bias: self.optional("output.bias"),
            activation_multiplier: Vec::new(),
            vocab_size: self.vocab_size,
            in_features: self.hidden_size,
            cap: self.logit_cap,
        };
        Ok(DecoderSpec { stack, output, context_len: self.context_len })
    }

    fn block(&self, index: usize) -> BlockSpec {
        let name = |part: &str| format!("blk.{index}.{part}");
        let norms = |before: &str, output: &str| SublayerNorms {
            before: Some(self.norm(&name(before))),
            output: self.family.output_norms.then(|| self.norm(&name(output))),
            after: None,
        };
        let (hidden, intermediate) = (self.hidden_size, self.intermediate_size);
        let (q_width, kv_width) =
            (self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim);
        let linear = |part: &str, inputs, outputs| self.linear(&name(part), inputs, outputs);
        let qkv = if self.family.fused_qkv {
            QkvSpec::Fused(linear("attn_qkv", hidden, q_width + 2 * kv_width))
        } else {
            QkvSpec::Separate {
                q: linear("attn_q", hidden, q_width),
                k: linear("attn_k", hidden, kv_width),
                v: linear("attn_v", hidden, kv_width),
            }
        };
        let is_global =
            self.family.window_every.is_none_or(|every| (index + 1).is_multiple_of(every));
        let mut rotary = self.rotary.clone();
        if let (false, Some(rotary), Some(base)) = (is_global, &mut rotary, self.family.window_base)
        {
            (rotary.base, rotary.scale) = (base, 1.0);
        }
        let score_width = match self.family.score_width_of {
            Some((blocks, hidden)) if blocks == self.num_blocks && hidden == self.hidden_size => {
                self.hidden_size / self.num_heads
            }
            _ => self.head_dim,
        };
        let attention = AttentionSpec {
            qkv,
            out: Some(linear("attn_output", q_width, hidden)),
            norms: norms("attn_norm", "post_attention_norm"),
            head_norms: self
                .family
                .head_norms
                .then(|| (self.norm(&name("attn_q_norm")), self.norm(&name("attn_k_norm")))),
            rotary,
            score: ScoreSpec::DotProduct,
            join: ContextJoin::Add,
            scale: 1.0 / libm::sqrtf(score_width as f32),
            score_cap: self.score_cap,
            window: self.window.filter(|_| !is_global),
        };
        BlockSpec {
            mixer: MixerSpec::SelfAttention(Box::new(attention)),
            cross_attention: None,
            mlp: MlpSpec {
                gate: self.family.gated.then(|| linear("ffn_gate", hidden, intermediate)),
                layers: vec![
                    linear("ffn_up", hidden, intermediate),
                    linear("ffn_down", intermediate, hidden),
                ],
                norms: norms("ffn_norm", "post_ffw_norm"),
                join: MlpJoin::Add,
            },
        }
    }

    fn linear(&self, name: &str, in_features: usize, out_features: usize) -> LinearSpec {
        LinearSpec {
            weight: format!("{name}.weight"),
            bias: self.optional(&format!("{name}.bias")),
            activation_multiplier: Vec::new(),
            in_features,
            out_features,
            layout: MatrixLayout::OutIn,
        }
    }

    fn norm(&self, name: &str) -> NormSpec {
        NormSpec { scale: format!("{name}.weight"), bias: self.optional(&format!("{name}.bias")) }
    }

    /// The name, if the file has that tensor.
    fn optional(&self, name: &str) -> Option<String> {
        self.file.find(name).map(|_| name.to_owned())
    }
}

fn rotary(
    file: &GgufFile,
    keys: &Keys<'_>,
    family: &Family,
    head_dim: usize,
) -> Result<Option<Rotary>> {
    let Some(pairs) = family.rotary else { return Ok(None) };
    let dims = keys.size_or("rope.dimension_count", head_dim)?;
    if dims == 0 || dims > head_dim || !dims.is_multiple_of(2) {
        let what =
            format!("{dims} found, expected an even number up to the head's width {head_dim}");
        return Err(keys.error("rope.dimension_count", what));
    }
    let factor = match keys.string("rope.scaling.type")? {
        None | Some("none") => keys.float("rope.scale_linear")?,
        Some("linear") => keys.float("rope.scaling.factor")?,
        Some(other) => {
            return Err(Error::Unsupported {
                file: file.name().to_owned(),
                what: format!("rope.scaling.type '{other}'; known: none, linear"),
            });
        }
    };
    let factor = factor.unwrap_or(1.0);
    if !factor.is_finite() || factor <= 0.0 {
        return Err(keys.error("rope.scaling.factor", format!("{factor} found, expected above 0")));
    }
    let base = keys.float("rope.freq_base")?.unwrap_or(10_000.0);
    if !base.is_finite() || base <= 0.0 {
        return Err(keys.error("rope.freq_base", format!("{base} found, expected above 0")));
    }
    let factors = file.find("rope_freqs.weight").map(|_| "rope_freqs.weight".to_owned());
    Ok(Some(Rotary { base, dims, pairs, scale: 1.0 / factor, factors }))
}
