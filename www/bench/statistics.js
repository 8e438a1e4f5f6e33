// Figures of repeated measurements.

/**
 * The value below which `part` of the values lie (nearest rank).
 * @param {readonly number[]} values @param {number} part Above 0, up to 1.
 */
export function quantile(values, part) {
  const sorted = [...values];
  sorted.sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(part * sorted.length) - 1, 0)] ?? NaN;
}

/** @param {readonly number[]} values */
export function spread(values) {
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

/** @param {readonly number[]} milliseconds */
export function latency(milliseconds) {
  return { p50: quantile(milliseconds, 0.5), p95: quantile(milliseconds, 0.95), calls: milliseconds.length };
}
