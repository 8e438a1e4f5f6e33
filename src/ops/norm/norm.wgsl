// Each row normalised, `[rows, columns]`: (x − mean) / √(variance + eps) · scale + bias, one workgroup a row; with RMS
// the mean counts as 0. `in_place.wgsl` or `apart.wgsl` say where x lies.
// parameters: scale, then bias (zeros without), `[2 · columns]`.

struct Arguments {
  rows: u32,
  columns: u32,
  eps: f32,
}

override RMS: u32 = 0u;

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> parameters: array<f32>;

var<workgroup> shares: array<f32, 64>;

// The sum of a value of each of the 64 lanes, in the same order for every row.
fn sum_of_lanes(value: f32, lane: u32) -> f32 {
  workgroupBarrier();
  shares[lane] = value;
  workgroupBarrier();
  for (var half = 32u; half > 0u; half /= 2u) {
    if (lane < half) { shares[lane] += shares[lane + half]; }
    workgroupBarrier();
  }
  return shares[0];
}

@compute @workgroup_size(64)
fn normalize(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = workgroup.y * workgroups.x + workgroup.x;
  if (row >= arguments.rows) { return; }
  let columns = arguments.columns;
  let start = row * columns;
  var mean = 0.0;
  if (RMS == 0u) {
    var sum = 0.0;
    for (var c = lane; c < columns; c += 64u) { sum += input(start + c); }
    mean = sum_of_lanes(sum, lane) / f32(columns);
  }
  var squares = 0.0;
  for (var c = lane; c < columns; c += 64u) {
    let centred = input(start + c) - mean;
    squares += centred * centred;
  }
  let variance = sum_of_lanes(squares, lane) / f32(columns);
  let inverse = 1.0 / sqrt(max(variance + arguments.eps, 1e-37));
  for (var c = lane; c < columns; c += 64u) {
    y[start + c] = (input(start + c) - mean) * inverse * parameters[c] + parameters[columns + c];
  }
}
