// Wider vectors make a softmax choose one key and stop learning, unless scores are divided by √d.

import { make, shown, slider, table, weigh } from '../dom.js';
import { averages, draw, DRAWS, KEYS, WIDTHS } from '../numbers/saturation.js';

/** The query whose weights are drawn. */
const SEED = 1;
const FIRST = 6;

/** @param {number} place */
const widthAt = (place) => WIDTHS[place] ?? 1;

/** @param {HTMLElement} stage */
export function saturating(stage) {
  const result = make('div', { class: 'worked' });
  stage.append(
    slider(
      { label: 'Width d', max: WIDTHS.length - 1, value: FIRST, say: (place) => String(widthAt(place)) },
      (place) => {
        show(result, widthAt(place));
      },
    ),
    result,
  );
  show(result, widthAt(FIRST));
}

/** @param {HTMLElement} result @param {number} width */
function show(result, width) {
  const one = draw(width, SEED);
  const mean = averages(width);
  const rows = [
    ['Largest weight', shown(mean.plain.largest, 3), shown(mean.scaled.largest, 3)],
    ['Slope left to learn from', shown(mean.plain.slope, 3), shown(mean.scaled.slope, 3)],
    ['Spread of the scores', shown(mean.spread, 2), shown(mean.spread / Math.sqrt(width), 2)],
  ];
  result.replaceChildren(
    make(
      'div',
      { class: 'beside' },
      weights('softmax(q·k)', one.plain),
      weights('softmax(q·k / √d)', one.scaled),
    ),
    table('Averages', [`Mean of ${DRAWS} queries`, 'q·k', 'q·k / √d'], rows),
    make(
      'p',
      { class: 'quiet' },
      `√d = ${shown(Math.sqrt(width), 2)}. Slope: Σ w(1 − w), at most ${shown(1 - 1 / KEYS, 3)} here.`,
    ),
  );
}

/** @param {string} name @param {readonly number[]} all */
const weights = (name, all) =>
  make(
    'div',
    {
      class: 'columns-of',
      role: 'img',
      'aria-label': `${name}: ${all.map((weight) => shown(weight, 2)).join(', ')}`,
    },
    make('p', {}, name),
    make('div', { class: 'columns' }, ...all.map((weight) => weigh(make('span'), weight))),
    make('p', { class: 'quiet' }, `largest of this query: ${shown(Math.max(...all), 2)}`),
  );
