// What a fixed vector leaves for each word, and what attention does.

import { make, shown, slider, weigh } from '../dom.js';
import { perWord } from '../numbers/counts.js';

/** Width of the vectors. */
const WIDTH = 64;

/** @param {HTMLElement} stage */
export function bottleneck(stage) {
  const rows = {
    fixed: row('One vector for the whole text'),
    attention: row('Attention: a vector for each word'),
  };
  const show = (/** @type {number} */ length) => {
    const numbers = perWord(length, WIDTH);
    rows.fixed.set(numbers.fixed);
    rows.attention.set(numbers.attention);
  };
  stage.append(
    slider({ label: 'Words in the text', min: 1, max: 64, value: 8, say: (value) => String(value) }, show),
    make('div', { class: 'bars' }, rows.fixed.element, rows.attention.element),
  );
  show(8);
}

/** @param {string} name */
function row(name) {
  const bar = make('span', { class: 'bar' });
  const number = make('strong');
  const element = make('div', { class: 'bar-row' }, make('span', {}, name), bar, number);
  return {
    element,
    set(/** @type {number} */ value) {
      weigh(bar, value / WIDTH);
      number.textContent = `${shown(value, value < 10 ? 1 : 0)} numbers a word`;
    },
  };
}
