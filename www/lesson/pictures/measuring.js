// Time and bytes against length, measured in this page with a whole model.

import { configure, Embedder } from '../../../pkg/dist/index.js';
import { chosenDevice, whereItRuns } from '../../device.js';
import { grouped, make, shown, table } from '../dom.js';
import { lineChart } from '../line-chart.js';
import { counted, LENGTHS, RUNS, textOf, timeOf, times } from '../numbers/measure.js';

configure({ modelBase: new URL('models/', document.baseURI) });

/** @typedef {{ length: number, milliseconds: number, bytes: number }} Measured */

/** @param {HTMLElement} stage */
export function measuring(stage) {
  const button = make('button', { type: 'button', class: 'pill' }, 'Measure');
  const status = make(
    'p',
    { class: 'quiet', 'aria-live': 'polite' },
    'Loads the model of the Search tab, 91 MB if it is not on this device yet',
  );
  const result = make('div', { class: 'worked' });
  stage.append(make('div', { class: 'measure' }, button, status), result);
  let isMeasuring = false;
  button.addEventListener('click', () => {
    // A button that is disabled would lose the keys.
    if (isMeasuring) return;
    isMeasuring = true;
    button.setAttribute('aria-disabled', 'true');
    measure(status, result)
      .catch((/** @type {unknown} */ thrown) => {
        status.textContent = thrown instanceof Error ? thrown.message : String(thrown);
      })
      .finally(() => {
        isMeasuring = false;
        button.removeAttribute('aria-disabled');
      });
  });
}

/** @param {HTMLElement} status @param {HTMLElement} result */
async function measure(status, result) {
  status.textContent = 'Loading the model';
  const device = chosenDevice();
  const embedder = await Embedder.create({
    model: 'all-minilm-l6-v2',
    device,
    precision: device === 'webgpu' ? 'auto' : 'int8',
    monitor(monitor) {
      monitor.addEventListener('downloadprogress', ({ loaded }) => {
        status.textContent = `Loading the model: ${Math.floor(loaded * 100)} %`;
      });
    },
  });
  try {
    /** @type {Measured[]} */
    const rows = [];
    for (const length of LENGTHS) {
      status.textContent = `Measuring ${length} tokens`;
      const text = textOf(length);
      // The first run makes room, and has the weights of every head counted.
      const [seen] = await embedder.embedDetailed([text], { attention: true });
      const bytes = seen?.attention?.encoder?.weights.byteLength ?? 0;
      let milliseconds = Infinity;
      for (let run = 0; run < RUNS; run++) {
        milliseconds = Math.min(milliseconds, await timeOf(() => embedder.embed(text)));
      }
      rows.push({ length, milliseconds, bytes });
    }
    status.textContent = whereItRuns(embedder);
    show(result, rows);
  } finally {
    embedder.destroy();
  }
}

/** What the chart has: measured first, then counted. @type {readonly (readonly [string, (row: Measured) => number])[]} */
const LINES = [
  ['Milliseconds of one text', ({ milliseconds }) => milliseconds],
  ['Recurrent layer: steps one after the other', ({ length }) => counted(length).steps],
  ['Multiply–adds of q·k and weights × values', ({ length }) => counted(length).work],
  ['Bytes of all weights, when they are asked for', ({ bytes }) => bytes],
  ['Bytes of keys and values', ({ length }) => counted(length).kept],
];

/** @param {HTMLElement} result @param {readonly Measured[]} rows */
function show(result, rows) {
  const series = LINES.map(([name, of]) => ({
    name,
    points: rows.map((row) => ({ x: row.length, y: of(row) })),
  }));
  const measurements = rows.map(({ length, milliseconds, bytes }, place) => [
    String(length),
    shown(milliseconds, milliseconds < 1 ? 3 : 1),
    times(milliseconds, rows[place - 1]?.milliseconds),
    grouped(bytes),
    times(bytes, rows[place - 1]?.bytes),
  ]);
  const counts = rows.map(({ length }) => {
    const { work, kept, steps } = counted(length);
    return [String(length), grouped(work), grouped(kept), grouped(steps)];
  });
  result.replaceChildren(
    lineChart({ label: 'Cost against length, measured and counted', series, x: 'tokens' }),
    make(
      'ul',
      { class: 'keys' },
      ...LINES.map(([name], place) => make('li', { class: `key line-${place + 1}` }, name)),
    ),
    make(
      'div',
      { class: 'wide' },
      table('Measured', ['Measured', 'Milliseconds', 'by half', 'Bytes of weights', 'by half'], measurements),
    ),
    make(
      'div',
      { class: 'wide' },
      table('Counted', ['Counted', 'Multiply–adds', 'Bytes of keys, values', 'Steps'], counts),
    ),
    make('p', { class: 'quiet' }, 'A row a number of tokens; six layers with twelve heads of 32.'),
  );
}
