// One step of the simple recurrent unit, one thread an element: f = sigmoid(projected[r, hidden + c]),
// state = f · state + (1 − f) · projected[r, c], stream += max(state, 0).
// projected: [rows, 2 · hidden]; state, stream: [rows, hidden].

struct Arguments {
  rows: u32,
  hidden: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> projected: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> stream: array<f32>;

@compute @workgroup_size(64)
fn step_states(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.rows * arguments.hidden) { return; }
  let source = index / arguments.hidden * 2u * arguments.hidden + index % arguments.hidden;
  let f = sigmoid(projected[source + arguments.hidden]);
  var next = f * state[index] + (1.0 - f) * projected[source];
  // Left to decay it would turn denormal.
  if (abs(next) < 1e-30) { next = 0.0; }
  state[index] = next;
  stream[index] += max(next, 0.0);
}
