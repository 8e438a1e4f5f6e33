// Masks: which keys a query sees. A predicate of two places, as in the package, never a table.

import { softmax } from './arithmetic.js';

/** @typedef {'none' | 'causal' | 'window' | 'padding'} Mask */

/**
 * @param {Mask} mask @param {number} query @param {number} key
 * @param {number} size Of the window, or of the text before its padding begins.
 */
export function visible(mask, query, key, size) {
  if (mask === 'causal') return key <= query;
  if (mask === 'window') return key <= query && query - key < size;
  if (mask === 'padding') return key < size;
  return true;
}

/** Scores that are invented, of whole and half numbers. @param {number} query @param {number} key */
export const score = (query, key) => ((3 * query + 5 * key) % 7) / 2;

/** The weights of all queries; what is masked has exactly 0. @param {Mask} mask @param {number} length @param {number} size */
export const weightsUnder = (mask, length, size) =>
  Array.from({ length }, (_, query) =>
    softmax(
      Array.from({ length }, (__, key) => score(query, key)),
      (key) => visible(mask, query, key, size),
    ),
  );
