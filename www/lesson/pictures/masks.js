// The same scores under four masks.

import { choice, make, shown, slider } from '../dom.js';
import { Matrix } from '../matrix.js';
import { visible, weightsUnder } from '../numbers/visible.js';

/** @typedef {import('../numbers/visible.js').Mask} Mask */

const WORDS = ['she', 'put', 'the', 'old', 'key', 'back', 'at', 'noon'];

/** @type {readonly (readonly [Mask, string])[]} */
const MASKS = [
  ['none', 'None'],
  ['causal', 'Causal'],
  ['window', 'Window'],
  ['padding', 'Padding'],
];

/** @param {HTMLElement} stage */
export function masks(stage) {
  /** @type {Mask} */
  let mask = 'none';
  let size = 3;
  const matrix = new Matrix(
    'Weights: a row a query, a column a key',
    'A row is a query, a column a key. What a query does not see is left empty.',
  );
  const sized = slider({ label: 'Words', min: 1, max: WORDS.length, value: size }, (value) => {
    size = value;
    show();
  });
  const show = () => {
    const weights = weightsUnder(mask, WORDS.length, size);
    const names = WORDS.map((word, place) => (mask === 'padding' && place >= size ? '(pad)' : word));
    sized.hidden = mask !== 'window' && mask !== 'padding';
    matrix.show({
      rows: WORDS.length,
      columns: WORDS.length,
      visible: (row, column) => visible(mask, row, column, size),
      rowNames: names,
      columnNames: names,
      value: (row, column) => weights[row]?.[column] ?? 0,
      tell: (row, column) => {
        const sees = visible(mask, row, column, size);
        const what = sees
          ? `looks at ${names[column] ?? ''} by ${shown(weights[row]?.[column] ?? 0, 3)}`
          : `does not see ${names[column] ?? ''}: exactly 0`;
        const sum = (weights[row] ?? []).reduce((all, one) => all + one, 0);
        return `${names[row] ?? ''} ${what}. The row sums to ${shown(sum, 3)}.`;
      },
    });
  };
  stage.append(
    choice('Mask', MASKS, (chosen) => {
      mask = chosen;
      show();
    }),
    sized,
    make('div', { class: 'square' }, matrix.element),
  );
  show();
}
