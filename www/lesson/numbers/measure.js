// What is measured, and what is counted beside it.

import { keptBytes, layerCosts, steps } from './counts.js';

/** Of all-MiniLM-L6-v2. */
const [LAYERS, HEADS, HEAD_WIDTH] = [6, 12, 32];

/**
 * Of a text of so many tokens, in all layers: multiply–adds of q·k and of weights × values, bytes of keys and values as float32;
 * and the steps that a recurrent layer would take one after the other.
 * @param {number} length
 */
export function counted(length) {
  const { scores, mixing } = layerCosts(length, HEADS, HEAD_WIDTH);
  return {
    work: LAYERS * (scores + mixing),
    kept: LAYERS * keptBytes(length, HEADS * HEAD_WIDTH),
    steps: steps(length).recurrent,
  };
}

/** Tokens of the texts that are measured; the model reads no more. */
export const LENGTHS = [16, 32, 64, 128, 256];

/** A text of so many tokens, the two marks of the model among them. @param {number} length */
export const textOf = (length) => Array.from({ length: length - 2 }, () => 'the').join(' ');

/** How many times as much as before. @param {number} value @param {number | undefined} before */
export const times = (value, before) => (before === undefined ? '' : `× ${(value / before).toFixed(1)}`);

/** Runs of which the shortest counts: whatever else the device does only takes longer. */
export const RUNS = 5;

/**
 * Milliseconds of a run; it is run again until the clock moves, which in some browsers it does in steps longer than a run.
 * @param {() => Promise<unknown>} work @param {() => number} [now] Milliseconds.
 */
export async function timeOf(work, now = () => performance.now()) {
  const start = now();
  for (let runs = 1; ; runs++) {
    await work();
    const passed = now() - start;
    if (passed > 0) return passed / runs;
  }
}
