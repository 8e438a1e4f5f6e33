//! Asks the machine for a GPU.

use super::faults::Faults;
use super::limits::Limits;
use super::memory::Memory;
use super::recorder::Recorder;
use super::{Gpu, Inner};
use crate::error::{Error, Result};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    /// Only an adapter that computes on the CPU.
    pub software: bool,
    /// At most so many bytes a binding and a buffer, whatever the device could: for tests of what is split.
    pub max_binding: Option<u64>,
}

/// What an adapter says of itself; browsers leave most of it empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdapterInfo {
    /// Its name.
    pub name: String,
    /// Name and version of its driver.
    pub driver: String,
    /// Whether it computes on the CPU, as far as it says so.
    pub is_software: bool,
}

impl Gpu {
    /// A device of this machine.
    ///
    /// # Errors
    /// [`Error::NoGpu`] where there is no adapter, or it refuses.
    pub async fn request(request: Request) -> Result<Self> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::BROWSER_WEBGPU;
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            force_fallback_adapter: request.software,
            ..Default::default()
        };
        let refused = |error: &dyn std::fmt::Display| Error::NoGpu { what: error.to_string() };
        let adapter = wgpu::Instance::new(descriptor).request_adapter(&options).await;
        let adapter = adapter.map_err(|error| refused(&error))?;
        let can = adapter.limits();
        let most = request.max_binding.unwrap_or(u64::MAX);
        let info = adapter.get_info();
        let is_software = info.device_type == wgpu::DeviceType::Cpu;
        let limits = Limits {
            busy: if is_software { Limits::BUSY_SOFTWARE } else { Limits::GUARANTEED.busy },
            max_binding: can.max_storage_buffer_binding_size.min(most),
            max_buffer: can.max_buffer_size.min(most),
            ..Limits::GUARANTEED
        };
        let required_limits = wgpu::Limits {
            max_storage_buffer_binding_size: can.max_storage_buffer_binding_size,
            max_buffer_size: can.max_buffer_size,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let device = adapter.request_device(&descriptor).await;
        let (device, queue) = device.map_err(|error| refused(&error))?;
        let faults = Faults::default();
        faults.listen(&device);
        let info = AdapterInfo {
            is_software,
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            name: info.name,
        };
        let recorder = RefCell::new(Recorder::new(&device));
        let memory = Memory::default();
        let staging = RefCell::default();
        let rehearsing = Cell::new(false);
        let inner =
            Inner { device, queue, info, limits, faults, memory, recorder, staging, rehearsing };
        Ok(Self { inner: Rc::new(inner) })
    }
}
