// Lines over lengths, on logarithmic or plain axes.

import { draw } from './dom.js';
import { decades } from './numbers/decades.js';

/** @typedef {{ name: string, points: readonly { x: number, y: number }[], class?: string }} Series */

/** The drawing in its own units, and what the numbers at its edges take. */
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [420, 270, 46, 22, 12, 34];

/** Of tens: as digits, or as 10 with an exponent. @param {number} value */
function power(value) {
  const exponent = Math.round(Math.log10(value));
  if (exponent < 3) return String(exponent < 0 ? 1 / 10 ** -exponent : 10 ** exponent);
  return `10${String(exponent).replaceAll(/\d/gu, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)] ?? '')}`;
}

/**
 * A chart; each line has the class that it names, or `line-1` and so on, from the first.
 * @param {{ label: string, series: readonly Series[], x: string, mark?: number, share?: boolean, trained?: readonly [number, number] }} options
 *   `mark`: a length that is pointed at. `share`: plain axes, values from 0 to 1; else both are logarithmic.
 *   `trained`: lengths that are shaded.
 */
export function lineChart({ label, series, x: unit, mark, share = false, trained }) {
  const all = series.flatMap(({ points }) => points);
  const [low, high] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))];
  const { bottom, top, ticks } = share
    ? { bottom: 0, top: 1, ticks: [0, 0.25, 0.5, 0.75, 1] }
    : decades(all.map(({ y }) => y));
  const scaled = share ? (/** @type {number} */ value) => value : Math.log10;
  const right = (/** @type {number} */ x) =>
    LEFT + ((scaled(x) - scaled(low)) / (scaled(high) - scaled(low))) * (WIDTH - LEFT - RIGHT);
  const down = (/** @type {number} */ y) =>
    HEIGHT -
    BOTTOM -
    ((scaled(Math.max(y, bottom)) - scaled(bottom)) / (scaled(top) - scaled(bottom))) *
      (HEIGHT - TOP - BOTTOM);
  const lengths = share
    ? steps(low, high, 4)
    : (series[0]?.points.map(({ x }) => x).filter((_, place, { length }) => length < 7 || place % 3 === 0) ??
      []);
  return draw(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', role: 'img', 'aria-label': label },
    ...(trained === undefined
      ? []
      : [
          draw('rect', {
            x: right(trained[0]),
            y: TOP,
            width: right(trained[1]) - right(trained[0]),
            height: HEIGHT - TOP - BOTTOM,
            class: 'trained',
          }),
        ]),
    ...ticks.flatMap((y) => [
      draw('path', { d: `M${LEFT} ${down(y)}H${WIDTH - RIGHT}`, class: 'axis' }),
      draw('text', { x: LEFT - 6, y: down(y) + 4, class: 'end' }, share ? `${y * 100} %` : power(y)),
    ]),
    ...lengths.map((x) =>
      draw('text', { x: right(x), y: HEIGHT - BOTTOM + 16, class: 'middle' }, x.toLocaleString('en')),
    ),
    draw('text', { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3, class: 'middle' }, unit),
    ...(mark === undefined
      ? []
      : [draw('path', { d: `M${right(mark)} ${TOP}V${HEIGHT - BOTTOM}`, class: 'mark' })]),
    ...series.map(({ points, class: named }, place) =>
      draw('path', {
        d: points
          .map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${right(x).toFixed(1)} ${down(y).toFixed(1)}`)
          .join(''),
        class: `line ${named ?? `line-${place + 1}`}`,
      }),
    ),
  );
}

/** @param {number} low @param {number} high @param {number} by */
const steps = (low, high, by) =>
  [low, ...Array.from({ length: Math.floor(high / by) }, (_, place) => (place + 1) * by)].filter(
    (x) => x <= high,
  );
