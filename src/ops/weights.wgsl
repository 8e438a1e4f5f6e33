// Matrices in storage buffers, `[rows, columns]`, row after row of whole words: float32, or int8 four to a word.
// Who includes this declares `words: array<u32>` and `scales: array<f32>`, one of each row (or one that is not read).

override FORMAT: u32 = 0u;

// Values one word holds.
fn values_of_word() -> u32 {
  if (FORMAT == 1u) { return 4u; }
  return 1u;
}

// Words of a row of `columns` values.
fn words_of_row(columns: u32) -> u32 {
  let each = values_of_word();
  return (columns + each - 1u) / each;
}

// Element `[row, column]` before the scale of its row; `stride` are the words of a row.
fn unscaled(row: u32, column: u32, stride: u32) -> f32 {
  if (FORMAT == 1u) {
    let word = words[row * stride + column / 4u];
    return f32(extractBits(i32(word), 8u * (column % 4u), 8u));
  }
  return bitcast<f32>(words[row * stride + column]);
}

// What multiplies all elements of a row.
fn row_scale(row: u32) -> f32 {
  if (FORMAT == 1u) { return scales[row]; }
  return 1.0;
}
