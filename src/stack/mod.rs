//! The one forward pass: embeddings, blocks of mixer + optional cross-attention + feed-forward, caches.

pub mod attention;
pub mod block;
pub mod decoder;
pub mod embeddings;
pub mod encoded;
#[cfg(feature = "encoder")]
pub mod encoder;
pub mod encoder_decoder;
pub mod kv_cache;
pub mod load;
pub mod mlp;
pub mod recurrent;
mod relative;
mod stored;
pub mod transformer;
pub mod watch;

pub use block::BlockWeights;
pub use decoder::Decoder;
pub use encoded::{Encoded, SourceRows};
#[cfg(feature = "encoder")]
pub use encoder::Encoder;
pub use encoder_decoder::{EncoderDecoder, StepOutput};
pub use kv_cache::{DecoderState, KvCache};
pub use load::Precision;
pub use transformer::Encoding;
pub use watch::Watch;
