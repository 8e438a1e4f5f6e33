// How often three small models turn strings of letters round without a mistake, by the strings' length: measured when
// they were trained (tests/fixtures/letters/reversal.py).

/** @typedef {'exact' | 'letters'} Measure The whole string right, or letters that are right at their place. */
/**
 * @typedef {object} Accuracy
 * @property {[number, number]} trainedLengths @property {number} trials Strings of each length.
 * @property {number[]} lengths
 * @property {Record<string, { exact: number[], letters: number[] }>} models Shares from 0 to 1, one a length.
 */

/** The models, in the order in which they were invented. @type {readonly (readonly [string, string])[]} */
export const MODELS = [
  ['reverse-fixed', 'Fixed vector (GRU)'],
  ['reverse-additive', 'Additive attention (GRU)'],
  ['reverse-transformer', 'Transformer'],
];

/** @param {Accuracy} accuracy @param {Measure} measure */
export const curves = ({ lengths, models }, measure) =>
  MODELS.map(([id, name]) => ({
    name,
    points: lengths.map((x, place) => ({ x, y: models[id]?.[measure][place] ?? NaN })),
  }));
