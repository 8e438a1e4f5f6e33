// Products of many rows: a workgroup computes 16 · ROWS_EACH rows by 64 outputs, a thread ROWS_EACH by 4 of them, sixteen
// columns of x and w in workgroup memory at a time.

// 1 to 4.
override ROWS_EACH: u32 = 4u;

@group(0) @binding(5) var<storage, read_write> y: array<f32>;

const OUTPUTS = 64u;
// Fours of a row in workgroup memory, and one that is left out, so that rows start in other banks.
const QUADS = 4u;
const STRIDE = 5u;

var<workgroup> x_tile: array<vec4f, 320>;
var<workgroup> w_tile: array<vec4f, 320>;

fn input(r: u32, column: u32) -> vec4f {
  var values = vec4f(0.0);
  if (r < arguments.rows) {
    let start = (arguments.first_row + r) * arguments.in_features;
    for (var i = 0u; i < 4u; i++) {
      if (column + i < arguments.in_features) { values[i] = x[start + column + i]; }
    }
  }
  return values;
}

@compute @workgroup_size(256)
fn multiply(
  @builtin(workgroup_id) workgroup_id: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let workgroup = workgroup_id.y * workgroups.x + workgroup_id.x;
  let rows = 16u * ROWS_EACH;
  let across = (arguments.out_features + OUTPUTS - 1u) / OUTPUTS;
  if (workgroup >= across * ((arguments.rows + rows - 1u) / rows)) { return; }
  let first_row = workgroup / across * rows;
  let columns = arguments.in_features;
  let each = quads_of_vector();
  let all_quads = vectors_of_row(columns) * each;
  // What this thread brings: one four of a row of the matrix, and ROWS_EACH of four threads for a row of x.
  let loaded = thread / QUADS;
  let quad = thread % QUADS;
  let o = output_of(workgroup % across, loaded, OUTPUTS);
  let tx = thread % 16u;
  let ty = thread / 16u;
  var sums: array<vec4f, 4>;
  for (var first = 0u; first < (columns + 3u) / 4u; first += QUADS) {
    var values = vec4f(0.0);
    if (o < arguments.out_features && first + quad < all_quads) {
      values = quad_of(vector_at(o, (first + quad) / each, columns), (first + quad) % each);
    }
    workgroupBarrier();
    w_tile[loaded * STRIDE + quad] = values;
    if (loaded < rows) {
      x_tile[loaded * STRIDE + quad] = input(first_row + loaded, 4u * (first + quad));
    }
    workgroupBarrier();
    for (var q = 0u; q < QUADS; q++) {
      let w0 = w_tile[tx * STRIDE + q];
      let w1 = w_tile[(tx + 16u) * STRIDE + q];
      let w2 = w_tile[(tx + 32u) * STRIDE + q];
      let w3 = w_tile[(tx + 48u) * STRIDE + q];
      for (var i = 0u; i < ROWS_EACH; i++) {
        let values = x_tile[(ty + 16u * i) * STRIDE + q];
        sums[i] += vec4f(dot(values, w0), dot(values, w1), dot(values, w2), dot(values, w3));
      }
    }
  }
  for (var i = 0u; i < ROWS_EACH; i++) {
    let r = first_row + ty + 16u * i;
    if (GATE == 1u) {
      let column = workgroup % across * 32u + tx;
      finish(r, column, sums[i].x, sums[i].z);
      finish(r, column + 16u, sums[i].y, sums[i].w);
    } else {
      let column = workgroup % across * 64u + tx;
      finish(r, column, sums[i].x, 0.0);
      finish(r, column + 16u, sums[i].y, 0.0);
      finish(r, column + 32u, sums[i].z, 0.0);
      finish(r, column + 48u, sums[i].w, 0.0);
    }
  }
}
