//! The compiler for wasm32-unknown-unknown: rustup's target, or Debian's compiler with a standard
//! library that is built here from Debian's sources.

use crate::{
    process::{self, command, output, run_with_progress},
    system_packages,
    workspace::Workspace,
};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The target's name.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Set to `debian` to pass over rustup.
const CHOICE: &str = "MULTIHEAD_WASM_TOOLCHAIN";
/// A refusal comes at once, a download takes seconds; more than this is a hang.
const RUSTUP_LIMIT: Duration = Duration::from_secs(150);
const DEBIAN_PACKAGES: [&str; 6] =
    ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm", "rust-web-clippy", "lld-19"];

/// A compiler that can build for [`TARGET`].
pub enum WasmToolchain {
    /// The compiler on `PATH` has the target's standard library.
    OnPath,
    /// Debian's compiler over a sysroot of our own.
    Debian {
        /// Folder with `bin/` (wrappers that name the sysroot) and `lib/rustlib/`.
        sysroot: PathBuf,
    },
}

impl WasmToolchain {
    /// The toolchain that is ready, if one is.
    pub fn find(workspace: &Workspace) -> Option<Self> {
        if !debian_wanted() && path_compiler_has_target() {
            return Some(Self::OnPath);
        }
        Self::find_debian(workspace)
    }

    /// As [`WasmToolchain::find`], one that has the sources of the standard library, to compile it anew.
    pub fn find_with_sources(workspace: &Workspace) -> Option<Self> {
        if !debian_wanted() && path_compiler_has_target() && path_compiler_has_sources() {
            return Some(Self::OnPath);
        }
        Self::find_debian(workspace)
    }

    fn find_debian(workspace: &Workspace) -> Option<Self> {
        let sysroot = workspace.tools.join("wasm-sysroot");
        let made_from = fs::read_to_string(sysroot.join(STAMP)).ok()?;
        let current = debian_version().ok()?;
        (made_from == current).then_some(Self::Debian { sysroot })
    }

    /// The toolchain, made ready in the first way that works.
    pub fn set_up(workspace: &Workspace) -> Result<Self> {
        if let Some(ready) = Self::find(workspace) {
            return Ok(ready);
        }
        if !debian_wanted() {
            let mut add = command("rustup");
            add.args(["target", "add", TARGET]);
            match run_with_progress("rustup target add", &mut add, RUSTUP_LIMIT) {
                Ok(()) if path_compiler_has_target() => return Ok(Self::OnPath),
                Ok(()) => println!("  the compiler on PATH is not rustup's: Debian's is tried"),
                Err(error) => println!("  rustup cannot ({error:#}): Debian's compiler is tried"),
            }
        }
        set_up_debian(workspace).context("no compiler for wasm32-unknown-unknown")
    }

    /// As [`WasmToolchain::set_up`], with the sources of the standard library.
    pub fn set_up_with_sources(workspace: &Workspace) -> Result<Self> {
        if let Some(ready) = Self::find_with_sources(workspace) {
            return Ok(ready);
        }
        let mut add = command("rustup");
        add.args(["component", "add", "rust-src"]);
        match run_with_progress("rustup component add", &mut add, RUSTUP_LIMIT) {
            Ok(()) if path_compiler_has_sources() => return Ok(Self::OnPath),
            Ok(()) => println!("  the compiler on PATH is not rustup's: Debian's is tried"),
            Err(error) => println!("  rustup cannot ({error:#}): Debian's compiler is tried"),
        }
        set_up_debian(workspace).context("no sources of the standard library for WebAssembly")
    }

    /// What it is, for a person.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::OnPath => "the target of the compiler on PATH",
            Self::Debian { .. } => "Debian's compiler and a standard library built here",
        }
    }

    /// `program` (cargo, wasm-pack …) with this toolchain first on its `PATH`.
    pub fn command(&self, workspace: &Workspace, program: &str) -> Result<Command> {
        let mut folders = vec![workspace.tools.join("bin"), workspace.npm_bin()];
        let mut command = match self {
            Self::OnPath => command(program),
            Self::Debian { sysroot } => {
                folders.insert(0, sysroot.join("bin"));
                let wrapped = sysroot.join("bin").join(program);
                let mut command = match wrapped.exists() {
                    true => command(wrapped),
                    false => command(program),
                };
                // rustup's libraries are on it when cargo is rustup's; they are another version's.
                command.env_remove("LD_LIBRARY_PATH").env("SYSROOT", sysroot);
                // Standard libraries that differ must not meet in one target folder.
                command.env("CARGO_TARGET_DIR", self.target_dir(workspace));
                command
            }
        };
        command.env("PATH", process::path_with(&folders)?);
        command.current_dir(&workspace.root);
        Ok(command)
    }

    /// Cargo's target folder with this toolchain.
    pub fn target_dir(&self, workspace: &Workspace) -> PathBuf {
        match self {
            Self::OnPath => workspace.target.clone(),
            Self::Debian { .. } => workspace.target.join("debian"),
        }
    }
}

fn debian_wanted() -> bool {
    std::env::var_os(CHOICE).is_some_and(|choice| choice == "debian")
}

/// Folder of the libraries that the compiler on `PATH` has.
fn path_compiler_libraries() -> PathBuf {
    let sysroot = output(command("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    Path::new(sysroot.trim()).join("lib/rustlib")
}

fn path_compiler_has_sources() -> bool {
    path_compiler_libraries().join("src/rust/library/std/Cargo.toml").is_file()
}

fn path_compiler_has_target() -> bool {
    let libraries = path_compiler_libraries().join(TARGET).join("lib");
    let mut names = fs::read_dir(libraries).into_iter().flatten().flatten();
    names.any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

const STAMP: &str = "made-from";

fn debian_version() -> Result<String> {
    output(command("/usr/bin/rustc").arg("-vV"))
}

/// Builds the standard library with Debian's compiler and lays a sysroot around it.
fn set_up_debian(workspace: &Workspace) -> Result<WasmToolchain> {
    let lacking = !Path::new("/usr/lib/rustlib/src/rust/library/std").exists()
        || !Path::new("/usr/bin/lld-19").exists()
        || !Path::new("/usr/bin/clippy-driver").exists()
        || debian_version().is_err();
    if lacking {
        system_packages::install(&DEBIAN_PACKAGES, "a compiler for WebAssembly")?;
    }
    let version = debian_version()?;
    let host = version
        .lines()
        .find_map(|text| text.strip_prefix("host: "))
        .context("rustc -vV names no host")?;
    let sysroot = workspace.tools.join("wasm-sysroot");
    let work = workspace.tools.join("wasm-sysroot-build");
    remove_folder(&sysroot)?;
    remove_folder(&work)?;
    build_standard_library(&work)?;
    lay_sysroot(&sysroot, host, &work.join("target").join(TARGET).join("release/deps"))?;
    remove_folder(&work)?;
    fs::write(sysroot.join(STAMP), &version)?;
    Ok(WasmToolchain::Debian { sysroot })
}

fn remove_folder(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

fn build_standard_library(work: &Path) -> Result<()> {
    fs::create_dir_all(work.join("src"))?;
    fs::write(work.join("src/lib.rs"), "")?;
    let manifest =
        "[package]\nname = \"seed\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(work.join("Cargo.toml"), manifest)?;
    let path = process::path_with(&[PathBuf::from("/usr/bin")])?;
    let mut build = command("/usr/bin/cargo");
    build
        .args(["build", "--release", "--target", TARGET])
        .args(["-Z", "build-std=std,panic_abort,proc_macro,test"])
        .current_dir(work)
        .env("PATH", path)
        .env("RUSTC", "/usr/bin/rustc")
        // Without the bitcode in the library, link-time optimisation fails.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", work.join("target"))
        .env_remove("LD_LIBRARY_PATH");
    run_with_progress("standard library for wasm", &mut build, Duration::from_secs(900))
}

fn lay_sysroot(sysroot: &Path, host: &str, built: &Path) -> Result<()> {
    let (rustlib, bin) = (sysroot.join("lib/rustlib"), sysroot.join("bin"));
    let libraries = rustlib.join(TARGET).join("lib");
    fs::create_dir_all(&libraries)?;
    fs::create_dir_all(&bin)?;
    for folder in [host, "src", "etc"] {
        let system = Path::new("/usr/lib/rustlib").join(folder);
        if system.exists() {
            link(&system, &rustlib.join(folder))?;
        }
    }
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libseed-") {
            fs::copy(&path, libraries.join(name))?;
        }
    }
    for tool in ["rustc", "rustdoc"] {
        let script =
            format!("#!/bin/sh\nexec /usr/bin/{tool} --sysroot '{}' \"$@\"\n", sysroot.display());
        write_script(&bin.join(tool), &script)?;
    }
    link(Path::new("/usr/bin/cargo"), &bin.join("cargo"))?;
    for tool in ["cargo-clippy", "clippy-driver"] {
        link(&Path::new("/usr/bin").join(tool), &bin.join(tool))?;
    }
    link(Path::new("/usr/bin/lld-19"), &bin.join("rust-lld"))
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<()> {
    std::os::unix::fs::symlink(from, to)
        .with_context(|| format!("cannot link {} to {}", to.display(), from.display()))
}

#[cfg(unix)]
fn write_script(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> Result<()> {
    anyhow::bail!("Debian's compiler needs Debian")
}

#[cfg(not(unix))]
fn write_script(_: &Path, _: &str) -> Result<()> {
    anyhow::bail!("Debian's compiler needs Debian")
}
