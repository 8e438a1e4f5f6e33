// What attention kernels share. q: [q rows, q_columns], queries of all heads from q_column on; kv: [kv rows, kv_columns],
// keys from k_column on and values from v_column on; relative: [num_heads, 2 · reach + 1].
// rows: five words a query row of the call: its row in q and in the result, the row in kv of its sequence's first key, the
// first key that it sees and the one past the last, counted from there, and its own position.

struct Arguments {
  count: u32,
  num_heads: u32,
  // Query heads that share a key head.
  group: u32,
  head_dim: u32,
  q_columns: u32,
  q_column: u32,
  kv_columns: u32,
  k_column: u32,
  v_column: u32,
  reach: u32,
  scale: f32,
  // 0 for none
  cap: f32,
  // Of the weights: heads asked for, and columns of the result.
  asked: u32,
  longest: u32,
}

override HAS_RELATIVE: u32 = 0u;

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> kv: array<f32>;
@group(0) @binding(3) var<storage, read> relative: array<f32>;
@group(0) @binding(4) var<storage, read> rows: array<u32>;

// What a score becomes before the softmax; the key is `distance` positions after its query.
fn score_of(product: f32, head: u32, distance: i32) -> f32 {
  var score = product * arguments.scale;
  if (HAS_RELATIVE == 1u) {
    let column = i32(arguments.reach) + distance;
    score += relative[i32(head * (2u * arguments.reach + 1u)) + column];
  }
  if (arguments.cap > 0.0) {
    score = arguments.cap * tanh(clamp(score / arguments.cap, -12.0, 12.0));
  }
  return score;
}
