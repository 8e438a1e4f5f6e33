// Time and bytes against length, measured in this page with a whole model.

import { configure, Embedder } from '../../../pkg/dist/index.js';
import { chosenDevice, whereItRuns } from '../../device.js';
import { grouped, make, shown, table } from '../dom.js';
import { lineChart } from '../line-chart.js';
import { LENGTHS, textOf, times } from '../numbers/measure.js';

configure({ modelBase: new URL('models/', document.baseURI) });

/** Runs of which the shortest counts: whatever else the device does only takes longer. */
const RUNS = 3;

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
  button.addEventListener('click', () => {
    button.disabled = true;
    measure(status, result)
      .catch((/** @type {unknown} */ thrown) => {
        status.textContent = thrown instanceof Error ? thrown.message : String(thrown);
      })
      .finally(() => {
        button.disabled = false;
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
        const start = performance.now();
        await embedder.embed(text);
        milliseconds = Math.min(milliseconds, performance.now() - start);
      }
      rows.push({ length, milliseconds, bytes });
    }
    status.textContent = whereItRuns(embedder);
    show(result, rows);
  } finally {
    embedder.destroy();
  }
}

/** @param {HTMLElement} result @param {readonly Measured[]} rows */
function show(result, rows) {
  const lines = [
    {
      name: 'Milliseconds',
      points: rows.map(({ length, milliseconds }) => ({ x: length, y: milliseconds })),
      class: 'line-1',
    },
    {
      name: 'Bytes of all weights',
      points: rows.map(({ length, bytes }) => ({ x: length, y: bytes })),
      class: 'line-4',
    },
  ];
  const [time, weights] = lines.map(({ name, class: colour }) =>
    make('span', { class: `key ${colour}` }, name),
  );
  const cells = rows.map(({ length, milliseconds, bytes }, place) => [
    String(length),
    shown(milliseconds, 1),
    times(milliseconds, rows[place - 1]?.milliseconds),
    grouped(bytes),
    times(bytes, rows[place - 1]?.bytes),
  ]);
  result.replaceChildren(
    lineChart({ label: 'Milliseconds and bytes against length, measured', series: lines, x: 'tokens' }),
    make(
      'div',
      { class: 'wide' },
      table('Measured', ['Tokens', 'Milliseconds', 'by half', 'Bytes', 'by half'], cells),
    ),
    make(
      'p',
      { class: 'quiet' },
      time ?? '',
      ' of one text; ',
      weights ?? '',
      ' of 6 layers with 12 heads, when they are asked for',
    ),
  );
}
