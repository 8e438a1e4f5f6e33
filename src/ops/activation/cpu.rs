//! Non-linearities on the CPU. Relu is part of the product before it, and has no pass of its own.

use crate::backend::cpu::gemm::Finish;
use crate::backend::cpu::lanes::Lanes;
use crate::backend::cpu::math;
use crate::ops::Activation;
use std::f32::consts::FRAC_1_SQRT_2;

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
        // No model here spends its time in it: the error function of a library, one value after the other.
        Activation::Gelu => {
            values.iter_mut().for_each(|x| *x *= 0.5 * (1.0 + libm::erff(*x * FRAC_1_SQRT_2)))
        }
    }
}

#[inline(always)]
fn swish<L: Lanes>(x: L::F32) -> L::F32 {
    L::mul(x, math::sigmoid::<L>(x))
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
