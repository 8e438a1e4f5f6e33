// The rows are overwritten.
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn input(index: u32) -> f32 { return y[index]; }
