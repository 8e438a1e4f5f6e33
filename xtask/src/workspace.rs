//! Where things are: the repository, its tools, its models and its build outputs.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Folders of this clone.
pub struct Workspace {
    /// The repository's root.
    pub root: PathBuf,
    /// Project-local tools: `.tools/`, or `$MULTIHEAD_TOOLS` to share them between clones.
    pub tools: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
}

impl Workspace {
    /// Finds the repository that the command was called in. Asked at run time: a binary built in
    /// a shared target folder may have been compiled for another clone.
    pub fn find() -> Result<Self> {
        let here = std::env::current_dir().context("no current folder")?;
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = here
            .ancestors()
            .chain(manifest.iter().flat_map(|path| path.ancestors()))
            .find(|folder| folder.join("xtask/src/main.rs").is_file())
            .context("not inside the repository: call this from its root")?
            .to_owned();
        let folder = |variable: &str, default: &str| match std::env::var_os(variable) {
            Some(path) if !path.is_empty() => here.join(path),
            _ => root.join(default),
        };
        let (tools, target) =
            (folder("MULTIHEAD_TOOLS", ".tools"), folder("CARGO_TARGET_DIR", "target"));
        Ok(Self { root, tools, target })
    }

    /// The npm package.
    pub fn package(&self) -> PathBuf {
        self.root.join("pkg")
    }

    /// Programs of the npm package's development dependencies.
    pub fn npm_bin(&self) -> PathBuf {
        self.package().join("node_modules/.bin")
    }

    /// Scripts and pages of the benchmarks.
    pub fn benches(&self) -> PathBuf {
        self.root.join("benches")
    }

    /// Tests of the package as somebody installs it.
    pub fn install_tests(&self) -> PathBuf {
        self.root.join("tests/install")
    }

    /// Model files by id, and the index of them.
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// A path as the reader of a message knows it: from the repository's root where it is inside.
    pub fn display<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}
