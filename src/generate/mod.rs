//! Decoding: which token comes next, and when to stop.

pub mod beam;
pub mod search;

pub use beam::{BeamOptions, Hypothesis};
pub use search::{Search, SearchInput};
