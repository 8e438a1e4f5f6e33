// y[r, first_column + o] = finish(Σ_k x[first_row + r, k] · w[o, k] + bias[o]), one thread an output element.
// x: [x rows, in_features] float32; w: [rows, in_features], rows of `words`; y: [rows, y_columns] float32.

struct Arguments {
  rows: u32,
  first_row: u32,
  in_features: u32,
  out_features: u32,
  y_columns: u32,
  first_column: u32,
  first_bias: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> words: array<u32>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn multiply(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.rows * arguments.out_features) { return; }
  let r = index / arguments.out_features;
  let o = index % arguments.out_features;
  let stride = words_of_row(arguments.in_features);
  let source = (arguments.first_row + r) * arguments.in_features;
  var sum = 0.0;
  for (var k = 0u; k < arguments.in_features; k++) {
    sum += x[source + k] * unscaled(o, k, stride);
  }
  sum = sum * row_scale(o) + bias[arguments.first_bias + o];
  let to = r * arguments.y_columns + arguments.first_column + o;
  if (FINISH == 6u) {
    y[to] += sum;
  } else {
    y[to] = activate(sum, FINISH);
  }
}
