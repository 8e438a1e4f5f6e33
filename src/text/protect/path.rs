//! File paths and names, and words that are plainly code.

use super::{address::is_cjk, after, char_at, run_end};

/// Endings that make `name.ending` a file name.
const EXTENSIONS: &str = "txt pdf doc docx odt rtf xls xlsx ods csv tsv ppt pptx png jpg jpeg gif svg webp bmp tiff ico \
    heic mp3 mp4 wav ogg flac avi mov mkv webm zip tar gz tgz bz2 xz rar 7z iso dmg exe msi dll so deb rpm apk jar \
    html htm css scss js mjs jsx ts tsx json xml yml yaml toml ini cfg conf env lock log md rst tex bib py ipynb rb rs \
    go java kt swift cpp hpp cc hh cs php pl sh bash bat ps1 sql db sqlite wasm wat spm bin gguf onnx safetensors epub \
    mobi ttf otf woff woff2 psd ai bak tmp diff patch pem crt key";

/// Longest identifier, in bytes.
const MAX_IDENTIFIER: usize = 128;

/// Longest path, in bytes.
const MAX_PATH: usize = 1024;

/// A path or file name at `at`.
pub(super) fn path(text: &str, at: usize, first: char) -> Option<usize> {
    let text = text.get(..text.floor_char_boundary(at.saturating_add(MAX_PATH)))?;
    windows(text, at, first)
        .or_else(|| unix(text, at, first))
        .or_else(|| file_name(text, at, first))
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() && !is_cjk(c) || "._-+@%~#=".contains(c)
}

/// Without the stop or bracket of the sentence around it.
fn trimmed(text: &str, at: usize, end: usize) -> usize {
    let kept = text.get(at..end).unwrap_or_default();
    at + kept.trim_end_matches(['.', '-', '%', '#', '=', '_']).len()
}

/// `C:\Users\x`, `\\server\share`.
fn windows(text: &str, at: usize, first: char) -> Option<usize> {
    let start = match first {
        '\\' => after(text, at, r"\\")?,
        letter if letter.is_ascii_alphabetic() => after(text, at + 1, r":\")?,
        _ => return None,
    };
    let end = trimmed(
        text,
        at,
        run_end(text, start, |c| is_path_char(c) || matches!(c, '\\' | '$' | '(' | ')')),
    );
    (end > start || first != '\\').then_some(end.max(start))
}

/// `/usr/bin`, `/etc/`, `./x`, `../x`, `~/x`.
fn unix(text: &str, at: usize, first: char) -> Option<usize> {
    if !matches!(first, '/' | '.' | '~') {
        return None;
    }
    let start = ["/", "./", "../", "~/"].iter().find_map(|prefix| after(text, at, prefix))?;
    let end = trimmed(text, at, run_end(text, start, |c| is_path_char(c) || c == '/'));
    let rest = text.get(start..end)?;
    // `/s` and `/he` are prose, and so is a bare slash.
    let deep = rest.contains('/') || rest.contains('.');
    let named = rest.contains(|c: char| c.is_alphanumeric());
    (named && !rest.starts_with('/') && (deep || first != '/')).then_some(end)
}

/// `report.pdf`, `src/main.rs`, `Node.js`; `and/or` is prose.
fn file_name(text: &str, at: usize, first: char) -> Option<usize> {
    if !(first.is_alphanumeric() && !is_cjk(first) || first == '_') {
        return None;
    }
    let end = trimmed(text, at, run_end(text, at, |c| is_path_char(c) || c == '/'));
    let (folder, name) = text.get(at..end)?.rsplit_once('/').unwrap_or(("", text.get(at..end)?));
    let (stem, extension) = name.rsplit_once('.')?;
    let known = |given: &str| EXTENSIONS.split_whitespace().any(|known| known == given);
    // All small or all capital: `end.Go` is a missing space.
    let cased = !extension.contains(char::is_uppercase) || !extension.contains(char::is_lowercase);
    let short = extension.len() == 1 && !folder.is_empty();
    let known = known(&extension.to_ascii_lowercase()) || short && "chrd".contains(extension);
    (known && cased && !stem.is_empty()).then_some(end)
}

/// `snake_case`, `call()`, `a::b`, `--option`, hashes and UUIDs.
pub(super) fn identifier(text: &str, at: usize, first: char) -> Option<usize> {
    if first == '-' {
        let start = after(text, at, "--")?;
        let end = trimmed(
            text,
            at,
            run_end(text, start, |c| c.is_ascii_alphanumeric() || "-_=".contains(c)),
        );
        let letter = char_at(text, start).is_some_and(|c| c.is_ascii_lowercase());
        return (letter && end > start + 1).then_some(end);
    }
    if !(first.is_ascii_alphanumeric() || first == '_') {
        return None;
    }
    let limit = text.floor_char_boundary(at.saturating_add(MAX_IDENTIFIER));
    let end = run_end(text.get(..limit)?, at, |c| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.')
    });
    let end = at + text.get(at..end)?.trim_end_matches(['.', ':', '-']).len();
    let word = text.get(at..end)?;
    if let Some(call) = after(text, end, "()") {
        return word.contains(|c: char| c.is_ascii_alphabetic()).then_some(call);
    }
    let in_word = char_at(text, end).is_some_and(char::is_alphanumeric);
    let snake =
        word.trim_matches('_').contains('_') && word.contains(|c: char| c.is_ascii_alphanumeric());
    let scoped = word.contains("::");
    let hex = word.chars().filter(|&c| c != '-').all(|c| c.is_ascii_hexdigit());
    let mixed = word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_alphabetic());
    let hash = hex && mixed && word.len() >= 7;
    (!in_word && (snake || scoped || hash)).then_some(end)
}
