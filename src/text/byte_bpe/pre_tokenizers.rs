//! The pre-tokenizers by their names in `tokenizer.ggml.pre`: how each cuts a text into words before any merge.
//!
//! The expressions are those that models publish in their `tokenizer.json`, under the names that llama.cpp gives them.

use super::classes::{
    ASCII_DIGITS, ASCII_LETTERS, ASCII_MARKS, ASCII_SYMBOLS, CASELESS, Class, Classes, INSIDE,
    LETTERS, LOWERCASE, MARKS, NEWLINES, NUMBERS, PUNCTUATIONS, SLASHES, SPACES, SYMBOLS, Set,
    UPPERCASE, WHITES,
};
use super::pattern::{Item, Pattern, Scanner, any, exactly, one, optional, some, up_to};
use crate::error::{Error, Result};

/// How the texts of one family of models are cut.
pub(super) struct PreTokenizer {
    names: &'static [&'static str],
    /// Each cuts the pieces that the one before left.
    stages: &'static [Stage],
    /// Whether a word that is a token is taken whole, whatever the merges would make of it.
    pub ignore_merges: bool,
    /// Whether texts begin with the mark of the beginning, where the file does not say.
    pub add_bos: bool,
    /// Whether texts are brought into Unicode's composed form (NFC) first.
    pub composes: bool,
}

/// One pass over the pieces.
enum Stage {
    Matches(Pattern),
    /// Runs of characters in one of these ranges stand alone.
    Runs(&'static [(char, char)]),
}

const NEITHER: Set = WHITES.or(LETTERS).or(NUMBERS).not();
const NOT_IN_FRONT: Set = NEWLINES.or(LETTERS).or(NUMBERS).not();
const CONTRACTION: Item = Item::Contraction { any_case: false, optional: false };
const ANY_CASE: Item = Item::Contraction { any_case: true, optional: false };
const MAYBE_CONTRACTION: Item = Item::Contraction { any_case: true, optional: true };
/// `\s+(?!\S)`: white space but for its last character, which goes with what follows.
const LEADING_WHITES: &[Item] = &[some(WHITES), Item::NotBefore(WHITES.not())];
/// `\s*[\r\n]+`
const LINE_ENDS: &[Item] = &[any(WHITES), some(NEWLINES)];
/// `[^\r\n\p{L}\p{N}]?\p{L}+`
const WORD: &[Item] = &[optional(NOT_IN_FRONT), some(LETTERS)];
/// ` ?[^\s\p{L}\p{N}]+[\r\n]*`
const MARKS_TO_LINE_END: &[Item] = &[optional(SPACES), some(NEITHER), any(NEWLINES)];
/// The same with slashes at the end.
const MARKS_TO_SLASH: &[Item] = &[optional(SPACES), some(NEITHER), any(NEWLINES.or(SLASHES))];

const GPT2: Pattern = &[
    &[CONTRACTION],
    &[optional(SPACES), some(LETTERS)],
    &[optional(SPACES), some(NUMBERS)],
    &[optional(SPACES), some(NEITHER)],
    LEADING_WHITES,
    &[some(WHITES)],
];
const SINGLE_NUMBERS: Pattern = &[&[one(NUMBERS)]];
const LLAMA3: Pattern = &[
    &[ANY_CASE],
    WORD,
    &[up_to(3, NUMBERS)],
    MARKS_TO_LINE_END,
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];
const QWEN2: Pattern = &[
    &[ANY_CASE],
    WORD,
    &[one(NUMBERS)],
    MARKS_TO_LINE_END,
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];
const QWEN35: Pattern = &[
    &[ANY_CASE],
    &[optional(NOT_IN_FRONT), some(LETTERS.or(MARKS))],
    &[one(NUMBERS)],
    &[optional(SPACES), some(WHITES.or(LETTERS).or(MARKS).or(NUMBERS).not()), any(NEWLINES)],
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];
const SEED_CODER: Pattern = &[
    &[ANY_CASE],
    WORD,
    &[one(NUMBERS)],
    &[optional(SPACES), some(NEITHER.not().or(NEWLINES).not())],
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];
const BAILING: Pattern = &[
    &[ANY_CASE],
    WORD,
    &[one(NUMBERS)],
    MARKS_TO_LINE_END,
    &[any(WHITES), one(NEWLINES)],
    LEADING_WHITES,
    &[some(WHITES)],
];
/// Capitals, and letters that have no case.
const CAPITALS: Set = UPPERCASE.or(CASELESS).or(MARKS);
const SMALL: Set = LOWERCASE.or(CASELESS).or(MARKS);
const GPT4O: Pattern = &[
    &[optional(NOT_IN_FRONT), any(CAPITALS), some(SMALL), MAYBE_CONTRACTION],
    &[optional(NOT_IN_FRONT), some(CAPITALS), any(SMALL), MAYBE_CONTRACTION],
    &[up_to(3, NUMBERS)],
    MARKS_TO_SLASH,
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];
const TEKKEN: Pattern = &[
    &[optional(NOT_IN_FRONT), any(CAPITALS), some(SMALL)],
    &[optional(NOT_IN_FRONT), some(CAPITALS), any(SMALL)],
    &[one(NUMBERS)],
    MARKS_TO_SLASH,
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];
const DEEPSEEK_V3: Pattern = &[
    &[one(ASCII_MARKS), some(ASCII_LETTERS)],
    &[optional(NEWLINES.or(LETTERS).or(PUNCTUATIONS).or(SYMBOLS).not()), some(LETTERS.or(MARKS))],
    &[optional(SPACES), some(PUNCTUATIONS.or(SYMBOLS)), any(NEWLINES)],
    LINE_ENDS,
    LEADING_WHITES,
    &[some(WHITES)],
];

/// The ends of GPT-2's words, ascending.
#[cfg(feature = "encoder")]
pub(crate) fn gpt2_words(text: &str) -> Vec<usize> {
    row(&[], &[Stage::Matches(GPT2)]).split(text)
}

const TABLE: &[PreTokenizer] = &[
    row(&["gpt-2", "gpt2", "phi-2", "jais", "trillion", "exaone4"], &[Stage::Matches(GPT2)]),
    row(&["olmo", "mpt"], &[Stage::Matches(GPT2)]).composing(),
    row(
        &["smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"],
        &[Stage::Matches(SINGLE_NUMBERS), Stage::Matches(GPT2)],
    ),
    row(&["command-r"], &[Stage::Matches(SINGLE_NUMBERS), Stage::Matches(GPT2)]).composing(),
    row(
        &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2"],
        &[Stage::Matches(LLAMA3)],
    )
    .ignoring_merges()
    .adding_bos(),
    row(&["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], &[Stage::Matches(LLAMA3)]),
    row(&["qwen2", "deepseek-r1-qwen", "megrez"], &[Stage::Matches(QWEN2)]).composing(),
    row(&["stablelm2", "hunyuan", "grok-2"], &[Stage::Matches(QWEN2)]),
    row(&["qwen35"], &[Stage::Matches(QWEN35)]).composing(),
    row(&["seed-coder"], &[Stage::Matches(SEED_CODER)]),
    row(&["bailingmoe", "bailingmoe2", "llada-moe"], &[Stage::Matches(BAILING)]),
    row(&["gpt-4o", "llama4", "kanana2"], &[Stage::Matches(GPT4O)]),
    row(&["tekken"], &[Stage::Matches(TEKKEN)]).ignoring_merges().adding_bos(),
    row(
        &["deepseek-v3", "hunyuan-dense"],
        &[
            Stage::Matches(&[&[up_to(3, NUMBERS)]]),
            Stage::Runs(&[('\u{4e00}', '\u{9fa5}'), ('\u{3040}', '\u{30ff}')]),
            Stage::Matches(DEEPSEEK_V3),
        ],
    ),
    row(
        &["deepseek-coder"],
        &[
            Stage::Matches(&[&[one(NEWLINES)]]),
            Stage::Matches(&[&[optional(WHITES), some(LETTERS)]]),
            Stage::Matches(&[&[optional(WHITES), some(PUNCTUATIONS)]]),
            Stage::Runs(&[('\u{800}', '\u{9fa5}'), ('\u{ac00}', '\u{d7ff}')]),
            Stage::Matches(SINGLE_NUMBERS),
        ],
    ),
    row(
        &["falcon"],
        &[
            Stage::Matches(&[&[some(PUNCTUATIONS.or(ASCII_SYMBOLS))]]),
            Stage::Matches(GPT2),
            Stage::Matches(&[&[exactly(3, ASCII_DIGITS)]]),
        ],
    ),
];

const fn row(names: &'static [&'static str], stages: &'static [Stage]) -> PreTokenizer {
    PreTokenizer { names, stages, ignore_merges: false, add_bos: false, composes: false }
}

impl PreTokenizer {
    const fn ignoring_merges(self) -> Self {
        Self { ignore_merges: true, ..self }
    }

    const fn adding_bos(self) -> Self {
        Self { add_bos: true, ..self }
    }

    const fn composing(self) -> Self {
        Self { composes: true, ..self }
    }

    /// The pre-tokenizer of that name; `file` is for the error.
    pub fn named(file: &str, name: &str) -> Result<&'static Self> {
        TABLE.iter().find(|row| row.names.contains(&name)).ok_or_else(|| {
            let known: Vec<&str> = TABLE.iter().flat_map(|row| row.names).copied().collect();
            let what = format!(
                "the pre-tokenizer {name:?} (tokenizer.ggml.pre); {} are",
                known.join(", ")
            );
            Error::Unsupported { file: file.to_owned(), what }
        })
    }

    /// Cuts `text`; the ends of the pieces in bytes, ascending, the last that of the text.
    pub fn split(&self, text: &str) -> Vec<usize> {
        let table = Classes::get();
        let mut classes: Vec<Class> = vec![INSIDE; text.len()];
        for (at, c) in text.char_indices() {
            if let Some(class) = classes.get_mut(at) {
                *class = table.of(c);
            }
        }
        let scanner = Scanner { text: text.as_bytes(), classes: &classes };
        let mut ends = Vec::from_iter((!text.is_empty()).then_some(text.len()));
        for stage in self.stages {
            let mut cut = Vec::with_capacity(ends.len().max(text.len() / 4));
            let mut start = 0;
            for &end in &ends {
                match stage {
                    Stage::Matches(pattern) => scanner.split(pattern, start..end, &mut cut),
                    Stage::Runs(ranges) => split_runs(text, ranges, start, end, &mut cut),
                }
                start = end;
            }
            ends = cut;
        }
        ends
    }
}

/// Pushes where characters of `ranges` and others meet, and `end`.
fn split_runs(
    text: &str,
    ranges: &[(char, char)],
    start: usize,
    end: usize,
    ends: &mut Vec<usize>,
) {
    let mut before = None;
    for (at, c) in text.get(start..end).unwrap_or_default().char_indices() {
        let inside = ranges.iter().any(|&(first, last)| (first..=last).contains(&c));
        if before.is_some_and(|before| before != inside) {
            ends.push(start + at);
        }
        before = Some(inside);
    }
    ends.push(end);
}
