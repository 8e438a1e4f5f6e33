//! Packages of the operating system, by apt where it may run.

use crate::process::{command, find_program, output, run_with_progress};
use anyhow::{Result, bail};
use std::{process::Command, time::Duration};

const LIMIT: Duration = Duration::from_secs(1200);

/// Installs Debian packages as root or by password-less sudo. Where it may not, the error is the
/// one line to type.
pub fn install(packages: &[&str], purpose: &str) -> Result<()> {
    let names = packages.join(" ");
    if find_program(None, &["apt-get"]).is_none() {
        bail!("{purpose} is lacking and there is no apt-get: install what Debian calls {names}");
    }
    let Some(prefix) = root_prefix() else {
        bail!("{purpose} is lacking, type: sudo apt-get install --no-install-recommends {names}");
    };
    let update = ["update", "-qq"];
    let mut install = vec!["install", "-y", "-q", "--no-install-recommends"];
    install.extend(packages);
    run_with_progress("apt-get update", &mut apt(prefix, &update), LIMIT)?;
    run_with_progress(&format!("apt-get install {names}"), &mut apt(prefix, &install), LIMIT)
}

/// Words before apt-get that make it run as root, if any do.
fn root_prefix() -> Option<&'static [&'static str]> {
    const ROOT: &[&str] = &["env"];
    const SUDO: &[&str] = &["sudo", "-n", "env"];
    if output(command("id").arg("-u")).is_ok_and(|id| id.trim() == "0") {
        return Some(ROOT);
    }
    output(command("sudo").args(["-n", "true"])).is_ok().then_some(SUDO)
}

fn apt(prefix: &[&str], arguments: &[&str]) -> Command {
    let mut words = prefix.iter();
    let mut apt = command(words.next().unwrap_or(&"env"));
    apt.args(words)
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"])
        .args(arguments);
    apt
}
