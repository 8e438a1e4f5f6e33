// Three models that turn strings round: where the fixed vector gives up, and where all of them do.

import { choice, make, shown, slider, table } from '../dom.js';
import { fetched } from '../fetched.js';
import { lineChart } from '../line-chart.js';
import { curves } from '../numbers/reversal.js';
import { addressOf } from '../small-models.js';

/** The same colours as in the chart: not those of the lines before. */
const COLOURS = ['line-4', 'line-3', 'line-1'];

/** @param {HTMLElement} stage */
export async function reversing(stage) {
  const response = await fetched(addressOf('reversal-accuracy.json'));
  const accuracy = /** @type {import('../numbers/reversal.js').Accuracy} */ (await response.json());
  const { lengths, trainedLengths, trials } = accuracy;
  const result = make('div', { class: 'worked' });
  /** @type {import('../numbers/reversal.js').Measure} */
  let measure = 'exact';
  let length = 11;
  const show = () => {
    const series = curves(accuracy, measure).map((one, place) => ({ ...one, class: COLOURS[place] ?? '' }));
    const rows = series.map(({ name, points, class: colour }) => [
      make('span', { class: `key ${colour}` }, name),
      `${shown(100 * (points.find(({ x }) => x === length)?.y ?? NaN), 0)} %`,
    ]);
    result.replaceChildren(
      lineChart({
        label: 'Accuracy against length, measured',
        series,
        x: 'letters in the string; shaded: lengths of the training',
        mark: length,
        share: true,
        trained: trainedLengths,
      }),
      table('Accuracy at this length', [`Of ${trials} strings of ${length} letters`, 'right'], rows),
    );
  };
  stage.append(
    choice(
      'Right means',
      [
        ['exact', 'the whole string'],
        ['letters', 'a letter at its place'],
      ],
      (chosen) => {
        measure = chosen;
        show();
      },
    ),
    slider({ label: 'Letters', min: lengths[0] ?? 1, max: lengths.at(-1) ?? 1, value: length }, (value) => {
      length = value;
      show();
    }),
    result,
  );
  show();
}
