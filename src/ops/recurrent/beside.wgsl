// Two tensors side by side, one thread an element: y[r] = left[r], then right[r]. left: [rows, left columns], right: [rows,
// right columns], y: [rows, both].

struct Arguments {
  rows: u32,
  left: u32,
  right: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> left: array<f32>;
@group(0) @binding(2) var<storage, read> right: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn put_beside(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  let width = arguments.left + arguments.right;
  if (index >= arguments.rows * width) { return; }
  let row = index / width;
  let column = index % width;
  if (column < arguments.left) {
    y[index] = left[row * arguments.left + column];
  } else {
    y[index] = right[row * arguments.right + column - arguments.left];
  }
}
