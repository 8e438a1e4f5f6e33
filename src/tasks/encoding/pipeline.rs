//! What makes one vector of all vectors of a text, as the files of sentence-transformers (Reimers and Gurevych 2019) say:
//! `modules.json` names the steps, each has a folder with a `config.json`.

use crate::error::{Error, Result};
use crate::formats::safetensors::SafetensorsFolder;
use crate::formats::{Config, ModelFolder, TensorFile};
use crate::model::{ActivationKind, DenseSpec, LinearSpec, MatrixLayout, StackConfig};
use crate::ops::{Ops, Pooling};
use crate::stack::{Encoder, Precision, encoder::Dense};

/// The steps after the encoder.
pub struct Pipeline<O: Ops> {
    /// How one row is made of all.
    pub pooling: Pooling,
    /// Maps of the pooled row.
    pub dense: Vec<Dense<O>>,
    /// Whether the vector is given length 1.
    pub normalize: bool,
    /// Width of the vector.
    pub dimensions: usize,
}

/// A step as `modules.json` names it.
enum Step {
    Pooling(String),
    Dense(String),
    Normalize,
}

impl<O: Ops> Pipeline<O> {
    /// Reads the steps. A folder that names none has the mean of all rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a step or a way of pooling that is not known; whatever is wrong with the files.
    pub fn load(
        ops: &O,
        folder: &mut ModelFolder,
        config: &StackConfig,
        precision: Precision,
    ) -> Result<Self> {
        let mut pipeline = Self {
            pooling: Pooling::Mean,
            dense: Vec::new(),
            normalize: false,
            dimensions: config.hidden_size,
        };
        for step in steps(folder)? {
            match step {
                Step::Pooling(path) => {
                    pipeline.pooling = pooling(&folder.required_config(&path)?)?;
                }
                Step::Normalize => pipeline.normalize = true,
                Step::Dense(_) if pipeline.normalize => {
                    let what = "a map (Dense) after a vector was given length 1 (Normalize)";
                    return Err(unsupported(MODULES, what.to_owned()));
                }
                Step::Dense(path) => {
                    let file = format!("{path}config.json");
                    let spec = dense(&folder.required_config(&file)?)?;
                    if spec.linear.in_features != pipeline.dimensions {
                        let (got, expected) = (spec.linear.in_features, pipeline.dimensions);
                        let what =
                            format!("in_features is {got}, what comes before has {expected}");
                        return Err(unsupported(&file, what));
                    }
                    pipeline.dimensions = spec.linear.out_features;
                    let tensors = SafetensorsFolder::open(folder, &path)?;
                    let spec = with_bias(spec, &tensors);
                    pipeline
                        .dense
                        .push(Encoder::load_dense(ops, &tensors, &spec, config, precision)?);
                }
            }
        }
        Ok(pipeline)
    }
}

const MODULES: &str = "modules.json";

fn unsupported(file: &str, what: String) -> Error {
    Error::Unsupported { file: file.to_owned(), what }
}

fn steps(folder: &ModelFolder) -> Result<Vec<Step>> {
    let Some(modules) = folder.configs(MODULES)? else {
        // Some repositories have the step without the list.
        let alone = "1_Pooling/config.json";
        return Ok(folder
            .has(alone)
            .then(|| Step::Pooling(alone.to_owned()))
            .into_iter()
            .collect());
    };
    let mut steps = Vec::new();
    for module in &modules {
        let kind = module.string("type")?.unwrap_or_default();
        let path = match module.string("path")?.unwrap_or_default().trim_matches('/') {
            "" => String::new(),
            path => format!("{path}/"),
        };
        steps.push(match kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" if path.is_empty() => continue,
            "Transformer" => {
                let what = format!("the encoder in the folder {path}; read are those at the top");
                return Err(unsupported(MODULES, what));
            }
            "Pooling" => Step::Pooling(format!("{path}config.json")),
            "Dense" => Step::Dense(path),
            "Normalize" => Step::Normalize,
            _ => {
                let what =
                    format!("a module '{kind}'; known: Transformer, Pooling, Dense, Normalize");
                return Err(unsupported(MODULES, what));
            }
        });
    }
    Ok(steps)
}

/// `1_Pooling/config.json`: a switch for each way, of which one is on, or, of late, the name of one.
fn pooling(config: &Config) -> Result<Pooling> {
    const WAYS: [(&str, &str, Pooling); 3] = [
        ("pooling_mode_mean_tokens", "mean", Pooling::Mean),
        ("pooling_mode_cls_token", "cls", Pooling::First),
        ("pooling_mode_max_tokens", "max", Pooling::Max),
    ];
    let known = "known: mean, cls, max";
    if let Some(name) = config.string("pooling_mode")? {
        let way = WAYS.iter().find(|(_, way, _)| *way == name);
        return way
            .map(|(_, _, pooling)| *pooling)
            .ok_or_else(|| unsupported(config.file(), format!("pooling_mode '{name}'; {known}")));
    }
    for key in [
        "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens",
        "pooling_mode_lasttoken",
    ] {
        if config.boolean(key)? == Some(true) {
            return Err(unsupported(config.file(), format!("{key}; {known}")));
        }
    }
    let mut on = Vec::new();
    for (key, _, pooling) in WAYS {
        if config.boolean(key)? == Some(true) {
            on.push(pooling);
        }
    }
    match on[..] {
        [one] => Ok(one),
        [] => Ok(Pooling::Mean),
        _ => Err(unsupported(config.file(), format!("several ways of pooling at once; {known}"))),
    }
}

/// `2_Dense/config.json`.
fn dense(config: &Config) -> Result<DenseSpec> {
    let name = config.string("activation_function")?.unwrap_or("Tanh");
    let activation = match name.rsplit('.').next().unwrap_or_default() {
        "Identity" => None,
        "Tanh" => Some(ActivationKind::Tanh),
        "ReLU" => Some(ActivationKind::Relu),
        "GELU" => Some(ActivationKind::Gelu),
        "SiLU" => Some(ActivationKind::Swish),
        _ => {
            let what =
                format!("activation_function '{name}'; known: Identity, Tanh, ReLU, GELU, SiLU");
            return Err(unsupported(config.file(), what));
        }
    };
    let linear = LinearSpec {
        weight: "linear.weight".to_owned(),
        bias: None,
        activation_multiplier: Vec::new(),
        in_features: config.required_size("in_features")?,
        out_features: config.required_size("out_features")?,
        layout: MatrixLayout::OutIn,
    };
    Ok(DenseSpec { linear, activation, norm: None })
}

fn with_bias(spec: DenseSpec, tensors: &SafetensorsFolder) -> DenseSpec {
    let bias = tensors.find("linear.bias").map(|bias| bias.name.clone());
    DenseSpec { linear: LinearSpec { bias, ..spec.linear }, ..spec }
}
