// Matrices in storage buffers, `[rows, columns]`: `words` hold row after row of whole vectors of codes, `scales` what is
// beside them (`gpu_weights.rs`, `gpu_blocks.rs`): of int8 a float32 a row; of blocks their scales, minimums and upper bits.
// Who includes this declares `words: array<vec4u>` and `scales: array<u32>` (or one that is not read).
// FORMAT: 0 float32, 1 int8, 2 float16, 3 Q8_0, 4 Q4_0, 5 Q4_1, 6 Q5_0, 7 Q5_1, 8 IQ4_NL, 9 Q4_K, 10 Q5_K, 11 Q6_K.

override FORMAT: u32 = 0u;

// The sixteen values of IQ4_NL, four int8 a word.
const IQ4_NL = vec4u(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);

// A vector of codes with all that makes values of them.
struct Vector {
  codes: vec4u,
  // Bits above the lower four.
  upper: vec2u,
  // Scale and minimum of the first sixteen values, then of the others.
  scales: vec4f,
}

// Values that a vector holds, by fours.
fn quads_of_vector() -> u32 {
  switch (FORMAT) {
    case 0u: { return 1u; }
    case 2u: { return 2u; }
    case 1u, 3u: { return 4u; }
    default: { return 8u; }
  }
}

// Vectors of a row of `columns` values; past the end of the row they hold zeros.
fn vectors_of_row(columns: u32) -> u32 {
  let each = 4u * quads_of_vector();
  return (columns + each - 1u) / each;
}

// Words of `scales` of a row before its upper bits.
fn words_of_scales(columns: u32) -> u32 {
  let groups = columns / 32u;
  switch (FORMAT) {
    case 0u, 2u: { return 0u; }
    case 1u: { return 1u; }
    case 3u, 4u, 6u, 8u: { return (groups + 1u) / 2u; }
    case 5u, 7u: { return groups; }
    case 9u, 10u: { return 4u * (groups / 8u); }
    default: { return 5u * (groups / 8u); }
  }
}

// Words of `scales` of a row.
fn scales_of_row(columns: u32) -> u32 {
  let groups = columns / 32u;
  switch (FORMAT) {
    case 6u, 7u, 10u: { return words_of_scales(columns) + groups; }
    case 11u: { return words_of_scales(columns) + 2u * groups; }
    default: { return words_of_scales(columns); }
  }
}

// Float16 numbers, each in the lower half of a word. Subnormal ones are common among scales, and what the language has
// for it may take them for 0.
fn float_of_half(half: vec4u) -> vec4f {
  let normal = bitcast<vec4f>(((half & vec4u(0x7fffu)) << vec4u(13u)) + vec4u(0x38000000u));
  let subnormal = vec4f(half & vec4u(0x3ffu)) * 5.9604644775390625e-8;
  let size = select(normal, subnormal, (half & vec4u(0x7c00u)) == vec4u(0u));
  return select(size, -size, (half & vec4u(0x8000u)) != vec4u(0u));
}

fn floats_of_pair(word: u32) -> vec2f {
  return float_of_half(vec4u(word & 0xffffu, word >> 16u, 0u, 0u)).xy;
}

fn byte_of(word: u32, index: u32) -> u32 {
  return (word >> (8u * (index % 4u))) & 255u;
}

// Scale and minimum of the group `i` of a block of Q4_K or Q5_K whose words in `scales` start at `block`.
fn scale_and_min(block: u32, i: u32) -> vec2f {
  let factors = floats_of_pair(scales[block]);
  let at = i % 4u;
  let first = byte_of(scales[block + 1u], at);
  let second = byte_of(scales[block + 2u], at);
  let third = byte_of(scales[block + 3u], at);
  var both = vec2u(first & 63u, second & 63u);
  if (i >= 4u) {
    both = vec2u((third & 15u) | ((first >> 6u) << 4u), (third >> 4u) | ((second >> 6u) << 4u));
  }
  return vec2f(factors.x * f32(both.x), -(factors.y * f32(both.y)));
}

// The vector `index` of the row `row`.
fn vector_at(row: u32, index: u32, columns: u32) -> Vector {
  var vector: Vector;
  vector.codes = words[row * vectors_of_row(columns) + index];
  vector.upper = vec2u(0u);
  vector.scales = vec4f(1.0, 0.0, 1.0, 0.0);
  let start = row * scales_of_row(columns);
  switch (FORMAT) {
    case 1u: {
      let scale = bitcast<f32>(scales[start]);
      vector.scales = vec4f(scale, 0.0, scale, 0.0);
    }
    case 3u, 4u, 6u, 8u: {
      let group = index * quads_of_vector() / 8u;
      let pair = floats_of_pair(scales[start + group / 2u]);
      let scale = select(pair.x, pair.y, group % 2u == 1u);
      vector.scales = vec4f(scale, 0.0, scale, 0.0);
    }
    case 5u, 7u: {
      let pair = floats_of_pair(scales[start + index]);
      vector.scales = vec4f(pair, pair);
    }
    case 9u, 10u: {
      let pair = scale_and_min(start + 4u * (index / 8u), index % 8u);
      vector.scales = vec4f(pair, pair);
    }
    case 11u: {
      let block = start + 5u * (index / 8u);
      let bytes = scales[block + index % 8u / 2u] >> (16u * (index % 2u));
      let factor = floats_of_pair(scales[block + 4u]).x;
      let first = f32(extractBits(i32(bytes), 0u, 8u));
      let second = f32(extractBits(i32(bytes), 8u, 8u));
      vector.scales = vec4f(factor * first, 0.0, factor * second, 0.0);
    }
    default: {}
  }
  let upper = start + words_of_scales(columns);
  switch (FORMAT) {
    case 6u, 7u, 10u: { vector.upper.x = scales[upper + index]; }
    case 11u: { vector.upper = vec2u(scales[upper + 2u * index], scales[upper + 2u * index + 1u]); }
    default: {}
  }
  return vector;
}

fn int8_of(word: u32) -> vec4f {
  return vec4f(bitcast<vec4i>(vec4u(word) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u));
}

// The values 4q to 4q + 3 of a vector.
fn quad_of(vector: Vector, q: u32) -> vec4f {
  var value: vec4f;
  switch (FORMAT) {
    case 0u: { return bitcast<vec4f>(vector.codes); }
    case 2u: {
      let pairs = select(vector.codes.xy, vector.codes.zw, q == 1u).xxyy;
      return float_of_half((pairs >> vec4u(0u, 16u, 0u, 16u)) & vec4u(0xffffu));
    }
    case 1u, 3u: { value = int8_of(vector.codes[q]); }
    default: {
      let word = vec4u(vector.codes[q / 2u]);
      let lower = (word >> (vec4u(0u, 4u, 8u, 12u) + 16u * (q % 2u))) & vec4u(15u);
      var zero = 0.0;
      var upper = vec4u(0u);
      switch (FORMAT) {
        case 4u: { zero = 8.0; }
        case 6u, 7u, 10u: {
          if (FORMAT == 6u) { zero = 16.0; }
          upper = (vec4u(vector.upper.x) >> (vec4u(0u, 1u, 2u, 3u) + 4u * q)) & vec4u(1u);
        }
        case 11u: {
          zero = 32.0;
          let bits = vec4u(select(vector.upper.x, vector.upper.y, q >= 4u));
          upper = (bits >> (vec4u(0u, 2u, 4u, 6u) + 8u * (q % 4u))) & vec4u(3u);
        }
        default: {}
      }
      value = vec4f(lower | (upper << vec4u(4u))) - zero;
      if (FORMAT == 8u) {
        let four = vec4u(IQ4_NL[lower.x / 4u], IQ4_NL[lower.y / 4u], IQ4_NL[lower.z / 4u], IQ4_NL[lower.w / 4u]);
        value = vec4f(bitcast<vec4i>(four << (vec4u(24u) - 8u * (lower % vec4u(4u)))) >> vec4u(24u));
      }
    }
  }
  let scale = select(vector.scales.xy, vector.scales.zw, q >= 4u);
  return value * scale.x + scale.y;
}

// Element `[row, column]`.
fn weight(row: u32, column: u32, columns: u32) -> f32 {
  let quads = quads_of_vector();
  let quad = column / 4u;
  return quad_of(vector_at(row, quad / quads, columns), quad % quads)[column % 4u];
}
