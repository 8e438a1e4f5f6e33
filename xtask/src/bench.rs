//! `cargo xtask bench`: speed and quality of our package beside others.

use crate::{
    Subcommand,
    arguments::Arguments,
    build, models, npm, peers,
    process::{command, run as run_command},
    python,
    serve::{Site, serve},
    setup::{self, Purpose},
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

pub const COMMAND: Subcommand = Subcommand {
    name: "bench",
    arguments: "[translation|visit|quality|generation|embedding] [--no-build] …",
    about: "measures speed and quality beside other packages",
    run,
};

/// Options of all of them.
const OPTIONS: [&str; 8] = [
    "--pair",
    "--lines",
    "--runs",
    "--only",
    "--threads",
    "--variant",
    "--wait-minutes",
    "--device",
];
/// Those among them that are passed on to benches/translation.js.
const OF_TRANSLATION: [&str; 7] =
    ["--pair", "--lines", "--runs", "--only", "--threads", "--variant", "--wait-minutes"];
/// Those among them that are passed on to benches/generation.js.
const OF_GENERATION: [&str; 5] = ["--runs", "--only", "--threads", "--wait-minutes", "--device"];
/// Those among them that are passed on to benches/embedding.js.
const OF_EMBEDDING: [&str; 6] =
    ["--lines", "--runs", "--only", "--threads", "--wait-minutes", "--device"];
const BENCHMARKS: [&str; 5] = ["translation", "visit", "quality", "generation", "embedding"];
/// Models of the benchmarks of translation.
const MODELS: [&str; 2] = ["en-pt", "pt-en"];
/// The model of the benchmark of generation.
const LANGUAGE_MODEL: &str = "smollm2-135m-instruct";
/// The model of the benchmark of embedding.
const ENCODER: &str = "all-minilm-l6-v2";

fn run(mut arguments: Arguments) -> Result<()> {
    let builds = !arguments.flag("--no-build");
    let mut given = Vec::new();
    for name in OPTIONS {
        if let Some(value) = arguments.value(name)? {
            given.push([name.to_owned(), value]);
        }
    }
    let names = arguments.rest()?;
    if let Some(unknown) = names.iter().find(|name| !BENCHMARKS.contains(&name.as_str())) {
        bail!("no benchmark {unknown:?}; there are: {}", BENCHMARKS.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|given| given == name);
    let workspace = Workspace::find()?;
    let flores = flores(&workspace)?;
    if builds {
        setup::set_up(&workspace, Purpose::Test)?;
        let models = MODELS.iter().chain(&[LANGUAGE_MODEL, ENCODER]).map(|id| (*id).to_owned());
        models::fetch(&workspace, &models.collect::<Vec<_>>())?;
        build::build(&workspace)?;
        println!("{}", npm::install(&workspace, &workspace.benches())?);
    }
    let origin = serve_all(&workspace)?;
    if wanted("translation") {
        let mut script = node(&workspace, "translation", &origin, &flores);
        let given = given.iter().filter(|[name, _]| OF_TRANSLATION.contains(&name.as_str()));
        run_command(script.args(given.flatten()))?;
    }
    if wanted("visit") {
        pack(&workspace, &MODELS, &[])?;
        run_command(&mut node(&workspace, "visit", &origin, &flores))?;
    }
    if wanted("quality") {
        quality(&workspace, &origin, &flores)?;
    }
    if wanted("generation") {
        println!("{}", peers::LANGUAGE_MODEL.set_up(&workspace)?);
        let given = given.iter().filter(|[name, _]| OF_GENERATION.contains(&name.as_str()));
        let mut script = node(&workspace, "generation", &origin, &flores);
        run_command(script.args(given.flatten()))?;
    }
    if wanted("embedding") {
        println!("{}", peers::ENCODER.set_up(&workspace)?);
        pack(&workspace, &[ENCODER], &["--int8"])?;
        let given = given.iter().filter(|[name, _]| OF_EMBEDDING.contains(&name.as_str()));
        let mut script = node(&workspace, "embedding", &origin, &flores);
        run_command(script.args(given.flatten()))?;
    }
    Ok(())
}

/// Models as the package's own command writes them for a site.
fn pack(workspace: &Workspace, models: &[&str], options: &[&str]) -> Result<()> {
    let mut script = command("node");
    script
        .arg(workspace.package().join("dist/node/cli.js"))
        .args(["models", "add"])
        .args(models)
        .arg(packed(workspace))
        .arg("--from")
        .arg(workspace.models())
        .args(options);
    run_command(&mut script)
}

fn packed(workspace: &Workspace) -> PathBuf {
    workspace.target.join("bench/packed")
}

/// Our side runs natively, where the text is the same and comes sooner.
fn quality(workspace: &Workspace, origin: &str, flores: &Path) -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--release", "--example", "translate"]).current_dir(&workspace.root);
    run_command(&mut cargo)?;
    let mut script = node(workspace, "quality", origin, flores);
    script
        .arg("--models")
        .arg(workspace.models())
        .arg("--translate")
        .arg(workspace.target.join("release/examples/translate"))
        .arg("--python")
        .arg(python::REFERENCES.interpreter(workspace));
    run_command(&mut script)
}

/// A benchmark's script with what all of them are told.
fn node(workspace: &Workspace, name: &str, origin: &str, flores: &Path) -> Command {
    let mut script = command("node");
    script
        .arg(workspace.benches().join(format!("{name}.js")))
        .args(["--origin", origin, "--flores"])
        .arg(flores)
        .arg("--out")
        .arg(workspace.target.join(format!("bench/{name}.json")));
    script
}

/// Serves the page, both packages and the models on a free port, isolated; the address.
fn serve_all(workspace: &Workspace) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on any port")?;
    let origin = format!("http://localhost:{}", listener.local_addr()?.port());
    let peer = workspace.benches().join("node_modules/@browsermt/bergamot-translator");
    let site = Site {
        folders: vec![
            ("/benches/".to_owned(), workspace.benches()),
            ("/bergamot/".to_owned(), peer),
            ("/pkg/".to_owned(), workspace.package()),
            ("/models/".to_owned(), workspace.models()),
            ("/packed/".to_owned(), packed(workspace)),
            ("/peers/".to_owned(), peers::folder(workspace)),
        ],
        files: Vec::new(),
        isolated: true,
    };
    // Ends with the process.
    thread::spawn(move || serve(&listener, site));
    Ok(origin)
}

/// The folder of the FLORES lines, which are not part of the repository.
fn flores(workspace: &Workspace) -> Result<PathBuf> {
    let folder = match std::env::var_os("MULTIHEAD_FLORES") {
        Some(path) => PathBuf::from(path),
        None => workspace.root.join("../shared/data/flores-en-pt-dev"),
    };
    for name in ["dev.en", "dev.pt"] {
        if !folder.join(name).is_file() {
            bail!(
                "{} is not there: set MULTIHEAD_FLORES to the folder that holds it",
                folder.join(name).display()
            );
        }
    }
    Ok(folder)
}
