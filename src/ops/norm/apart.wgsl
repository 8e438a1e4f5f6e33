// The rows go elsewhere.
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

fn input(index: u32) -> f32 { return x[index]; }
