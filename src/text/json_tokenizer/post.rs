//! Post-processors: what is put around the tokens of a text, and whether their ranges leave white space out.

use super::Piece;
use super::section::Section;
use crate::error::Result;

const KNOWN: &str =
    "BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing are";

/// The steps, in order.
#[derive(Default)]
pub(super) struct PostProcessor {
    steps: Vec<Step>,
}

enum Step {
    /// White space at the ends of a token is not in its range.
    Trim { add_prefix_space: bool },
    /// Ids in front and behind.
    Around { before: Vec<u32>, after: Vec<u32> },
}

/// White space at the ends of a token's own text, in characters.
#[derive(Clone, Copy, Default)]
pub(super) struct Blank {
    leading: usize,
    trailing: usize,
}

impl Blank {
    /// Of a token's text, in which U+0120 stands for a space.
    pub fn of(text: &str) -> Self {
        let is_blank = |c: &char| *c == 'Ġ' || c.is_whitespace();
        Self {
            leading: text.chars().take_while(is_blank).count(),
            trailing: text.chars().rev().take_while(is_blank).count(),
        }
    }
}

impl PostProcessor {
    /// Reads a post-processor.
    pub fn read(section: &Section) -> Result<Self> {
        let mut steps = Vec::new();
        if section.is_there() {
            read_into(section, &mut steps)?;
        }
        Ok(Self { steps })
    }

    /// Number of tokens that are put around a text.
    pub fn added_tokens(&self) -> usize {
        let added = self.steps.iter().map(|step| match step {
            Step::Trim { .. } => 0,
            Step::Around { before, after } => before.len() + after.len(),
        });
        added.sum()
    }

    /// The highest id that is put around a text.
    pub fn last_id(&self) -> Option<u32> {
        let ids = self.steps.iter().filter_map(|step| match step {
            Step::Trim { .. } => None,
            Step::Around { before, after } => before.iter().chain(after).max().copied(),
        });
        ids.max()
    }

    /// Whether the white space of the tokens' texts is asked for.
    pub fn trims(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Trim { .. }))
    }

    /// Takes the steps; `blanks` has one for each piece if they are asked for.
    pub fn apply(
        &self,
        source: &str,
        mut pieces: Vec<Piece>,
        mut blanks: Vec<Blank>,
    ) -> Vec<Piece> {
        for step in &self.steps {
            match step {
                Step::Trim { add_prefix_space } => {
                    for (index, (piece, blank)) in pieces.iter_mut().zip(&blanks).enumerate() {
                        trim(source, piece, *blank, index == 0, *add_prefix_space);
                    }
                }
                Step::Around { before, after } => {
                    let special = |&id: &u32| Piece { id, range: 0..0, word: None };
                    pieces.splice(0..0, before.iter().map(special));
                    pieces.extend(after.iter().map(special));
                    blanks.splice(0..0, before.iter().map(|_| Blank::default()));
                    blanks.extend(after.iter().map(|_| Blank::default()));
                }
            }
        }
        pieces
    }
}

/// Leaves white space out of a range, but for one space that was put in front of the source.
fn trim(source: &str, piece: &mut Piece, blank: Blank, is_first: bool, add_prefix_space: bool) {
    let range = &mut piece.range;
    let is_first = is_first || range.start == 0;
    if blank.leading > 0 && !(is_first && add_prefix_space && blank.leading == 1) {
        let mut rest = source.get(range.start..).unwrap_or_default().char_indices();
        let start = rest.nth(blank.leading).map_or(source.len(), |(at, _)| range.start + at);
        range.start = start.min(range.end);
    }
    if blank.trailing > 0 {
        let mut before = source.get(..range.end).unwrap_or_default().char_indices();
        if let Some((end, _)) = before.nth_back(blank.trailing - 1) {
            range.end = end.max(range.start);
        }
    }
}

fn read_into(section: &Section, steps: &mut Vec<Step>) -> Result<()> {
    let id = |key: &str| -> Result<u32> {
        let pair = section.get(key);
        match pair.list()?.as_slice() {
            [_, id] => id.number(),
            _ => Err(pair.damaged("not a pair of text and id")),
        }
    };
    match section.kind()? {
        "BertProcessing" => {
            steps.push(Step::Around { before: vec![id("cls")?], after: vec![id("sep")?] });
        }
        "RobertaProcessing" => {
            if section.get("trim_offsets").flag()? {
                let add_prefix_space = section.get("add_prefix_space").flag()?;
                steps.push(Step::Trim { add_prefix_space });
            }
            steps.push(Step::Around { before: vec![id("cls")?], after: vec![id("sep")?] });
        }
        "ByteLevel" => {
            if section.get("trim_offsets").flag()? {
                let add_prefix_space = section.get("add_prefix_space").flag()?;
                steps.push(Step::Trim { add_prefix_space });
            }
        }
        "TemplateProcessing" => steps.push(template(section)?),
        "Sequence" => {
            for part in section.get("processors").list()? {
                read_into(&part, steps)?;
            }
        }
        other => {
            return Err(section.unsupported(&format!("the post-processor {other}"), KNOWN));
        }
    }
    Ok(())
}

/// The template for single texts.
fn template(section: &Section) -> Result<Step> {
    let single = section.get("single");
    let (mut before, mut after, mut sequences) = (Vec::new(), Vec::new(), 0);
    for piece in single.list()? {
        let special = piece.get("SpecialToken");
        if special.is_there() {
            let name = special.get("id").text()?;
            let ids = if sequences == 0 { &mut before } else { &mut after };
            for id in section.get("special_tokens").get(name).get("ids").list()? {
                ids.push(id.number()?);
            }
        } else {
            let sequence = piece.get("Sequence").get("id");
            if sequence.text()? != "A" {
                return Err(sequence.unsupported("a second text", "the text A is"));
            }
            sequences += 1;
        }
    }
    match sequences {
        1 => Ok(Step::Around { before, after }),
        _ => {
            let what = format!("a template with the text {sequences} times");
            Err(single.unsupported(&what, "once is"))
        }
    }
}
