//! npm: development dependencies, and scripts of the package.

use crate::{
    models::hash_hex,
    process::{command, find_program, run, run_with_progress},
    system_packages,
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::{ffi::OsStr, fs, path::Path, time::Duration};

const LIMIT: Duration = Duration::from_secs(900);

/// Whether there is an npm package to work on.
pub fn has_package(workspace: &Workspace) -> bool {
    workspace.package().join("package-lock.json").is_file()
}

/// Development dependencies of the npm package.
pub fn set_up(workspace: &Workspace) -> Result<String> {
    if !has_package(workspace) {
        return Ok("nothing to do: pkg/ has no package-lock.json".to_owned());
    }
    install(workspace, &workspace.package())
}

/// Installs exactly what the folder's lock file names, unless that is what lies there.
pub fn install(workspace: &Workspace, folder: &Path) -> Result<String> {
    let lock = hash_hex(&fs::read(folder.join("package-lock.json"))?);
    let modules = folder.join("node_modules");
    let (stamp, place) = (modules.join(".lock-hash"), workspace.display(&modules));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(format!("there already: {place}"));
    }
    if find_program(None, &["npm"]).is_none() {
        system_packages::install(&["nodejs", "npm"], "npm")?;
    }
    let mut install = command("npm");
    install.args(["ci", "--no-fund", "--no-audit"]).current_dir(folder);
    run_with_progress("npm ci", &mut install, LIMIT)?;
    fs::write(&stamp, &lock).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(format!("installed: {place}"))
}

/// Runs a script of the folder's package.json.
pub fn run_script(workspace: &Workspace, folder: &Path, name: &str) -> Result<()> {
    run_script_with(workspace, folder, name, &[])
}

/// As [`run_script`], with variables of its own.
pub fn run_script_with(
    workspace: &Workspace,
    folder: &Path,
    name: &str,
    variables: &[(&str, &OsStr)],
) -> Result<()> {
    let path = folder.join("package.json");
    let place = workspace.display(&path);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {place}"))?;
    let package: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{place} is no JSON"))?;
    if package.pointer(&format!("/scripts/{name}")).is_none() {
        bail!("{place} has no script {name:?}");
    }
    let mut script = command("npm");
    script.args(["run", "--silent", name]).current_dir(folder);
    script.env("MULTIHEAD_TOOLS", &workspace.tools).envs(variables.iter().copied());
    run(&mut script)
}
