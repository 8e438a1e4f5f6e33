//! What every op must compute: one body, run natively and in browsers, on every kind of lanes.
//!
//! Each check takes shapes and values from a fixed random sequence, runs the op through the `Ops` trait on scalar
//! and on native lanes, asks for the same bits of both, and for the values of the op's slow reference.

#![allow(clippy::unwrap_used, clippy::panic)]

mod attention;
mod attention_long;
mod blocks;
mod choose;
#[cfg(feature = "gpu")]
pub mod gpu;
mod heads;
mod linear;
mod output;
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub mod products;
mod recurrent;
mod rows;
mod tensors;

use multihead::backend::cpu::Cpu;
use multihead::backend::cpu::lanes::Native;
#[cfg(not(feature = "gpu"))]
use multihead::backend::cpu::lanes::{Lanes, SaturatingDot, Scalar, SignedDot, UnsignedDot};
#[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
use multihead::backend::cpu::pool::Threads;
use multihead::error::Result;
use multihead::ops::{ActivationQuant, CacheKind, LinearPart, Multiplier, Ops, Weights};
use std::pin::{Pin, pin};
#[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Runs every check, and asks that all results together are the same bits as on every other platform. Only where a GPU
/// of a browser is asked as well does it ever wait.
pub async fn check_all(announce: impl Fn(&str)) {
    RESULTS.store(0, Relaxed);
    for (name, check) in CHECKS {
        announce(name);
        check().await;
        #[cfg(feature = "gpu")]
        if let Some(report) = gpu::report(name) {
            announce(&report);
        }
    }
    assert_eq!(RESULTS.load(Relaxed), SAME_EVERYWHERE, "the bits of all results, in order");
}

/// Hash of the results of all checks. It says nothing of their being right, only of their being the same natively
/// and in wasm with and without SIMD: whoever changes an op or a check takes the new value from any of them.
const SAME_EVERYWHERE: u64 = 4_085_195_402_144_955_024;

/// Threads for all checks.
#[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
static CREWS: LazyLock<[Threads; 2]> = LazyLock::new(|| [2, 3].map(Threads::start));

static RESULTS: AtomicU64 = AtomicU64::new(0);

/// A check under way.
type Check = fn() -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! checks {
    ($($name:literal => $($check:ident)::+,)*) => { [$(($name, || Box::pin($($check)::+()))),*] };
}

/// Every check with its name.
const CHECKS: &[(&str, Check)] = &checks![
    "linear by hand" => linear::by_hand,
    "linear of random shapes" => linear::random_shapes,
    "linear with outliers" => linear::outliers,
    "linear at the ends of int8" => linear::extremes,
    "linear rows are independent" => linear::rows_are_independent,
    "linear epilogues" => linear::epilogues,
    "linear refuses what does not fit" => linear::refusals,
    "attention by hand" => attention::by_hand,
    "attention of random shapes" => attention::random_shapes,
    "attention of ragged batches" => attention::ragged,
    "attention over caches" => attention::remembered,
    "attention of long sequences" => attention_long::long,
    "attention of rows that see the same" => attention_long::shared_keys,
    "attention refuses what does not fit" => attention::refusals,
    "output projection" => output::random_shapes,
    "output projection of chosen rows" => output::chosen_rows,
    "output projection with a multiplier a row" => output::multipliers_of_rows,
    "output projection refuses what does not fit" => output::refusals,
    "linear of blocks" => blocks::linear,
    "a table of blocks" => blocks::table,
    "blocks refuse what does not fit" => blocks::refusals,
    "heads by hand" => heads::by_hand,
    "heads of random shapes" => heads::random_shapes,
    "heads whose keys and values are kept" => heads::remembered,
    "gated linear units" => heads::gated,
    "choose by hand" => choose::by_hand,
    "choose of random logits" => choose::random,
    "choose for several projections at once" => choose::picks,
    "layer norm" => rows::layer_norm,
    "pending norms" => rows::pending_norms,
    "activations" => rows::activations,
    "pooling" => rows::pooling,
    "ssru" => rows::ssru,
    "recurrent layers by hand" => recurrent::by_hand,
    "recurrent layers of random shapes" => recurrent::random_shapes,
    "recurrent sequences are independent" => recurrent::neighbours,
    "recurrent layers refuse what does not fit" => recurrent::refusals,
    "additive scores" => recurrent::additive,
    "tensors side by side" => recurrent::beside,
    "embed" => rows::embed,
    "rows selected and appended" => tensors::rows,
    "faults reach the next read" => tensors::faults,
];

/// Relative to the largest value: float32 sums against double precision.
pub const FLOAT_TOLERANCE: f32 = 2e-6;

/// Numbers that are the same everywhere (Marsaglia's xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// One of `range`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// In ±2, most of it small.
    pub fn float(&mut self) -> f32 {
        let unit = |bits: u64| (bits % 65_536) as f32 / 32_768.0 - 1.0;
        2.0 * unit(self.bits()) * unit(self.bits())
    }

    pub fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.float()).collect()
    }

    pub fn bytes(&mut self, n: usize) -> Vec<i8> {
        (0..n).map(|_| self.bits() as i8).collect()
    }

    pub fn weights(&mut self, n: usize, int8: bool) -> Weights<'static> {
        if int8 {
            let values = self.bytes(n);
            let multiplier = Multiplier::One(20.0 + 80.0 * self.float().abs());
            Weights::Int8 { values, multiplier }
        } else {
            Weights::F32(self.floats(n))
        }
    }
}

/// Runs a future that is ready at once.
#[allow(dead_code)] // a test in a browser can wait
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the CPU is always ready, and natively the GPU is waited for"),
    }
}

/// What an op run on the device gives; written once for every device.
pub trait Run {
    async fn run<O: Ops>(&self, ops: &mut O) -> Vec<f32>;
    /// Whether a GPU is asked as well.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code))]
    fn is_for_gpus(&self) -> bool {
        true
    }
}

/// Whether activations and caches are float32 whatever is asked for: what the GPU is compared with.
static ONLY_FLOATS: AtomicBool = AtomicBool::new(false);

/// The treatment of activations `asked` for.
pub fn activation(asked: ActivationQuant) -> ActivationQuant {
    if ONLY_FLOATS.load(Relaxed) { ActivationQuant::None } else { asked }
}

/// Parts with the treatment of activations that they ask for.
pub fn as_asked<'a>(parts: &[LinearPart<'a>]) -> Vec<LinearPart<'a>> {
    let part = |part: &LinearPart<'a>| LinearPart {
        activation: activation(part.activation),
        ..part.clone()
    };
    parts.iter().map(part).collect()
}

/// The cache asked for.
pub fn as_kept(kind: CacheKind) -> CacheKind {
    if ONLY_FLOATS.load(Relaxed) { CacheKind::Long } else { kind }
}

/// Asks for the bits of `first` from lanes of another kind.
#[cfg(not(feature = "gpu"))]
async fn same<L: Lanes>(run: &impl Run, first: &[f32], what: &str) {
    let others = run.run(&mut Cpu::<L>::new()).await;
    let is_same = first.iter().map(|x| x.to_bits()).eq(others.iter().map(|x| x.to_bits()));
    assert!(is_same, "{what}: {} and {}", Native::NAME, L::NAME);
}

/// Asks for the bits of `first` from every kind of lanes, and from threads.
#[cfg(not(feature = "gpu"))]
async fn on_other_lanes(run: &impl Run, first: &[f32], what: &str) {
    same::<Scalar>(run, first, what).await;
    // Lanes that stand in for other machines, whose products of bytes differ.
    same::<Scalar<SignedDot>>(run, first, what).await;
    same::<Scalar<UnsignedDot>>(run, first, what).await;
    same::<Scalar<SaturatingDot>>(run, first, what).await;
    #[cfg(not(target_arch = "wasm32"))]
    for crew in CREWS.iter() {
        // However small the op is, it is shared.
        let native = run.run(&mut Cpu::<Native>::with_pool(crew.pool()).sharing_from(0)).await;
        let bytes = Cpu::<Scalar<UnsignedDot>>::with_pool(crew.pool());
        let bytes = run.run(&mut bytes.sharing_from(0)).await;
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for shared in [native, bytes] {
            let threads = crew.pool().threads();
            assert_eq!(bits(first), bits(&shared), "{what}: on {threads} threads");
        }
    }
}

/// Runs on every kind of lanes, each twice on one device, and on threads; asks for the same bits.
pub async fn run_all(run: &impl Run, what: &str) -> Vec<f32> {
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let mut native = Cpu::<Native>::new();
    let first = run.run(&mut native).await;
    assert_eq!(bits(&first), bits(&run.run(&mut native).await), "{what}: twice on one device");
    // Builds with a GPU compare that, and compile in a fraction of the time.
    #[cfg(not(feature = "gpu"))]
    on_other_lanes(run, &first, what).await;
    let hash = bits(&first).iter().fold(RESULTS.load(Relaxed), |hash, &bits| {
        (hash.rotate_left(5) ^ u64::from(bits)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    RESULTS.store(hash, Relaxed);
    #[cfg(feature = "gpu")]
    gpu::compare(run, what).await;
    first
}

/// All values within `tolerance` of `want`, relative to the largest magnitude of `want` (or to 1).
pub fn assert_close(got: &[f32], want: &[f32], tolerance: f32, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: length");
    let scale = want.iter().fold(1.0f32, |scale, x| scale.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let difference = (got - want).abs();
        assert!(difference <= tolerance * scale, "{what}: value {i} is {got}, expected {want}");
    }
}

/// Reads a tensor back.
pub async fn read<O: Ops>(ops: &mut O, tensor: &O::Tensor) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    ops.read(tensor, &mut values).await.map(|()| values)
}
