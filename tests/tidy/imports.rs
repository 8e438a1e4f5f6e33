//! Who may import whom among the folders of `src/`.

/// A module of the crate's root and what it may name of the others. A new folder needs a row.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("formats", &["error"]),
    ("text", &["error"]),
    ("model", &["error", "formats"]),
    ("backend", &["error"]),
    ("ops", &["error", "backend"]),
    // Of `formats` only the trait by which it reads tensors, whatever file they are in.
    ("stack", &["error", "formats", "model", "ops", "backend"]),
    ("generate", &["error", "model", "ops", "backend", "stack"]),
    ("tasks", &["error", "formats", "text", "model", "ops", "backend", "stack", "generate"]),
    ("web", &["error", "formats", "text", "tasks"]),
];

/// Crates that only `web` may name: nothing else knows JavaScript.
const JAVASCRIPT: &[&str] = &["wasm_bindgen", "js_sys", "web_sys", "wasm_bindgen_futures"];

/// Where `unsafe` may stand.
const UNSAFE: [&str; 2] = ["backend/cpu/lanes", "backend/cpu/pool"];

/// Rules that a file breaks; `path` is from `src/`.
pub fn violations(path: &str, text: &str) -> Vec<String> {
    let module = path.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if module == "lib" {
        return Vec::new();
    }
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == module) else {
        return vec![format!("src/{path}: tests/tidy/imports.rs has no row for {module}")];
    };
    let code = without_comments(text);
    let mut found = Vec::new();
    for name in imported(&code, depth(path)) {
        if name != module && is_module(&name) && !allowed.contains(&name.as_str()) {
            found.push(format!("src/{path}: {module} must not import {name}"));
        }
    }
    for name in words(&code) {
        if module != "web" && JAVASCRIPT.contains(&name) {
            found.push(format!("src/{path}: only web may name {name}"));
        }
        if name == "unsafe" && !UNSAFE.iter().any(|folder| path.starts_with(folder)) {
            found.push(format!("src/{path}: unsafe stands outside {UNSAFE:?} of src"));
        }
    }
    found
}

fn is_module(name: &str) -> bool {
    MAY_IMPORT.iter().any(|(module, _)| *module == name)
}

/// Number of `super` that lead from the file to the crate's root.
fn depth(path: &str) -> usize {
    let parts = path.split('/').count();
    if path.ends_with("/mod.rs") { parts - 1 } else { parts }
}

fn without_comments(text: &str) -> String {
    let code = |line: &str| line.find("//").map_or(line.to_owned(), |at| line[..at].to_owned());
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
}

/// First names of all paths from the crate's root: `crate::a::b`, `crate::{a, b::c}`, and chains
/// of `super` that are long enough to reach it.
fn imported(code: &str, depth: usize) -> Vec<String> {
    let chain = "super::".repeat(depth);
    let mut found = Vec::new();
    for prefix in ["crate::", chain.as_str()] {
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
                continue;
            }
            let after = code[at + prefix.len()..].trim_start_matches("super::");
            match after.trim_start().strip_prefix('{') {
                Some(group) => found.extend(group_heads(group)),
                None => found.extend(first_word(after)),
            }
        }
    }
    found
}

fn first_word(text: &str) -> Option<String> {
    words(text.trim_start()).next().filter(|word| !word.is_empty()).map(str::to_owned)
}

/// First names of the paths in `a::b, c::{d, e}, f}…`.
fn group_heads(group: &str) -> Vec<String> {
    let (mut nesting, mut start, mut heads) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => nesting += 1,
            '}' if nesting > 0 => nesting -= 1,
            ',' | '}' if nesting == 0 => {
                heads.extend(first_word(&group[start..at]));
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

#[test]
fn imports_are_found_in_every_spelling() {
    let code = "use crate::{\n    error::{Error, Result},\n    text::x, formats,\n};\n\
                let a = crate::tasks::run(); use super::super::web::b; pub(crate) fn c() {}";
    let expected = ["error", "text", "formats", "tasks", "web"];
    assert_eq!(imported(code, 2), expected);
    assert_eq!(depth("formats/marian.rs"), 2);
    assert_eq!(depth("formats/mod.rs"), 1);
}

#[test]
fn a_forbidden_import_is_found_and_an_allowed_one_is_not() {
    let bad = violations("formats/a.rs", "use crate::{error::Error, stack::Block};");
    assert_eq!(bad, ["src/formats/a.rs: formats must not import stack"]);
    assert_eq!(violations("web/a.rs", "use crate::generate::beam;").len(), 1);
    let good = "//! [`crate::tasks`] uses it.\nuse crate::error::Error; use super::b;";
    assert!(violations("formats/a.rs", good).is_empty());
    assert_eq!(violations("novelty/a.rs", "").len(), 1);
}

#[test]
fn javascript_and_unsafe_have_their_places() {
    assert_eq!(violations("tasks/a.rs", "use wasm_bindgen::JsValue;").len(), 1);
    assert!(violations("web/a.rs", "use wasm_bindgen::JsValue;").is_empty());
    assert_eq!(violations("ops/a.rs", "unsafe { f() }").len(), 1);
    assert!(violations("backend/cpu/lanes/a.rs", "unsafe { f() }").is_empty());
}
