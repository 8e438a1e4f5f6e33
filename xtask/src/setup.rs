//! `cargo xtask setup`: compilers, tools, browsers and packages that building and testing need.

use crate::{
    Subcommand, arguments::Arguments, elsewhere, npm, process::find_program, python,
    system_packages, tools, wasm_toolchain::WasmToolchain, workspace::Workspace,
};
use anyhow::{Context, Result};
use std::time::Instant;

pub const COMMAND: Subcommand = Subcommand {
    name: "setup",
    arguments: "",
    about: "installs what building and testing need; quick if it is there",
    run,
};

/// What a caller is about to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Build and serve the page.
    Build,
    /// Run every test as well: browsers, their drivers, reference metrics.
    Test,
    /// Run those of browsers by hand as well, for which no stage of `cargo xtask test` needs anything.
    TestByHand,
}

/// Something to have; `set_up` says in a few words what it did.
struct Step {
    name: &'static str,
    purpose: Purpose,
    set_up: fn(&Workspace) -> Result<String>,
}

const STEPS: &[Step] = &[
    Step {
        name: "wasm compiler",
        purpose: Purpose::Build,
        set_up: |workspace| Ok(WasmToolchain::set_up(workspace)?.describe().to_owned()),
    },
    Step {
        name: "its sources",
        purpose: Purpose::Build,
        set_up: |workspace| {
            Ok(WasmToolchain::set_up_with_sources(workspace)?.describe().to_owned())
        },
    },
    Step {
        name: "wasm-bindgen",
        purpose: Purpose::Build,
        set_up: |workspace| tools::wasm_bindgen(workspace)?.set_up(workspace),
    },
    Step { name: "npm packages", purpose: Purpose::Build, set_up: npm::set_up },
    Step {
        name: "a bundler",
        purpose: Purpose::Test,
        set_up: |workspace| npm::install(workspace, &workspace.install_tests()),
    },
    Step { name: "browsers", purpose: Purpose::Test, set_up: |_| browsers() },
    Step { name: "a software GPU", purpose: Purpose::Test, set_up: |_| software_gpu() },
    Step { name: "other machines", purpose: Purpose::Test, set_up: elsewhere::set_up },
    Step {
        name: "wasm-pack",
        purpose: Purpose::TestByHand,
        set_up: |workspace| tools::wasm_pack().set_up(workspace),
    },
    Step {
        name: "geckodriver",
        purpose: Purpose::Test,
        set_up: |workspace| tools::geckodriver().set_up(workspace),
    },
    Step {
        name: "Python packages",
        purpose: Purpose::Test,
        set_up: |workspace| python::REFERENCES.set_up(workspace),
    },
];

fn run(arguments: Arguments) -> Result<()> {
    arguments.end()?;
    set_up(&Workspace::find()?, Purpose::TestByHand)
}

/// Goes through the steps of a purpose.
pub fn set_up(workspace: &Workspace, purpose: Purpose) -> Result<()> {
    for step in STEPS {
        if step.purpose > purpose {
            continue;
        }
        let start = Instant::now();
        let done = (step.set_up)(workspace).with_context(|| format!("set-up of {}", step.name))?;
        println!("{:<16} {:6.1} s  {done}", step.name, start.elapsed().as_secs_f32());
    }
    tools::clean(workspace)
}

/// Program names of each browser part, and the Debian package that has it.
const BROWSERS: [(&[&str], &str); 3] = [
    (&["chromium"], "chromium"),
    (&["chromedriver"], "chromium-driver"),
    (&["firefox-esr"], "firefox-esr"),
];

fn browsers() -> Result<String> {
    let lacking = || BROWSERS.iter().filter(|(names, _)| find_program(None, names).is_none());
    let packages: Vec<&str> = lacking().map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok("there already: Chromium, its driver, Firefox".to_owned());
    }
    system_packages::install(&packages, "a browser for the tests")?;
    Ok(format!("installed {}", packages.join(", ")))
}

/// Vulkan on the CPU, for tests of the GPU's kernels where there is none.
fn software_gpu() -> Result<String> {
    let is_there = ["lvp_icd.x86_64.json", "lvp_icd.aarch64.json", "lvp_icd.json"]
        .iter()
        .any(|name| std::path::Path::new("/usr/share/vulkan/icd.d").join(name).is_file());
    if is_there {
        return Ok("there already: Mesa's Vulkan drivers".to_owned());
    }
    let packages = ["mesa-vulkan-drivers", "libvulkan1"];
    system_packages::install(&packages, "a software GPU for the tests")?;
    Ok(format!("installed {}", packages.join(", ")))
}
