// The arithmetic of attention, in plain loops: what the pictures show, and nothing of how they are drawn.

/** @typedef {readonly number[]} Vector */

/** @param {Vector} a @param {Vector} b Of the same length. */
export const dot = (a, b) => a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0);

/**
 * exp(xᵢ) / Σ exp(xⱼ); what is not visible gets exactly 0.
 * @param {Vector} scores @param {(place: number) => boolean} [visible]
 */
export function softmax(scores, visible = () => true) {
  const seen = scores.filter((_, place) => visible(place));
  // Without the largest subtracted, exp would overflow; the quotients are the same.
  const largest = Math.max(...seen);
  const parts = scores.map((score, place) => (visible(place) ? Math.exp(score - largest) : 0));
  const sum = parts.reduce((all, part) => all + part, 0);
  return parts.map((part) => part / sum);
}

/** Σ weightᵢ · rowᵢ. @param {Vector} weights @param {readonly Vector[]} rows */
export function mix(weights, rows) {
  const width = rows[0]?.length ?? 0;
  return Array.from({ length: width }, (_, column) =>
    rows.reduce((sum, row, place) => sum + (weights[place] ?? 0) * (row[column] ?? 0), 0),
  );
}

/**
 * Entropy of weights that sum to 1, in bits: 0 where one has all, log₂ n where n share alike.
 * @param {Iterable<number>} weights
 */
export function entropy(weights) {
  let bits = 0;
  for (const weight of weights) if (weight > 0) bits -= weight * Math.log2(weight);
  return bits;
}

/** Standard deviation of all there are (not of a sample). @param {Vector} values */
export function spread(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

/** The place of the largest. @param {ArrayLike<number>} values */
export function largestOf(values) {
  let best = 0;
  for (let place = 1; place < values.length; place++) {
    if ((values[place] ?? 0) > (values[best] ?? 0)) best = place;
  }
  return best;
}
