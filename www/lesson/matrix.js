// A matrix as a picture: a cell a number. Pointing at a cell, or going to it by keys, says what it is.

import { make, newId } from './dom.js';

/**
 * @typedef {object} Content
 * @property {number} rows @property {number} columns
 * @property {(row: number, column: number) => number} value From 0 to 1, or from −1 to 1 where signed.
 * @property {(row: number, column: number) => string} tell What a cell is, in words.
 * @property {boolean} [signed]
 * @property {(row: number, column: number) => boolean} [visible] What is not is left empty.
 * @property {readonly string[]} [rowNames] @property {readonly string[]} [columnNames]
 */

/** Names stand beside cells of this height and width at least, in pixels. */
const ROOM = 11;
/** Cells are no larger. */
const LARGEST = 44;

/** Colours change with the device's: all pictures that are shown are drawn again. @type {Set<WeakRef<Matrix>>} */
const shownOnes = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const one of shownOnes) {
    const matrix = one.deref();
    if (matrix === undefined) shownOnes.delete(one);
    else matrix.redraw();
  }
});

/** @param {number} part From 0 to 1. @param {number} count */
const placeOf = (part, count) => Math.min(Math.max(Math.floor(part * count), 0), count - 1);

const always = () => true;

/** @type {Content} */
const NOTHING = { rows: 1, columns: 1, value: () => 0, tell: () => '' };

export class Matrix {
  /** What is put into the page. */
  element;
  #canvas;
  #rows = make('div', { class: 'row-names', 'aria-hidden': 'true' });
  #columns = make('div', { class: 'column-names', 'aria-hidden': 'true' });
  #readout = make('p', { class: 'readout', 'aria-live': 'polite' });
  /** @type {Content} */
  #content = NOTHING;
  /** @type {[number, number] | undefined} */
  #at;
  #pointed;
  #hint;

  /**
   * @param {string} label What it is a picture of. @param {string} hint Said while no cell is pointed at.
   * @param {(cell: [number, number] | undefined) => void} [pointed]
   */
  constructor(label, hint, pointed = () => undefined) {
    this.#pointed = pointed;
    this.#hint = hint;
    this.#readout.textContent = hint;
    const keys = make('span', { id: newId(), class: 'hidden' }, 'Arrow keys go from cell to cell.');
    this.#canvas = make('canvas', {
      tabindex: 0,
      role: 'application',
      'aria-label': label,
      'aria-describedby': keys.id,
    });
    const cells = make('div', { class: 'cells' }, this.#columns, this.#rows, this.#canvas);
    this.element = make('div', { class: 'matrix' }, cells, this.#readout, keys);
    this.#listen();
    new ResizeObserver(() => {
      this.redraw();
    }).observe(this.#canvas);
    shownOnes.add(new WeakRef(this));
  }

  /** Shows nothing, and lets go of what it has shown. */
  clear() {
    this.#at = undefined;
    this.show(NOTHING);
  }

  /** @param {Content} content */
  show(content) {
    this.#content = content;
    const { rows, columns, rowNames = [], columnNames = [] } = content;
    const { style } = this.element;
    style.setProperty('--rows', String(rows));
    style.setProperty('--columns', String(columns));
    style.setProperty('--width', `${columns * LARGEST}px`);
    this.#rows.replaceChildren(...rowNames.map((name) => make('span', { dir: 'auto' }, name)));
    this.#columns.replaceChildren(...columnNames.map((name) => make('span', { dir: 'auto' }, name)));
    if (this.#at !== undefined && (this.#at[0] >= rows || this.#at[1] >= columns)) this.point(undefined);
    else this.point(this.#at);
    this.redraw();
  }

  /** The picture alone, for an export. */
  get canvas() {
    return this.#canvas;
  }

  /** @param {[number, number] | undefined} cell */
  point(cell) {
    this.#at = cell;
    this.#readout.textContent = cell === undefined ? this.#hint : this.#content.tell(...cell);
    for (const [names, place] of /** @type {const} */ ([
      [this.#rows, cell?.[0]],
      [this.#columns, cell?.[1]],
    ])) {
      for (const [index, name] of [...names.children].entries())
        name.classList.toggle('lit', index === place);
    }
    this.#pointed(cell);
    this.redraw();
  }

  redraw() {
    const { rows, columns, value, signed = false, visible = always } = this.#content;
    const { clientWidth, clientHeight } = this.#canvas;
    const dense = devicePixelRatio;
    const [width, height] = [Math.round(clientWidth * dense), Math.round(clientHeight * dense)];
    if (width === 0 || height === 0) return;
    if (this.#canvas.width !== width) this.#canvas.width = width;
    if (this.#canvas.height !== height) this.#canvas.height = height;
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    this.element.classList.toggle('narrow', clientWidth / columns < ROOM || clientHeight / rows < ROOM);
    const { color: more, outlineColor: less, borderColor: line } = getComputedStyle(this.#canvas);
    context.clearRect(0, 0, width, height);
    const [wide, high] = [width / columns, height / rows];
    // Thin gaps between cells that are large enough to have them.
    const gap = Math.min(wide, high) > 8 * dense ? dense : 0;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const [x, y] = [Math.round(column * wide), Math.round(row * high)];
        const [right, bottom] = [Math.round((column + 1) * wide), Math.round((row + 1) * high)];
        if (!visible(row, column)) continue;
        const number = value(row, column);
        context.globalAlpha = 0.6;
        context.fillStyle = line;
        context.fillRect(x, y, right - x - gap, bottom - y - gap);
        // Small weights would hardly be seen.
        context.globalAlpha = Math.min(Math.abs(number), 1) ** (signed ? 1 : 0.7);
        context.fillStyle = signed && number < 0 ? less : more;
        context.fillRect(x, y, right - x - gap, bottom - y - gap);
      }
    }
    if (this.#at === undefined) return;
    const [row, column] = this.#at;
    context.globalAlpha = 1;
    context.strokeStyle = getComputedStyle(this.element).color;
    context.lineWidth = 2 * dense;
    context.strokeRect(column * wide, row * high, wide - gap, high - gap);
  }

  #listen() {
    const canvas = this.#canvas;
    canvas.addEventListener('pointermove', (event) => {
      if (event.pointerType !== 'touch') this.point(this.#under(event));
    });
    canvas.addEventListener('click', (event) => {
      this.point(this.#under(event));
    });
    canvas.addEventListener('pointerleave', ({ pointerType }) => {
      if (pointerType !== 'touch' && document.activeElement !== canvas) this.point(undefined);
    });
    canvas.addEventListener('blur', () => {
      this.point(undefined);
    });
    canvas.addEventListener('focus', () => {
      if (canvas.matches(':focus-visible')) this.point(this.#at ?? [0, 0]);
    });
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const cell = this.#after(event.key);
      if (cell === 'none') return;
      event.preventDefault();
      this.point(cell);
    });
  }

  /** @param {MouseEvent} event @returns {[number, number]} */
  #under({ clientX, clientY }) {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    const { rows, columns } = this.#content;
    return [placeOf((clientY - top) / height, rows), placeOf((clientX - left) / width, columns)];
  }

  /** @param {string} key @returns {[number, number] | undefined | 'none'} */
  #after(key) {
    const { rows, columns } = this.#content;
    if (key === 'Escape') return undefined;
    const [row, column] = this.#at ?? [0, -1];
    if (key === 'ArrowRight') return [row, Math.min(column + 1, columns - 1)];
    if (key === 'ArrowLeft') return [row, Math.max(column - 1, 0)];
    if (key === 'ArrowDown') return [Math.min(row + 1, rows - 1), Math.max(column, 0)];
    if (key === 'ArrowUp') return [Math.max(row - 1, 0), Math.max(column, 0)];
    if (key === 'Home') return [row, 0];
    if (key === 'End') return [row, columns - 1];
    return 'none';
  }
}
