// Queries, keys and values by fours: all columns and widths are multiples of four.

@group(0) @binding(1) var<storage, read> q: array<vec4f>;
@group(0) @binding(2) var<storage, read> kv: array<vec4f>;

// The values 4 · quad and on of the head that begins at `start`.
fn q_four(start: u32, quad: u32) -> vec4f { return q[start / 4u + quad]; }

fn kv_four(start: u32, quad: u32) -> vec4f { return kv[start / 4u + quad]; }
