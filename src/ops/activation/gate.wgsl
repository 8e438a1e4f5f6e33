// y[r, c] = activate(both[r, c]) · both[r, width + c], one thread an element; both: [rows, 2 · width], y: [rows, width].

struct Arguments {
  rows: u32,
  width: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> both: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn gate(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.rows * arguments.width) { return; }
  let row = index / arguments.width;
  let source = row * 2u * arguments.width + index % arguments.width;
  y[index] = activate(both[source], FINISH) * both[source + arguments.width];
}
