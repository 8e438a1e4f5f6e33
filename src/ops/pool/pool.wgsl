// One row of the rows of each sequence, one thread a column: 0 their mean, 1 the first, 2 the greatest.
// hidden: [rows, columns]; ranges: first row and row past the end of each sequence; y: [sequences, columns].

struct Arguments {
  sequences: u32,
  columns: u32,
}

override POOLING: u32 = 0u;

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> hidden: array<f32>;
@group(0) @binding(2) var<storage, read> ranges: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn pool(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.sequences * arguments.columns) { return; }
  let sequence = index / arguments.columns;
  let column = index % arguments.columns;
  let first = ranges[2u * sequence];
  let end = ranges[2u * sequence + 1u];
  var value = 0.0;
  if (first < end) { value = hidden[first * arguments.columns + column]; }
  if (POOLING != 1u) {
    for (var row = first + 1u; row < end; row++) {
      let next = hidden[row * arguments.columns + column];
      if (POOLING == 0u) { value += next; } else { value = max(value, next); }
    }
  }
  if (POOLING == 0u && first < end) { value /= f32(end - first); }
  y[index] = value;
}
