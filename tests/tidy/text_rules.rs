//! Rules about the text of a file, whatever language it is in.

/// A Rust file begins by saying what it is and stays short.
pub fn shape_violations(path: &str, text: &str, max_lines: usize) -> Vec<String> {
    let mut found = Vec::new();
    if !text.starts_with("//! ") {
        found.push(format!("{path}: the first line is no //! line"));
    }
    let lines = text.lines().count();
    if lines > max_lines {
        found.push(format!("{path}: {lines} lines, at most {max_lines}"));
    }
    found
}

/// `tests/web*.rs` run in browsers, `tests/node*.rs` in Node, all others natively, each only there: so the
/// tests build for both targets without a list of names.
pub fn target_violation(path: &str, text: &str) -> Option<String> {
    let name = path.strip_prefix("tests/").filter(|name| !name.contains('/'))?;
    let wanted = match name.starts_with("web") || name.starts_with("node") {
        true => "#![cfg(target_arch = \"wasm32\")]",
        false => "#![cfg(not(target_arch = \"wasm32\"))]",
    };
    (!text.contains(wanted)).then(|| format!("{path}: lacks {wanted}"))
}

/// Whether a text names a folder, and not only one inside it.
pub fn names_folder(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let mut after = text[at + folder.len()..].chars();
        match after.next() {
            Some('/') => after.next().is_none_or(|letter| !letter.is_alphanumeric()),
            Some(letter) => !letter.is_alphanumeric() && letter != '_',
            None => true,
        }
    })
}

/// Registry hosts, paths of one machine, numbers of issues; `root` is this clone's folder.
pub fn text_violations(path: &str, text: &str, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Cargo writes the registry's address into it; there is no way round.
    let is_cargo_lock = path.ends_with("Cargo.lock");
    for (number, line) in text.lines().enumerate() {
        let mut tell = |what: &str| found.push(format!("{path}:{}: {what}: {line}", number + 1));
        if !is_cargo_lock && registry_hosts().iter().any(|host| line.contains(host)) {
            tell("names a registry's host");
        }
        if machine_folders().iter().any(|folder| names_path(line, folder)) || line.contains(root) {
            tell("holds a path of one machine");
        }
        if names_issue(line) || (is_prose_or_rust(path) && holds_number_sign(line)) {
            tell("names an issue by number");
        }
    }
    found
}

/// In parts, or this file would break its own rule.
fn registry_hosts() -> Vec<String> {
    [
        ["crates", "io"],
        ["pypi", "org"],
        ["files.pythonhosted", "org"],
        ["registry.npmjs", "org"],
        ["deb.debian", "org"],
        ["static.rust-lang", "org"],
    ]
    .iter()
    .map(|parts| parts.join("."))
    .collect()
}

fn machine_folders() -> Vec<String> {
    ["root", "home", "work", "tmp", "Users"].iter().map(|name| format!("/{name}/")).collect()
}

/// Whether a path that begins with `folder` stands in the line; `a/home/b` does not.
fn names_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || ".-_~{}$*)/".contains(letter))
    })
}

/// The word with a number after it, a slash or a number sign between them.
fn names_issue(line: &str) -> bool {
    let line = line.to_lowercase();
    line.match_indices("issue").any(|(at, word)| {
        let after = line[at + word.len()..].trim_start_matches('s');
        let separated = after.trim_start_matches([' ', '/', '#']);
        separated.len() < after.len() && separated.starts_with(|digit: char| digit.is_ascii_digit())
    })
}

/// Where `#7` can only be a reference: colours and private names have it elsewhere.
fn is_prose_or_rust(path: &str) -> bool {
    [".rs", ".md", ".toml", ".py"].iter().any(|extension| path.ends_with(extension))
}

/// A number sign and digits as a word of its own, in parentheses or not.
fn holds_number_sign(line: &str) -> bool {
    line.split([' ', '(', ')', ',', ';', '.', ':']).any(|word| {
        let digits = word.strip_prefix('#').unwrap_or_default();
        (1..=5).contains(&digits.len()) && digits.chars().all(|digit| digit.is_ascii_digit())
    })
}

#[test]
fn shape_rules_find_what_they_are_for() {
    assert!(shape_violations("a.rs", "//! What it is.\n", 2).is_empty());
    assert_eq!(shape_violations("a.rs", "use std::fs;\n", 2).len(), 1);
    assert_eq!(shape_violations("a.rs", "//! Long.\n\n\n", 2).len(), 1);
}

#[test]
fn target_rules_find_what_they_are_for() {
    let native = "#![cfg(not(target_arch = \"wasm32\"))]";
    let browser = "#![cfg(target_arch = \"wasm32\")]";
    assert!(target_violation("tests/a.rs", native).is_none());
    assert!(target_violation("tests/a.rs", browser).is_some());
    assert!(target_violation("tests/web_a.rs", browser).is_none());
    assert!(target_violation("tests/web_a.rs", native).is_some());
    assert!(target_violation("tests/support/mod.rs", "").is_none());
}

#[test]
fn a_folder_is_not_named_by_naming_one_inside_it() {
    assert!(names_folder("- `src/backend/`: arrays", "src/backend"));
    assert!(names_folder("src/backend · src/ops", "src/backend"));
    assert!(!names_folder("`src/backend/cpu`", "src/backend"));
    assert!(!names_folder("src/backends", "src/backend"));
}

#[test]
fn text_rules_find_what_they_are_for() {
    let count = |path: &str, line: &str| text_violations(path, line, "/srv/clone").len();
    assert_eq!(count("a.md", &format!("see https://{}/x", registry_hosts()[1])), 1);
    assert_eq!(count("Cargo.lock", &registry_hosts()[0]), 0);
    for folder in machine_folders() {
        assert_eq!(count("a.sh", &format!("cd {folder}me")), 1);
        assert_eq!(count("a.sh", &format!("cd a{folder}me")), 0);
    }
    assert_eq!(count("a.toml", "path = \"/srv/clone/x\""), 1);
    assert_eq!(count("a.sh", "exec /usr/bin/chromium"), 0);
    assert_eq!(count("a.ts", &format!("// see Issue {}", 7)), 1);
    assert_eq!(count("a.rs", &format!("// mended (#{})", 12)), 1);
    assert_eq!(count("a.css", "color: #123"), 0);
    assert_eq!(count("a.rs", "// an issue of width: 3 r#\"x\"#"), 0);
}
