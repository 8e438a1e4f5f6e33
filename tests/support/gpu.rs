//! The software adapter that tests compute on.

use multihead::backend::gpu::{Gpu, Request};
use pollster::block_on;

/// It, with bindings of at most `max_binding` bytes, or `None`, said loudly.
pub fn device(max_binding: Option<u64>) -> Option<Gpu> {
    match block_on(Gpu::request(Request { software: true, max_binding })) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            println!("skipped: no adapter ({error})");
            None
        }
    }
}
