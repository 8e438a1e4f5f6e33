//! Model files of the generation benchmark's peers: our model, in the formats that they are quickest on.

use crate::{
    models::hash_hex,
    process::{command, run_with_progress},
    python,
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// The model, from the folder of models.
const MODEL: &str = "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf";
const FILES: [&str; 3] =
    ["smollm2-q8_0.gguf", "smollm2-q4_0.gguf", "smollm2-onnx/onnx/model_quantized.onnx"];
const LIMIT: Duration = Duration::from_secs(1800);

/// The folder of the files: `$MULTIHEAD_PEERS`, or one of our own.
pub fn folder(workspace: &Workspace) -> PathBuf {
    match std::env::var_os("MULTIHEAD_PEERS") {
        Some(path) => PathBuf::from(path),
        None => workspace.target.join("bench/peers"),
    }
}

/// Makes sure that the files are there; they are written once.
pub fn set_up(workspace: &Workspace) -> Result<String> {
    let out = folder(workspace);
    if std::env::var_os("MULTIHEAD_PEERS").is_some() {
        check(&out)?;
        return Ok(format!("there already: {}", out.display()));
    }
    let script = workspace.benches().join("peers/export.py");
    let mut made_by = fs::read(&script)?;
    made_by.extend(fs::read(workspace.benches().join("peers/requirements.txt"))?);
    let (stamp, wanted) = (out.join("made-by-hash"), hash_hex(&made_by));
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && check(&out).is_ok() {
        return Ok(format!("there already: {}", workspace.display(&out)));
    }
    println!("{}", python::PEERS.set_up(workspace)?);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(out.parent().context("the folder of peers has no parent")?)?;
    let mut export = command(python::PEERS.interpreter(workspace));
    export.arg(&script).arg(workspace.models().join(MODEL)).arg(&out);
    run_with_progress("the export of the peers' files", &mut export, LIMIT)?;
    check(&out)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(format!("written: {}", workspace.display(&out)))
}

fn check(folder: &Path) -> Result<()> {
    for name in FILES {
        let file = folder.join(name);
        if !file.is_file() {
            bail!(
                "{} is not there: unset MULTIHEAD_PEERS, and the benchmark writes the peers' files itself",
                file.display()
            );
        }
    }
    Ok(())
}
