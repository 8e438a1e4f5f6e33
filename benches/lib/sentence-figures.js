// Figures of embedding from its runs, ours beside the best of the others, and what falls short of the goals.

import { CALLS, LEAST_COSINE, RATIO_WANTED, VISIT_LIMIT, memoryLimit } from './encoders.js';
import { spread } from './statistics.js';
import { kilobytes, megabytes } from './table.js';

/** Figures of runs over so many sentences; of both, more is better. */
export function figuresOf(runs, sentences) {
  return {
    perSecond: spread(runs.map(({ milliseconds }) => (sentences * 1000) / milliseconds)),
    perCpuSecond: spread(runs.map(({ cpuSeconds }) => sentences / cpuSeconds)),
  };
}

/** Least and mean cosine of vectors and the reference's of the same texts. */
export function agreement(vectors, reference) {
  if (vectors.length !== reference.length || vectors.length === 0) {
    throw new RangeError(`${vectors.length} vectors, ${reference.length} expected`);
  }
  const cosines = vectors.map((vector, at) => cosine(vector, reference[at]));
  return {
    least: Math.min(...cosines),
    mean: cosines.reduce((sum, value) => sum + value, 0) / cosines.length,
  };
}

function cosine(a, b) {
  if (a.length !== b.length) throw new RangeError(`a vector of ${a.length} numbers, ${b.length} expected`);
  const dot = (x, y) => x.reduce((sum, value, at) => sum + value * y[at], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** For each arithmetic and way to call, ours over whoever is best at each figure among the others. `bestCall`: over the best
 * of them whichever way it is called. */
export function comparisons(engines) {
  return engines
    .filter(({ side }) => side === 'multihead')
    .flatMap((ours) => {
      const others = engines.filter(
        ({ side, precision }) => side !== 'multihead' && precision === ours.precision,
      );
      if (others.length === 0) return [];
      return CALLS.map(({ key, words }) => {
        const best = (figure, ways) =>
          Math.max(...others.flatMap((other) => ways.map((way) => other[way][figure].median)));
        const over = (figure, ways) => ours[key][figure].median / best(figure, ways);
        const all = CALLS.map((call) => call.key);
        return {
          precision: ours.precision,
          call: words,
          perSecond: over('perSecond', [key]),
          perCpuSecond: over('perCpuSecond', [key]),
          bestCall: { perSecond: over('perSecond', all), perCpuSecond: over('perCpuSecond', all) },
        };
      });
    });
}

/** A line for each goal that is missed. Where the machine is busy, speed is told by CPU seconds. `memory`: by arithmetic the
 * bytes of weights, and of wasm memory at the end. `visitBytes`: of a first visit, if it was looked at. */
export function shortfalls({ device = 'cpu', compared, busy, engines, memory, visitBytes }) {
  const ratio = RATIO_WANTED[device];
  const figure = busy ? 'perCpuSecond' : 'perSecond';
  const unit = busy ? 'sentences a CPU second' : 'sentences/s';
  const slow = compared
    .filter((one) => !(one[figure] >= ratio))
    .map(
      (one) =>
        `${one.precision}, ${one.call}: ${one[figure].toFixed(2)}× ${unit} of the best peer, ${ratio}× wanted`,
    );
  const different = engines
    .filter(({ precision, agrees }) => !(agrees.least >= LEAST_COSINE[precision]))
    .map(
      ({ name, precision, agrees }) =>
        `${name}: a cosine of ${agrees.least.toFixed(4)} to the reference, ${LEAST_COSINE[precision]} wanted`,
    );
  const large = memory
    .filter(({ weights, atEnd }) => !(atEnd <= memoryLimit(weights)))
    .map(
      ({ precision, weights, atEnd }) =>
        `${precision}: ${kilobytes(atEnd)} of wasm memory, at most ${kilobytes(memoryLimit(weights))} wanted`,
    );
  const heavy =
    visitBytes !== undefined && !(visitBytes <= VISIT_LIMIT)
      ? [`a first visit takes ${megabytes(visitBytes)}, at most ${megabytes(VISIT_LIMIT)} wanted`]
      : [];
  return [...slow, ...different, ...large, ...heavy];
}
