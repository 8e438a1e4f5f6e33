//! Non-linearities of feed-forward layers: reference.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

use super::Activation;
use std::f64::consts::FRAC_1_SQRT_2;

/// The activation as [`Activation`] defines it, in double precision.
pub fn reference(x: f32, activation: Activation) -> f32 {
    let wide = f64::from(x);
    let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Swish => (wide * sigmoid(wide)) as f32,
        Activation::GeluTanh => {
            let inner =
                (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044715 * wide * wide * wide);
            (0.5 * wide * (1.0 + libm::tanh(inner))) as f32
        }
        Activation::Tanh => libm::tanh(wide) as f32,
        Activation::Gelu => (wide * 0.5 * (1.0 + libm::erf(wide * FRAC_1_SQRT_2))) as f32,
    }
}
