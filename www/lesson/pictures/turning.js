// PE(p + k) is PE(p) turned: by the same angles wherever p is.

import { draw, make, shown, slider, table } from '../dom.js';
import { frequencies, shifted, sinusoidal } from '../numbers/positions.js';

/** Four pairs. */
const WIDTH = 8;

/** @param {HTMLElement} stage */
export function turning(stage) {
  let [position, by] = [3, 5];
  const result = make('div', { class: 'worked' });
  const show = () => {
    const [from, to] = [sinusoidal(position, WIDTH), sinusoidal(position + by, WIDTH)];
    const turned = shifted(from, by);
    const apart = Math.max(...to.map((value, place) => Math.abs(value - (turned[place] ?? 0))));
    const rows = frequencies(WIDTH).map((frequency, pair) => [
      `${pair + 1}`,
      `${shown(by * frequency, 3)} rad`,
      pairOf(from, pair),
      pairOf(turned, pair),
      pairOf(to, pair),
    ]);
    const head = ['Pair', 'k · ω', `PE(${position})`, 'turned', `PE(${position + by})`];
    result.replaceChildren(
      make('div', { class: 'clocks' }, ...frequencies(WIDTH).map((_, pair) => clock(from, to, pair))),
      make('div', { class: 'wide' }, table('Each pair of PE', head, rows)),
      make(
        'p',
        { class: 'sum' },
        `Turned and computed anew differ by ${apart < 1e-12 ? 'less than 10⁻¹²' : String(apart)}.`,
      ),
    );
  };
  stage.append(
    slider({ label: 'Position p', max: 40, value: position }, (value) => {
      position = value;
      show();
    }),
    slider({ label: 'Shift k', max: 40, value: by }, (value) => {
      by = value;
      show();
    }),
    result,
  );
  show();
}

/** @param {readonly number[]} encoding @param {number} pair */
const pairOf = (encoding, pair) =>
  `(${encoding
    .slice(2 * pair, 2 * pair + 2)
    .map((value) => shown(value, 3))
    .join(', ')})`;

/** Two hands: p, and p + k. @param {readonly number[]} from @param {readonly number[]} to @param {number} pair */
function clock(from, to, pair) {
  /** @param {readonly number[]} encoding @param {string} kind */
  const hand = (encoding, kind) => {
    const [sine = 0, cosine = 0] = encoding.slice(2 * pair, 2 * pair + 2);
    return draw('path', { d: `M0 0L${(40 * sine).toFixed(2)} ${(-40 * cosine).toFixed(2)}`, class: kind });
  };
  return draw(
    'svg',
    { viewBox: '-50 -50 100 100', role: 'img', 'aria-label': `Pair ${pair + 1}: two hands of a clock` },
    draw('circle', { r: 46, class: 'face' }),
    hand(from, 'hand'),
    hand(to, 'hand shifted'),
  );
}
