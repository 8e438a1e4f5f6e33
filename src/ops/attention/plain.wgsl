// softmax(scores) · v, one workgroup a query row and head: scores of 64 keys at a time, online softmax (Milakov and
// Gimelshein 2018). y: [q rows, num_heads · head_dim].

@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// Elements of a head a lane has: heads of up to 256.
const EACH = 4u;

var<workgroup> query: array<f32, 256>;
var<workgroup> probs: array<f32, LANES>;

fn max_of_lanes(value: f32, lane: u32) -> f32 {
  workgroupBarrier();
  shares[lane] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (lane < half) { shares[lane] = max(shares[lane], shares[lane + half]); }
    workgroupBarrier();
  }
  return shares[0];
}

@compute @workgroup_size(64)
fn attend(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = workgroup.y * workgroups.x + workgroup.x;
  if (index >= arguments.count * arguments.num_heads) { return; }
  let head = index % arguments.num_heads;
  let at = 5u * (index / arguments.num_heads);
  let row = rows[at];
  let first_key = rows[at + 1u];
  let start = rows[at + 2u];
  let end = rows[at + 3u];
  let position = i32(rows[at + 4u]);
  let width = arguments.head_dim;
  let kv_head = head / arguments.group;
  let q_start = row * arguments.q_columns + arguments.q_column + head * width;
  for (var d = lane; d < width; d += LANES) { query[d] = q[q_start + d]; }
  workgroupBarrier();

  var greatest = -3e38;
  var sum = 0.0;
  var context: array<f32, EACH>;
  for (var tile = start; tile < end; tile += LANES) {
    let key = tile + lane;
    var score = -3e38;
    if (key < end) {
      let k_start = (first_key + key) * arguments.kv_columns + arguments.k_column + kv_head * width;
      var product = 0.0;
      for (var d = 0u; d < width; d++) { product += query[d] * kv[k_start + d]; }
      score = score_of(product, head, i32(key) - position);
    }
    let next = max(greatest, max_of_lanes(score, lane));
    let before = exp(max(greatest - next, -87.0)) * select(0.0, 1.0, tile > start);
    var p = 0.0;
    if (key < end) { p = exp(max(score - next, -87.0)); }
    probs[lane] = p;
    sum = sum * before + sum_of_lanes(p, lane);
    greatest = next;
    let keys = min(LANES, end - tile);
    for (var i = 0u; i < EACH; i++) {
      let d = lane + i * LANES;
      if (d < width) {
        var value = context[i] * before;
        var v_at = (first_key + tile) * arguments.kv_columns + arguments.v_column + kv_head * width + d;
        for (var j = 0u; j < keys; j++) {
          value += probs[j] * kv[v_at];
          v_at += arguments.kv_columns;
        }
        context[i] = value;
      }
    }
    workgroupBarrier();
  }
  // Who sees no key gives zeros.
  let inverse = select(0.0, 1.0 / max(sum, 1e-37), sum > 0.0);
  for (var i = 0u; i < EACH; i++) {
    let d = lane + i * LANES;
    if (d < width) { y[row * arguments.num_heads * width + head * width + d] = context[i] * inverse; }
  }
}
