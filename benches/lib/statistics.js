// Figures from repeated runs.

/** Median of some numbers: the mean of the middle two where their count is even. */
export function median(values) {
  return percentile(values, 50);
}

/** Linear interpolation between the closest ranks. */
export function percentile(values, percent) {
  if (values.length === 0) throw new RangeError('no values');
  const sorted = values.toSorted((a, b) => a - b);
  const rank = ((sorted.length - 1) * percent) / 100;
  const below = Math.floor(rank);
  const above = Math.ceil(rank);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - below);
}

/** Median, least and greatest. */
export function spread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Words as separated by white space. */
export function countWords(lines) {
  return lines.reduce((sum, line) => sum + line.split(/\s+/u).filter((word) => word !== '').length, 0);
}
