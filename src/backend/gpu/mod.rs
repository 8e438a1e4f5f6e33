//! The GPU, by WebGPU in browsers and Vulkan natively: memory, kernels, recording, reading back. It knows no op.
//!
//! Calls record dispatches; [`Gpu::submit`] hands them over with one write of all their arguments, and [`Gpu::read_words`]
//! alone waits. Nothing panics: what goes wrong is kept (`faults`) and is the error of the next read.

mod faults;
mod groups;
mod kernel;
mod limits;
mod memory;
mod read;
mod recorder;
mod rehearsal;
mod request;
mod tensor;

pub use kernel::{Access, Constants, Kernel};
pub use limits::Limits;
pub use memory::Storage;
pub use recorder::{Bind, Dispatch};
pub use request::{AdapterInfo, Request};
pub use tensor::Tensor;

use crate::error::{Error, Result};
use faults::Faults;
use memory::Memory;
use recorder::Recorder;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// A handle to a GPU; clones share it. It stays on its thread.
#[derive(Clone)]
pub struct Gpu {
    inner: Rc<Inner>,
}

struct Inner {
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: AdapterInfo,
    limits: Limits,
    faults: Faults,
    memory: Memory,
    recorder: RefCell<Recorder>,
    staging: RefCell<read::Staging>,
    rehearsing: Cell<bool>,
}

/// What was done since the device was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels dispatched.
    pub dispatches: u64,
    /// Copies from buffer to buffer.
    pub copies: u64,
    /// Command buffers handed to the queue.
    pub submits: u64,
    /// Buffers mapped to be read.
    pub read_backs: u64,
    /// Pipelines made.
    pub pipelines: u64,
    /// Bind groups made.
    pub bind_groups: u64,
    /// Bytes of the buffers of what stays, weights above all, that dispatches bound: what each may read.
    pub kept_bytes: u64,
    /// Bytes of all buffers that there are now.
    pub bytes: u64,
}

impl Gpu {
    /// What the adapter says of itself.
    pub fn info(&self) -> &AdapterInfo {
        &self.inner.info
    }

    /// What a dispatch, a binding and a buffer may have.
    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        let counts = self.inner.recorder.borrow().counts;
        Counts { bytes: self.inner.memory.bytes(), ..counts }
    }

    /// Keeps the first error of calls that return none, for the next read.
    pub fn record_fault(&self, error: Error) {
        self.inner.faults.record(error);
    }

    /// The error kept, if there is one.
    ///
    /// # Errors
    /// It.
    pub fn take_fault(&self) -> Result<()> {
        self.inner.faults.take()
    }

    /// Whether the device is gone, and every read from now on fails.
    pub fn is_lost(&self) -> bool {
        self.inner.faults.is_lost()
    }

    /// What records errors of the device that reach somebody else: a message, or `None` if there was no memory.
    pub fn fault_recorder(&self) -> impl Fn(Option<String>) + 'static {
        let faults = self.inner.faults.clone();
        move |message| match message {
            Some(what) => faults.record(Error::Gpu { what }),
            None => faults.run_out_of_memory(),
        }
    }

    /// The device as the browser has it.
    #[cfg(target_arch = "wasm32")]
    pub fn in_browser(&self) -> Option<&wgpu::webgpu::GpuDevice> {
        self.inner.device.as_webgpu()
    }

    /// Gives the device up, as if it were lost: every later read fails with [`Error::DeviceLost`].
    pub fn destroy(&self) {
        self.inner.device.destroy();
    }
}
