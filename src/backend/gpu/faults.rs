//! What went wrong on the device and was nobody's return value.

use crate::error::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// The first fault since the last read, and whether the device is lost, which stays.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    first: Option<Error>,
    lost: Option<String>,
    /// Bytes of the largest buffer asked for since the last read: what there was no memory for, most likely.
    largest: u64,
    /// Reads under way.
    waiting: Vec<Weak<Mutex<Answer>>>,
}

/// Whether a buffer was mapped, once that is known.
#[derive(Default)]
pub struct Answer {
    mapped: Option<bool>,
    waker: Option<Waker>,
}

impl Answer {
    /// Says so, unless it was said before.
    pub fn tell(answer: &Mutex<Self>, mapped: bool) {
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.mapped.get_or_insert(mapped);
        let waker = answer.waker.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for it.
    pub fn poll(answer: &Mutex<Self>, context: &Context<'_>) -> Poll<bool> {
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mapped) = answer.mapped {
            return Poll::Ready(mapped);
        }
        answer.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps `error` unless there is one already.
    pub fn record(&self, error: Error) {
        self.state().first.get_or_insert(error);
    }

    /// A buffer of so many bytes is asked for.
    pub fn asked(&self, bytes: u64) {
        let mut state = self.state();
        state.largest = state.largest.max(bytes);
    }

    /// There was no memory for a buffer.
    pub fn run_out_of_memory(&self) {
        let bytes = self.state().largest;
        self.record(Error::OutOfMemory { what: "a buffer on the GPU".to_owned(), bytes });
    }

    /// The device is gone; nobody waits for it any longer.
    pub fn lose(&self, what: String) {
        let mut state = self.state();
        state.lost.get_or_insert(what);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for answer in waiting.iter().filter_map(Weak::upgrade) {
            Answer::tell(&answer, false);
        }
    }

    /// An answer that comes at the latest when the device is lost.
    pub fn answer(&self) -> Arc<Mutex<Answer>> {
        let answer = Arc::new(Mutex::new(Answer::default()));
        let mut state = self.state();
        if state.lost.is_some() {
            drop(state);
            Answer::tell(&answer, false);
            return answer;
        }
        state.waiting.retain(|answer| answer.strong_count() > 0);
        state.waiting.push(Arc::downgrade(&answer));
        answer
    }

    /// Whether the device is gone.
    pub fn is_lost(&self) -> bool {
        self.state().lost.is_some()
    }

    /// The fault kept; that the device is lost is said every time.
    pub fn take(&self) -> Result<()> {
        let mut state = self.state();
        let first = state.first.take();
        state.largest = 0;
        match (&state.lost, first) {
            (Some(what), _) => Err(Error::DeviceLost { what: what.clone() }),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(()),
        }
    }

    /// Listens to the device. The handler for uncaptured errors is there before anything else is asked of it: without one
    /// they would panic.
    pub fn listen(&self, device: &wgpu::Device) {
        let faults = self.clone();
        device.on_uncaptured_error(Arc::new(move |error| match error {
            wgpu::Error::OutOfMemory { .. } => faults.run_out_of_memory(),
            wgpu::Error::Validation { description, .. }
            | wgpu::Error::Internal { description, .. } => {
                faults.record(Error::Gpu { what: description });
            }
        }));
        let faults = self.clone();
        device.set_device_lost_callback(move |reason, message| {
            faults.lose(format!("{reason:?}: {message}"));
        });
    }
}
