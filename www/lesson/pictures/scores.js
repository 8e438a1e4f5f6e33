// A query looks up: scores, scaled scores, weights, weighted values, and the context that they add up to.

import { choice, draw, make, shown, table, weigh } from '../dom.js';
import { lookUp, WORDS } from '../numbers/one-head.js';

/** Units of the plane's drawing to one of the values. */
const UNIT = 30;

/** @param {readonly number[]} vector @param {number} [digits] */
const vectorOf = (vector, digits = 0) => `(${vector.map((value) => shown(value, digits)).join(', ')})`;

/** @param {HTMLElement} stage */
export function scores(stage) {
  const result = make('div', { class: 'worked' });
  const names = WORDS.map(({ word }, place) => /** @type {const} */ ([String(place), word]));
  // The most interesting one stands first in the choice of what is shown, not in the sentence.
  const options = choice('Query', names, (place) => {
    show(result, Number(place));
  });
  const second = options.querySelectorAll('input')[1];
  if (second !== undefined) second.checked = true;
  stage.append(options, result);
  show(result, 1);
}

/** @param {HTMLElement} result @param {number} place */
function show(result, place) {
  const { query, scores: raw, scaled, weights, parts, context } = lookUp(place);
  const rows = WORDS.map(({ word, key, value }, at) => {
    const weight = weights[at] ?? 0;
    const cell = weigh(make('td', { class: 'heat' }, shown(weight, 3)), weight);
    return [
      word,
      vectorOf(key),
      shown(raw[at] ?? 0, 0),
      shown(scaled[at] ?? 0, 1),
      cell,
      vectorOf(value),
      vectorOf(parts[at] ?? [], 2),
    ];
  });
  const sum = make(
    'p',
    { class: 'sum', 'aria-live': 'polite' },
    `Query of “${WORDS[place]?.word ?? ''}” q = ${vectorOf(query)}. Weights sum to ${shown(
      weights.reduce((all, one) => all + one, 0),
      3,
    )}. Context: ${vectorOf(context, 2)}.`,
  );
  const head = ['', 'key k', 'q·k', 'q·k / √4', 'weight', 'value v', 'weight × v'];
  result.replaceChildren(
    make('div', { class: 'wide' }, table('The look-up of a query', head, rows)),
    sum,
    plane(weights, context),
  );
}

/** The values in their plane, as large as their weights, and the context. @param {readonly number[]} weights @param {readonly number[]} context */
function plane(weights, context) {
  const at = (/** @type {readonly number[]} */ [x = 0, y = 0]) => ({ cx: x * UNIT, cy: -y * UNIT });
  const [x, y] = [(context[0] ?? 0) * UNIT, -(context[1] ?? 0) * UNIT];
  const values = WORDS.flatMap(({ word, value }, place) => {
    const weight = weights[place] ?? 0;
    const { cx, cy } = at(value);
    return [
      draw('circle', { cx, cy, r: 3 + 22 * Math.sqrt(weight), class: 'value' }),
      draw('circle', { cx, cy, r: 2, class: 'spot' }),
      draw('text', { x: cx + 7, y: cy - 6 }, word),
    ];
  });
  return draw(
    'svg',
    {
      viewBox: '-110 -115 230 190',
      class: 'plane',
      role: 'img',
      'aria-label': 'The values as points, and the context among them',
    },
    draw('path', { d: 'M-105 0H105M0 -110V70', class: 'axis' }),
    ...values,
    draw('path', { d: `M${x - 6} ${y - 6}l12 12m0 -12l-12 12`, class: 'context' }),
    draw('text', { x: x + 9, y: y + 12, class: 'named' }, 'context'),
  );
}
