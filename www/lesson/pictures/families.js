// Three families of one block: what each lets a word see.

import { draw, make } from '../dom.js';
import { visible } from '../numbers/visible.js';

/** @typedef {import('../numbers/visible.js').Mask} Mask */
/** @typedef {{ name: string, mask: Mask, queries: string, keys: string }} Layer */

/** Words in the small pictures. */
const COUNT = 6;

/** @type {readonly { name: string, layers: readonly Layer[], good: string, here: string }[]} */
export const FAMILIES = [
  {
    name: 'Encoder only',
    layers: [{ name: 'Self-attention', mask: 'none', queries: 'text', keys: 'text' }],
    good: 'Reads a whole text at once: search, labels, gaps. It writes nothing.',
    here: 'Search tab: all-MiniLM-L6-v2',
  },
  {
    name: 'Decoder only',
    layers: [{ name: 'Self-attention', mask: 'causal', queries: 'text so far', keys: 'text so far' }],
    good: 'Writes on, a token at a time, and never looks ahead: chat, stories, code.',
    here: 'Chat tab: SmolLM2-135M',
  },
  {
    name: 'Encoder and decoder',
    layers: [
      { name: 'Encoder: self-attention', mask: 'none', queries: 'source', keys: 'source' },
      { name: 'Decoder: self-attention', mask: 'causal', queries: 'target so far', keys: 'target so far' },
      { name: 'Cross-attention', mask: 'none', queries: 'target so far', keys: 'source' },
    ],
    good: 'Reads one text and writes another: translation, spelling, dates.',
    here: 'Translate tab: Firefox’s models, whose decoder has a recurrent cell instead of its self-attention',
  },
];

/** @param {HTMLElement} stage */
export function families(stage) {
  stage.append(
    make(
      'div',
      { class: 'families' },
      ...FAMILIES.map(({ name, layers, good, here }) =>
        make(
          'div',
          {},
          make('h3', {}, name),
          make('div', { class: 'who-sees' }, ...layers.map(layerOf)),
          make('p', {}, good),
          make('p', { class: 'quiet' }, here),
        ),
      ),
    ),
  );
}

/** @param {Layer} layer */
function layerOf({ name, mask, queries, keys }) {
  const cells = Array.from({ length: COUNT * COUNT }, (_, place) => {
    const [row, column] = [Math.floor(place / COUNT), place % COUNT];
    const seen = visible(mask, row, column, COUNT);
    return draw('rect', {
      x: column * 10 + 1,
      y: row * 10 + 1,
      width: 8,
      height: 8,
      class: seen ? 'seen' : 'unseen',
    });
  });
  return make(
    'div',
    {},
    draw(
      'svg',
      { viewBox: `0 0 ${COUNT * 10} ${COUNT * 10}`, role: 'img', 'aria-label': `${name}, mask: ${mask}` },
      ...cells,
    ),
    make('p', {}, make('strong', {}, name), ` ${queries} → ${keys}`),
  );
}
