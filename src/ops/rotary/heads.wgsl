// Query and key heads normalised and turned by their positions, in place; one workgroup a head of a row. With `kept.wgsl`
// keys and values are written to a cache as well.
// y: [rows, columns], num_heads + num_kv_heads heads of head_dim in its first columns. norms: scale and bias of query
// heads, then of key heads, [4 · head_dim]. table: cos and sin of each pair at each position, [positions, pairs, 2].

struct Arguments {
  rows: u32,
  columns: u32,
  num_heads: u32,
  all_heads: u32,
  head_dim: u32,
  pairs: u32,
  q_eps: f32,
  k_eps: f32,
  // Heads with a workgroup: all heads, and those of the values if they are kept.
  own_heads: u32,
  // The row of the cache of the first row.
  first_token: u32,
}

override HAS_NORMS: u32 = 0u;
// 0: no rotation, 1: elements 2i and 2i + 1, 2: elements i and i + pairs
override ROTATION: u32 = 0u;

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> q_norm: array<f32>;
@group(0) @binding(2) var<storage, read> k_norm: array<f32>;
@group(0) @binding(3) var<storage, read> table: array<f32>;
@group(0) @binding(4) var<storage, read> positions: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

fn input(index: u32) -> f32 { return y[index]; }

@compute @workgroup_size(64)
fn prepare_heads(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = workgroup.y * workgroups.x + workgroup.x;
  if (index >= arguments.rows * arguments.own_heads) { return; }
  let row = index / arguments.own_heads;
  let head = index % arguments.own_heads;
  let width = arguments.head_dim;
  let start = row * arguments.columns + head * width;
  let is_value = head >= arguments.all_heads;
  if (HAS_NORMS == 1u && !is_value) {
    let is_query = head < arguments.num_heads;
    let eps = select(arguments.k_eps, arguments.q_eps, is_query);
    let found = moments(start, width, eps, lane);
    for (var c = lane; c < width; c += LANES) {
      let scale = select(k_norm[c], q_norm[c], is_query);
      let bias = select(k_norm[width + c], q_norm[width + c], is_query);
      y[start + c] = (y[start + c] - found.x) * found.y * scale + bias;
    }
    storageBarrier();
  }
  if (ROTATION != 0u && !is_value) {
    for (var i = lane; i < arguments.pairs; i += LANES) {
      let first = start + select(i, 2u * i, ROTATION == 1u);
      let second = select(first + arguments.pairs, first + 1u, ROTATION == 1u);
      let at = 2u * (positions[row] * arguments.pairs + i);
      let a = y[first];
      let b = y[second];
      y[first] = a * table[at] - b * table[at + 1u];
      y[second] = b * table[at] + a * table[at + 1u];
    }
  }
  if (IS_KEPT && head >= arguments.num_heads) {
    storageBarrier();
    let heads_kept = arguments.own_heads - arguments.num_heads;
    let to = (arguments.first_token + row) * heads_kept + head - arguments.num_heads;
    for (var c = lane; c < width; c += LANES) { keep(to * width + c, y[start + c]); }
  }
}
