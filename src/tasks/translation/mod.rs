//! Translation of whole texts: sentences cut out, translated, and put back between the white space they stood in; and
//! the attention of translations that are given.

mod alignment;
mod attention;
mod copy;
mod job;
mod join;
mod numbers;
mod pairs;
mod plan;
mod prepare;
mod queue;
mod result;
mod translator;
#[cfg(feature = "gpu")]
mod warm_up;

pub use alignment::AlignmentJob;
pub use attention::AttentionJob;
pub use job::TranslationJob;
pub use result::{Token, TranslatedSentence, Translation};
pub use translator::{LoadOptions, Translator, TranslatorFiles};

pub use crate::backend::cpu::Cpu;
pub use crate::backend::cpu::pool::Pool;
pub use crate::generate::BeamOptions as DecodingOptions;
pub use crate::stack::Precision;
