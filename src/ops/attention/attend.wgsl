// softmax(scores) · v of a block of query heads that share a key head, 32 keys at a time (FlashAttention, Dao et al. 2022;
// online softmax, Milakov and Gimelshein 2018): scores first, each thread one key with some of the slots; then contexts, the
// threads of a slot some columns each. Heads are taken 64 columns at a time.
// y: [q rows, num_heads · head_dim], or if the keys are split [pairs, SLOTS, splits, head_dim + 2]: the context before it is
// divided, the greatest score, the sum.

override IS_SPLIT: u32 = 0u;
// Pieces of 64 columns of a head, at most four.
override PIECES: u32 = 1u;

@group(0) @binding(5) var<storage, read> blocks: array<u32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const THREADS = 128u;
const KEYS = 32u;
// Fours of a piece, and of a row of `tile`: rows start in other banks.
const QUADS = 16u;
const STRIDE = 17u;
const SCORES = 33u;
const UNSEEN = -3e38;

// [SLOTS, QUADS]
var<workgroup> queries: array<vec4f, 256>;
// Keys, then values: [KEYS, STRIDE]
var<workgroup> tile: array<vec4f, 544>;
// Scores, then what they weigh: [SLOTS, SCORES]
var<workgroup> scores: array<f32, 528>;
// Of each slot: the keys that it sees, its position, its head.
var<workgroup> seen: array<vec4u, 16>;

// Scores with the key of the thread, of slots from `slot` on.
fn store_score(slot: u32, key: u32, in_tile: u32, product: f32) {
  let who = seen[slot];
  var score = UNSEEN;
  if (key >= who.x && key < who.y) { score = score_of(product, who.w, i32(key) - i32(who.z)); }
  scores[slot * SCORES + in_tile] = score;
}

@compute @workgroup_size(128)
fn attend(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let index = workgroup.y * workgroups.x + workgroup.x;
  let pair = index / arguments.splits;
  if (pair >= pairs()) { return; }
  let block = block_of(pair);
  let width = arguments.head_dim;
  let quads = (width + 3u) / 4u;
  // The first row sees the first key of all, the last row the last.
  let split = index % arguments.splits;
  let first_key = rows[entry_of(block, 0u) + 1u];
  let start = rows[entry_of(block, 0u) + 2u] + split * arguments.keys_each;
  let end = min(rows[entry_of(block, block.used - 1u) + 3u], start + arguments.keys_each);
  let k_start = first_key * arguments.kv_columns + arguments.k_column + block.kv_head * width;
  let v_start = first_key * arguments.kv_columns + arguments.v_column + block.kv_head * width;
  if (thread < SLOTS) {
    var who = vec4u(0u);
    if (thread < block.used) {
      let entry = entry_of(block, thread);
      who = vec4u(rows[entry + 2u], rows[entry + 3u], rows[entry + 4u], head_of(block, thread));
    }
    seen[thread] = who;
  }

  // As scores go: a key, and a quarter of the slots.
  let own_key = thread % KEYS;
  let quarter = thread / KEYS;
  // As contexts go: a slot, of its columns some fours, of the keys some.
  let lanes = THREADS / SLOTS;
  let slot = thread / lanes;
  let across = min(lanes, QUADS);
  let own_quad = thread % lanes % across;
  let own_part = thread % lanes / across;
  let parts = lanes / across;
  let each = QUADS / across;

  var greatest = UNSEEN;
  var sum = 0.0;
  // Two fours a piece.
  var context: array<vec4f, 8>;
  for (var first = start; first < end; first += KEYS) {
    let keys = min(KEYS, end - first);
    var products = vec4f(0.0);
    for (var piece = 0u; piece < PIECES; piece++) {
      let piece_quads = min(QUADS, quads - piece * QUADS);
      workgroupBarrier();
      for (var i = thread; i < keys * QUADS; i += THREADS) {
        let key = i / QUADS;
        let quad = i % QUADS;
        if (quad < piece_quads) {
          tile[key * STRIDE + quad] =
            kv_four(k_start + (first + key) * arguments.kv_columns, piece * QUADS + quad);
        }
      }
      if (PIECES > 1u || first == start) {
        for (var i = thread; i < SLOTS * QUADS; i += THREADS) {
          var values = vec4f(0.0);
          if (i / QUADS < block.used && i % QUADS < piece_quads) {
            let q_start = rows[entry_of(block, i / QUADS)] * arguments.q_columns
              + arguments.q_column + head_of(block, i / QUADS) * width;
            values = q_four(q_start, piece * QUADS + i % QUADS);
          }
          queries[i] = values;
        }
      }
      workgroupBarrier();
      let own_quads = select(0u, piece_quads, own_key < keys);
      if (SLOTS == 16u) {
        for (var quad = 0u; quad < own_quads; quad++) {
          let k = tile[own_key * STRIDE + quad];
          let at = 4u * quarter * QUADS + quad;
          products += vec4f(
            dot(k, queries[at]),
            dot(k, queries[at + QUADS]),
            dot(k, queries[at + 2u * QUADS]),
            dot(k, queries[at + 3u * QUADS]),
          );
        }
      } else if (quarter < SLOTS) {
        for (var quad = 0u; quad < own_quads; quad++) {
          products.x += dot(tile[own_key * STRIDE + quad], queries[quarter * QUADS + quad]);
        }
      }
    }
    // What is past the last key or slot is not seen.
    if (SLOTS == 16u) {
      for (var i = 0u; i < 4u; i++) {
        store_score(4u * quarter + i, first + own_key, own_key, products[i]);
      }
    } else if (quarter < SLOTS) {
      store_score(quarter, first + own_key, own_key, products.x);
    }
    workgroupBarrier();
    var next = greatest;
    for (var key = 0u; key < keys; key++) { next = max(next, scores[slot * SCORES + key]); }
    let before = exp(max(greatest - next, -87.0));
    greatest = next;
    sum *= before;
    workgroupBarrier();
    for (var key = thread % lanes; key < keys; key += lanes) {
      let score = scores[slot * SCORES + key];
      let p = select(0.0, exp(max(score - next, -87.0)), score > UNSEEN);
      scores[slot * SCORES + key] = p;
      sum += p;
    }
    for (var piece = 0u; piece < PIECES; piece++) {
      let piece_quads = min(QUADS, quads - piece * QUADS);
      if (piece > 0u) { workgroupBarrier(); }
      for (var i = thread; i < keys * QUADS; i += THREADS) {
        let key = i / QUADS;
        let quad = i % QUADS;
        if (quad < piece_quads) {
          tile[key * STRIDE + quad] =
            kv_four(v_start + (first + key) * arguments.kv_columns, piece * QUADS + quad);
        }
      }
      workgroupBarrier();
      for (var i = 0u; i < each; i++) {
        let quad = own_quad + i * across;
        if (quad < piece_quads) {
          var values = context[2u * piece + i] * before;
          for (var key = own_part; key < keys; key += parts) {
            values += scores[slot * SCORES + key] * tile[key * STRIDE + quad];
          }
          context[2u * piece + i] = values;
        }
      }
    }
  }

  workgroupBarrier();
  scores[thread] = sum;
  workgroupBarrier();
  sum = 0.0;
  for (var i = 0u; i < lanes; i++) { sum += scores[slot * lanes + i]; }
  // Who sees no key gives zeros.
  var factor = select(0.0, 1.0 / max(sum, 1e-37), sum > 0.0);
  var to = 0u;
  if (IS_SPLIT == 1u) {
    factor = 1.0;
    to = ((pair * SLOTS + slot) * arguments.splits + split) * (width + 2u);
  } else if (slot < block.used) {
    to = result_of(block, slot);
  }
  for (var piece = 0u; piece < PIECES; piece++) {
    for (var i = 0u; i < each; i++) {
      let quad = own_quad + i * across;
      var values = context[2u * piece + i];
      if (parts > 1u) {
        workgroupBarrier();
        tile[thread] = values;
        workgroupBarrier();
        for (var other = 1u; other < parts; other++) {
          values += tile[(thread + other * across) % THREADS];
        }
      }
      if (own_part == 0u && slot < block.used) {
        for (var c = 0u; c < 4u; c++) {
          let column = 4u * (piece * QUADS + quad) + c;
          if (column < width) { y[to + column] = values[c] * factor; }
        }
      }
    }
  }
  if (IS_SPLIT == 1u && thread % lanes == 0u && slot < block.used) {
    y[to + width] = greatest;
    y[to + width + 1u] = sum;
  }
}
