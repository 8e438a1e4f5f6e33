// Rows moved about, one thread an element.

struct Arguments {
  // Rows and columns that are written.
  rows: u32,
  columns: u32,
  // Columns of x, and the first of them that is read.
  x_columns: u32,
  x_column: u32,
  // The row of y that is written first.
  y_row: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

// y[y_row + i, c] = x[rows[i], x_column + c]; y: [y rows, columns].
@compute @workgroup_size(64)
fn select_rows(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.rows * arguments.columns) { return; }
  let source = rows[index / arguments.columns] * arguments.x_columns + arguments.x_column;
  y[arguments.y_row * arguments.columns + index] = x[source + index % arguments.columns];
}
