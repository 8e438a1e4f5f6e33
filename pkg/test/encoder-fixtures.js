// What transformers makes of encoders, as tests/fixtures/encoders has it.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

/** Folders of small encoders. */
export const SMALL = new URL('../../tests/fixtures/encoders/', import.meta.url);

/** @param {number} bits A number of 16 bits. */
function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits >> 15, (bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return sign === 0 ? size : -size;
}

/** all-minilm-l6-v2: odd texts with their ids and vectors. */
export const MINILM = read();

function read() {
  const told =
    /** @type {{ width: number, lines: number, odd: { text: string, ids: number[], truncated: boolean }[] }} */ (
      JSON.parse(readFileSync(new URL('minilm.json', SMALL), 'utf8'))
    );
  const { width, lines, odd } = told;
  const bytes = readFileSync(new URL('minilm.f16', SMALL));
  const halves = new Uint16Array(Uint8Array.from(bytes).buffer);
  assert.equal(halves.length, (2 * lines + odd.length) * width);
  /** @param {number} row */
  const vector = (row) => Float32Array.from(halves.subarray(row * width, (row + 1) * width), fromHalf);
  return { width, odd: odd.map((one, place) => ({ ...one, vector: vector(2 * lines + place) })) };
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function cosine(a, b) {
  assert.equal(a.length, b.length);
  let [product, first, second] = [0, 0, 0];
  for (let place = 0; place < a.length; place++) {
    const [x = NaN, y = NaN] = [a[place], b[place]];
    product += x * y;
    first += x * x;
    second += y * y;
  }
  return product / Math.sqrt(first * second);
}

/**
 * @typedef {{ text: string, truncated: boolean, mean: number[], cls: number[], max: number[], sentence?: number[], scores: number[],
 *   first: { label: string, score: number, start: number, end: number }[], top: { id: number, score: number }[] }} ExpectedText
 */

/** @param {string} name */
export function expectedOf(name) {
  const { labels, texts } = /** @type {{ labels: string[], texts: ExpectedText[] }} */ (
    JSON.parse(readFileSync(new URL(`${name}/expected.json`, SMALL), 'utf8'))
  );
  return { labels, texts, hasModules: existsSync(new URL(`${name}/modules.json`, SMALL)) };
}

/** The offset in UTF-16 of a code point. @param {string} text @param {number} place */
export function utf16(text, place) {
  return Array.from(text).slice(0, place).join('').length;
}
