// Queries, keys and values one by one, wherever heads begin.

@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> kv: array<f32>;

// The values 4 · quad and on of the head that begins at `start`, zeros after its last.
fn q_four(start: u32, quad: u32) -> vec4f {
  var four = vec4f(0.0);
  for (var i = 0u; i < 4u; i++) {
    if (4u * quad + i < arguments.head_dim) { four[i] = q[start + 4u * quad + i]; }
  }
  return four;
}

fn kv_four(start: u32, quad: u32) -> vec4f {
  var four = vec4f(0.0);
  for (var i = 0u; i < 4u; i++) {
    if (4u * quad + i < arguments.head_dim) { four[i] = kv[start + 4u * quad + i]; }
  }
  return four;
}
