// y[i, c] = table[tokens[i], c] · scale + positions[i, c], one thread an element; a token of 0xffffffff is a row of zeros
// plus its position. Tables in several buffers take a dispatch each: each writes the rows of its own tokens.
// words: rows of the table from first_row on; positions, y: [tokens, columns].

struct Arguments {
  tokens: u32,
  columns: u32,
  first_row: u32,
  rows: u32,
  scale: f32,
  // The token's place in `tokens` of the first row.
  first_token: u32,
}

override HAS_POSITIONS: u32 = 0u;
// Words from one token to the next.
override TOKEN_STRIDE: u32 = 1u;

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> words: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;
@group(0) @binding(3) var<storage, read> tokens: array<u32>;
@group(0) @binding(4) var<storage, read> positions: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn embed(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = (workgroup.y * workgroups.x + workgroup.x) * 64u + lane;
  if (index >= arguments.tokens * arguments.columns) { return; }
  let token = tokens[(arguments.first_token + index / arguments.columns) * TOKEN_STRIDE];
  var value = 0.0;
  if (token != 0xffffffffu) {
    let row = token - arguments.first_row;
    if (token < arguments.first_row || row >= arguments.rows) { return; }
    let column = index % arguments.columns;
    value = weight(row, column, arguments.columns) * arguments.scale;
  }
  if (HAS_POSITIONS == 1u) { value += positions[index]; }
  y[index] = value;
}
