// y = cap · tanh(y / cap), one thread an element.

struct Arguments {
  count: u32,
  cap: f32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn soft_cap(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.count) { return; }
  y[index] = arguments.cap * tanh_of(y[index] / arguments.cap);
}
