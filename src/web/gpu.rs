//! The device of the module with a GPU: one for all its models, asked for before the first is loaded.

use super::error::{set, to_js};
use super::options::gpu_request;
use crate::error::Error;
use js_sys::{Object, Reflect};
use std::cell::RefCell;
use wasm_bindgen::{JsCast, JsValue, closure::Closure, prelude::wasm_bindgen};

use crate::tasks::GpuRequest;

pub use crate::tasks::Gpu as Device;

thread_local! {
    static SHARED: RefCell<Option<Device>> = const { RefCell::new(None) };
}

/// The shared device, unless it was never asked for or is lost.
fn shared() -> Option<Device> {
    SHARED.with_borrow(Clone::clone).filter(|device| !device.is_lost())
}

/// A device for a model.
///
/// # Errors
/// An object `{ code: 'gpu-unavailable', message }` before `startGpu` resolved, and once the device is lost.
pub(super) fn device() -> Result<Device, JsValue> {
    let what = || "startGpu has not resolved, or the device is lost since".to_owned();
    shared().ok_or_else(|| to_js(&Error::NoGpu { what: what() }))
}

/// Asks the browser for a GPU and resolves to what it says of itself: `{ name, driver, software, maxBinding, maxBuffer }`,
/// sizes in bytes. Models loaded afterwards compute on it. There is one for all, until it is lost; then another is asked
/// for. One that computes wrong is refused. Options, for tests: `{ software, maxBinding }`.
///
/// # Errors
/// An object `{ code: 'gpu-unavailable', message }` where there is no adapter, it refuses or it is refused; or of an unknown
/// option.
#[wasm_bindgen(js_name = startGpu)]
pub async fn start_gpu(options: JsValue) -> Result<Object, JsValue> {
    let request = gpu_request(&options)?;
    let device = match shared() {
        Some(device) => device,
        None => {
            let requested = tested(request).await.map_err(|error| to_js(&error))?;
            // Another call may have been faster.
            let device = shared().unwrap_or(requested);
            SHARED.set(Some(device.clone()));
            device
        }
    };
    let (info, limits) = (device.info(), device.limits());
    let object = Object::new();
    set(&object, "name", info.name.as_str());
    set(&object, "driver", info.driver.as_str());
    set(&object, "software", info.is_software);
    set(&object, "maxBinding", limits.max_binding as f64);
    set(&object, "maxBuffer", limits.max_buffer as f64);
    Ok(object)
}

/// A device that computes right.
async fn tested(request: GpuRequest) -> Result<Device, Error> {
    let device = Device::request(request).await?;
    listen(&device);
    match device.self_test().await {
        Ok(()) => Ok(device),
        Err(error) => {
            device.destroy();
            Err(match error {
                Error::NoGpu { .. } => error,
                _ => Error::NoGpu { what: error.to_string() },
            })
        }
    }
}

/// Takes over the errors that no call returns: the library's own handler knows two of the three kinds that there are, and
/// panics at the third.
fn listen(device: &Device) {
    let Some(browser) = device.in_browser() else { return };
    let record = device.fault_recorder();
    let get = |object: &JsValue, key: &str| {
        Reflect::get(object, &JsValue::from_str(key)).unwrap_or_default()
    };
    let handler = Closure::<dyn FnMut(JsValue)>::new(move |event: JsValue| {
        let error = get(&event, "error");
        let kind = get(&get(&error, "constructor"), "name");
        let message = get(&error, "message").as_string().unwrap_or_default();
        record((kind != "GPUOutOfMemoryError").then_some(message));
    });
    browser.set_onuncapturederror(Some(handler.into_js_value().unchecked_ref()));
}

/// Bytes of all buffers on the GPU.
#[wasm_bindgen(js_name = gpuBytes)]
pub fn gpu_bytes() -> f64 {
    SHARED.with_borrow(|device| device.as_ref().map_or(0.0, |device| device.counts().bytes as f64))
}
