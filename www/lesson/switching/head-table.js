// The heads of a model to switch off: a row a layer, a column a head.

import { make, table, weigh } from '../dom.js';
import { headsOf } from './models.js';

/** @typedef {import('./models.js').Head} Head */
/** @typedef {import('./models.js').Switchable} Switchable */
/** @typedef {{ right: number, of: number, share: number }} Counted Texts right without a head, of all; and the share lost, from 0 to 1. */

const KINDS = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross-attention' };

/** @param {Head} head */
const layerOf = ({ kind, layer }) => `${KINDS[kind]}, layer ${layer + 1}`;

/** @param {Head} head */
export const nameOf = (head) => `${layerOf(head)}, head ${head.head + 1}`;

/** A button a head. They stay while numbers come in: whoever goes by keys keeps the place. */
export class HeadTable {
  element;
  #heads;
  #buttons;
  #cells;
  /** By place. @type {Counted[]} */
  #counted = [];

  /** @param {Switchable} model @param {(place: number) => void} chosen A head was pressed, by its place in `headsOf`. */
  constructor(model, chosen) {
    this.#heads = headsOf(model);
    this.#buttons = this.#heads.map((_, place) => {
      const button = make('button', { type: 'button' });
      button.addEventListener('click', () => {
        chosen(place);
      });
      return button;
    });
    this.#cells = this.#buttons.map((button) => make('td', { class: 'heat' }, button));
    const rows = this.#heads.flatMap((head, place) =>
      head.head === 0 ? [[layerOf(head), ...this.#cells.slice(place, place + model.heads)]] : [],
    );
    const names = Array.from({ length: model.heads }, (_, head) => `Head ${head + 1}`);
    this.element = table('Heads to switch off', ['', ...names], rows);
    this.press(undefined);
  }

  /** @param {number | undefined} off The place of the head that is off, if one is. */
  press(off) {
    for (const [place, button] of this.#buttons.entries()) {
      button.setAttribute('aria-pressed', String(place === off));
      this.#write(place);
    }
  }

  /** Nothing is counted any more. */
  clear() {
    this.#counted = [];
    for (const place of this.#buttons.keys()) this.#write(place);
  }

  /** What is counted of a head. @param {number} place @param {Counted} counted */
  mark(place, counted) {
    this.#counted[place] = counted;
    this.#write(place);
  }

  /** @param {number} place */
  #write(place) {
    const [head, button, cell] = [this.#heads[place], this.#buttons[place], this.#cells[place]];
    if (head === undefined || button === undefined || cell === undefined) return;
    const counted = this.#counted[place];
    const state = button.ariaPressed === 'true' ? 'off' : 'on';
    button.textContent = counted === undefined ? state : String(counted.right);
    const said = counted === undefined ? '' : `: ${counted.right} of ${counted.of} right without it`;
    button.setAttribute('aria-label', `Switch off ${nameOf(head)}${said}`);
    weigh(cell, counted?.share ?? 0);
  }
}
