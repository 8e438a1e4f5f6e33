// What attention knows of the order of words: a single head, without positions and with them.

import { dot, mix, softmax } from './arithmetic.js';
import { sinusoidal } from './positions.js';

/** Invented, of width 4. @type {readonly { word: string, vector: readonly number[] }[]} */
export const SENTENCE = [
  { word: 'dog', vector: [1, 0, 1, 0] },
  { word: 'bites', vector: [0, 2, 0, 0] },
  { word: 'man', vector: [1, 0, 0, 1] },
];

/**
 * Outputs of a head whose queries, keys and values are its inputs.
 * @param {readonly (readonly number[])[]} rows
 */
export function attend(rows) {
  return rows.map((query) => {
    const scores = rows.map((key) => dot(query, key) / Math.sqrt(query.length));
    return mix(softmax(scores), rows);
  });
}

/**
 * The head's output for each word, in the order in which they are said.
 * @param {readonly { word: string, vector: readonly number[] }[]} words @param {boolean} positions Whether PE(p) is added.
 */
export function outputs(words, positions) {
  const rows = words.map(({ vector }, place) => {
    const encoding = sinusoidal(place, vector.length);
    return vector.map((value, column) => value + (positions ? (encoding[column] ?? 0) : 0));
  });
  const results = attend(rows);
  return words.map(({ word }, place) => ({ word, output: results[place] ?? [] }));
}

/** With the first word and the last in each other's place. @template T @param {readonly T[]} words */
export const swapped = (words) => [...words.slice(-1), ...words.slice(1, -1), ...words.slice(0, 1)];

/** Each word's output before and after the swap, and how far they are apart at most. @param {boolean} positions */
export function comparison(positions) {
  const after = outputs(swapped(SENTENCE), positions);
  return outputs(SENTENCE, positions).map(({ word, output }) => {
    const other = after.find((one) => one.word === word)?.output ?? [];
    const apart = Math.max(...output.map((value, column) => Math.abs(value - (other[column] ?? 0))));
    return { word, before: output, after: other, apart };
  });
}
