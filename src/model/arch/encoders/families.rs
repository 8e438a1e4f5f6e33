//! What sets the families of encoders apart, as `model_type` of a `config.json` names them: names of keys and tensors.

use crate::error::{Error, Result};
use crate::formats::Config;
use crate::model::ActivationKind;

/// One family: everything about its blocks that the file's numbers and tensors do not say.
#[derive(Debug)]
pub struct Family {
    /// `model_type`.
    pub name: &'static str,
    /// What tensors of the stack begin with in checkpoints that have a head.
    pub prefix: &'static str,
    /// Keys of the hyperparameters.
    pub keys: Keys,
    /// Names of the tensors.
    pub names: Names,
    /// Whether the first position's row comes after that of the padding token.
    pub positions_after_padding: bool,
    /// Whether there are segment embeddings.
    pub segments: bool,
    /// Name of the table of relative positions.
    pub relative: Option<&'static str>,
    /// The head that scores texts.
    pub classifier: Classifier,
    /// The head that scores the vocabulary.
    pub vocabulary: Vocabulary,
}

/// Keys of `config.json`.
#[derive(Debug)]
pub struct Keys {
    /// Width of the residual stream.
    pub hidden_size: &'static str,
    /// Width of the feed-forward's hidden layer.
    pub intermediate_size: &'static str,
    /// Heads.
    pub num_heads: &'static str,
    /// Blocks.
    pub num_blocks: &'static str,
    /// Non-linearity.
    pub activation: &'static str,
}

/// Names of tensors, after the prefix; those of a block after its own.
#[derive(Debug)]
pub struct Names {
    /// What the names of block i begin with, before i.
    pub blocks: &'static str,
    /// Queries, keys, values.
    pub qkv: [&'static str; 3],
    /// Output projection of the attention.
    pub out: &'static str,
    /// Normalisation after the attention.
    pub attention_norm: &'static str,
    /// The two maps of the feed-forward.
    pub mlp: [&'static str; 2],
    /// Normalisation after the feed-forward.
    pub mlp_norm: &'static str,
}

/// A head that scores texts by their first token: a map, a non-linearity, a map.
#[derive(Debug)]
pub struct Classifier {
    /// The first map; its name follows the stack's prefix if `first_in_stack`.
    pub first: &'static str,
    /// Whether the first map is part of the stack.
    pub first_in_stack: bool,
    /// What follows it.
    pub activation: ActivationKind,
    /// The second map.
    pub second: &'static str,
}

/// A head that scores the vocabulary: a map, a non-linearity, a normalisation, the table.
#[derive(Debug)]
pub struct Vocabulary {
    /// The map.
    pub dense: &'static str,
    /// Non-linearity, if it is not that of the blocks.
    pub activation: Option<ActivationKind>,
    /// The normalisation.
    pub norm: &'static str,
    /// The table, where it is not that of the embeddings.
    pub table: &'static str,
    /// Names that the bias may have.
    pub bias: [&'static str; 2],
}

const USUAL_KEYS: Keys = Keys {
    hidden_size: "hidden_size",
    intermediate_size: "intermediate_size",
    num_heads: "num_attention_heads",
    num_blocks: "num_hidden_layers",
    activation: "hidden_act",
};

/// BERT (Devlin et al. 2019), and what was distilled from it under that name, such as MiniLM (Wang et al. 2020).
const BERT: Family = Family {
    name: "bert",
    prefix: "bert.",
    keys: USUAL_KEYS,
    names: Names {
        blocks: "encoder.layer.",
        qkv: ["attention.self.query", "attention.self.key", "attention.self.value"],
        out: "attention.output.dense",
        attention_norm: "attention.output.LayerNorm",
        mlp: ["intermediate.dense", "output.dense"],
        mlp_norm: "output.LayerNorm",
    },
    positions_after_padding: false,
    segments: true,
    relative: None,
    classifier: Classifier {
        first: "pooler.dense",
        first_in_stack: true,
        activation: ActivationKind::Tanh,
        second: "classifier",
    },
    vocabulary: Vocabulary {
        dense: "cls.predictions.transform.dense",
        activation: None,
        norm: "cls.predictions.transform.LayerNorm",
        table: "cls.predictions.decoder.weight",
        bias: ["cls.predictions.bias", "cls.predictions.decoder.bias"],
    },
};

/// RoBERTa (Liu et al. 2019).
const ROBERTA: Family = Family {
    name: "roberta",
    prefix: "roberta.",
    positions_after_padding: true,
    classifier: Classifier {
        first: "classifier.dense",
        first_in_stack: false,
        activation: ActivationKind::Tanh,
        second: "classifier.out_proj",
    },
    vocabulary: Vocabulary {
        dense: "lm_head.dense",
        activation: Some(ActivationKind::Gelu),
        norm: "lm_head.layer_norm",
        table: "lm_head.decoder.weight",
        bias: ["lm_head.bias", "lm_head.decoder.bias"],
    },
    ..BERT
};

/// XLM-RoBERTa (Conneau et al. 2020).
const XLM_ROBERTA: Family = Family { name: "xlm-roberta", ..ROBERTA };

/// MPNet (Song et al. 2020).
const MPNET: Family = Family {
    name: "mpnet",
    prefix: "mpnet.",
    names: Names {
        qkv: ["attention.attn.q", "attention.attn.k", "attention.attn.v"],
        out: "attention.attn.o",
        attention_norm: "attention.LayerNorm",
        ..BERT.names
    },
    segments: false,
    relative: Some("encoder.relative_attention_bias.weight"),
    ..ROBERTA
};

/// DistilBERT (Sanh et al. 2019).
const DISTILBERT: Family = Family {
    name: "distilbert",
    prefix: "distilbert.",
    keys: Keys {
        hidden_size: "dim",
        intermediate_size: "hidden_dim",
        num_heads: "n_heads",
        num_blocks: "n_layers",
        activation: "activation",
    },
    names: Names {
        blocks: "transformer.layer.",
        qkv: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
        out: "attention.out_lin",
        attention_norm: "sa_layer_norm",
        mlp: ["ffn.lin1", "ffn.lin2"],
        mlp_norm: "output_layer_norm",
    },
    segments: false,
    classifier: Classifier {
        first: "pre_classifier",
        first_in_stack: false,
        activation: ActivationKind::Relu,
        second: "classifier",
    },
    vocabulary: Vocabulary {
        dense: "vocab_transform",
        activation: None,
        norm: "vocab_layer_norm",
        table: "vocab_projector.weight",
        bias: ["vocab_projector.bias", "vocab_projector.bias"],
    },
    ..BERT
};

const FAMILIES: &[Family] = &[BERT, DISTILBERT, ROBERTA, XLM_ROBERTA, MPNET];

/// The family of a model.
pub fn family(config: &Config) -> Result<&'static Family> {
    let known = || FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ");
    let Some(name) = config.string("model_type")? else {
        return Err(config.error("model_type", format!("missing; known: {}", known())));
    };
    FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| Error::Unsupported {
        file: config.file().to_owned(),
        what: format!("model_type '{name}'; encoders known: {}", known()),
    })
}
