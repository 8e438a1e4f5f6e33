// A recurrent layer, a workgroup a sequence and direction, which goes through the rows one after the other; a thread takes
// every 64th element of the state. Gates r, z, n of a gated recurrent unit (GATES 3), i, f, g, o of a long short-term memory
// (GATES 4). input: [rows, directions · GATES · hidden]; weights: of each direction [GATES · hidden, hidden], then its bias,
// [GATES · hidden]; ranges: first row and end of each sequence; state: [sequences, states of all directions, then cells];
// output: [rows, directions · hidden].

override GATES: u32 = 3u;

struct Arguments {
  hidden: u32,
  directions: u32,
  sequences: u32,
}

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> ranges: array<u32>;
@group(0) @binding(4) var<storage, read_write> state: array<f32>;
@group(0) @binding(5) var<storage, read_write> output: array<f32>;

// weights[row] · state + bias[row]
fn product(start: u32, row: u32, h: u32) -> f32 {
  let hidden = arguments.hidden;
  var sum = weights[start + GATES * hidden * hidden + row];
  for (var k = 0u; k < hidden; k++) { sum += weights[start + row * hidden + k] * state[h + k]; }
  return sum;
}

@compute @workgroup_size(64)
fn recur(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = workgroup.y * workgroups.x + workgroup.x;
  if (index >= arguments.sequences * arguments.directions) { return; }
  let hidden = arguments.hidden;
  let direction = index % arguments.directions;
  let sequence = index / arguments.directions;
  let width = arguments.directions * hidden;
  let first = ranges[2u * sequence];
  let end = ranges[2u * sequence + 1u];
  let own = direction * GATES * hidden * (hidden + 1u);
  let h = sequence * width * (GATES - 2u) + direction * hidden;
  for (var place = 0u; place < end - first; place++) {
    let row = select(first + place, end - 1u - place, direction == 1u);
    let x = row * width * GATES + direction * GATES * hidden;
    let to = row * width + direction * hidden;
    for (var i = lane; i < hidden; i += 64u) {
      let a = product(own, i, h);
      let b = product(own, hidden + i, h);
      let c = product(own, 2u * hidden + i, h);
      if (GATES == 3u) {
        let reset = sigmoid(input[x + i] + a);
        let update = sigmoid(input[x + hidden + i] + b);
        let next = tanh_of(input[x + 2u * hidden + i] + reset * c);
        output[to + i] = (1.0 - update) * next + update * state[h + i];
      } else {
        let out = sigmoid(input[x + 3u * hidden + i] + product(own, 3u * hidden + i, h));
        let entering = sigmoid(input[x + i] + a) * tanh_of(input[x + 2u * hidden + i] + c);
        let cell = sigmoid(input[x + hidden + i] + b) * state[h + width + i] + entering;
        state[h + width + i] = cell;
        output[to + i] = out * tanh_of(cell);
      }
    }
    // The old state was read by all before it is overwritten.
    storageBarrier();
    for (var i = lane; i < hidden; i += 64u) { state[h + i] = output[to + i]; }
    storageBarrier();
  }
}
