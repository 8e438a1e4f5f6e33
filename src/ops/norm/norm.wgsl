// Each row normalised, `[rows, columns]`: (x − mean) / √(variance + eps) · scale + bias, one workgroup a row; with RMS
// the mean counts as 0. `in_place.wgsl` or `apart.wgsl` say where x lies.
// parameters: scale, then bias (zeros without), `[2 · columns]`.

struct Arguments {
  rows: u32,
  columns: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> parameters: array<f32>;

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
  let found = moments(start, columns, arguments.eps, lane);
  for (var c = lane; c < columns; c += LANES) {
    y[start + c] = (input(start + c) - found.x) * found.y * parameters[c] + parameters[columns + c];
  }
}
