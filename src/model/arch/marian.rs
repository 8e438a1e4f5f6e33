//! Marian transformers (Junczys-Dowmunt et al. 2018), the format of the Firefox-Translations models.
//!
//! Names and defaults follow the files: an option that an older file lacks has the value Marian gives it.

use super::marian_options::{
    MAX_DEPTH, Process, depth, has_sigmoid_gelu, integer, invalid, linear, parse_process, required,
    tied_layer,
};
use crate::error::{Error, Result};
use crate::formats::{marian::MarianFile, marian_config::MarianConfig};
use crate::model::{
    ActivationKind, AttentionSpec, BlockSpec, ContextJoin, EncoderDecoderSpec, LinearSpec,
    MatrixLayout, MixerKind, MixerSpec, MlpJoin, MlpSpec, NormKind, NormSpec, OutputSpec,
    Positions, QkvSpec, ScoreSpec, SpecialTokens, SsruSpec, StackConfig, StackSpec, SublayerNorms,
};

/// Marian's layer normalisation adds this to the variance.
const NORM_EPS: f32 = 1e-6;

/// The description of the model in `file`.
pub fn describe(file: &MarianFile) -> Result<EncoderDecoderSpec> {
    let options = Options::read(file)?;
    let embeddings = Embeddings::find(file, &options)?;
    let encoder = options.stack(file, Side::Encoder, &embeddings.source)?;
    let decoder = options.stack(file, Side::Decoder, &embeddings.target)?;
    let alignment_layer = options.alignment_layer(decoder.blocks.len())?;
    Ok(EncoderDecoderSpec {
        encoder,
        decoder,
        output: embeddings.output,
        special: SpecialTokens { end: 0, unknown: 1 },
        alignment: (alignment_layer, 0),
        #[cfg(feature = "recurrent")]
        first_state: crate::model::FirstState::Zero,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Encoder,
    Decoder,
}

struct Options<'a> {
    file: &'a str,
    config: &'a MarianConfig,
    hidden_size: usize,
    num_heads: usize,
    preprocess: Process,
    postprocess: Process,
    embedding_norm: bool,
    top: Process,
    activation: ActivationKind,
    positions: Positions,
    /// Depth and width of the feed-forward layers of the encoder, and of the decoder.
    mlp: [(usize, usize); 2],
    projection: bool,
    recurrent_projection: bool,
    decoder_mixer: MixerKind,
}

impl<'a> Options<'a> {
    fn read(file: &'a MarianFile) -> Result<Self> {
        let config = file.config();
        let name = file.name();
        let unsupported = |what: String| Error::Unsupported { file: name.to_owned(), what };
        let kind = config.string("type")?.unwrap_or("transformer");
        if kind != "transformer" {
            return Err(unsupported(format!("model type '{kind}'; known: transformer")));
        }
        let hidden_size = required(config, name, "dim-emb")?;
        let num_heads = integer(config, name, "transformer-heads", 8)?;
        if num_heads == 0 || hidden_size % num_heads != 0 || hidden_size % 2 != 0 {
            return Err(invalid(
                name,
                format!(
                    "dim-emb {hidden_size} must be even and a multiple of transformer-heads {num_heads}"
                ),
            ));
        }
        let process = |key: &str, default: &str| parse_process(config, name, key, default);
        let preprocess = process("transformer-preprocess", "")?;
        let postprocess = process("transformer-postprocess", "dan")?;
        if preprocess.add || !postprocess.add {
            return Err(unsupported(
                "a sublayer without a residual (transformer-postprocess must add: 'da' or 'dan')"
                    .to_owned(),
            ));
        }
        let emb = process("transformer-postprocess-emb", "d")?;
        let top = process("transformer-postprocess-top", "")?;
        if emb.add {
            return Err(unsupported("a residual around the embeddings".to_owned()));
        }
        let activation = match config.string("transformer-ffn-activation")?.unwrap_or("swish") {
            "relu" => ActivationKind::Relu,
            "swish" => ActivationKind::Swish,
            "gelu" if !has_sigmoid_gelu(config.string("version")?) => ActivationKind::Gelu,
            other => {
                return Err(unsupported(format!(
                    "transformer-ffn-activation '{other}'; known: relu, swish, gelu (by Marian 1.12)"
                )));
            }
        };
        let decoder_mixer =
            match config.string("transformer-decoder-autoreg")?.unwrap_or("self-attention") {
                "self-attention" => MixerKind::SelfAttention,
                "rnn" => match config.string("dec-cell")?.unwrap_or("gru") {
                    "ssru" => MixerKind::Ssru,
                    other => {
                        return Err(unsupported(format!("decoder cell '{other}'; known: ssru")));
                    }
                },
                other => {
                    return Err(unsupported(format!(
                        "transformer-decoder-autoreg '{other}'; known: self-attention, rnn"
                    )));
                }
            };
        for key in ["ulr", "transformer-pool"] {
            if config.boolean(key)?.unwrap_or(false) {
                return Err(unsupported(format!("option {key}")));
            }
        }
        if integer(config, name, "lemma-dim-emb", 0)? != 0 {
            return Err(unsupported("factored vocabularies (lemma-dim-emb)".to_owned()));
        }
        if config.list("input-types")?.is_some_and(|types| types.len() > 1) {
            return Err(unsupported("more than one input stream (input-types)".to_owned()));
        }
        let without = config.boolean("transformer-disable-position-embeddings")?.unwrap_or(false);
        let positions = if without { Positions::None } else { Positions::SinusoidalHalves };
        if let Some(mask) =
            config.string("transformer-attention-mask")?.filter(|mask| *mask != "default")
        {
            return Err(unsupported(format!(
                "transformer-attention-mask '{mask}'; known: default"
            )));
        }
        let encoder_mlp = (
            integer(config, name, "transformer-ffn-depth", 2)?,
            integer(config, name, "transformer-dim-ffn", 2048)?,
        );
        // 0: as the encoder's
        let own = |key: &str, encoder: usize| match integer(config, name, key, 0)? {
            0 => Ok(encoder),
            own => Ok(own),
        };
        let decoder_mlp = (
            own("transformer-decoder-ffn-depth", encoder_mlp.0)?,
            own("transformer-decoder-dim-ffn", encoder_mlp.1)?,
        );
        for (depth, _) in [encoder_mlp, decoder_mlp] {
            if !(1..=MAX_DEPTH).contains(&(depth as u64)) {
                return Err(invalid(
                    name,
                    format!("transformer-ffn-depth is {depth}, expected 1 to {MAX_DEPTH}"),
                ));
            }
        }
        Ok(Self {
            file: name,
            config,
            hidden_size,
            num_heads,
            preprocess,
            postprocess,
            embedding_norm: emb.norm,
            top,
            activation,
            positions,
            mlp: [encoder_mlp, decoder_mlp],
            projection: !config.boolean("transformer-no-projection")?.unwrap_or(false),
            recurrent_projection: config.boolean("transformer-rnn-projection")?.unwrap_or(false),
            decoder_mixer,
        })
    }

    fn stack(&self, file: &MarianFile, side: Side, table: &Table) -> Result<StackSpec> {
        let (prefix, depth_key) = match side {
            Side::Encoder => ("encoder", "enc-depth"),
            Side::Decoder => ("decoder", "dec-depth"),
        };
        let depth = depth(self.config, self.file, depth_key)?;
        let tied = self.config.list("transformer-tied-layers")?.unwrap_or_default();
        let mut blocks = Vec::new();
        for index in 0..depth {
            let layer = tied_layer(&tied, index, self.file)?;
            blocks.push(self.block(side, &format!("{prefix}_l{layer}")));
        }
        let has = |name: &str| file.find(name).is_some();
        let norm = |name: &str, suffix: &str| NormSpec {
            scale: format!("{name}_scale{suffix}"),
            bias: Some(format!("{name}_bias{suffix}")),
        };
        // Files differ in where they put the norm of the embeddings: with or without the suffix of a pre-norm.
        let embedding_norm = self.embedding_norm.then(|| {
            let name = format!("{prefix}_emb_ln");
            let suffix = if has(&format!("{name}_scale_pre")) { "_pre" } else { "" };
            norm(&name, suffix)
        });
        Ok(StackSpec {
            relative: None,
            config: StackConfig {
                hidden_size: self.hidden_size,
                num_heads: self.num_heads,
                num_kv_heads: self.num_heads,
                head_dim: self.hidden_size / self.num_heads,
                mixer: match side {
                    Side::Encoder => MixerKind::SelfAttention,
                    Side::Decoder => self.decoder_mixer,
                },
                causal: side == Side::Decoder,
                activation: self.activation,
                positions: self.positions.clone(),
                embedding_scale: libm::sqrtf(self.hidden_size as f32),
                norm: NormKind::Layer,
                norm_eps: NORM_EPS,
            },
            embedding: table.name.clone(),
            vocab_size: table.rows,
            embedding_norm,
            blocks,
            final_residual: self.top.add,
            final_norm: self.top.norm.then(|| norm(&format!("{prefix}_top_ln"), "")),
        })
    }

    fn block(&self, side: Side, prefix: &str) -> BlockSpec {
        let recurrent = side == Side::Decoder && self.decoder_mixer == MixerKind::Ssru;
        let mixer = if recurrent {
            let name = format!("{prefix}_rnn");
            MixerSpec::Ssru(Box::new(SsruSpec {
                input: self.square(&format!("{name}_W"), None),
                forget: self.square(&format!("{name}_Wf"), Some(format!("{name}_bf"))),
                out: self
                    .recurrent_projection
                    .then(|| self.square(&format!("{name}_Wo"), Some(format!("{name}_bo")))),
                norms: self.norms(&format!("{name}_ln"), &format!("{name}_ffn_ln")),
            }))
        } else {
            MixerSpec::SelfAttention(Box::new(self.attention(&format!("{prefix}_self"))))
        };
        let cross_attention =
            (side == Side::Decoder).then(|| self.attention(&format!("{prefix}_context")));
        BlockSpec { mixer, cross_attention, mlp: self.mlp(side, &format!("{prefix}_ffn")) }
    }

    fn attention(&self, name: &str) -> AttentionSpec {
        let map =
            |part: &str| self.square(&format!("{name}_W{part}"), Some(format!("{name}_b{part}")));
        let norm = format!("{name}_Wo_ln");
        AttentionSpec {
            qkv: QkvSpec::Separate { q: map("q"), k: map("k"), v: map("v") },
            out: self.projection.then(|| map("o")),
            norms: self.norms(&norm, &norm),
            head_norms: None,
            rotary: None,
            score: ScoreSpec::DotProduct,
            join: ContextJoin::Add,
            scale: 1.0 / libm::sqrtf((self.hidden_size / self.num_heads) as f32),
            score_cap: None,
            window: None,
        }
    }

    fn mlp(&self, side: Side, name: &str) -> MlpSpec {
        let [encoder, decoder] = self.mlp;
        let (depth, intermediate_size) = if side == Side::Encoder { encoder } else { decoder };
        let norm = format!("{name}_ffn_ln");
        let width = |index: usize| {
            if index == 0 || index == depth { self.hidden_size } else { intermediate_size }
        };
        let layers = (0..depth)
            .map(|index| {
                let number = index + 1;
                let bias = Some(format!("{name}_b{number}"));
                linear(&format!("{name}_W{number}"), bias, width(index), width(number))
            })
            .collect();
        MlpSpec { gate: None, layers, norms: self.norms(&norm, &norm), join: MlpJoin::Add }
    }

    fn square(&self, weight: &str, bias: Option<String>) -> LinearSpec {
        linear(weight, bias, self.hidden_size, self.hidden_size)
    }

    fn norms(&self, before: &str, after: &str) -> SublayerNorms {
        SublayerNorms {
            before: self.preprocess.norm.then(|| NormSpec {
                scale: format!("{before}_scale_pre"),
                bias: Some(format!("{before}_bias_pre")),
            }),
            output: None,
            after: self.postprocess.norm.then(|| NormSpec {
                scale: format!("{after}_scale"),
                bias: Some(format!("{after}_bias")),
            }),
        }
    }

    /// 0-based layer whose first head is trained as the word alignment: `last`, or a 1-based number.
    fn alignment_layer(&self, depth: usize) -> Result<usize> {
        let key = "transformer-guided-alignment-layer";
        match self.config.string(key)? {
            None | Some("last") => Ok(depth.saturating_sub(1)),
            Some(number) => number
                .parse::<usize>()
                .ok()
                .filter(|layer| (1..=depth).contains(layer))
                .map(|layer| layer - 1)
                .ok_or_else(|| {
                    invalid(
                        self.file,
                        format!("{key} '{number}' is neither 'last' nor 1 to {depth}"),
                    )
                }),
        }
    }
}

struct Table {
    name: String,
    rows: usize,
}

struct Embeddings {
    source: Table,
    target: Table,
    output: OutputSpec,
}

impl Embeddings {
    /// Which tables there are tells more surely than the options how they are tied.
    fn find(file: &MarianFile, options: &Options<'_>) -> Result<Self> {
        let shape = |name: &str| file.find(name).map(|tensor| tensor.shape.clone());
        let table = |name: &str| -> Result<Option<Table>> {
            match shape(name).as_deref() {
                None => Ok(None),
                Some(&[rows, columns]) if columns == options.hidden_size => {
                    Ok(Some(Table { name: name.to_owned(), rows }))
                }
                Some(got) => Err(Error::Shape {
                    file: file.name().to_owned(),
                    tensor: name.to_owned(),
                    expected: format!("[vocabulary, {}]", options.hidden_size),
                    got: format!("{got:?}"),
                }),
            }
        };
        let missing = |name: &str| Error::MissingTensor {
            file: file.name().to_owned(),
            tensors: vec![name.to_owned()],
            extra: Vec::new(),
        };
        let (source, target) = match table("Wemb")? {
            Some(shared) => {
                let target = Table { name: shared.name.clone(), rows: shared.rows };
                (shared, target)
            }
            None => (
                table("encoder_Wemb")?.ok_or_else(|| missing("Wemb or encoder_Wemb"))?,
                table("decoder_Wemb")?.ok_or_else(|| missing("decoder_Wemb"))?,
            ),
        };
        let untied = [
            ("decoder_ff_logit_out_Wt", MatrixLayout::OutIn),
            ("decoder_ff_logit_out_W", MatrixLayout::InOut),
        ]
        .into_iter()
        .find(|(name, _)| file.find(name).is_some());
        let (name, layout) = untied.unwrap_or((&target.name, MatrixLayout::OutIn));
        let bias = "decoder_ff_logit_out_b";
        let omitted = options.config.boolean("output-omit-bias")?.unwrap_or(false);
        let output = OutputSpec {
            table: name.to_owned(),
            layout,
            bias: (!omitted).then(|| bias.to_owned()),
            // The selected rows of the output matrix have no name of their own when Marian measures them.
            activation_multiplier: vec!["none_QuantMultA".to_owned(), format!("{name}_QuantMultA")],
            vocab_size: target.rows,
            in_features: options.hidden_size,
            cap: None,
        };
        Ok(Self { source, target, output })
    }
}
