//! What `Replace` and `Split` look for: a text, or one of the few regular expressions that encoders use.

use super::section::Section;
use crate::error::Result;
use std::ops::Range;

pub(super) enum Pattern {
    /// This text.
    Literal(String),
    /// As many of a character as there are, if there are so many.
    Run { of: char, least: usize },
    /// White space, one character or all that there is.
    White { whole_run: bool },
}

const KNOWN: &str = "a literal, \" +\", \" {2,}\", \"\\s\" and \"\\s+\" are";

impl Pattern {
    /// `{"String": …}` or `{"Regex": …}`
    pub fn read(section: &Section) -> Result<Self> {
        let (literal, regex) = (section.get("String"), section.get("Regex"));
        if literal.is_there() || !regex.is_there() {
            return match literal.text()? {
                "" => Err(literal.damaged("empty")),
                text => Ok(Self::Literal(text.to_owned())),
            };
        }
        Ok(match regex.text()? {
            r"\s" => Self::White { whole_run: false },
            r"\s+" => Self::White { whole_run: true },
            other => match Self::run(other) {
                Some(run) => run,
                None => {
                    let what = format!("the regular expression {other:?}");
                    return Err(regex.unsupported(&what, KNOWN));
                }
            },
        })
    }

    /// `c+` or `c{n,}` of a character that means itself.
    fn run(regex: &str) -> Option<Self> {
        let of = regex.chars().next().filter(|&c| c == ' ' || c.is_alphanumeric() || c == '▁')?;
        let least = match regex.strip_prefix(of)? {
            "+" => 1,
            count => count.strip_prefix('{')?.strip_suffix(",}")?.parse().ok()?,
        };
        Some(Self::Run { of, least }).filter(|_| least > 0)
    }

    /// Where the pattern is found, from left to right; matches do not overlap.
    pub fn matches(&self, text: &str) -> Vec<Range<usize>> {
        match self {
            Self::Literal(literal) if literal.is_empty() => Vec::new(),
            Self::Literal(literal) => {
                let found = text.match_indices(literal.as_str());
                found.map(|(at, found)| at..at + found.len()).collect()
            }
            Self::Run { of, least } => {
                let mut found = runs(text, |c| c == *of);
                found.retain(|range| range.len() / of.len_utf8() >= *least);
                found
            }
            Self::White { whole_run: true } => runs(text, char::is_whitespace),
            Self::White { whole_run: false } => each(text, char::is_whitespace),
        }
    }
}

/// Ranges of the characters of a kind, each alone.
pub(super) fn each(text: &str, is_member: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let members = text.char_indices().filter(|&(_, c)| is_member(c));
    members.map(|(at, c)| at..at + c.len_utf8()).collect()
}

/// Ranges of the characters of a kind, neighbours together.
fn runs(text: &str, is_member: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for range in each(text, is_member) {
        match found.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => found.push(range),
        }
    }
    found
}
