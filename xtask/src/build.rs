//! `cargo xtask build`: Rust → wasm → bindings → optimised wasm → npm package.

use crate::{
    Subcommand,
    arguments::Arguments,
    npm,
    process::{command, find_program, run},
    setup::{self, Purpose},
    tools,
    wasm_toolchain::{TARGET, WasmToolchain},
    workspace::Workspace,
};
use anyhow::{Context, Result};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

pub const COMMAND: Subcommand = Subcommand {
    name: "build",
    arguments: "",
    about: "builds the npm package: pkg/wasm and pkg/dist",
    run: run_command,
};

/// Every feature a build of ours may use, and no other: `-all` would let in what browsers reject.
const OPTIMISER: [&str; 10] = [
    "-O3",
    "--enable-simd",
    "--enable-relaxed-simd",
    "--enable-threads",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
];

fn run_command(arguments: Arguments) -> Result<()> {
    arguments.end()?;
    let workspace = Workspace::find()?;
    setup::set_up(&workspace, Purpose::Build)?;
    build(&workspace)
}

/// Builds the package; the tools must be there.
pub fn build(workspace: &Workspace) -> Result<()> {
    let toolchain = WasmToolchain::find(workspace).context("run cargo xtask setup first")?;
    let mut cargo = toolchain.command(workspace, "cargo")?;
    cargo.args(["build", "--package", "multihead", "--lib", "--release", "--target", TARGET]);
    run(&mut cargo)?;
    let built = toolchain.target_dir(workspace).join(TARGET).join("release/multihead.wasm");
    let folder = workspace.package().join("wasm");
    bind(workspace, &built, &folder)?;
    optimise(workspace, &folder.join("multihead_bg.wasm"))?;
    if npm::has_package(workspace) {
        npm::run_script(workspace, &workspace.package(), "build")?;
    }
    report_sizes(workspace)
}

fn bind(workspace: &Workspace, built: &Path, folder: &Path) -> Result<()> {
    let program = tools::wasm_bindgen(workspace)?
        .find(workspace)
        .context("wasm-bindgen is lacking: run cargo xtask setup first")?;
    let mut bindgen = command(program);
    bindgen.args(["--target", "web", "--out-name", "multihead", "--out-dir"]);
    run(bindgen.arg(folder).arg(built))
}

fn optimise(workspace: &Workspace, wasm: &Path) -> Result<()> {
    let Some(program) = find_program(Some(&workspace.npm_bin()), &["wasm-opt"]) else {
        println!("wasm-opt is not there (npm package binaryen): the module stays as it is");
        return Ok(());
    };
    let mut optimiser = command(program);
    run(optimiser.args(OPTIMISER).arg(wasm).arg("-o").arg(wasm))
}

/// Prints what a page downloads: raw and gzipped bytes of each file.
fn report_sizes(workspace: &Workspace) -> Result<()> {
    let mut files = Vec::new();
    for folder in ["wasm", "dist"] {
        collect(&workspace.package().join(folder), &mut files)?;
    }
    files.sort();
    println!("{:<44}{:>10}{:>10}", "file", "raw", "gzip");
    for path in files {
        let bytes = fs::read(&path)?;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&bytes)?;
        let gzipped = encoder.finish()?.len();
        println!("{:<44}{:>10}{gzipped:>10}", workspace.display(&path).to_string(), bytes.len());
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().unwrap_or_default();
        if path.is_dir() {
            collect(&path, files)?;
        } else if extension == "js" || extension == "wasm" {
            files.push(path);
        }
    }
    Ok(())
}
