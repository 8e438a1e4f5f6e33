// One head over five words, with numbers so small that they can be checked on paper.

import { dot, mix, softmax } from './arithmetic.js';

/** @typedef {import('./arithmetic.js').Vector} Vector */
/** @typedef {{ word: string, query: Vector, key: Vector, value: Vector }} Row */

/**
 * Queries and keys say, in this order: hunter, hunted, deed, time. They are invented; a model learns its own, which
 * have no names. Values lie in a plane.
 * @type {readonly Row[]}
 */
export const WORDS = [
  { word: 'cats', query: [0, 0, 2, 0], key: [2, 0, 0, 0], value: [2, 1] },
  { word: 'chase', query: [2, 2, 0, 0], key: [0, 0, 2, 0], value: [0, 3] },
  { word: 'mice', query: [1, 0, 2, 0], key: [0, 2, 0, 0], value: [-2, 1] },
  { word: 'at', query: [0, 0, 0, 2], key: [0, 0, 0, 1], value: [1, -1] },
  { word: 'night', query: [0, 0, 2, 1], key: [0, 0, 0, 2], value: [-1, -2] },
];

/** Width of queries and keys. */
export const WIDTH = 4;

/**
 * What the query at a place looks up: scores q·k, the same by √d, weights, each weight times its value, and their sum.
 * @param {number} place
 */
export function lookUp(place) {
  const query = WORDS[place]?.query ?? [];
  const scores = WORDS.map(({ key }) => dot(query, key));
  const scaled = scores.map((score) => score / Math.sqrt(WIDTH));
  const weights = softmax(scaled);
  const values = WORDS.map(({ value }) => value);
  const parts = values.map((value, key) => value.map((number) => number * (weights[key] ?? 0)));
  return { query, scores, scaled, weights, parts, context: mix(weights, values) };
}
