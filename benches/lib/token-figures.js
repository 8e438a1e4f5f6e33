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

/** Figures of runs: tokens and milliseconds and CPU seconds of prompts, and of the new tokens whose time was taken. */
export function figuresOf(runs) {
  return {
    prompt: spread(runs.map(({ promptTokens, promptMs }) => (promptTokens * 1000) / promptMs)),
    generated: spread(runs.map(({ timedTokens, newMs }) => (timedTokens * 1000) / newMs)),
    promptPerCpuSecond: spread(runs.map(({ promptTokens, promptCpu }) => promptTokens / promptCpu)),
    generatedPerCpuSecond: spread(runs.map(({ timedTokens, newCpu }) => timedTokens / newCpu)),
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
