// The bench page: measures what the reader's own browser does, shows it as a table and copies it as JSON.

import { configure, models } from '../../pkg/dist/index.js';
import { element, megabytes } from '../elements.js';
import { deviceFacts, measure } from './measure.js';
import { textsIn } from './texts.js';

/** @typedef {import('../../pkg/dist/index.js').ModelInfo} ModelInfo */
/** @typedef {Awaited<ReturnType<typeof measure>>} Result */

configure({ modelBase: new URL('../models/', document.baseURI) });

const form = element('plan', HTMLFormElement);
const pair = element('pair', HTMLSelectElement);
const lines = element('lines', HTMLSelectElement);
const runs = element('runs', HTMLSelectElement);
const threads = element('threads', HTMLSelectElement);
const download = element('download', HTMLInputElement);
const status = element('status', HTMLElement);
const run = element('run', HTMLButtonElement);
const progress = element('progress', HTMLProgressElement);
const fault = element('fault', HTMLElement);
const faultText = element('fault-text', HTMLElement);
const result = element('result', HTMLElement);
const rows = element('rows', HTMLElement);
const json = element('json', HTMLElement);
const copy = element('copy', HTMLButtonElement);

const names = new Intl.DisplayNames(['en'], { type: 'language' });

/** @type {ModelInfo[]} */
let pairs = [];
/** The run under way. @type {AbortController | undefined} */
let current;

async function openIndex() {
  const all = await models.list();
  pairs = all.filter((one) => one.tasks.includes('translation') && textsIn(one.from ?? '') !== undefined);
  if (pairs.length === 0) throw new Error('The model index has no pair that this page has texts for');
  pair.replaceChildren(
    ...pairs.map(({ id, from = '', to = '' }) => new Option(`${names.of(from)} to ${names.of(to)}`, id)),
  );
  pair.disabled = pairs.length < 2;
  run.disabled = false;
  showDownload();
}

function showDownload() {
  const bytes = pairs.find(({ id }) => id === pair.value)?.bytes ?? 0;
  element('download-text', HTMLElement).textContent = `Measure the download too (${megabytes(bytes)} MB)`;
}

async function start() {
  const chosen = pairs.find(({ id }) => id === pair.value);
  const texts = textsIn(chosen?.from ?? '');
  if (chosen === undefined || texts === undefined) return;
  current = new AbortController();
  run.textContent = 'Stop';
  fault.hidden = true;
  progress.classList.remove('done');
  try {
    const measured = await measure({
      pair: chosen,
      texts,
      lines: Number(lines.value),
      runs: Number(runs.value),
      threads: threads.value === '1' ? 1 : 'auto',
      download: download.checked,
      signal: current.signal,
      progress(what, part) {
        status.textContent = what;
        progress.value = part;
      },
    });
    show(measured);
    status.textContent = 'Done';
  } catch (error) {
    if (current.signal.aborted) status.textContent = 'Stopped';
    else fail(error);
  } finally {
    current = undefined;
    run.textContent = 'Measure';
    progress.classList.add('done');
  }
}

/** @param {unknown} error */
function fail(error) {
  faultText.textContent = error instanceof Error ? error.message : String(error);
  fault.hidden = false;
  status.textContent = 'Not measured';
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** @param {{ median: number, min: number, max: number }} speeds @returns {[string, string]} */
const range = ({ median, min, max }) => [
  whole.format(median),
  min === max ? 'words/s' : `words/s (${whole.format(min)} to ${whole.format(max)})`,
];

/** @param {{ p50: number, p95: number }} milliseconds @returns {[string, string]} */
const times = ({ p50, p95 }) => [short.format(p50), `ms (95 % within ${short.format(p95)})`];

/** @param {Result} measured */
function show(measured) {
  const facts = { date: new Date().toISOString(), ...measured, browser: deviceFacts() };
  const { wordsPerSecond: speed, milliseconds, load, memory, engine, input } = measured;
  const why = engine.reason === '' ? '' : ` (${engine.reason})`;
  /** @type {[string, string, string][]} */
  const table = [
    ['Sentence after sentence', ...range(speed.sentenceAfterSentence)],
    [`${input.lines} lines in one call`, ...range(speed.oneCall)],
    ['1 to 5 words', ...times(milliseconds.phrase)],
    ['A sentence', ...times(milliseconds.sentence)],
    ['A paragraph', ...times(milliseconds.paragraph)],
    ...(load.downloadSeconds === undefined
      ? []
      : [
          /** @type {[string, string, string]} */ ([
            'Download and first words',
            short.format(load.downloadSeconds),
            's',
          ]),
        ]),
    ['Load and first words, model on this device', short.format(load.fromDeviceSeconds), 's'],
    ['Memory of WebAssembly', megabytes(memory.wasmBytes), 'MB'],
    ['Engine', '', `${engine.precision} on the ${engine.device.toUpperCase()}${why}`],
    ['Browser', '', `${navigator.userAgent}, ${navigator.hardwareConcurrency} cores`],
  ];
  rows.replaceChildren(...table.map(row));
  json.textContent = JSON.stringify(facts, (_, value) => rounded(value), 2);
  result.hidden = false;
}

/** @param {unknown} value Four digits are more than a measurement is worth. */
function rounded(value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
}

/** @param {[string, string, string]} cells */
function row([name, value, rest]) {
  const [line, head, cell] = [
    document.createElement('tr'),
    document.createElement('th'),
    document.createElement('td'),
  ];
  head.scope = 'row';
  head.textContent = name;
  const figure = document.createElement('b');
  figure.textContent = value;
  const unit = document.createElement('small');
  unit.textContent = rest;
  cell.append(...(value === '' ? [] : [figure, ' ']), unit);
  line.append(head, cell);
  return line;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (current === undefined) void start();
  else current.abort();
});
pair.addEventListener('change', showDownload);
copy.addEventListener('click', () => void copyJson());

async function copyJson() {
  try {
    await navigator.clipboard.writeText(json.textContent ?? '');
    copy.textContent = 'Copied';
  } catch {
    copy.textContent = 'Not allowed';
  }
  setTimeout(() => {
    copy.textContent = 'Copy as JSON';
  }, 1500);
}

openIndex().catch(fail);
