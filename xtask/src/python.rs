//! Python environments of the project's own.

use crate::{
    models::hash_hex,
    process::{command, find_program, run_with_progress},
    system_packages,
    workspace::Workspace,
};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(1800);

/// Packages in a folder of their own, as a file of the repository pins them.
pub struct Environment {
    /// In the folder of tools.
    folder: &'static str,
    /// From the repository's root.
    requirements: &'static str,
}

/// What the tests compare with.
pub const REFERENCES: Environment =
    Environment { folder: "venv", requirements: "xtask/requirements.txt" };

/// What writes model files in the formats of the benchmarks' peers; some gigabytes.
pub const PEERS: Environment =
    Environment { folder: "venv-peers", requirements: "benches/peers/requirements.txt" };

/// What turns model files of other formats into those that are read here.
pub const CONVERTERS: Environment =
    Environment { folder: "venv-models", requirements: "xtask/models-requirements.txt" };

impl Environment {
    /// The interpreter of the environment.
    pub fn interpreter(&self, workspace: &Workspace) -> PathBuf {
        workspace.tools.join(self.folder).join("bin/python")
    }

    /// Makes the environment and installs what is pinned, unless that is what lies there.
    pub fn set_up(&self, workspace: &Workspace) -> Result<String> {
        let folder = workspace.tools.join(self.folder);
        let requirements = workspace.root.join(self.requirements);
        let pinned = fs::read(&requirements)
            .with_context(|| format!("cannot read {}", self.requirements))?;
        let (stamp, wanted) = (folder.join("requirements-hash"), hash_hex(&pinned));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(format!("there already: {}", workspace.display(&folder)));
        }
        if find_program(None, &["python3"]).is_none() {
            system_packages::install(&["python3", "python3-venv"], "Python")?;
        }
        if let Err(error) = create(&folder) {
            println!("  {error:#}: Debian keeps the module in a package of its own");
            system_packages::install(&["python3-venv"], "Python's venv")?;
            create(&folder)?;
        }
        let mut install = command(self.interpreter(workspace));
        install
            .args(["-m", "pip", "install", "--disable-pip-version-check", "--requirement"])
            .arg(&requirements);
        run_with_progress("pip install", &mut install, LIMIT)?;
        fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
        Ok(format!("installed: {}", workspace.display(&folder)))
    }
}

/// Python with pip, for downloads: the tests' own if it is there, else the system's.
pub fn with_pip(workspace: &Workspace) -> PathBuf {
    let own = REFERENCES.interpreter(workspace);
    if own.is_file() { own } else { PathBuf::from("python3") }
}

fn create(folder: &Path) -> Result<()> {
    let mut venv = command("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    run_with_progress("python3 -m venv", &mut venv, LIMIT)
}
