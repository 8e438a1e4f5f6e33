//! The device of the modules without a GPU: the CPU, with the threads that JavaScript starts.

use super::threads::pool;
use wasm_bindgen::JsValue;

pub use crate::tasks::translation::Cpu as Device;

/// A device for a model.
///
/// # Errors
/// None.
#[inline]
pub(super) fn device() -> Result<Device, JsValue> {
    Ok(Device::with_pool(pool()))
}
