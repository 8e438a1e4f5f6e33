// Products of at most X_ROWS rows: eight lanes an output, GROUPS times sixteen outputs a workgroup; each lane takes every
// eighth vector of codes. The rows lie in workgroup memory, normalised, as many columns at a time as there is room for.

// 1, 2, 4 or 8.
override X_ROWS: u32 = 1u;
// 1, 2, 4 or 8; with X_ROWS at most 8: so many sums a lane has.
override GROUPS: u32 = 1u;
// The rows are normalised first: 0 not, 1 with the mean as 0 (RMS), 2 with their mean.
override NORM: u32 = 0u;

// Scale, then bias, `[2 · in_features]`.
@group(0) @binding(5) var<storage, read> parameters: array<f32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const THREADS = 128u;
const LANES = 8u;
const OUTPUTS = 16u;
// Values of all rows that lie in `tile`, by fours.
const QUADS = 768u;

// Fours of the rows, one of each nine left out (`place`); at the end the sums of the lanes.
var<workgroup> tile: array<vec4f, 864>;
var<workgroup> shares: array<f32, 128>;
// Sums of FIRST_ROUND threads of each row.
const FIRST_ROUND = 8u;
var<workgroup> rounds: array<f32, 64>;
// Mean and inverse deviation of each row.
var<workgroup> moments: array<vec2f, 8>;

// Lanes read fours that are eight apart at the same time: in other banks.
fn place(quad: u32) -> u32 {
  return quad + quad / 8u;
}

// The sums of a value over the threads of each row, the same order for every row.
fn sums_of_rows(value: f32, thread: u32) -> f32 {
  let threads = THREADS / X_ROWS;
  let member = thread % threads;
  shares[thread] = value;
  workgroupBarrier();
  // In two rounds: a barrier costs more than a few additions.
  if (member < FIRST_ROUND) {
    var sum = 0.0;
    for (var i = member; i < threads; i += FIRST_ROUND) { sum += shares[thread - member + i]; }
    rounds[r_of(thread) * FIRST_ROUND + member] = sum;
  }
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < FIRST_ROUND; i++) { sum += rounds[r_of(thread) * FIRST_ROUND + i]; }
  workgroupBarrier();
  return sum;
}

// Of the row whose moments a thread helps to find.
fn r_of(thread: u32) -> u32 {
  return thread / (THREADS / X_ROWS);
}

fn find_moments(thread: u32) {
  let threads = THREADS / X_ROWS;
  let columns = arguments.in_features;
  let r = thread / threads;
  let start = (arguments.first_row + min(r, arguments.rows - 1u)) * columns;
  var mean = 0.0;
  if (NORM == 2u) {
    var sum = 0.0;
    for (var c = thread % threads; c < columns; c += threads) { sum += x[start + c]; }
    mean = sums_of_rows(sum, thread) / f32(columns);
  }
  var squares = 0.0;
  for (var c = thread % threads; c < columns; c += threads) {
    let centred = x[start + c] - mean;
    squares += centred * centred;
  }
  let variance = sums_of_rows(squares, thread) / f32(columns);
  if (thread % threads == 0u) {
    moments[r] = vec2f(mean, 1.0 / sqrt(max(variance + arguments.eps, 1e-37)));
  }
  workgroupBarrier();
}

// norm(x)[first_row + r, column]; 0 past the end.
fn input(r: u32, column: u32) -> f32 {
  if (column >= arguments.in_features) { return 0.0; }
  let value = x[(arguments.first_row + r) * arguments.in_features + column];
  if (NORM == 0u) { return value; }
  let scaled = (value - moments[r].x) * moments[r].y * parameters[column];
  return scaled + parameters[arguments.in_features + column];
}

// The sums 4k to 4k + 3 of the eight lanes of a slot.
fn sum_of_lanes(slot: u32, k: u32) -> vec4f {
  var sum = vec4f(0.0);
  for (var lane = 0u; lane < LANES; lane++) { sum += tile[THREADS * k + slot * LANES + lane]; }
  return sum;
}

@compute @workgroup_size(128)
fn multiply(
  @builtin(workgroup_id) workgroup_id: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let workgroup = workgroup_id.y * workgroups.x + workgroup_id.x;
  if (workgroup * GROUPS >= (arguments.out_features + OUTPUTS - 1u) / OUTPUTS) { return; }
  if (NORM > 0u) { find_moments(thread); }
  let columns = arguments.in_features;
  let vectors = vectors_of_row(columns);
  let each = quads_of_vector();
  let quads = QUADS / X_ROWS;
  // Of row r and the group g at g · X_ROWS + r.
  var sums: array<f32, 8>;
  for (var first = 0u; first < vectors * each; first += quads) {
    let count = min(quads, vectors * each - first);
    workgroupBarrier();
    for (var i = thread; i < X_ROWS * count; i += THREADS) {
      let r = i / count;
      let quad = i % count;
      let column = 4u * (first + quad);
      var values = vec4f(0.0);
      if (r < arguments.rows) {
        values = vec4f(input(r, column), input(r, column + 1u), input(r, column + 2u), input(r, column + 3u));
      }
      tile[place(r * quads + quad)] = values;
    }
    workgroupBarrier();
    for (var g = 0u; g < GROUPS; g++) {
      let o = output_of(workgroup * GROUPS + g, thread / LANES, OUTPUTS);
      if (o < arguments.out_features) {
        for (var v = thread % LANES; v < count / each; v += LANES) {
          let vector = vector_at(o, first / each + v, columns);
          for (var q = 0u; q < each; q++) {
            let weights = quad_of(vector, q);
            for (var r = 0u; r < X_ROWS; r++) {
              sums[g * X_ROWS + r] += dot(weights, tile[place(r * quads + v * each + q)]);
            }
          }
        }
      }
    }
  }
  workgroupBarrier();
  tile[thread] = vec4f(sums[0], sums[1], sums[2], sums[3]);
  if (X_ROWS * GROUPS > 4u) { tile[THREADS + thread] = vec4f(sums[4], sums[5], sums[6], sums[7]); }
  workgroupBarrier();
  let columns_each = select(OUTPUTS, OUTPUTS / 2u, GATE == 1u);
  let k = thread / columns_each;
  if (4u * k >= X_ROWS * GROUPS) { return; }
  let slot = thread % columns_each;
  let sum = sum_of_lanes(slot, k);
  var other = vec4f(0.0);
  if (GATE == 1u) { other = sum_of_lanes(slot + OUTPUTS / 2u, k); }
  for (var i = 0u; i < min(4u, X_ROWS * GROUPS); i++) {
    let g = (4u * k + i) / X_ROWS;
    finish((4u * k + i) % X_ROWS, (workgroup * GROUPS + g) * columns_each + slot, sum[i], other[i]);
  }
}
