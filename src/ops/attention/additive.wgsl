// Attention by additive scores (Bahdanau et al. 2015), a workgroup a query row and head; a thread takes every 64th key, then
// every 64th column of the context. weights: [num_heads · head_dim]; probs: [q rows · num_heads, longest], whole rows are
// written; y: [q rows, num_heads · head_dim].

@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> kv: array<f32>;
@group(0) @binding(3) var<storage, read> weights: array<f32>;
@group(0) @binding(4) var<storage, read> rows: array<u32>;
@group(0) @binding(5) var<storage, read_write> probs: array<f32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

var<workgroup> parts: array<f32, 64>;

@compute @workgroup_size(64)
fn attend_additive(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = workgroup.y * workgroups.x + workgroup.x;
  if (index >= arguments.count * arguments.num_heads) { return; }
  let head = index % arguments.num_heads;
  let at = 5u * (index / arguments.num_heads);
  let width = arguments.head_dim;
  let start = rows[at + 2u];
  let end = rows[at + 3u];
  let q_start = rows[at] * arguments.q_columns + arguments.q_column + head * width;
  let column = head / arguments.group * width;
  let to = (rows[at] * arguments.num_heads + head) * arguments.longest;

  var greatest = -3e38;
  for (var key = lane; key < arguments.longest; key += 64u) {
    var sum = 0.0;
    if (key >= start && key < end) {
      let k_start = (rows[at + 1u] + key) * arguments.kv_columns + arguments.k_column + column;
      for (var d = 0u; d < width; d++) {
        sum += weights[head * width + d] * tanh_of(q[q_start + d] + kv[k_start + d]);
      }
      sum *= arguments.scale;
      greatest = max(greatest, sum);
    }
    probs[to + key] = sum;
  }
  parts[lane] = greatest;
  workgroupBarrier();
  for (var i = 0u; i < 64u; i++) { greatest = max(greatest, parts[i]); }
  workgroupBarrier();
  var total = 0.0;
  for (var key = lane; key < arguments.longest; key += 64u) {
    if (key >= start && key < end) {
      let e = exp(max(probs[to + key] - greatest, -87.0));
      probs[to + key] = e;
      total += e;
    }
  }
  parts[lane] = total;
  workgroupBarrier();
  total = 0.0;
  for (var i = 0u; i < 64u; i++) { total += parts[i]; }
  for (var key = lane; key < arguments.longest; key += 64u) {
    if (key >= start && key < end) { probs[to + key] /= total; }
  }
  storageBarrier();
  for (var d = lane; d < width; d += 64u) {
    var context = 0.0;
    for (var key = start; key < end; key++) {
      let v = (rows[at + 1u] + key) * arguments.kv_columns + arguments.v_column + column + d;
      context += probs[to + key] * kv[v];
    }
    y[rows[at] * arguments.num_heads * width + head * width + d] = context;
  }
}
