// The likeliest candidates of each row, one workgroup a row: the greatest logits that are not barred, best first (ties: the
// smaller place), or the one given. logits: [rows, candidates]; ids: of each candidate, if HAS_IDS; barred: places;
// y: [chosen rows, stride], pairs of an id and the bits of its log-probability; 0xffffffff for none.

struct Arguments {
  rows: u32,
  candidates: u32,
  // How many are wanted, and a place that is instead, if not 0xffffffff.
  wanted: u32,
  given: u32,
  barred: u32,
  // The row of y that is written first, and words of its rows.
  first_row: u32,
  stride: u32,
}

override HAS_IDS: u32 = 0u;

@group(0) @binding(0) var<uniform> arguments: Arguments;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read> barred: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

const LANES = 256u;
const NONE = 0xffffffffu;

var<workgroup> values: array<f32, LANES>;
var<workgroup> places: array<u32, LANES>;

fn is_better(value: f32, place: u32, other: f32, other_place: u32) -> bool {
  return value > other || (value == other && place < other_place);
}

fn is_barred(place: u32) -> bool {
  for (var i = 0u; i < arguments.barred; i++) {
    if (barred[i] == place) { return true; }
  }
  return false;
}

fn id_of(place: u32) -> u32 {
  if (HAS_IDS == 1u) { return ids[place]; }
  return place;
}

@compute @workgroup_size(256)
fn choose(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = workgroup.y * workgroups.x + workgroup.x;
  if (row >= arguments.rows) { return; }
  let source = row * arguments.candidates;
  let to = (arguments.first_row + row) * arguments.stride;

  // The logarithm of the sum of all exponentials, barred ones included.
  var greatest = -3e38;
  for (var i = lane; i < arguments.candidates; i += LANES) { greatest = max(greatest, logits[source + i]); }
  values[lane] = greatest;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (lane < half) { values[lane] = max(values[lane], values[lane + half]); }
    workgroupBarrier();
  }
  greatest = values[0];
  workgroupBarrier();
  var sum = 0.0;
  for (var i = lane; i < arguments.candidates; i += LANES) {
    sum += exp(max(logits[source + i] - greatest, -87.0));
  }
  values[lane] = sum;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (lane < half) { values[lane] += values[lane + half]; }
    workgroupBarrier();
  }
  let log_sum = log(max(values[0], 1e-37));
  workgroupBarrier();

  if (arguments.given != NONE) {
    if (lane == 0u) {
      y[to] = id_of(arguments.given);
      y[to + 1u] = bitcast<u32>(logits[source + arguments.given] - greatest - log_sum);
    }
    return;
  }
  // Those not yet taken come after the last one in the order that is asked for.
  var last = 3e38;
  var last_place = 0u;
  for (var n = 0u; n < arguments.wanted; n++) {
    var best = -3e38;
    var best_place = NONE;
    for (var i = lane; i < arguments.candidates; i += LANES) {
      let value = logits[source + i];
      let is_left = n == 0u || is_better(last, last_place, value, i);
      if (is_left && (best_place == NONE || is_better(value, i, best, best_place)) && !is_barred(i)) {
        best = value;
        best_place = i;
      }
    }
    values[lane] = best;
    places[lane] = best_place;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
      if (lane < half) {
        let other = places[lane + half];
        let mine = places[lane];
        if (other != NONE && (mine == NONE || is_better(values[lane + half], other, values[lane], mine))) {
          values[lane] = values[lane + half];
          places[lane] = other;
        }
      }
      workgroupBarrier();
    }
    last = values[0];
    let place = places[0];
    workgroupBarrier();
    if (lane == 0u) {
      var id = NONE;
      if (place != NONE) { id = id_of(place); }
      y[to + 2u * n] = id;
      y[to + 2u * n + 1u] = bitcast<u32>(last - greatest - log_sum);
    }
    // With none left there is none after it either.
    last_place = place;
    if (place == NONE) { last = -3e38; }
  }
}
