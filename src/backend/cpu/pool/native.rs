//! Threads of the operating system that serve a pool. On the web they are workers, which only JavaScript can start.

use super::{MAX_THREADS, Pool};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Threads that serve a pool; they end when this is dropped.
#[derive(Debug)]
pub struct Threads {
    pool: Arc<Pool>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// A pool in which `threads` threads share a task, the caller's among them: at least 1, at most [`MAX_THREADS`].
    /// Fewer where the system gives no more. They are there once this returns.
    pub fn start(threads: usize) -> Self {
        let pool = Arc::new(Pool::new());
        let mut handles = Vec::new();
        for _ in 1..threads.min(MAX_THREADS) {
            let served = Arc::clone(&pool);
            let Ok(handle) = std::thread::Builder::new().spawn(move || served.serve()) else {
                break;
            };
            handles.push(handle);
            while pool.threads() <= handles.len() {
                std::thread::yield_now();
            }
        }
        Self { pool, handles }
    }

    /// The pool that they serve.
    pub fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.pool)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.pool.close();
        for handle in self.handles.drain(..) {
            // A panic of a task was given to its caller.
            let _ = handle.join();
        }
    }
}
