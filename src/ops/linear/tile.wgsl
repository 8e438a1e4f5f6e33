// What the products have in common. y[r, first_column + o] = finish(Σ_k norm(x)[first_row + r, k] · w[o, k] + bias[o]).
// x: [x rows, in_features] float32; w: [out_features, in_features] in `words` and `scales`; y: [rows, y_columns] float32.
// With GATE the outputs are two halves g and u, [width, in_features] each, and y is activate(g) · u.

override GATE: u32 = 0u;

struct Arguments {
  rows: u32,
  first_row: u32,
  in_features: u32,
  out_features: u32,
  y_columns: u32,
  first_column: u32,
  first_bias: u32,
  // Of the normalisation.
  eps: f32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> words: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<u32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;

// Columns of y that the matrix makes.
fn width() -> u32 {
  if (GATE == 1u) { return arguments.out_features / 2u; }
  return arguments.out_features;
}

// The row of the matrix that the slot `slot` of `slots` of a workgroup computes; past the end if there is none. With GATE
// the upper half of the slots are the u of the lower.
fn output_of(workgroup: u32, slot: u32, slots: u32) -> u32 {
  if (GATE == 0u) { return workgroup * slots + slot; }
  let column = workgroup * (slots / 2u) + slot % (slots / 2u);
  if (column >= width()) { return arguments.out_features; }
  return column + select(0u, width(), slot >= slots / 2u);
}

// The column of `sum`, or of the gate's two sums, and where its value goes.
fn finish(r: u32, column: u32, sum: f32, other: f32) {
  if (r >= arguments.rows || column >= width()) { return; }
  let at = arguments.first_bias + column;
  let to = r * arguments.y_columns + arguments.first_column + column;
  let value = sum + bias[at];
  if (GATE == 1u) {
    y[to] = activate(value, FINISH) * (other + bias[at + width()]);
  } else if (FINISH == 6u) {
    y[to] += value;
  } else {
    y[to] = activate(value, FINISH);
  }
}
