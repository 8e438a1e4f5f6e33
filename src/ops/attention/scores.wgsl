// What a product of a query and a key becomes before the softmax.

override HAS_RELATIVE: u32 = 0u;

@group(0) @binding(3) var<storage, read> relative: array<f32>;
@group(0) @binding(4) var<storage, read> rows: array<u32>;

// The key is `distance` positions after its query.
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
