// The softmax itself of the heads asked for, one thread a query row and head: y: [q rows · asked, longest], which held zeros.

@group(0) @binding(5) var<storage, read> heads: array<u32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

fn score(at: u32, head: u32, key: u32) -> f32 {
  let width = arguments.head_dim;
  let q_start = rows[at] * arguments.q_columns + arguments.q_column + head * width;
  let k_start = (rows[at + 1u] + key) * arguments.kv_columns + arguments.k_column
    + head / arguments.group * width;
  var product = 0.0;
  for (var d = 0u; d < width; d++) { product += q[q_start + d] * kv[k_start + d]; }
  return score_of(product, head, i32(key) - i32(rows[at + 4u]));
}

@compute @workgroup_size(64)
fn weigh(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.count * arguments.asked) { return; }
  let asked = index % arguments.asked;
  let head = heads[asked];
  let at = 5u * (index / arguments.asked);
  let start = rows[at + 2u];
  let end = rows[at + 3u];
  let to = (rows[at] * arguments.asked + asked) * arguments.longest;
  var greatest = -3e38;
  for (var key = start; key < end; key++) {
    let s = score(at, head, key);
    y[to + key] = s;
    greatest = max(greatest, s);
  }
  var sum = 0.0;
  for (var key = start; key < end; key++) {
    let e = exp(max(y[to + key] - greatest, -87.0));
    y[to + key] = e;
    sum += e;
  }
  for (var key = start; key < end; key++) { y[to + key] /= sum; }
}
