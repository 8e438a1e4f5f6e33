//! Non-linearities on the CPU. Relu is part of the product before it, and has no pass of its own.

use crate::backend::cpu::gemm::Finish;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::ops::Activation;

/// How the product that an activation follows is finished.
pub(crate) fn finish(activation: Activation) -> Finish {
    match activation {
        Activation::Relu => Finish::Relu,
        Activation::Swish | Activation::Gelu | Activation::GeluTanh | Activation::Tanh => {
            Finish::Store
        }
    }
}

/// What remains to be done to the values of the product.
pub(crate) fn activate<L: Lanes>(values: &mut [f32], activation: Activation) {
    match activation {
        Activation::Relu => {}
        Activation::Swish => math::map::<L>(values, swish::<L>),
        Activation::GeluTanh => math::map::<L>(values, gelu_tanh::<L>),
        Activation::Tanh => math::map::<L>(values, math::tanh::<L>),
        Activation::Gelu => math::map::<L>(values, gelu::<L>),
    }
}

#[inline(always)]
fn swish<L: Lanes>(x: L::F32) -> L::F32 {
    L::mul(x, math::sigmoid::<L>(x))
}

/// x · (½ + x · P(x²) / Q(x²)): two polynomials of degree 5 whose quotient is next to the best for Φ(x) − ½ up to 5.6, where
/// that is ½ in float32. Φ is less than 2.5e-7 off.
#[inline(always)]
fn gelu<L: Lanes>(x: L::F32) -> L::F32 {
    const P: [f32; 6] =
        [2.214_507_9e-8, 6.356_53e-6, 1.738_526_6e-4, 4.707_271_7e-3, 3.437_631_2e-2, 0.398_942_23];
    const Q: [f32; 6] =
        [1.180_204_9e-6, 7.510_245e-5, 1.912_989_5e-3, 2.894_020_5e-2, 0.252_834_35, 1.0];
    let within = |x, limit: f32| L::pmax(L::splat(-limit), L::pmin(L::splat(limit), x));
    let near = within(x, 5.6);
    let square = L::mul(near, near);
    let polynomial = |[first, rest @ ..]: [f32; 6]| {
        rest.into_iter().fold(L::splat(first), |p, c| L::add(L::mul(p, square), L::splat(c)))
    };
    let phi = L::div(L::mul(near, polynomial(P)), polynomial(Q));
    L::mul(x, L::add(L::splat(0.5), within(phi, 0.5)))
}

/// (1 + tanh y) / 2 = sigmoid 2y.
#[inline(always)]
fn gelu_tanh<L: Lanes>(x: L::F32) -> L::F32 {
    let cube = L::mul(L::mul(x, x), L::mul(x, L::splat(0.044_715)));
    let twice = L::mul(L::splat(1.595_769), L::add(x, cube)); // 2 · √(2/π)
    L::mul(x, math::sigmoid::<L>(twice))
}

/// `to[i] = activation(gate[i]) · to[i]`, of an activation that [`activate`] computes a value at a time.
pub(crate) fn gate<L: Lanes>(gate: &mut [f32], to: &mut [f32], activation: Activation) {
    if activation == Activation::Relu {
        math::map::<L>(gate, |x| L::pmax(L::splat(0.0), x));
    }
    activate::<L>(gate, activation);
    let (gates, rest) = gate.as_chunks::<4>();
    let (chunks, to_rest) = to.as_chunks_mut::<4>();
    for (to, gate) in chunks.iter_mut().zip(gates) {
        let product = L::mul(L::load(gate), L::load(to));
        L::store(product, to);
    }
    for (to, gate) in to_rest.iter_mut().zip(rest) {
        *to *= gate;
    }
}
