//! Text generation with a decoder-only model: prompts read, tokens drawn one after the other, text let out as it comes.

mod job;
mod model;
mod observe;
mod score;
mod session;
mod vocabulary;
#[cfg(feature = "gpu")]
mod warm_up;

pub use job::{Completed, FinishReason, GenerationJob, GenerationOptions};
pub use model::{LoadOptions, TextModel, TextModelInfo};
pub use score::ScoreJob;
pub use session::Session;

pub use crate::backend::cpu::Cpu;
pub use crate::generate::SamplingOptions;
pub use crate::stack::{KvCache, Precision};
pub use crate::text::tokenizer::{Part, Tokenizer};
