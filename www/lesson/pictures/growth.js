// Cost against length: work, memory and steps on one chart, by formula.

import { make, slider, table } from '../dom.js';
import { lineChart } from '../line-chart.js';
import { keptBytes, layerCosts, steps } from '../numbers/counts.js';

const [HEADS, HEAD_WIDTH] = [8, 32];
/** Lengths of the chart: powers of two. */
const POWERS = Array.from({ length: 10 }, (_, place) => 16 * 2 ** place);

/** Of a length. @type {readonly { name: string, unit: string, of: (length: number) => number }[]} */
export const LINES = [
  {
    name: 'Attention: q·k and weights × values',
    unit: 'multiply–adds',
    of: (length) => {
      const { scores, mixing } = layerCosts(length, HEADS, HEAD_WIDTH);
      return scores + mixing;
    },
  },
  {
    name: 'Attention: its four maps',
    unit: 'multiply–adds',
    of: (length) => layerCosts(length, HEADS, HEAD_WIDTH).maps,
  },
  {
    name: 'Attention: keys and values kept',
    unit: 'bytes',
    of: (length) => keptBytes(length, HEADS * HEAD_WIDTH),
  },
  {
    name: 'Recurrent layer: steps one after the other',
    unit: 'steps',
    of: (length) => steps(length).recurrent,
  },
  { name: 'Attention: steps one after the other', unit: 'steps', of: (length) => steps(length).attention },
];

/** @param {HTMLElement} stage */
export function growth(stage) {
  const result = make('div', { class: 'worked' });
  const lengthAt = (/** @type {number} */ place) => POWERS[place] ?? 16;
  const show = (/** @type {number} */ length) => {
    const series = LINES.map(({ name, of }) => ({ name, points: POWERS.map((x) => ({ x, y: of(x) })) }));
    const rows = LINES.map(({ name, unit, of }, place) => [
      make('span', { class: `key line-${place + 1}` }, name),
      of(length).toLocaleString('en'),
      unit,
      `× ${of(2 * length) / of(length)}`,
    ]);
    result.replaceChildren(
      lineChart({ label: 'Cost against length, by formula', series, x: 'tokens', mark: length }),
      make(
        'div',
        { class: 'wide' },
        table(
          'Counts at this length',
          [`At ${length.toLocaleString('en')} tokens`, 'Count', 'Unit', 'Twice as long'],
          rows,
        ),
      ),
    );
  };
  stage.append(
    slider(
      {
        label: 'Tokens',
        max: POWERS.length - 1,
        value: 5,
        say: (place) => lengthAt(place).toLocaleString('en'),
      },
      (place) => {
        show(lengthAt(place));
      },
    ),
    result,
  );
  show(lengthAt(5));
}
