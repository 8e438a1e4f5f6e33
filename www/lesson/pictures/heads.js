// One head of 256 beside eight of 32: the same products, eight patterns.

import { grouped, make, slider, table } from '../dom.js';
import { layerCosts } from '../numbers/counts.js';

/** @param {HTMLElement} stage */
export function heads(stage) {
  const result = make('div', { class: 'wide' });
  stage.append(
    slider({ label: 'Tokens', min: 1, max: 128, value: 16 }, (length) => {
      show(result, length);
    }),
    result,
  );
  show(result, 16);
}

/** @param {ReturnType<typeof layerCosts>} costs */
const sum = ({ maps, scores, mixing }) => maps + scores + mixing;

/** @param {HTMLElement} result @param {number} length */
function show(result, length) {
  const [one, eight] = [layerCosts(length, 1, 256), layerCosts(length, 8, 32)];
  /** @param {string} name @param {(costs: typeof one) => number} of */
  const row = (name, of) => [name, grouped(of(one)), grouped(of(eight))];
  result.replaceChildren(
    table(
      'Multiply-adds of one layer',
      ['Multiply–adds', '1 head of 256', '8 heads of 32'],
      [
        row('Maps to q, k, v and back', ({ maps }) => maps),
        row('q·k', ({ scores }) => scores),
        row('Weights × values', ({ mixing }) => mixing),
        row('Together', sum),
        row('Exponentials of the softmax', ({ exponentials }) => exponentials),
        ['Patterns of weights', '1', '8'],
      ],
    ),
  );
}
