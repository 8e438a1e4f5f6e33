//! Small encoder–decoders over letters, `"model_type": "multihead-letters"`: recurrent ones with additive or dot-product
//! attention or none, and Transformers. Tensors have torch's names for what torch has modules for.

use crate::error::{Error, Result};
use crate::formats::Config;
use crate::model::{
    ActivationKind, AttentionSpec, BlockSpec, ContextJoin, DirectionSpec, EncoderDecoderSpec,
    FirstState, LinearSpec, MatrixLayout, MixerKind, MixerSpec, MlpJoin, MlpSpec, NormKind,
    NormSpec, OutputSpec, Positions, QkvSpec, RecurrentKind, RecurrentSpec, ScoreSpec,
    SpecialTokens, StackConfig, StackSpec, SublayerNorms,
};

/// What `model_type` is.
pub const MODEL_TYPE: &str = "multihead-letters";

/// Most layers, and the widest of them, of a model that is believed.
const MAX_LAYERS: usize = 100;
const MAX_WIDTH: usize = 16_384;

/// torch's default.
const NORM_EPS: f32 = 1e-5;

/// Describes the model of a `config.json`.
///
/// # Errors
/// [`Error::Unsupported`] for another kind of model, [`Error::Metadata`] for a value that is missing or wrong.
pub fn describe(config: &Config) -> Result<EncoderDecoderSpec> {
    let kind = config.string("model_type")?.unwrap_or_default();
    if kind != MODEL_TYPE {
        let what = format!("model_type '{kind}', expected {MODEL_TYPE}");
        return Err(Error::Unsupported { file: config.file().to_owned(), what });
    }
    let encoder = Side::read(config, "encoder")?;
    let decoder = Side::read(config, "decoder")?;
    let (encoder_stack, encoder_width) = encoder.stack(None)?;
    let (decoder_stack, width) = decoder.stack(Some(encoder_width))?;
    let first_state = match decoder.config.string("initial_state")?.unwrap_or("zero") {
        "zero" => FirstState::Zero,
        "encoder" => {
            check_states(&encoder, &decoder)?;
            FirstState::Encoder
        }
        other => return Err(decoder.unknown("initial_state", other, "zero, encoder")),
    };
    let target = config.section("target")?;
    let (last, heads) = (decoder.layers - 1, decoder_stack.config.num_heads);
    let alignment = match decoder.config.sizes("alignment")?.as_deref() {
        None => (last, 0),
        Some(&[layer, head]) if layer <= last && head < heads => (layer, head),
        Some(_) => return Err(decoder.config.error("alignment", "no [layer, head] that is there")),
    };
    Ok(EncoderDecoderSpec {
        output: OutputSpec {
            table: "output.weight".to_owned(),
            layout: MatrixLayout::OutIn,
            bias: Some("output.bias".to_owned()),
            activation_multiplier: Vec::new(),
            vocab_size: decoder_stack.vocab_size,
            in_features: width,
            cap: None,
        },
        // No symbol stands for what the model does not know.
        special: SpecialTokens { end: target.required_size("end")? as u32, unknown: u32::MAX },
        encoder: encoder_stack,
        decoder: decoder_stack,
        alignment,
        first_state,
    })
}

/// A decoder can only begin with states of its own kind and width.
fn check_states(encoder: &Side, decoder: &Side) -> Result<()> {
    let states = |side: &Side| (side.recurrent, side.layers, side.directions() * side.hidden_size);
    if decoder.recurrent.is_some() && states(encoder) == states(decoder) {
        return Ok(());
    }
    let what = "encoder found, where the two stacks are not of the same recurrent units, layers and widths (of both \
                directions together)";
    Err(decoder.config.error("initial_state", what))
}

/// One of both stacks.
struct Side {
    name: &'static str,
    config: Config,
    vocab_size: usize,
    /// `None`: self-attention.
    recurrent: Option<RecurrentKind>,
    bidirectional: bool,
    layers: usize,
    embedding_size: usize,
    hidden_size: usize,
}

impl Side {
    fn read(model: &Config, name: &'static str) -> Result<Self> {
        let config = model.section(name)?;
        let texts = model.section(if name == "encoder" { "source" } else { "target" })?;
        let symbols = texts.strings("symbols")?.unwrap_or_default().len();
        if symbols == 0 {
            return Err(texts.error("symbols", "expected a list of strings"));
        }
        let recurrent = match config.string("mixer")?.unwrap_or_default() {
            "gru" => Some(RecurrentKind::Gru),
            "lstm" => Some(RecurrentKind::Lstm),
            "self-attention" => None,
            other => {
                let what = format!("'{other}' found, expected gru, lstm or self-attention");
                return Err(config.error("mixer", what));
            }
        };
        let bidirectional = config.boolean("bidirectional")?.unwrap_or(false);
        if bidirectional && (name == "decoder" || recurrent.is_none()) {
            return Err(config.error("bidirectional", "true found, of no recurrent encoder"));
        }
        let side = Self {
            name,
            vocab_size: symbols,
            recurrent,
            bidirectional,
            layers: within(&config, "layers", MAX_LAYERS)?,
            embedding_size: within(&config, "embedding_size", MAX_WIDTH)?,
            hidden_size: within(&config, "hidden_size", MAX_WIDTH)?,
            config,
        };
        if side.recurrent.is_none() && side.embedding_size != side.hidden_size {
            let what = format!("{} found, expected the hidden_size", side.embedding_size);
            return Err(side.config.error("embedding_size", what));
        }
        Ok(side)
    }

    fn unknown(&self, key: &str, found: &str, known: &str) -> Error {
        self.config.error(key, format!("'{found}' found, expected one of: {known}"))
    }

    fn directions(&self) -> usize {
        1 + usize::from(self.bidirectional)
    }

    /// The stack, and the width of its output. A decoder looks at an encoder's output of a width.
    fn stack(&self, encoder_width: Option<usize>) -> Result<(StackSpec, usize)> {
        match self.recurrent {
            Some(kind) => self.recurrent_stack(kind, encoder_width),
            None => Ok((self.transformer(encoder_width)?, self.hidden_size)),
        }
    }

    fn recurrent_stack(
        &self,
        kind: RecurrentKind,
        encoder_width: Option<usize>,
    ) -> Result<(StackSpec, usize)> {
        let output = self.directions() * self.hidden_size;
        let mut blocks: Vec<BlockSpec> = (0..self.layers)
            .map(|layer| BlockSpec {
                mixer: MixerSpec::Recurrent(Box::new(self.layer(kind, layer))),
                cross_attention: None,
                mlp: no_feed_forward(),
            })
            .collect();
        let mut width = output;
        if let Some(last) = blocks.last_mut() {
            if let Some(encoder_width) = encoder_width {
                last.cross_attention = self.look_up(encoder_width)?;
                width += last.cross_attention.as_ref().map_or(0, |_| output);
            } else if let Some(dense) = self.config.optional_section("dense")? {
                width = within(&dense, "features", MAX_WIDTH)?;
                last.mlp.layers.push(self.linear("dense", output, width));
                last.mlp.join = MlpJoin::Replace;
            }
        }
        // Its attention has one head, as wide as the state.
        let config = self.stack_config(1, ActivationKind::Tanh, Positions::None);
        Ok((self.stack_spec(config, blocks, None), width))
    }

    /// A recurrent layer, by torch's names.
    fn layer(&self, kind: RecurrentKind, layer: usize) -> RecurrentSpec {
        let hidden_size = self.hidden_size;
        let in_features =
            if layer == 0 { self.embedding_size } else { self.directions() * hidden_size };
        let direction = |suffix: &str| {
            let linear = |part: &str, in_features| LinearSpec {
                weight: format!("{}.rnn.weight_{part}_l{layer}{suffix}", self.name),
                bias: Some(format!("{}.rnn.bias_{part}_l{layer}{suffix}", self.name)),
                activation_multiplier: Vec::new(),
                in_features,
                out_features: kind.gates() * hidden_size,
                layout: MatrixLayout::OutIn,
            };
            DirectionSpec { input: linear("ih", in_features), state: linear("hh", hidden_size) }
        };
        let suffixes = ["", "_reverse"].into_iter().take(self.directions());
        RecurrentSpec { kind, hidden_size, directions: suffixes.map(direction).collect() }
    }

    /// The one attention of a recurrent decoder: its output asks, the encoder's answers, and the context stands beside it.
    fn look_up(&self, encoder_width: usize) -> Result<Option<AttentionSpec>> {
        let Some(cross) = self.config.optional_section("cross_attention")? else { return Ok(None) };
        let score = match cross.string("score")?.unwrap_or_default() {
            "dot-product" => ScoreSpec::DotProduct,
            "additive" => {
                ScoreSpec::Additive { weight: "decoder.attention.score.weight".to_owned() }
            }
            other => {
                let what = format!("'{other}' found, expected additive or dot-product");
                return Err(cross.error("score", what));
            }
        };
        let projections = cross.strings("projections")?.unwrap_or_default();
        if let Some(other) = projections.iter().find(|name| !["q", "k", "v"].contains(name)) {
            return Err(cross.error("projections", format!("'{other}' found, expected q, k or v")));
        }
        let map = |name: &str, in_features| {
            projections.contains(&name).then(|| LinearSpec {
                weight: format!("decoder.attention.{name}.weight"),
                bias: None,
                activation_multiplier: Vec::new(),
                in_features,
                out_features: self.hidden_size,
                layout: MatrixLayout::OutIn,
            })
        };
        let (k, v) = (map("k", encoder_width), map("v", encoder_width));
        if encoder_width != self.hidden_size && (k.is_none() || v.is_none()) {
            let what = format!(
                "k and v must be among them where the encoder's output is {encoder_width} wide and the decoder's state {}",
                self.hidden_size
            );
            return Err(cross.error("projections", what));
        }
        Ok(Some(AttentionSpec {
            qkv: QkvSpec::Some { q: map("q", self.hidden_size), k, v },
            out: None,
            norms: SublayerNorms::default(),
            head_norms: None,
            rotary: None,
            score,
            join: ContextJoin::Beside,
            scale: 1.0,
            score_cap: None,
            window: None,
        }))
    }

    /// The layers of torch's `TransformerEncoder` or `TransformerDecoder`.
    fn transformer(&self, encoder_width: Option<usize>) -> Result<StackSpec> {
        let config = &self.config;
        let num_heads = within(config, "num_heads", self.hidden_size)?;
        if !self.hidden_size.is_multiple_of(num_heads) {
            let what = format!("{num_heads} found, expected a divisor of {}", self.hidden_size);
            return Err(config.error("num_heads", what));
        }
        let activation = match config.string("activation")?.unwrap_or("relu") {
            "relu" => ActivationKind::Relu,
            "gelu" => ActivationKind::Gelu,
            other => return Err(self.unknown("activation", other, "relu, gelu")),
        };
        let positions = match config.string("positions")?.unwrap_or("sinusoidal") {
            "sinusoidal" if self.hidden_size.is_multiple_of(2) => Positions::SinusoidalHalves,
            "none" => Positions::None,
            other => {
                return Err(self.unknown("positions", other, "sinusoidal (of even width), none"));
            }
        };
        let pre_norm = match config.string("norm")?.unwrap_or("post") {
            "post" => false,
            "pre" => true,
            other => return Err(self.unknown("norm", other, "post, pre")),
        };
        let crosses = match (encoder_width, config.optional_section("cross_attention")?) {
            (Some(width), Some(cross)) => {
                if cross.string("score")? != Some("dot-product") || width != self.hidden_size {
                    let what = "expected dot-product, and an encoder as wide as the decoder";
                    return Err(cross.error("score", what));
                }
                true
            }
            _ => false,
        };
        let intermediate = within(config, "intermediate_size", MAX_WIDTH)?;
        let block = |layer: usize| {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let norms = |number: usize| {
                let norm = Some(self.norm(&name(&format!("norm{number}"))));
                match pre_norm {
                    true => SublayerNorms { before: norm, ..Default::default() },
                    false => SublayerNorms { after: norm, ..Default::default() },
                }
            };
            let hidden = self.hidden_size;
            let attention = |module: &str, norms| {
                let map = |part: &str| {
                    self.linear(&name(&format!("{module}.{part}_proj")), hidden, hidden)
                };
                AttentionSpec {
                    qkv: QkvSpec::Separate { q: map("q"), k: map("k"), v: map("v") },
                    out: Some(map("out")),
                    norms,
                    head_norms: None,
                    rotary: None,
                    score: ScoreSpec::DotProduct,
                    join: ContextJoin::Add,
                    scale: 1.0 / libm::sqrtf((hidden / num_heads) as f32),
                    score_cap: None,
                    window: None,
                }
            };
            BlockSpec {
                mixer: MixerSpec::SelfAttention(Box::new(attention("self_attn", norms(1)))),
                cross_attention: crosses.then(|| attention("multihead_attn", norms(2))),
                mlp: MlpSpec {
                    gate: None,
                    layers: vec![
                        self.linear(&name("linear1"), hidden, intermediate),
                        self.linear(&name("linear2"), intermediate, hidden),
                    ],
                    // Third, where there is a cross-attention between.
                    norms: norms(2 + usize::from(crosses)),
                    join: MlpJoin::Add,
                },
            }
        };
        let blocks = (0..self.layers).map(block).collect();
        let mut stack_config = self.stack_config(num_heads, activation, positions);
        stack_config.mixer = MixerKind::SelfAttention;
        stack_config.embedding_scale = config.float("embedding_scale")?.unwrap_or(1.0);
        Ok(self.stack_spec(stack_config, blocks, pre_norm.then(|| self.norm("norm"))))
    }

    fn stack_config(
        &self,
        num_heads: usize,
        activation: ActivationKind,
        positions: Positions,
    ) -> StackConfig {
        StackConfig {
            hidden_size: self.embedding_size,
            num_heads,
            num_kv_heads: num_heads,
            head_dim: self.hidden_size / num_heads,
            mixer: MixerKind::Recurrent,
            causal: self.name == "decoder",
            activation,
            positions,
            embedding_scale: 1.0,
            norm: NormKind::Layer,
            norm_eps: NORM_EPS,
        }
    }

    fn stack_spec(
        &self,
        config: StackConfig,
        blocks: Vec<BlockSpec>,
        final_norm: Option<NormSpec>,
    ) -> StackSpec {
        StackSpec {
            config,
            relative: None,
            embedding: format!("{}.embedding.weight", self.name),
            vocab_size: self.vocab_size,
            embedding_norm: None,
            blocks,
            final_residual: false,
            final_norm,
        }
    }

    fn linear(&self, part: &str, in_features: usize, out_features: usize) -> LinearSpec {
        LinearSpec {
            weight: format!("{}.{part}.weight", self.name),
            bias: Some(format!("{}.{part}.bias", self.name)),
            activation_multiplier: Vec::new(),
            in_features,
            out_features,
            layout: MatrixLayout::OutIn,
        }
    }

    fn norm(&self, part: &str) -> NormSpec {
        NormSpec {
            scale: format!("{}.{part}.weight", self.name),
            bias: Some(format!("{}.{part}.bias", self.name)),
        }
    }
}

fn no_feed_forward() -> MlpSpec {
    MlpSpec { gate: None, layers: Vec::new(), norms: SublayerNorms::default(), join: MlpJoin::Add }
}

/// A size from 1 to `most`.
fn within(config: &Config, key: &str, most: usize) -> Result<usize> {
    match config.required_size(key)? {
        size if (1..=most).contains(&size) => Ok(size),
        size => Err(config.error(key, format!("{size} found, expected 1 to {most}"))),
    }
}
