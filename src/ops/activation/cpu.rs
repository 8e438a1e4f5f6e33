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
        Activation::Swish | Activation::Gelu => Finish::Store,
    }
}

/// What remains to be done to the values of the product.
pub(crate) fn activate<L: Lanes>(values: &mut [f32], activation: Activation) {
    match activation {
        Activation::Relu => {}
        Activation::Swish => math::map::<L>(values, |x| L::mul(x, math::sigmoid::<L>(x))),
        // No model here spends its time in it: the error function of a library, one value after the other.
        Activation::Gelu => {
            values.iter_mut().for_each(|x| *x *= 0.5 * (1.0 + libm::erff(*x * FRAC_1_SQRT_2)))
        }
    }
}
