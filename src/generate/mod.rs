//! Decoding: which token comes next, and when to stop.

pub mod beam;
pub mod continuation;
pub mod sampler;
pub mod search;
pub mod stopping;

pub use beam::{BeamOptions, Hypothesis};
pub use continuation::Continuation;
pub use sampler::{Sampler, SamplingOptions};
pub use search::{Search, SearchInput};
pub use stopping::StopStrings;
