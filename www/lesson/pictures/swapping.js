// Two words in each other's place: without positions, attention does not notice.

import { choice, make, shown, table } from '../dom.js';
import { comparison, SENTENCE, swapped } from '../numbers/order.js';

/** @param {readonly number[]} vector */
const vectorOf = (vector) => `(${vector.map((value) => shown(value, 3)).join(', ')})`;

const said = (/** @type {readonly { word: string }[]} */ words) => words.map(({ word }) => word).join(' ');

/** @param {HTMLElement} stage */
export function swapping(stage) {
  const result = make('div', { class: 'worked', 'aria-live': 'polite' });
  stage.append(
    choice(
      'Positions',
      [
        ['off', 'Off'],
        ['on', 'On'],
      ],
      (chosen) => {
        show(result, chosen === 'on');
      },
    ),
    result,
  );
  show(result, false);
}

/** @param {HTMLElement} result @param {boolean} positions */
function show(result, positions) {
  const compared = comparison(positions);
  const most = Math.max(...compared.map(({ apart }) => apart));
  const rows = compared.map(({ word, before, after, apart }) => [
    word,
    vectorOf(before),
    vectorOf(after),
    shown(apart, 3),
  ]);
  const head = ['Output of', said(SENTENCE), said(swapped(SENTENCE)), 'apart'];
  const verdict =
    most < 1e-12
      ? 'Each word gets the same output whoever bites whom: the head sees a bag of words.'
      : `The outputs differ by up to ${shown(most, 3)}: now the order counts.`;
  result.replaceChildren(
    make('div', { class: 'wide' }, table('Outputs before and after the swap', head, rows)),
    make('p', { class: 'sum' }, verdict),
  );
}
