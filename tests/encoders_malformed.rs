//! Encoders whose files are incomplete, contradict one another or are of another kind: a typed error that names the file and
//! all that is wrong with it.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::panic)] // as in any test

mod support;

use multihead::error::{Error, Result};
use multihead::tasks::encoding::{
    Cpu, EmbeddingOptions, EncodingModel, LoadOptions, Task, TooLong,
};
use serde_json::{Map, Value, json};
use std::rc::Rc;
use support::encoders::{Files, as_folder, files};
use support::fixture;

fn bert() -> Files {
    files(&fixture("encoders/bert-embed"))
}

fn load(files: Files) -> Result<EncodingModel<Cpu>> {
    EncodingModel::load(Cpu::new(), as_folder(files), LoadOptions::default())
}

#[track_caller]
fn fails(files: Files) -> Error {
    load(files).map(|_| ()).unwrap_err()
}

#[track_caller]
fn fails_with(files: Files, code: &str, says: &[&str]) {
    let error = fails(files);
    assert_eq!(error.code(), code, "{error}");
    for says in says {
        assert!(error.to_string().contains(says), "{says:?} expected in: {error}");
    }
}

/// The file of JSON with these keys set, `null` taking one away.
fn with(mut files: Files, file: &str, changes: Value) -> Files {
    let mut object: Map<String, Value> = serde_json::from_slice(&files[file]).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => object.remove(key),
            value => object.insert(key.clone(), value.clone()),
        };
    }
    files.insert(file.to_owned(), serde_json::to_vec(&object).unwrap());
    files
}

/// The tensors with the head changed; their data stays.
fn with_head(mut files: Files, change: impl FnOnce(&mut Map<String, Value>)) -> Files {
    let bytes = &files["model.safetensors"];
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut head: Map<String, Value> = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    change(&mut head);
    let text = serde_json::to_vec(&head).unwrap();
    let changed = [&(text.len() as u64).to_le_bytes()[..], &text, &bytes[8 + length..]].concat();
    files.insert("model.safetensors".to_owned(), changed);
    files
}

fn renamed(head: &mut Map<String, Value>, from: &str, to: &str) {
    let entry = head.remove(from).unwrap();
    head.insert(to.to_owned(), entry);
}

#[test]
fn the_fixture_itself_loads() {
    assert!(load(bert()).is_ok());
}

#[test]
fn missing_files_are_named_with_what_is_there() {
    for file in ["config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"] {
        let mut files = bert();
        files.remove(file).unwrap();
        fails_with(files, "model-unsupported", &[&format!("there is no {file}"), "modules.json"]);
    }
    let mut files = bert();
    files.remove("2_Dense/model.safetensors").unwrap();
    fails_with(files, "model-unsupported", &["there is no 2_Dense/model.safetensors"]);
}

#[test]
fn missing_and_extra_tensors_are_all_named_at_once() {
    let (a, b) = ("encoder.layer.0.output.dense.bias", "encoder.layer.1.attention.self.key.weight");
    let files = with_head(bert(), |head| {
        renamed(head, a, "encoder.layer.0.output.thick.bias");
        renamed(head, b, "encoder.layer.7.attention.self.key.weight");
    });
    let says = [
        "2 tensor(s) missing",
        a,
        b,
        "2 tensor(s) more",
        "encoder.layer.0.output.thick.bias",
        "encoder.layer.7.attention.self.key.weight",
    ];
    fails_with(files, "model-corrupt", &says);
    // A configuration with fewer blocks than the file has.
    let files = with(bert(), "config.json", json!({ "num_hidden_layers": 1 }));
    fails_with(
        files,
        "model-corrupt",
        &["16 tensor(s) more", "encoder.layer.1.output.dense.weight"],
    );
    let files = with(bert(), "config.json", json!({ "num_hidden_layers": 3 }));
    fails_with(
        files,
        "model-corrupt",
        &["16 tensor(s) missing", "encoder.layer.2.output.dense.weight"],
    );
}

/// Many published encoders name the head of what they were trained from, without its tensors.
#[test]
fn a_head_that_is_only_named_is_none() {
    for head in ["BertForMaskedLM", "BertForSequenceClassification", "BertForTokenClassification"] {
        let files = with(bert(), "config.json", json!({ "architectures": [head] }));
        let model = load(files).unwrap_or_else(|error| panic!("{head}: {error}"));
        assert_eq!(model.info().tasks, [Task::Embed], "{head}");
    }
    // One of which a part is there is incomplete.
    for (name, tensor) in [
        ("roberta-classify", "classifier.out_proj.weight"),
        ("roberta-classify", "classifier.dense.weight"),
        ("bert-classify", "classifier.bias"),
        ("bert-tag", "classifier.weight"),
        ("bert-fill", "cls.predictions.transform.dense.weight"),
    ] {
        let files = files(&fixture(&format!("encoders/{name}")));
        let files = with_head(files, |head| renamed(head, tensor, "elsewhere"));
        fails_with(files, "model-corrupt", &["1 tensor(s) missing", tensor]);
    }
}

#[test]
fn tokens_around_a_text_are_tokens_of_the_model() {
    let ids = json!({
        "type": "BertProcessing", "cls": ["[CLS]", 4_294_967_295_u32], "sep": ["[SEP]", 3],
    });
    let files = with(bert(), "tokenizer.json", json!({ "post_processor": ids }));
    fails_with(files, "model-unsupported", &["tokenizer.json", "4294967296 tokens"]);
}

#[test]
fn tensors_of_another_shape_or_type_are_named() {
    let files = with(bert(), "config.json", json!({ "intermediate_size": 37 }));
    fails_with(files, "model-corrupt", &["intermediate.dense", "expected [37, 24]", "[36, 24]"]);
    let name = "embeddings.position_embeddings.weight";
    let files = with_head(bert(), |head| {
        head[name]["dtype"] = json!("F64");
    });
    fails_with(files, "model-corrupt", &[name, "F64", "F32, F16, BF16 and I8"]);
    let files = with(bert(), "config.json", json!({ "vocab_size": 11 }));
    let error = fails(files);
    assert!(
        error.to_string().contains("tokenizer.json") && error.to_string().contains("11"),
        "{error}"
    );
}

#[test]
fn other_architectures_say_which_are_known() {
    for name in ["llama", "t5", "modernbert", "deberta-v2", ""] {
        let files = with(bert(), "config.json", json!({ "model_type": name }));
        let known = "known: bert, distilbert, roberta, xlm-roberta, mpnet";
        fails_with(files, "model-unsupported", &[&format!("model_type '{name}'"), known]);
    }
    let files = with(bert(), "config.json", json!({ "model_type": null }));
    fails_with(files, "model-corrupt", &["model_type", "missing", "mpnet"]);
}

#[test]
fn hyperparameters_that_cannot_be_are_named() {
    for (key, value) in [
        ("hidden_size", json!(0)),
        ("hidden_size", json!(-1)),
        ("hidden_size", json!("24")),
        ("hidden_size", json!(1e30)),
        ("hidden_size", Value::Null),
        ("num_attention_heads", json!(5)),
        ("num_attention_heads", json!(0)),
        ("num_hidden_layers", json!(0)),
        ("num_hidden_layers", json!(4_000_000)),
        ("num_hidden_layers", json!(u64::MAX)),
        ("intermediate_size", json!([36])),
        ("max_position_embeddings", json!(0)),
        ("vocab_size", json!(1.5)),
        ("layer_norm_eps", json!("small")),
        ("layer_norm_eps", json!(-1e-5)),
        ("architectures", json!("BertModel")),
        ("id2label", json!(["a"])),
    ] {
        let files = with(bert(), "config.json", json!({ key: value }));
        fails_with(files, "model-corrupt", &["config.json", key]);
    }
    for (key, value) in [
        ("position_embedding_type", json!("relative_key")),
        ("is_decoder", json!(true)),
        ("hidden_act", json!("mish")),
    ] {
        let files = with(bert(), "config.json", json!({ key: value }));
        fails_with(files, "model-unsupported", &["config.json", key]);
    }
}

#[test]
fn steps_that_are_not_known_are_named() {
    let modules = |list: Value| {
        let mut files = bert();
        files.insert("modules.json".to_owned(), list.to_string().into_bytes());
        files
    };
    let module = |kind: &str, path: &str| json!({ "type": format!("sentence_transformers.models.{kind}"), "path": path });
    let files = modules(json!([module("Transformer", ""), module("LSTM", "1_LSTM")]));
    fails_with(
        files,
        "model-unsupported",
        &["modules.json", "LSTM", "Transformer, Pooling, Dense, Normalize"],
    );
    let files = modules(json!([module("Normalize", ""), module("Dense", "2_Dense")]));
    fails_with(files, "model-unsupported", &["after a vector was given length 1"]);
    fails_with(modules(json!({})), "model-corrupt", &["modules.json", "no list"]);
    let files = with(bert(), "1_Pooling/config.json", json!({ "pooling_mode_lasttoken": true }));
    fails_with(files, "model-unsupported", &["pooling_mode_lasttoken", "mean, cls, max"]);
    let files = with(bert(), "1_Pooling/config.json", json!({ "pooling_mode_cls_token": true }));
    fails_with(files, "model-unsupported", &["several ways"]);
    let files = with(bert(), "2_Dense/config.json", json!({ "in_features": 25 }));
    fails_with(files, "model-unsupported", &["2_Dense/config.json", "25"]);
    let files = with(bert(), "2_Dense/config.json", json!({ "activation_function": "torch.Mish" }));
    fails_with(files, "model-unsupported", &["torch.Mish", "Tanh"]);
}

#[test]
fn no_length_leaves_no_room_for_a_text() {
    let files = with(bert(), "sentence_bert_config.json", json!({ "max_seq_length": 2 }));
    fails_with(files, "model-unsupported", &["sentence_bert_config.json", "2 tokens"]);
    // What is no length is none.
    for length in [json!(null), json!(0), json!(-5), json!(1e30), json!("many")] {
        let files = with(bert(), "sentence_bert_config.json", json!({ "max_seq_length": length }));
        assert!(load(files).is_ok());
    }
}

#[test]
fn a_row_of_the_padding_token_past_all_positions_is_refused() {
    let files = files(&fixture("encoders/roberta-embed"));
    let files = with(files, "config.json", json!({ "pad_token_id": u32::MAX }));
    fails_with(files, "model-corrupt", &["max_position_embeddings"]);
}

#[test]
fn numbers_that_are_none_are_no_answer() {
    // Finite, as any weight has to be, and too large to be added up.
    for folder in ["mpnet-embed", "bert-classify", "bert-tag", "bert-fill"] {
        let files = with_large_values(files(&fixture(&format!("encoders/{folder}"))));
        let model = Rc::new(load(files).unwrap());
        let mut job = match folder {
            "mpnet-embed" => model.embed(vec!["a".to_owned()], EmbeddingOptions::default()),
            "bert-classify" => model.classify("a".to_owned(), 1, TooLong::Truncate).unwrap(),
            "bert-tag" => model.tag("a".to_owned(), TooLong::Truncate).unwrap(),
            _ => model.fill("[MASK]".to_owned(), 1, TooLong::Truncate).unwrap(),
        };
        let error = loop {
            assert!(!job.is_done(), "{folder} has an answer");
            if let Err(error) = pollster::block_on(job.step()) {
                break error;
            }
        };
        assert_eq!(error.code(), "model-corrupt", "{folder}: {error}");
        assert_eq!(error.file(), Some("model.safetensors"));
        assert!(error.to_string().contains("largest number"), "{error}");
    }
}

/// Every fourth float32 of the data is 3·10³⁸.
fn with_large_values(mut files: Files) -> Files {
    let bytes = files.get_mut("model.safetensors").unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for value in bytes[8 + length..].chunks_exact_mut(16) {
        value[..4].copy_from_slice(&3e38f32.to_le_bytes());
    }
    files
}

#[test]
fn texts_in_lower_case_need_a_tokenizer_that_sees_to_it() {
    // BERT's lowers, DistilBERT's here does not.
    let lowering = json!({ "do_lower_case": true });
    assert!(load(with(bert(), "sentence_bert_config.json", lowering)).is_ok());
    let mut cased = files(&fixture("encoders/distilbert-embed"));
    cased.insert("sentence_bert_config.json".to_owned(), br#"{"do_lower_case":true}"#.to_vec());
    fails_with(cased, "model-unsupported", &["do_lower_case", "Lowercase"]);
}
