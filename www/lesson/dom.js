// Elements of the lesson, made in scripts.

const SVG = 'http://www.w3.org/2000/svg';

/** @typedef {Readonly<Record<string, string | number>>} Attributes */
/** @typedef {Node | string} Child */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {Attributes} [attributes] @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/**
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name @param {Attributes} [attributes] @param {...Child} children
 * @returns {SVGElementTagNameMap[Name]}
 */
export function draw(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** A weight from 0 to 1, for the style sheet. @template {HTMLElement | SVGElement} Made @param {Made} made @param {number} weight */
export function weigh(made, weight) {
  made.style.setProperty('--weight', String(weight));
  return made;
}

/** Counts what needs an id of its own. */
let ids = 0;

export const newId = () => `lesson-${++ids}`;

/**
 * A slider over whole numbers, with what it stands at in words.
 * @param {{ label: string, min?: number, max: number, value: number, say?: (value: number) => string }} options
 * @param {(value: number) => void} changed Is not called for the value at the beginning.
 */
export function slider({ label, min = 0, max, value, say = String }, changed) {
  const id = newId();
  const input = make('input', { type: 'range', id, min, max, step: 1, value });
  const output = make('output', { for: id });
  const show = () => {
    const words = say(input.valueAsNumber);
    output.textContent = words;
    input.setAttribute('aria-valuetext', words);
  };
  input.addEventListener('input', () => {
    show();
    changed(input.valueAsNumber);
  });
  show();
  return make('div', { class: 'slider' }, make('label', { for: id }, label), input, output);
}

/**
 * One of several, as buttons in a row.
 * @template {string} Value
 * @param {string} label @param {readonly (readonly [Value, string])[]} options The first is chosen.
 * @param {(value: Value) => void} changed
 */
export function choice(label, options, changed) {
  const name = newId();
  const radios = options.map(([value, words], place) => {
    const input = make('input', { type: 'radio', name, value });
    input.checked = place === 0;
    input.addEventListener('change', () => {
      changed(value);
    });
    return make('label', {}, input, make('span', {}, words));
  });
  return make('fieldset', { class: 'choose' }, make('legend', {}, label), ...radios);
}

/**
 * A table: names of columns, then rows whose first cell names them.
 * @param {string} caption For those who do not see. @param {readonly string[]} head @param {readonly (readonly Child[])[]} rows
 */
export function table(caption, head, rows) {
  return make(
    'table',
    {},
    make('caption', { class: 'hidden' }, caption),
    make('thead', {}, make('tr', {}, ...head.map((name) => make('th', { scope: 'col' }, name)))),
    make(
      'tbody',
      {},
      ...rows.map(([name = '', ...cells]) =>
        make(
          'tr',
          {},
          make('th', { scope: 'row' }, name),
          ...cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make('td', {}, cell))),
        ),
      ),
    ),
  );
}

/** A number as the pictures show it: a minus that is one, no −0. @param {number} value @param {number} [digits] */
export function shown(value, digits = 2) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace('-', '−');
}

/** @param {number} value Whole. */
export const grouped = (value) => Math.round(value).toLocaleString('en');
