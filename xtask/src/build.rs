//! `cargo xtask build`: Rust → wasm → bindings → optimised wasm → npm package.

use crate::{
    Subcommand,
    arguments::Arguments,
    npm,
    process::{command, find_program, run},
    queues::Queues,
    setup::{self, Purpose},
    tools,
    variants::{self, VARIANTS, Variant},
    workspace::Workspace,
};
use anyhow::{Context, Result};
use std::{
    fs,
    io::Write,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

pub const COMMAND: Subcommand = Subcommand {
    name: "build",
    arguments: "[simd128|relaxed|threads…]",
    about: "builds the npm package: pkg/wasm (or only the named variants in it) and pkg/dist",
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
    let variants = variants::named(&arguments.rest()?)?;
    let workspace = Workspace::find()?;
    setup::set_up(&workspace, Purpose::Build)?;
    build_variants(&workspace, &variants)
}

/// Builds the package; the tools must be there.
pub fn build(workspace: &Workspace) -> Result<()> {
    build_variants(workspace, &VARIANTS.each_ref())
}

fn build_variants(workspace: &Workspace, variants: &[&Variant]) -> Result<()> {
    let folder = workspace.package().join("wasm");
    if variants.len() == VARIANTS.len() && folder.exists() {
        // What an earlier version of the build called its files would be published with them.
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", workspace.display(&folder)))?;
    }
    build_modules(workspace, variants, &folder)?;
    if npm::has_package(workspace) {
        npm::run_script(workspace, &workspace.package(), "build")?;
    }
    report_sizes(workspace)
}

/// Builds the families of the variants, as many at a time as there are cores: most of a module's compilation takes one.
/// The families of one variant share the compiled dependencies, and so are compiled one after the other.
fn build_modules(workspace: &Workspace, variants: &[&Variant], folder: &Path) -> Result<()> {
    let queues = variants.iter().map(|&variant| (variant, variant.families().rev().collect()));
    let queues = Queues::new(queues);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let worker = || {
            while let Some((place, variant, family)) = queues.take() {
                let name = variant.file_name(family);
                let compiled = variant.compile(workspace, family);
                // The next family is written to the same place.
                let bound = compiled.and_then(|built| bind(workspace, &built, folder, &name));
                queues.give_back(place, bound.is_ok());
                bound?;
                let optimised = optimise(workspace, &folder.join(format!("{name}_bg.wasm")));
                if optimised.is_err() {
                    queues.stop();
                }
                optimised?;
            }
            Ok(())
        };
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All of them end before the first error is told.
        ends.collect::<Vec<Result<()>>>().into_iter().collect()
    })
}

fn bind(workspace: &Workspace, built: &Path, folder: &Path, name: &str) -> Result<()> {
    let program = tools::wasm_bindgen(workspace)?
        .find(workspace)
        .context("wasm-bindgen is lacking: run cargo xtask setup first")?;
    let mut bindgen = command(program);
    bindgen.args(["--target", "web", "--out-name", name, "--out-dir"]);
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
