//! Programs that cargo builds into the project's tools folder.

use crate::{
    process::{command, find_program, output, run_with_progress},
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(1800);
/// Tools run for seconds and are built for minutes: no optimisation, much parallelism.
const PROFILE: [(&str, &str); 6] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    ("CARGO_PROFILE_RELEASE_PANIC", "unwind"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
];

/// A program of a crate.
pub struct Tool {
    /// The crate's name.
    pub package: &'static str,
    /// The program's name.
    pub program: &'static str,
    /// The pinned version.
    pub version: String,
    /// Whether another version on `PATH` does as well.
    pub any_version: bool,
}

/// wasm-bindgen's command line, which must be of the very version of the library.
pub fn wasm_bindgen(workspace: &Workspace) -> Result<Tool> {
    let lock = fs::read_to_string(workspace.root.join("Cargo.lock")).context("no Cargo.lock")?;
    let version = locked_version(&lock, "wasm-bindgen")
        .context("Cargo.lock holds no wasm-bindgen")?
        .to_owned();
    Ok(Tool { package: "wasm-bindgen-cli", program: "wasm-bindgen", version, any_version: false })
}

/// Runs the browser tests by hand: `wasm-pack test`.
pub fn wasm_pack() -> Tool {
    let version = "0.15.1".to_owned();
    Tool { package: "wasm-pack", program: "wasm-pack", version, any_version: true }
}

/// Firefox's WebDriver.
pub fn geckodriver() -> Tool {
    let version = "0.37.1".to_owned();
    Tool { package: "geckodriver", program: "geckodriver", version, any_version: true }
}

impl Tool {
    /// Path of the program, if it is there in a version that does.
    pub fn find(&self, workspace: &Workspace) -> Option<PathBuf> {
        let path = find_program(Some(&workspace.tools.join("bin")), &[self.program])?;
        (self.any_version || self.is_pinned_version(&path)).then_some(path)
    }

    fn is_pinned_version(&self, path: &Path) -> bool {
        let told = output(command(path).arg("--version")).unwrap_or_default();
        told.split_whitespace().nth(1) == Some(self.version.as_str())
    }

    /// Builds and installs it, unless it is there.
    pub fn set_up(&self, workspace: &Workspace) -> Result<String> {
        if let Some(path) = self.find(workspace) {
            return Ok(format!("there already: {}", workspace.display(&path)));
        }
        // The authors' own dependency versions first; a registry that lags behind may lack one.
        if let Err(error) = self.install(workspace, &["--locked"]) {
            println!(
                "  {} did not build with its own lock file ({error:#}); trying with current dependencies",
                self.package
            );
            self.install(workspace, &[])?;
        }
        match self.find(workspace) {
            Some(path) => Ok(format!("installed {}: {}", self.version, workspace.display(&path))),
            None => bail!("{} {} was installed but does not run", self.package, self.version),
        }
    }

    fn install(&self, workspace: &Workspace, extra: &[&str]) -> Result<()> {
        let mut install = command("cargo");
        install
            .args(["install", self.package, "--version", &format!("={}", self.version), "--force"])
            .args(extra)
            .arg("--root")
            .arg(&workspace.tools)
            // One target folder for all tools: what they share is compiled once.
            .env("CARGO_TARGET_DIR", build_folder(workspace))
            .env_remove("RUSTFLAGS")
            .current_dir(&workspace.root)
            .envs(PROFILE);
        run_with_progress(&format!("cargo install {}", self.package), &mut install, LIMIT)
    }
}

fn build_folder(workspace: &Workspace) -> PathBuf {
    workspace.tools.join("build")
}

/// Removes what compiling the tools left behind (half a gigabyte).
pub fn clean(workspace: &Workspace) -> Result<()> {
    let folder = build_folder(workspace);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// The version of a package in the text of a Cargo.lock.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let mut lines = lock.lines();
    lines.find(|text| *text == format!("name = \"{package}\""))?;
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_the_lock_file_is_found() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen"), Some("0.2.130"));
        assert_eq!(locked_version(lock, "bindgen"), None);
    }
}
