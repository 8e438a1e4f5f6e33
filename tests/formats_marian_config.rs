//! The configuration reader on YAML as Marian 1.9 and 1.12 write it, and on what it must refuse.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // a failing test may panic anywhere

use multihead::formats::marian_config::{MarianConfig, Scalar, Value};

fn parse(text: &str) -> MarianConfig {
    MarianConfig::parse("m.bin", 0, text).unwrap()
}

fn texts(config: &MarianConfig, key: &str) -> Vec<String> {
    config.list(key).unwrap().unwrap().into_iter().map(str::to_owned).collect()
}

#[test]
fn reads_what_marian_writes() {
    let config = parse(
        "dec-cell: ssru\ndim-emb: 256\ndim-vocabs:\n  - 32000\n  - 16000\ninput-types: []\n\
         layer-normalization: false\ntied-embeddings-all: true\nseparator-symbol: \"[eos]\"\n\
         lemma-dependency: \"\"\ntransformer-tied-layers:\n  []\nempty:\n\
         version: v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100\n",
    );
    assert_eq!(config.string("dec-cell").unwrap(), Some("ssru"));
    assert_eq!(config.integer("dim-emb").unwrap(), Some(256));
    assert_eq!(config.float("dim-emb").unwrap(), Some(256.0));
    assert_eq!(config.integers("dim-vocabs").unwrap(), Some(vec![32000, 16000]));
    assert_eq!(config.list("input-types").unwrap(), Some(vec![]));
    assert_eq!(config.list("transformer-tied-layers").unwrap(), Some(vec![]));
    assert_eq!(config.boolean("layer-normalization").unwrap(), Some(false));
    assert_eq!(config.boolean("tied-embeddings-all").unwrap(), Some(true));
    assert_eq!(config.string("separator-symbol").unwrap(), Some("[eos]"));
    assert_eq!(config.string("lemma-dependency").unwrap(), Some(""));
    assert_eq!(
        config.string("version").unwrap(),
        Some("v1.9.56 94aeaa46 2021-04-28 00:28:35 +0100")
    );
    assert_eq!(config.get("empty"), Some(&Value::Null));
    assert_eq!(config.integer("empty").unwrap(), None);
    assert_eq!(config.get("absent"), None);
    assert_eq!(config.boolean("absent").unwrap(), None);
    assert_eq!(config.entries().count(), 11);
}

/// Each value as PyYAML's base loader reads it.
#[test]
fn reads_the_scalars_of_yaml() {
    let config = parse(
        "---\n# a comment\na: 'it''s'   # behind\r\nb: \"tab\\t \\\"q\\\" \\x41\\u00e9\\U0001F600\"\n\
         c:   spaced out  \nd: a#b:c\ne: [a, \"b, c\", 'd]', 5 ]\nf:\n- x\n-   'y'\n\n- -z\n\
         \"quoted key\": 1\ng: ~\nh: http://x/y\ni:\n  below\nj: \"true\"\nk: [] # none\nl: # none\n  - m\n",
    );
    assert_eq!(config.string("a").unwrap(), Some("it's"));
    assert_eq!(config.string("b").unwrap(), Some("tab\t \"q\" Aé😀"));
    assert_eq!(config.string("c").unwrap(), Some("spaced out"));
    assert_eq!(config.string("d").unwrap(), Some("a#b:c"));
    assert_eq!(texts(&config, "e"), ["a", "b, c", "d]", "5"]);
    assert_eq!(texts(&config, "f"), ["x", "y", "-z"]);
    assert_eq!(config.integer("quoted key").unwrap(), Some(1));
    assert_eq!(config.get("g"), Some(&Value::Null));
    assert_eq!(config.string("h").unwrap(), Some("http://x/y"));
    assert_eq!(config.string("i").unwrap(), Some("below"));
    let quoted = Scalar { text: "true".to_owned(), quoted: true };
    assert_eq!(config.get("j"), Some(&Value::Scalar(quoted)));
    assert!(config.boolean("j").is_err(), "a quoted word is a string");
    assert_eq!(texts(&config, "k"), [""; 0]);
    assert_eq!(texts(&config, "l"), ["m"]);
}

#[test]
fn refuses_other_yaml_with_its_line_and_offset() {
    let cases = [
        ("a: 1\nb:\n  c: 2\n", 3, 8),
        ("a: 1\nno colon\n", 2, 5),
        ("a: 1\n  b: 2\n", 2, 5),
        ("- a\n", 1, 0),
        ("a: 1\n- b\n", 2, 5),
        ("a: 1\na: 2\n", 2, 5),
        ("a: &anchor 1\n", 1, 0),
        ("a: *alias\n", 1, 0),
        ("a: !!int 1\n", 1, 0),
        ("a: |\n  text\n", 1, 0),
        ("a: {b: 1}\n", 1, 0),
        ("a: [1, 2\n", 1, 0),
        ("a: [1,, 2]\n", 1, 0),
        ("a: [1, [2]]\n", 1, 0),
        ("a: [1] 2\n", 1, 0),
        ("a: \"open\n", 1, 0),
        ("a: 'open\n", 1, 0),
        ("a: \"\\q\"\n", 1, 0),
        ("a: \"\\uD800\"\n", 1, 0),
        ("a: \"x\" y\n", 1, 0),
        ("a: b: c\n", 1, 0),
        ("a: - b\n", 1, 0),
        ("a:\n  - - b\n", 2, 3),
        ("a:\n  b\n  c\n", 3, 7),
        (": 1\n", 1, 0),
        ("a: 1\n---\nb: 2\n", 2, 5),
        ("a: x\x01y\n", 1, 0),
    ];
    for (text, line, offset) in cases {
        let error = MarianConfig::parse("m.bin", 1000, text).unwrap_err();
        assert_eq!(error.offset(), Some(1000 + offset), "{text:?}: {error}");
        assert_eq!(error.file(), Some("m.bin"));
        assert_eq!(error.code(), "model-corrupt");
        assert!(error.to_string().contains(&format!("line {line}")), "{text:?}: {error}");
    }
}

#[test]
fn refuses_values_of_another_kind() {
    let config =
        parse("a: word\nb: [1, x]\nc: -1\nd: 18446744073709551616\ne: 1.5\nf: .inf\ng: inf\n");
    for (key, error) in [
        ("a", config.integer("a").unwrap_err()),
        ("a", config.boolean("a").unwrap_err()),
        ("a", config.list("a").unwrap_err()),
        ("b", config.string("b").unwrap_err()),
        ("b", config.integers("b").unwrap_err()),
        ("c", config.integer("c").unwrap_err()),
        ("d", config.integer("d").unwrap_err()),
        ("e", config.integer("e").unwrap_err()),
        ("f", config.float("f").unwrap_err()),
        ("g", config.float("g").unwrap_err()),
    ] {
        assert!(error.to_string().contains(&format!("{key} is ")), "{error}");
    }
    assert_eq!(config.float("e").unwrap(), Some(1.5));
    assert_eq!(config.float("c").unwrap(), Some(-1.0));
}
