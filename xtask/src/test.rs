//! `cargo xtask test`: every check there is, from nothing; the first that fails ends the run.

use crate::{
    Subcommand,
    arguments::Arguments,
    build, elsewhere, models, npm,
    process::{command, find_program, run},
    python,
    setup::{self, Purpose},
    tools,
    variants::{FAMILIES, Family},
    wasm_toolchain::{TARGET, WasmToolchain},
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::{
    io::Write,
    process::{Child, Command, Stdio},
    time::Instant,
};

pub const COMMAND: Subcommand = Subcommand {
    name: "test",
    arguments: "[stage…]",
    about: "runs every check from nothing, or the named stages of it",
    run: run_command,
};

/// How a stage ended, if it did not fail.
pub enum Outcome {
    Passed,
    /// There is nothing to run, and why.
    Skipped(&'static str),
}

struct Stage {
    name: &'static str,
    run: fn(&Workspace) -> Result<Outcome>,
}

/// The tests of browsers but for `web_gpu`, which needs a feature of its own.
const WEB_TESTS: &str = "web_[!g]*";
const WEB_GPU_TEST: &str = "web_gpu";

/// What compiles longest. It needs nothing of what is set up.
const RUST: [&str; 4] = ["test", "--workspace", "--features", "multihead/gpu"];

const STAGES: &[Stage] = &[
    Stage { name: "setup", run: |workspace| passed(setup::set_up(workspace, Purpose::Test)) },
    Stage { name: "models", run: |workspace| passed(models::fetch(workspace, &[])) },
    Stage { name: "fmt", run: |workspace| host(workspace, &["fmt", "--all", "--check"]) },
    Stage {
        name: "clippy",
        run: |workspace| {
            // Without the GPU, and for each family of modules, `clippy-wasm` looks.
            let all = ["clippy", "--workspace", "--all-targets", "--features", "multihead/gpu"];
            host(workspace, &[&all[..], &["--", "-D", "warnings"]].concat())
        },
    },
    Stage { name: "clippy-wasm", run: clippy_wasm },
    // A passing test may have said that it was skipped: that must be seen.
    Stage {
        name: "rust",
        run: |workspace| host(workspace, &[&RUST[..], &["--", "--show-output"]].concat()),
    },
    Stage { name: "rust-cpu", run: rust_cpu },
    Stage {
        name: "whole-models",
        run: |workspace| {
            let test = ["test", "--profile", "models", "--test", "models*", "--", "--show-output"];
            host(workspace, &test)
        },
    },
    Stage { name: "fuzz-build", run: fuzz_build },
    Stage {
        name: "wasm-chromium",
        run: |workspace| browser(workspace, "CHROMEDRIVER", WEB_TESTS, &[]),
    },
    Stage {
        name: "wasm-firefox",
        run: |workspace| browser(workspace, "GECKODRIVER", WEB_TESTS, &[]),
    },
    Stage { name: "wasm-gpu", run: wasm_gpu },
    Stage { name: "build", run: |workspace| passed(build::build(workspace)) },
    Stage {
        name: "benches",
        run: |workspace| passed(npm::run_script(workspace, &workspace.benches(), "test")),
    },
    Stage { name: "ts-check", run: |workspace| script(workspace, "check") },
    Stage { name: "ts-lint", run: |workspace| script(workspace, "lint") },
    Stage { name: "page", run: |workspace| script(workspace, "test") },
    Stage { name: "webkit", run: elsewhere::webkit },
    Stage { name: "arm64", run: elsewhere::arm64 },
    Stage {
        name: "install",
        run: |workspace| {
            let folder = workspace.install_tests();
            npm::install(workspace, &folder)?;
            passed(npm::run_script(workspace, &folder, "test"))
        },
    },
];

fn run_command(arguments: Arguments) -> Result<()> {
    let names = arguments.rest()?;
    if let Some(unknown) =
        names.iter().find(|name| !STAGES.iter().any(|stage| stage.name == **name))
    {
        let known: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
        bail!("no stage {unknown:?}; there are: {}", known.join(", "));
    }
    let wanted: Vec<&Stage> = STAGES
        .iter()
        .filter(|stage| names.is_empty() || names.iter().any(|name| name == stage.name))
        .collect();
    let workspace = Workspace::find()?;
    let ahead = names.is_empty().then(|| Ahead::compile(&workspace)).transpose()?;
    let ran = run_stages(&workspace, &wanted, &mut std::io::stdout());
    drop(ahead);
    ran
}

/// A compilation that goes on while set-up waits for the network. What fails of it says so in the stage it is for. The first
/// stage that compiles waits until cargo has ended, which counts as that stage's time. Ended when dropped, but for
/// the crates that are under way.
struct Ahead(Child);

impl Ahead {
    fn compile(workspace: &Workspace) -> Result<Self> {
        let mut cargo = host_cargo(workspace, &[&RUST[..], &["--no-run", "--quiet"]].concat());
        let cargo = cargo.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(cargo.spawn().context("cannot start cargo")?))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the stages up to the first that fails and writes what each took and how it ended.
fn run_stages(workspace: &Workspace, stages: &[&Stage], out: &mut impl Write) -> Result<()> {
    let (mut table, mut passed, mut skipped) = (Vec::new(), 0, 0);
    let mut failure = None;
    let whole = Instant::now();
    for stage in stages {
        if failure.is_some() {
            skipped += 1;
            table.push(format!("{:<16}           not run", stage.name));
            continue;
        }
        writeln!(out, "\n== {}", stage.name)?;
        let start = Instant::now();
        let outcome = (stage.run)(workspace);
        let took = format!("{:<16}{:8.1} s ", stage.name, start.elapsed().as_secs_f32());
        match outcome {
            Ok(Outcome::Passed) => {
                passed += 1;
                table.push(format!("{took} passed"));
            }
            Ok(Outcome::Skipped(why)) => {
                writeln!(out, "SKIPPED: {why}")?;
                skipped += 1;
                table.push(format!("{took} SKIPPED: {why}"));
            }
            Err(error) => {
                table.push(format!("{took} FAILED"));
                failure = Some(error.context(format!("stage {}", stage.name)));
            }
        }
    }
    writeln!(out, "\n{}", table.join("\n"))?;
    writeln!(out, "{:<16}{:8.1} s", "total", whole.elapsed().as_secs_f32())?;
    let failed = usize::from(failure.is_some());
    writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
    failure.map_or(Ok(()), Err)
}

fn passed(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}

fn host(workspace: &Workspace, arguments: &[&str]) -> Result<Outcome> {
    passed(run(&mut host_cargo(workspace, arguments)))
}

/// A cargo command for this machine.
fn host_cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut cargo = command("cargo");
    cargo.args(arguments).current_dir(&workspace.root);
    cargo.env("MULTIHEAD_PYTHON", python::REFERENCES.interpreter(workspace));
    // A panic says where it was; a long trace of one that a test provokes buries what matters.
    cargo.env("RUST_BACKTRACE", "0");
    cargo
}

/// With everything in it, and as the package's modules are built.
fn clippy_wasm(workspace: &Workspace) -> Result<Outcome> {
    let all = vec!["--all-targets", "--features", "gpu"];
    let one =
        |family: &Family| vec!["--lib", "--no-default-features", "--features", family.features()];
    for selection in [all].into_iter().chain(FAMILIES.iter().map(one)) {
        let mut cargo = wasm_cargo(workspace)?;
        cargo.args(["clippy", "--package", "multihead", "--target", TARGET]).args(selection);
        run(cargo.args(["--", "-D", "warnings"]))?;
    }
    Ok(Outcome::Passed)
}

/// Without the GPU as a device, and optimised as the package is, with the checks of arithmetic that the package is without: every
/// op on every kind of lanes, which takes long to compile, and what decodes. All else runs in `rust`.
fn rust_cpu(workspace: &Workspace) -> Result<Outcome> {
    let tests = ["--test", "ops_parity", "--test", "decoders", "--test", "formats_models"];
    // Of the same packages as in `rust`, so that what they depend on is compiled already.
    let workspace_tests = ["test", "--workspace"];
    host(workspace, &[&workspace_tests[..], &OPTIMISED, &tests, &["--", "--show-output"]].concat())
}

fn fuzz_build(workspace: &Workspace) -> Result<Outcome> {
    if !workspace.root.join("fuzz/Cargo.toml").is_file() {
        return Ok(Outcome::Skipped("there is no fuzz/"));
    }
    host(workspace, &["build", "--manifest-path", "fuzz/Cargo.toml", "--bins"])
}

/// `tests/web_gpu.rs` on the adapters that browsers give; it says so if there is none. Of the runs of each op one in eight takes
/// place, as all of them do natively (`tests/ops_gpu.rs`). Firefox takes a tenth of a second to
/// read back, so it runs the models, and not every op two thousand times.
fn wasm_gpu(workspace: &Workspace) -> Result<Outcome> {
    let gpu = ["--features", "gpu"];
    browser(workspace, "CHROMEDRIVER", WEB_GPU_TEST, &gpu)?;
    let models = ["--", "are_those_of"];
    browser(workspace, "GECKODRIVER", WEB_GPU_TEST, &[gpu, models].concat())
}

/// The tests in `tests/` of a name, in the browser that a driver drives.
fn browser(workspace: &Workspace, driver: &str, tests: &str, features: &[&str]) -> Result<Outcome> {
    let driver_path = match driver {
        "GECKODRIVER" => tools::geckodriver().find(workspace),
        _ => find_program(None, &["chromedriver"]),
    };
    let driver_path = driver_path.with_context(|| format!("{driver} is lacking: run setup"))?;
    let mut cargo = wasm_tests(workspace, tests)?;
    cargo.args(features).env(driver, driver_path).env("WASM_BINDGEN_TEST_ONLY_WEB", "1");
    passed(run(&mut cargo))
}

/// Without debug information, which is most of a module, and takes wasm-bindgen longer than the tests take.
const WASM_PROFILE: [&str; 2] = ["--config", "profile.test.debug=false"];

/// As the package's modules are. Where a software GPU computes, that would take long to compile only.
const OPTIMISED: [&str; 2] = ["--config", "profile.test.package.multihead.opt-level=3"];

/// `cargo test` of wasm tests by their file's name; where they run is for the caller to say.
pub fn wasm_tests(workspace: &Workspace, name: &str) -> Result<Command> {
    let wasm_bindgen = tools::wasm_bindgen(workspace)?.find(workspace);
    let wasm_bindgen = wasm_bindgen.context("wasm-bindgen is lacking: run setup")?;
    let runner = wasm_bindgen.with_file_name("wasm-bindgen-test-runner");
    let mut cargo = wasm_cargo(workspace)?;
    cargo
        .args(["test", "--package", "multihead", "--target", TARGET, "--test", name])
        .args(WASM_PROFILE)
        .env_remove("CHROMEDRIVER")
        .env_remove("GECKODRIVER")
        .env_remove("SAFARIDRIVER")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
        .env("WASM_BINDGEN_TEST_TIMEOUT", "600");
    if name != WEB_GPU_TEST {
        cargo.args(OPTIMISED);
    }
    Ok(cargo)
}

fn wasm_cargo(workspace: &Workspace) -> Result<Command> {
    let toolchain = WasmToolchain::find(workspace).context("no wasm compiler: run setup")?;
    toolchain.command(workspace, "cargo")
}

fn script(workspace: &Workspace, name: &str) -> Result<Outcome> {
    if !npm::has_package(workspace) {
        return Ok(Outcome::Skipped("pkg/ holds no npm package"));
    }
    passed(npm::run_script(workspace, &workspace.package(), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Stage = Stage { name: "good", run: |_| Ok(Outcome::Passed) };
    const BAD: Stage = Stage { name: "bad", run: |_| bail!("no good") };

    #[test]
    fn a_failing_stage_ends_the_run_and_fails_it() {
        let workspace = Workspace::find().unwrap();
        let mut written = Vec::new();
        assert!(run_stages(&workspace, &[&GOOD], &mut written).is_ok());
        assert!(written.ends_with(b"\n1 passed, 0 failed, 0 skipped\n"));
        let error = run_stages(&workspace, &[&GOOD, &BAD, &GOOD], &mut written).unwrap_err();
        assert_eq!(format!("{error:#}"), "stage bad: no good");
        assert!(written.ends_with(b"\n1 passed, 1 failed, 1 skipped\n"));
    }
}
