// Non-linearities: 0 none, 1 relu, 2 x · sigmoid(x), 3 x · Φ(x), 4 the same by tanh, 5 tanh.

override FINISH: u32 = 0u;

// tanh of moderate arguments: implementations take exp of them, which must not overflow.
fn tanh_of(x: f32) -> f32 {
  return tanh(clamp(x, -12.0, 12.0));
}

fn sigmoid(x: f32) -> f32 {
  return 1.0 / (1.0 + exp(clamp(-x, -87.0, 87.0)));
}

// 1 − erf(x) for x ≥ 0, within 1.2e-7 of it relatively (Press et al., Numerical Recipes, 6.2.2).
fn erfc_of(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.5 * x);
  let p = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806
    + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  return t * exp(max(-x * x + p, -87.0));
}

fn activate(x: f32, kind: u32) -> f32 {
  switch (kind) {
    case 1u: { return max(x, 0.0); }
    case 2u: { return x * sigmoid(x); }
    case 3u: {
      let tail = 0.5 * erfc_of(abs(x) * 0.70710678);
      return x * select(tail, 1.0 - tail, x >= 0.0);
    }
    case 4u: { return 0.5 * x * (1.0 + tanh_of(0.7978845608 * (x + 0.044715 * x * x * x))); }
    case 5u: { return tanh_of(x); }
    default: { return x; }
  }
}
