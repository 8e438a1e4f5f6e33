// All heads of one kind of attention: a small picture each, a row a layer.

import { make, newId, shown } from '../dom.js';
import { figuresOf, headOf } from '../numbers/attention.js';

/** @typedef {import('../numbers/attention.js').AttentionWeights} AttentionWeights */

/** Pixels of a small picture. */
const SIZE = 48;
/** Layers down and heads to the right. @type {Readonly<Record<string, readonly [number, number]>>} */
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
/** Of the weights that are painted. */
const FAINTEST = 0.01;

/**
 * @param {AttentionWeights} attention @param {boolean} isOneText Whether queries and keys are of one text, so that they have distances.
 * @param {(layer: number, head: number) => string} mark What is known of a head; empty for nothing.
 * @param {(layer: number, head: number) => void} chosen Places in the lists.
 * @returns {{ element: HTMLElement, repaint: () => void }} `repaint`: for new colours; it holds all weights.
 */
export function headsGrid(attention, isOneText, mark, chosen) {
  const { layers, heads, queryLen, keyLen } = attention;
  const keys = make('span', { id: newId(), class: 'hidden' }, 'Arrow keys go from head to head.');
  const grid = make('div', {
    class: 'heads-grid',
    role: 'group',
    'aria-label': 'Heads',
    'aria-describedby': keys.id,
  });
  // There may be hundreds: one of them is stopped at, and arrow keys go on from there.
  grid.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const move = ARROWS[event.key];
    const all = [...grid.querySelectorAll('button')];
    const at = all.findIndex((button) => button === event.target);
    if (at < 0 || move === undefined) return;
    event.preventDefault();
    const [row, column] = [Math.floor(at / heads.length) + move[0], (at % heads.length) + move[1]];
    // A row ends at its edges.
    if (column < 0 || column >= heads.length) return;
    const next = all[row * heads.length + column];
    next?.focus();
    next?.click();
  });
  /** @type {(() => void)[]} */
  const pictures = [];
  for (const [layer, layerNumber] of layers.entries()) {
    const row = make(
      'div',
      { class: 'heads-row' },
      make('span', { class: 'quiet' }, `Layer ${layerNumber + 1}`),
    );
    for (const [head, headNumber] of heads.entries()) {
      const weights = headOf(attention, layer, head);
      const { entropy, distance } = figuresOf(weights, queryLen, keyLen);
      const known = mark(layer, head);
      const parts = [
        `Layer ${layerNumber + 1}, head ${headNumber + 1}`,
        `entropy ${shown(entropy, 2)} bits`,
        isOneText ? `distance ${shown(distance, 1)}` : '',
        known,
      ];
      const label = parts.filter(Boolean).join(', ');
      const canvas = make('canvas', { width: SIZE, height: SIZE });
      const button = make(
        'button',
        { type: 'button', 'aria-label': label, title: label, 'aria-pressed': 'false', tabindex: -1 },
        canvas,
        make('small', {}, shown(entropy, 1), make('br'), isOneText ? shown(distance, 1) : ''),
      );
      if (known !== '') button.classList.add('known');
      button.addEventListener('click', () => {
        press(grid, button);
        chosen(layer, head);
      });
      pictures.push(() => {
        paint(canvas, weights, queryLen, keyLen);
      });
      row.append(button);
    }
    grid.append(row);
  }
  grid.append(keys);
  const repaint = () => {
    for (const picture of pictures) picture();
  };
  // Colours are known once it is in the page.
  requestAnimationFrame(repaint);
  return { element: grid, repaint };
}

/** @param {HTMLElement} grid @param {Element} pressed */
function press(grid, pressed) {
  for (const button of grid.querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button === pressed));
    button.tabIndex = button === pressed ? 0 : -1;
  }
}

/** The head that is looked at. @param {HTMLElement} grid @param {number} layer @param {number} head */
export function pressHead(grid, layer, head) {
  const button = grid.children[layer]?.querySelectorAll('button')[head];
  if (button !== undefined) press(grid, button);
}

/** @param {HTMLCanvasElement} canvas @param {Float32Array} weights @param {number} rows @param {number} columns */
function paint(canvas, weights, rows, columns) {
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.clearRect(0, 0, SIZE, SIZE);
  context.fillStyle = getComputedStyle(canvas).color;
  const [wide, high] = [SIZE / columns, SIZE / rows];
  for (const [place, weight] of weights.entries()) {
    // Rows sum to 1: of many keys nearly all are fainter than can be seen.
    if (weight < FAINTEST) continue;
    context.globalAlpha = Math.min(weight, 1) ** 0.7;
    context.fillRect((place % columns) * wide, Math.floor(place / columns) * high, wide, high);
  }
}
