//! Command line of a subcommand: flags, options with a value, and the words left over.

use anyhow::{Result, bail};

/// The words after the subcommand's name; each question takes out what it answers.
pub struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    /// Wraps the words of the command line.
    pub fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// Whether `--name` was given.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// The value of `--name value` or `--name=value`.
    pub fn value(&mut self, name: &str) -> Result<Option<String>> {
        let prefix = format!("{name}=");
        let is_it = |word: &String| word == name || word.starts_with(&prefix);
        let Some(at) = self.words.iter().position(is_it) else {
            return Ok(None);
        };
        let word = self.words.remove(at);
        match word.strip_prefix(&prefix) {
            Some(value) => Ok(Some(value.to_owned())),
            None if at < self.words.len() => Ok(Some(self.words.remove(at))),
            None => bail!("{name} needs a value"),
        }
    }

    /// The words that are no options; an option nobody asked for is an error.
    pub fn rest(self) -> Result<Vec<String>> {
        match self.words.iter().find(|word| word.starts_with('-')) {
            Some(unknown) => bail!("unknown option {unknown}; see cargo xtask help"),
            None => Ok(self.words),
        }
    }

    /// Ends a command line that takes no more words.
    pub fn end(self) -> Result<()> {
        match self.rest()?.first() {
            Some(word) => bail!("unexpected {word:?}; see cargo xtask help"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn flags_and_values_are_taken_out() {
        let mut given = arguments("--no-isolation en-pt --port 9000 pt-en");
        assert!(given.flag("--no-isolation"));
        assert!(!given.flag("--no-isolation"));
        assert_eq!(given.value("--port").unwrap().as_deref(), Some("9000"));
        assert_eq!(given.rest().unwrap(), ["en-pt", "pt-en"]);
        assert_eq!(arguments("--port=1").value("--port").unwrap().as_deref(), Some("1"));
    }

    #[test]
    fn what_nobody_asked_for_is_an_error() {
        assert!(arguments("--prot 1").end().is_err());
        assert!(arguments("word").end().is_err());
        assert!(arguments("--port").value("--port").is_err());
    }
}
