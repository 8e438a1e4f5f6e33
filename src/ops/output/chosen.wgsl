// y[r, i] = Σ_k x[first_row + r, k] · table[ids[i], k] + bias[ids[i]], one thread an element. Tables in several buffers take
// a dispatch each: each writes the columns of its own rows. x: [x rows, columns]; y: [rows, candidates].

struct Arguments {
  rows: u32,
  first_row: u32,
  columns: u32,
  candidates: u32,
  // Rows of the table that are in `words`.
  first_table_row: u32,
  table_rows: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> words: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> ids: array<u32>;
@group(0) @binding(5) var<storage, read> x: array<f32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn multiply(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.rows * arguments.candidates) { return; }
  let id = ids[index % arguments.candidates];
  let row = id - arguments.first_table_row;
  if (id < arguments.first_table_row || row >= arguments.table_rows) { return; }
  let columns = arguments.columns;
  let source = (arguments.first_row + index / arguments.candidates) * columns;
  var sum = 0.0;
  for (var v = 0u; v < vectors_of_row(columns); v++) {
    let vector = vector_at(row, v, columns);
    for (var q = 0u; q < quads_of_vector(); q++) {
      let weights = quad_of(vector, q);
      let first = 4u * (v * quads_of_vector() + q);
      for (var i = 0u; i < min(columns - min(first, columns), 4u); i++) {
        sum += x[source + first + i] * weights[i];
      }
    }
  }
  y[index] = sum + bias[id];
}
