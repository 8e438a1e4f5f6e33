//! Model files of the benchmarks' peers: our models, in the formats that the peers are quickest on.

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

/// What the peers of one benchmark read.
pub struct Peers {
    /// In `benches/peers`; takes the model and the folder of peers.
    script: &'static str,
    /// From the folder of models.
    model: &'static str,
    /// What the script writes.
    files: &'static [&'static str],
}

/// For the benchmark of generation.
pub const LANGUAGE_MODEL: Peers = Peers {
    script: "export_language_model.py",
    model: "smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
    files: &[
        "smollm2-q8_0.gguf",
        "smollm2-q4_0.gguf",
        "smollm2-onnx/onnx/model.onnx",
        "smollm2-onnx/onnx/model_quantized.onnx",
        "smollm2-onnx/onnx/model_q4.onnx",
    ],
};
/// For the benchmark of embedding.
pub const ENCODER: Peers = Peers {
    script: "export_encoder.py",
    model: "all-minilm-l6-v2",
    files: &["minilm-onnx/onnx/model.onnx", "minilm-onnx/onnx/model_quantized.onnx"],
};
const LIMIT: Duration = Duration::from_secs(1800);

/// The folder of the files: `$MULTIHEAD_PEERS`, or one of our own.
pub fn folder(workspace: &Workspace) -> PathBuf {
    match std::env::var_os("MULTIHEAD_PEERS") {
        Some(path) => PathBuf::from(path),
        None => workspace.target.join("bench/peers"),
    }
}

impl Peers {
    /// Makes sure that the files are there; they are written once.
    pub fn set_up(&self, workspace: &Workspace) -> Result<String> {
        let out = folder(workspace);
        if std::env::var_os("MULTIHEAD_PEERS").is_some() {
            self.check(&out)?;
            return Ok(format!("there already: {}", out.display()));
        }
        let scripts = workspace.benches().join("peers");
        let script = scripts.join(self.script);
        let mut made_by = fs::read(&script)?;
        made_by.extend(fs::read(scripts.join("requirements.txt"))?);
        let (stamp, wanted) = (out.join(format!("{}-hash", self.script)), hash_hex(&made_by));
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) && self.check(&out).is_ok()
        {
            return Ok(format!("there already: {}", workspace.display(&out)));
        }
        println!("{}", python::PEERS.set_up(workspace)?);
        fs::create_dir_all(&out)
            .with_context(|| format!("cannot make the folder {}", out.display()))?;
        self.remove(&out)?;
        let mut export = command(python::PEERS.interpreter(workspace));
        export.arg(&script).arg(workspace.models().join(self.model)).arg(&out);
        run_with_progress("the export of the peers' files", &mut export, LIMIT)?;
        self.check(&out)?;
        fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
        Ok(format!("written: {}", workspace.display(&out)))
    }

    /// Removes what an earlier script has written.
    fn remove(&self, folder: &Path) -> Result<()> {
        for name in self.files {
            let first = name.split('/').next().unwrap_or(name);
            let path = folder.join(first);
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check(&self, folder: &Path) -> Result<()> {
        for name in self.files {
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
}
