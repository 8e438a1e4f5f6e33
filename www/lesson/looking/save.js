// What is looked at, as files: a picture, and numbers.

import { make } from '../dom.js';
import { headOf, nameOf } from '../numbers/attention.js';

/** @typedef {import('../numbers/attention.js').AttentionWeights} AttentionWeights */
/** @typedef {'encoder' | 'decoder' | 'cross'} Kind */

/** Pixels of a cell, and of what the names take. */
const [CELL, NAMES] = [28, 150];

/** @param {string} name @param {Blob} blob */
function give(name, blob) {
  const href = URL.createObjectURL(blob);
  make('a', { href, download: name }).click();
  // The browser has begun to read it by then.
  setTimeout(() => {
    URL.revokeObjectURL(href);
  }, 10_000);
}

/**
 * All heads of the kind that is looked at.
 * @param {string} name @param {{ model: string, text: string, result: string, kind: Kind }} about @param {AttentionWeights} attention
 */
export function saveNumbers(name, about, { weights, ...shape }) {
  // Seven digits are all that a float32 has.
  const numbers = [...weights].map((weight) => Number(weight.toPrecision(7)));
  const text = JSON.stringify({
    ...about,
    shape: '[layers, heads, queryLen, keyLen]',
    ...shape,
    weights: numbers,
  });
  give(`${name}.json`, new Blob([text], { type: 'application/json' }));
}

/**
 * The head that is looked at, with its tokens, in the page's colours.
 * @param {string} name @param {AttentionWeights} attention @param {number} layer @param {number} head @param {HTMLElement} page Whose colours.
 */
export async function savePicture(name, attention, layer, head, page) {
  const { queryLen, keyLen, queryTokens, keyTokens } = attention;
  const canvas = make('canvas', { width: NAMES + keyLen * CELL, height: NAMES + queryLen * CELL });
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser draws no pictures');
  const { color, backgroundColor, accentColor } = getComputedStyle(page);
  context.fillStyle = backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.font = '14px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.fillStyle = color;
  context.textAlign = 'right';
  for (const [row, token] of queryTokens.entries()) {
    context.fillText(nameOf(token), NAMES - 8, NAMES + (row + 0.5) * CELL, NAMES - 12);
  }
  context.textAlign = 'left';
  for (const [column, token] of keyTokens.entries()) {
    context.save();
    context.translate(NAMES + (column + 0.5) * CELL, NAMES - 8);
    context.rotate(-Math.PI / 2);
    context.fillText(nameOf(token), 0, 0, NAMES - 12);
    context.restore();
  }
  context.fillStyle = accentColor;
  for (const [place, weight] of headOf(attention, layer, head).entries()) {
    context.globalAlpha = Math.min(weight, 1) ** 0.7;
    const [x, y] = [NAMES + (place % keyLen) * CELL, NAMES + Math.floor(place / keyLen) * CELL];
    context.fillRect(x, y, CELL - 1, CELL - 1);
  }
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ resolve) => {
    canvas.toBlob(resolve, 'image/png');
  });
  if (blob === null) throw new Error('This browser makes no PNG of a picture this large');
  give(`${name}.png`, blob);
}
