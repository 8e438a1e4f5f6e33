//! Set-up, build, tests, demo and benchmarks of the project: `cargo xtask help`.

mod arguments;
mod bench;
mod build;
mod demo;
mod elsewhere;
mod models;
mod npm;
mod peers;
mod process;
mod python;
mod queues;
mod serve;
mod setup;
mod system_packages;
mod test;
mod tools;
mod variants;
mod wasm_toolchain;
mod workspace;

use anyhow::{Result, bail};
use arguments::Arguments;

/// One subcommand: a file of its own that exports a `COMMAND`, and a row in [`COMMANDS`].
pub struct Subcommand {
    pub name: &'static str,
    pub arguments: &'static str,
    pub about: &'static str,
    pub run: fn(Arguments) -> Result<()>,
}

const COMMANDS: &[Subcommand] = &[
    demo::COMMAND,
    test::COMMAND,
    setup::COMMAND,
    models::COMMAND,
    build::COMMAND,
    bench::COMMAND,
];

fn main() -> std::process::ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn dispatch(mut words: Vec<String>) -> Result<()> {
    let name = if words.is_empty() { "help".to_owned() } else { words.remove(0) };
    let wants_help = words.iter().any(|word| word == "--help" || word == "-h");
    if matches!(name.as_str(), "help" | "--help" | "-h") || wants_help {
        println!("{}", usage());
        return Ok(());
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(Arguments::new(words)),
        None => bail!("no command {name:?}\n\n{}", usage()),
    }
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask <command>\n");
    for command in COMMANDS {
        let call = format!("{} {}", command.name, command.arguments);
        text.push_str(&format!("\n  {:<50}{}", call.trim_end(), command.about));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command_and_an_unknown_one_is_an_error() {
        for command in COMMANDS {
            assert!(usage().contains(command.name));
        }
        let error = dispatch(vec!["biuld".into()]).expect_err("no such command");
        assert!(error.to_string().contains("\"biuld\""), "{error}");
    }
}
