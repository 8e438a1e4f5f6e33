// The logarithmic axis of a chart: whole powers of ten.

/**
 * From the power below the least value, 1 at most, to the one above the largest; every third from 1 on is named, and the
 * lowest.
 * @param {readonly number[]} values Those that are not above 0 have no place on the axis.
 * @returns {{ bottom: number, top: number, ticks: number[] }}
 */
export function decades(values) {
  const powers = values.filter((value) => value > 0).map((value) => Math.log10(value));
  const lowest = Math.min(0, ...powers.map((power) => Math.floor(power)));
  const highest = Math.max(lowest + 1, ...powers.map((power) => Math.ceil(power)));
  const named = Array.from({ length: Math.floor(Math.max(highest, 0) / 3) + 1 }, (_, place) => 3 * place);
  const ticks = lowest < 0 ? [lowest, ...named] : named;
  return { bottom: 10 ** lowest, top: 10 ** highest, ticks: ticks.map((power) => 10 ** power) };
}
