//! Calls without the device, by which a model has all its pipelines before it is used.

use super::Gpu;
use super::memory::Storage;
use crate::error::{Error, Result};
use std::pin::pin;
use std::rc::Weak;
use std::task::{Context, Poll, Waker};

impl Gpu {
    /// Carries `work` out with calls that make their pipelines, and nothing else: no command is recorded, buffers that do
    /// not stay have no memory, and every word that is read back is 1. So `work` may be as much as it likes.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Internal`] if it waits for something else.
    pub fn rehearse<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.inner.rehearsing.set(true);
        let outcome = pin!(work).poll(&mut Context::from_waker(Waker::noop()));
        self.inner.rehearsing.set(false);
        match outcome {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => {
                Err(Error::Internal { what: "a rehearsal that has to wait".to_owned() })
            }
        }
    }

    /// Waits until the device has made what was asked of it.
    ///
    /// # Errors
    /// The fault kept since the last read.
    pub async fn caught_up(&self) -> Result<()> {
        let word = self.storage(4);
        self.clear(&word, 4);
        self.read_words(&word, 1, &mut Vec::new()).await
    }

    pub(super) fn is_rehearsing(&self) -> bool {
        self.inner.rehearsing.get()
    }

    /// A buffer of `size` bytes that nothing is read of or written to.
    pub(super) fn imagined(&self, size: u64) -> Storage {
        let buffer = self.inner.recorder.borrow().ring().clone();
        Storage { id: u64::MAX - 1, buffer, size, pooled: false, memory: Weak::new() }
    }
}
