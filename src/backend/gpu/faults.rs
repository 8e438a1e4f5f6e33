//! What went wrong on the device and was nobody's return value.

use crate::error::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first fault since the last read, and whether the device is lost, which stays.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    first: Option<Error>,
    lost: Option<String>,
}

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps `error` unless there is one already.
    pub fn record(&self, error: Error) {
        self.state().first.get_or_insert(error);
    }

    /// The device is gone.
    pub fn lose(&self, what: String) {
        self.state().lost.get_or_insert(what);
    }

    /// Whether the device is gone.
    pub fn is_lost(&self) -> bool {
        self.state().lost.is_some()
    }

    /// The fault kept; that the device is lost is said every time.
    pub fn take(&self) -> Result<()> {
        let mut state = self.state();
        let first = state.first.take();
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
        device.on_uncaptured_error(Arc::new(move |error| faults.record(from_wgpu(&error))));
        let faults = self.clone();
        device.set_device_lost_callback(move |reason, message| {
            faults.lose(format!("{reason:?}: {message}"));
        });
    }
}

fn from_wgpu(error: &wgpu::Error) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => {
            Error::OutOfMemory { what: "a buffer on the GPU".to_owned(), bytes: 0 }
        }
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            Error::Gpu { what: description.clone() }
        }
    }
}
