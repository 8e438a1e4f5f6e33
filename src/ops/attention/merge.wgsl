// What the parts of split keys give together; one workgroup a slot of a pair. x: [pairs, SLOTS, splits, head_dim + 2]:
// contexts before they are divided, the greatest score, the sum. y: [q rows, num_heads · head_dim].

@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read> blocks: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn merge(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = workgroup.y * workgroups.x + workgroup.x;
  if (index >= pairs() * SLOTS) { return; }
  let block = block_of(index / SLOTS);
  let slot = index % SLOTS;
  if (slot >= block.used) { return; }
  let width = arguments.head_dim;
  let start = index * arguments.splits * (width + 2u);
  var greatest = -3e38;
  for (var split = 0u; split < arguments.splits; split++) {
    greatest = max(greatest, x[start + split * (width + 2u) + width]);
  }
  var sum = 0.0;
  var context: array<f32, 4>;
  for (var split = 0u; split < arguments.splits; split++) {
    let at = start + split * (width + 2u);
    // A part without keys has a sum and a context of 0.
    let weight = exp(max(x[at + width] - greatest, -87.0));
    sum += weight * x[at + width + 1u];
    for (var i = 0u; i < 4u; i++) {
      let column = lane + 64u * i;
      if (column < width) { context[i] += weight * x[at + column]; }
    }
  }
  // Who sees no key gives zeros.
  let factor = select(0.0, 1.0 / max(sum, 1e-37), sum > 0.0);
  let to = result_of(block, slot);
  for (var i = 0u; i < 4u; i++) {
    let column = lane + 64u * i;
    if (column < width) { y[to + column] = context[i] * factor; }
  }
}
