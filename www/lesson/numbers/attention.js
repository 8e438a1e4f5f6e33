// Figures of a head, from the weights that the package gives.

import { entropy } from './arithmetic.js';

/** @typedef {import('../../../pkg/dist/index.js').AttentionWeights} AttentionWeights */

/**
 * The weights of one head: [queryLen, keyLen], row-major.
 * @param {AttentionWeights} attention @param {number} layer @param {number} head Places in its lists, not their numbers.
 */
export function headOf({ weights, heads, queryLen, keyLen }, layer, head) {
  const size = queryLen * keyLen;
  const start = (layer * heads.length + head) * size;
  return weights.subarray(start, start + size);
}

/** The weights of one query. @param {Float32Array} head @param {number} query @param {number} keyLen */
export const rowOf = (head, query, keyLen) => head.subarray(query * keyLen, (query + 1) * keyLen);

/**
 * Means over all queries of a head: the entropy of its weights in bits, and how many places away the keys stand that it looks at,
 * each by its weight (meaningful where queries and keys are of one text).
 * @param {Float32Array} head @param {number} queryLen @param {number} keyLen
 */
export function figuresOf(head, queryLen, keyLen) {
  let [bits, places] = [0, 0];
  for (let query = 0; query < queryLen; query++) {
    const row = rowOf(head, query, keyLen);
    bits += entropy(row);
    for (const [key, weight] of row.entries()) places += weight * Math.abs(query - key);
  }
  return { entropy: bits / queryLen, distance: places / queryLen };
}

/**
 * Keys that a query looks at, the largest weight first.
 * @param {Float32Array} row @param {number} least
 */
export function lookedAt(row, least) {
  const keys = Array.from(row, (weight, key) => ({ key, weight })).filter(({ weight }) => weight >= least);
  keys.sort((a, b) => b.weight - a.weight);
  return keys;
}

/** How a token is written in a picture. @param {{ text: string }} token */
export const nameOf = ({ text }) => (text === '' ? '∅' : text.trim() === '' ? '␣' : text.trim());
