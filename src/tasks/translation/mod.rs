//! Translation of whole texts: sentences cut out, translated, and put back between the white space they stood in.

mod copy;
mod job;
mod join;
mod numbers;
mod plan;
mod prepare;
mod result;
mod translator;

pub use job::TranslationJob;
pub use result::{Token, TranslatedSentence, Translation};
pub use translator::{LoadOptions, Translator, TranslatorFiles};

pub use crate::backend::cpu::Cpu;
pub use crate::backend::cpu::pool::Pool;
pub use crate::generate::BeamOptions as DecodingOptions;
pub use crate::stack::Precision;
