//! Small models over letters: a word in, the same in another script or order out, with what each letter looked at.

mod attention;
mod job;
mod model;
mod search;
mod symbols;

pub use job::{Candidate, Forced, TransliterationJob, TransliterationOptions, WrittenSymbol};
pub use model::{LoadOptions, TransliterationInfo, TransliterationModel, is_letters};
pub use symbols::SourceSymbol;

pub use crate::backend::cpu::Cpu;
pub use crate::formats::ModelFolder;
pub use crate::stack::Precision;
