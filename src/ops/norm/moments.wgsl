// Mean and inverse deviation of `count` values, `input(start)` and those after it: 1 / √(variance + eps). With RMS the mean
// counts as 0.

override RMS: u32 = 0u;

fn moments(start: u32, count: u32, eps: f32, lane: u32) -> vec2f {
  var mean = 0.0;
  if (RMS == 0u) {
    var sum = 0.0;
    for (var c = lane; c < count; c += LANES) { sum += input(start + c); }
    mean = sum_of_lanes(sum, lane) / f32(count);
  }
  var squares = 0.0;
  for (var c = lane; c < count; c += LANES) {
    let centred = input(start + c) - mean;
    squares += centred * centred;
  }
  let variance = sum_of_lanes(squares, lane) / f32(count);
  return vec2f(mean, 1.0 / sqrt(max(variance + eps, 1e-37)));
}
