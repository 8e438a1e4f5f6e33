// What the 64 lanes of a workgroup make together, in the same order for every workgroup.

const LANES = 64u;

var<workgroup> shares: array<f32, LANES>;

// The sum of a value of each lane.
fn sum_of_lanes(value: f32, lane: u32) -> f32 {
  workgroupBarrier();
  shares[lane] = value;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    if (lane < half) { shares[lane] += shares[lane + half]; }
    workgroupBarrier();
  }
  return shares[0];
}
