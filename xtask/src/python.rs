//! A Python environment of the project's own, for the reference metrics that the tests compare with.

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

const LIMIT: Duration = Duration::from_secs(900);
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// The interpreter of the environment.
pub fn interpreter(workspace: &Workspace) -> PathBuf {
    workspace.tools.join("venv/bin/python")
}

/// Python with pip, for downloads: the environment's if it is there, else the system's.
pub fn with_pip(workspace: &Workspace) -> PathBuf {
    let own = interpreter(workspace);
    if own.is_file() { own } else { PathBuf::from("python3") }
}

/// Makes the environment and installs what `xtask/requirements.txt` pins.
pub fn set_up(workspace: &Workspace) -> Result<String> {
    let folder = workspace.tools.join("venv");
    let (stamp, wanted) = (folder.join("requirements-hash"), hash_hex(REQUIREMENTS.as_bytes()));
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
    let requirements = workspace.root.join("xtask/requirements.txt");
    let mut install = command(interpreter(workspace));
    install
        .args(["-m", "pip", "install", "--disable-pip-version-check", "--requirement"])
        .arg(&requirements);
    run_with_progress("pip install", &mut install, LIMIT)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(format!("installed: {}", workspace.display(&folder)))
}

fn create(folder: &Path) -> Result<()> {
    let mut venv = command("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    run_with_progress("python3 -m venv", &mut venv, LIMIT)
}
