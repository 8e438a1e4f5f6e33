//! What encoders are asked for: vectors of meaning, labels of texts and of words, words that fit into a gap.

mod answer;
mod embed;
mod job;
mod labels;
mod model;
mod pipeline;
mod spans;
#[cfg(feature = "gpu")]
mod warm_up;

pub use answer::{Answer, Classification, Embedded, Entity, Filled, Label, MaskFill, Tagged};
pub use embed::EmbeddingOptions;
pub use job::EncodingJob;
pub use model::{EncodingInfo, EncodingModel, LoadOptions, Task, TooLong};

pub use crate::backend::cpu::Cpu;
pub use crate::formats::ModelFolder;
pub use crate::ops::Pooling;
pub use crate::stack::Precision;
pub use crate::text::json_tokenizer::{JsonTokenizer, Piece};
