//! The same checks on a GPU, if a test gave one: each run beside the CPU's float32 path.

#![allow(dead_code)] // tests/ops_parity.rs has this body too, and runs it on the CPU alone

use super::{ONLY_FLOATS, Run};
use multihead::backend::cpu::Cpu;
use multihead::backend::gpu::{Gpu, Request};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::Relaxed;

/// Of a value, relative to the largest of its run (or to 1): float32 sums in another order, and exponentials, roots and
/// hyperbolic tangents of the device's own, of which WGSL promises about 1e-6.
pub const TOLERANCE: f32 = 2e-5;

thread_local! {
    /// Never dropped: at the thread's end the driver's own thread-locals may be gone already.
    static DEVICE: RefCell<Option<ManuallyDrop<Gpu>>> = const { RefCell::new(None) };
    static WORST: Cell<f32> = const { Cell::new(0.0) };
    static RUNS: Cell<usize> = const { Cell::new(0) };
    static MET: Cell<usize> = const { Cell::new(0) };
    static STRIDE: Cell<usize> = const { Cell::new(1) };
}

/// A device, or a line that says loudly that there is none.
pub async fn device(request: Request, announce: impl Fn(&str)) -> Option<Gpu> {
    match Gpu::request(request).await {
        Ok(gpu) => {
            announce(&format!("adapter: {:?}, {:?}", gpu.info(), gpu.limits()));
            Some(gpu)
        }
        Err(error) => {
            announce(&format!("skipped: no adapter ({error})"));
            None
        }
    }
}

/// From now on of each check's runs the first and each `stride`-th after it take place on `gpu` as well.
pub fn also_on(gpu: Gpu, stride: usize) {
    STRIDE.set(stride);
    DEVICE.set(Some(ManuallyDrop::new(gpu)));
}

/// Runs on the GPU, if there is one, and asks for the CPU's values.
pub async fn compare(run: &impl Run, what: &str) {
    let Some(mut gpu) = DEVICE.with_borrow(|device| device.as_deref().cloned()) else { return };
    if !run.is_for_gpus() || !MET.replace(MET.get() + 1).is_multiple_of(STRIDE.get()) {
        return;
    }
    ONLY_FLOATS.store(true, Relaxed);
    let want = run.run(&mut Cpu::<multihead::backend::cpu::lanes::Native>::new()).await;
    let got = run.run(&mut gpu).await;
    ONLY_FLOATS.store(false, Relaxed);
    assert_eq!(got.len(), want.len(), "{what} on the GPU: length");
    let scale = want.iter().fold(1.0f32, |scale, x| scale.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let difference = if got == want { 0.0 } else { (got - want).abs() / scale };
        WORST.set(WORST.get().max(difference));
        let is_close = difference <= TOLERANCE;
        assert!(is_close, "{what} on the GPU: value {i} is {got}, the CPU says {want}");
    }
    RUNS.set(RUNS.get() + 1);
}

/// What has no values to compare: rows moved about, and faults.
pub async fn check_the_rest(gpu: &mut Gpu) {
    super::tensors::rows_on(gpu).await;
    super::tensors::faults_on(gpu).await;
}

/// How far a check was from the CPU, if it ran on a GPU.
pub fn report(name: &str) -> Option<String> {
    let runs = RUNS.replace(0);
    MET.set(0);
    let worst = WORST.replace(0.0);
    (runs > 0).then(|| format!("  {name}: {runs} runs on the GPU, at most {worst:.1e} away"))
}
