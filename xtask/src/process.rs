//! Child processes: no standard input, a clean environment, and progress while long ones run.

use anyhow::{Context, Result, bail};
use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How often a long step says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Lines of a failed step's output that are shown.
const TAIL: usize = 80;

/// What `cargo run` tells the program it runs; a cargo started below must find out for itself.
const FROM_CARGO: [&str; 5] =
    ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"];

/// A command without standard input.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for name in FROM_CARGO {
        command.env_remove(name);
    }
    command
}

/// The command as a person would type it.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command whose output goes straight to ours.
pub fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", line(command));
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", line(command), output.status, words.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a long command in the background of one progress line every few seconds. Its output is
/// shown only if it fails; past `limit` it is ended, which counts as a failure.
pub fn run_with_progress(what: &str, command: &mut Command, limit: Duration) -> Result<()> {
    let start = Instant::now();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    let (sender, lines) = mpsc::channel();
    forward_lines(child.stdout.take(), sender.clone());
    forward_lines(child.stderr.take(), sender);
    let (mut tail, mut spoken) = (Vec::new(), start);
    let status = loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(text) => {
                tail.push(text);
                if tail.len() > TAIL {
                    tail.remove(0);
                }
            }
            // Both pipes closed: the end is near.
            Err(mpsc::RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(20)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > limit {
            end(&mut child);
            bail!("{what}: no end after {} s: {}", limit.as_secs(), line(command));
        }
        if spoken.elapsed() > HEARTBEAT {
            spoken = Instant::now();
            let last = tail.last().map_or("", |text: &String| text.trim());
            println!("  … {what}: {} s, {last}", start.elapsed().as_secs());
        }
    };
    if status.success() {
        return Ok(());
    }
    tail.extend(lines.try_iter());
    let shown = tail.len().saturating_sub(TAIL);
    eprintln!("{}", tail.get(shown..).unwrap_or_default().join("\n"));
    bail!("{what}: {} ended with {status}", line(command))
}

fn end(child: &mut Child) {
    // Only fails where the process has ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

fn forward_lines(pipe: Option<impl Read + Send + 'static>, lines: mpsc::Sender<String>) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        for text in BufReader::new(pipe).lines().map_while(Result::ok) {
            if lines.send(text).is_err() {
                break;
            }
        }
    });
}

/// The program's path: the first of the names found in `folder`, else on `PATH`.
pub fn find_program(folder: Option<&Path>, names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        folder.map(Path::to_owned).into_iter().chain(std::env::split_paths(&path)).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// `PATH` with folders before what it holds.
pub fn path_with(first: &[PathBuf]) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = first.iter().cloned().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).context("a folder's name holds the separator of PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = command("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        let error = run_with_progress("step", &mut shell("exit 3"), Duration::from_secs(20));
        let text = error.expect_err("it fails").to_string();
        assert!(text.contains("exit 3") && text.contains("step"), "{text}");
        assert!(output(&mut shell("echo no >&2; exit 1")).unwrap_err().to_string().contains("no"));
    }

    #[test]
    fn a_hanging_command_is_ended() {
        let start = Instant::now();
        let error =
            run_with_progress("step", &mut shell("exec sleep 60"), Duration::from_millis(500));
        assert!(error.is_err() && start.elapsed() < Duration::from_secs(30));
    }
}
