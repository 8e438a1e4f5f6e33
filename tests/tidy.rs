//! The rules of the tree: who may import whom, how files begin and how long they are, what
//! `ARCHITECTURE.md` names, and what no tracked file holds.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a failing test may panic anywhere
#![cfg(not(target_arch = "wasm32"))]

#[path = "tidy/imports.rs"]
mod imports;
#[path = "tidy/text_rules.rs"]
mod text_rules;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const MAX_LINES: usize = 400;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Paths from the root, of files that git tracks or would track.
fn files() -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = git.output().expect("git is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text.lines().filter(|path| root().join(path).is_file());
    let paths: Vec<String> = paths.map(str::to_owned).collect();
    assert!(paths.iter().any(|path| path == "src/lib.rs"), "git lists this repository");
    paths
}

fn rust_files() -> Vec<(String, String)> {
    let read = |path: String| {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        (path, text)
    };
    files().into_iter().filter(|path| path.ends_with(".rs")).map(read).collect()
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "{} finding(s):\n{}", found.len(), found.join("\n"));
}

#[test]
fn imports_go_one_way() {
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        if let Some(inside) = path.strip_prefix("src/") {
            found.extend(imports::violations(inside, &text));
        }
    }
    assert_none(&found);
}

#[test]
fn every_file_says_what_it_is_and_is_short() {
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        found.extend(text_rules::shape_violations(&path, &text, MAX_LINES));
    }
    assert_none(&found);
}

#[test]
fn tests_say_where_they_run() {
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        found.extend(text_rules::target_violation(&path, &text));
    }
    assert_none(&found);
}

#[test]
fn architecture_names_every_folder() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut folders: Vec<PathBuf> = files()
        .iter()
        .filter(|path| path.starts_with("src/"))
        .filter_map(|path| Path::new(path).parent().map(Path::to_owned))
        .filter(|folder| folder != Path::new("src"))
        .collect();
    folders.sort();
    folders.dedup();
    assert!(folders.contains(&PathBuf::from("src/formats")));
    let unnamed = folders.iter().map(|folder| folder.display().to_string());
    let unnamed = unnamed.filter(|folder| !text_rules::names_folder(&text, folder));
    assert_none(
        &unnamed.map(|folder| format!("{folder}: not in ARCHITECTURE.md")).collect::<Vec<_>>(),
    );
}

#[test]
fn no_file_holds_what_belongs_to_one_machine_or_one_day() {
    let mut found = Vec::new();
    for path in files() {
        // Binary files have no lines to look at.
        if let Ok(text) = fs::read_to_string(root().join(&path)) {
            found.extend(text_rules::text_violations(&path, &text, &root().display().to_string()));
        }
    }
    assert_none(&found);
}
