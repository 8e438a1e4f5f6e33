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
  // Of blocks: how many there are, into how many parts the keys of each are split, and how many keys a part has.
  blocks: u32,
  splits: u32,
  keys_each: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
