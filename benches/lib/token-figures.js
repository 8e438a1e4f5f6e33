// Figures of text generation from its runs, and ours beside the best of the others.

import { spread } from './statistics.js';

/** Columns of the table; of all of them more is better. */
export const FIGURES = [
  { key: 'prompt', head: 'prompt', digits: 0, words: 'prompt tokens/s' },
  { key: 'generated', head: 'generated', digits: 1, words: 'generated tokens/s' },
  { key: 'promptPerCpuSecond', head: 'prompt a CPU s', digits: 0, words: 'prompt tokens a CPU second' },
  {
    key: 'generatedPerCpuSecond',
    head: 'generated a CPU s',
    digits: 1,
    words: 'generated tokens a CPU second',
  },
];

/** Figures of runs `{ promptMs, promptCpu, newMs, newCpu }`: the time of a prompt ends with the first new token, so that
 * the new time is that of one token fewer than were written. */
export function figuresOf(runs, promptTokens, newTokens) {
  const further = newTokens - 1;
  return {
    prompt: spread(runs.map(({ promptMs }) => (promptTokens * 1000) / promptMs)),
    generated: spread(runs.map(({ newMs }) => (further * 1000) / newMs)),
    promptPerCpuSecond: spread(runs.map(({ promptCpu }) => promptTokens / promptCpu)),
    generatedPerCpuSecond: spread(runs.map(({ newCpu }) => further / newCpu)),
  };
}

/** For each figure a line: ours over whoever is best at it among the others. */
export function ratios(engines) {
  const ours = engines.find(({ side }) => side === 'multihead');
  const others = engines.filter(({ side }) => side !== 'multihead');
  if (ours === undefined || others.length === 0) return [];
  return FIGURES.map(({ key, words }) => {
    const [best] = others.toSorted((a, b) => b[key].median - a[key].median);
    return `multihead / ${best.name}: ${(ours[key].median / best[key].median).toFixed(2)}× ${words}`;
  });
}
