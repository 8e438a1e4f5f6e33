// What a softmax makes of q·k as vectors get wider, with and without the division by √d.

import { dot, softmax, spread } from './arithmetic.js';

/** Keys that a query chooses among. */
export const KEYS = 8;
/** Queries that the averages are over. */
export const DRAWS = 100;

/** Widths of the slider. */
export const WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * Numbers that look random and are the same at every visit: mulberry32, 32 bits at a time.
 * @param {number} seed
 */
export function randomBits(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Components are +1 or −1: mean 0, variance 1. @param {number} width @param {() => number} bits */
const vector = (width, bits) => Array.from({ length: width }, () => (bits() & 1) * 2 - 1);

/** @typedef {{ scores: number[], plain: number[], scaled: number[] }} Draw A query's scores, and their two softmaxes. */

/**
 * A query and {@link KEYS} keys of independent components; q·k then has mean 0 and variance d.
 * @param {number} width @param {number} seed @returns {Draw}
 */
export function draw(width, seed) {
  const bits = randomBits(seed);
  const query = vector(width, bits);
  const scores = Array.from({ length: KEYS }, () => dot(query, vector(width, bits)));
  return { scores, plain: softmax(scores), scaled: softmax(scores.map((score) => score / Math.sqrt(width))) };
}

/**
 * How much a softmax still answers to a change of its scores: Σ wᵢ(1 − wᵢ), the sum of its slopes ∂wᵢ/∂xᵢ. 0 where one
 * weight has all.
 * @param {readonly number[]} weights
 */
export const slope = (weights) => weights.reduce((sum, weight) => sum + weight * (1 - weight), 0);

/** Averages over {@link DRAWS} queries. @param {number} width */
export function averages(width) {
  const draws = Array.from({ length: DRAWS }, (_, seed) => draw(width, seed + 1));
  const mean = (/** @type {(one: Draw) => number} */ of) =>
    draws.reduce((sum, one) => sum + of(one), 0) / draws.length;
  return {
    spread: spread(draws.flatMap(({ scores }) => scores)),
    plain: { largest: mean(({ plain }) => Math.max(...plain)), slope: mean(({ plain }) => slope(plain)) },
    scaled: {
      largest: mean(({ scaled }) => Math.max(...scaled)),
      slope: mean(({ scaled }) => slope(scaled)),
    },
  };
}
