//! Threads of the module whose memory is shared: workers that JavaScript starts, and that stay in the pool.

use crate::tasks::translation::Pool;
use std::sync::{Arc, LazyLock};
use wasm_bindgen::prelude::wasm_bindgen;

/// Lies in the memory that all instances share.
static POOL: LazyLock<Arc<Pool>> = LazyLock::new(Arc::default);

/// The pool that models of this module work on; without threads it is its caller alone.
pub(super) fn pool() -> Arc<Pool> {
    Arc::clone(&POOL)
}

/// Makes the calling worker a thread of the pool. Never returns: the worker ends by being terminated, as it is when
/// the worker that started it ends.
#[wasm_bindgen(js_name = serveThread)]
pub fn serve_thread() {
    POOL.serve();
}

/// Says that a thread trapped: the caller of its task then traps as well, instead of waiting for ever.
#[wasm_bindgen(js_name = loseThread)]
pub fn lose_thread() {
    POOL.lose_thread();
}
