// Keys and values are kept: cache: [tokens, 2 · num_kv_heads · head_dim], keys, then values.

const IS_KEPT = true;

@group(0) @binding(6) var<storage, read_write> cache: array<f32>;

fn keep(index: u32, value: f32) { cache[index] = value; }
