// Words a second of both packages' public worker calls, in one page, run after run in turn.
// node translation.js --origin http://localhost:PORT --flores FOLDER --out FILE.json [--pair en-pt] [--lines 200] [--runs 5]
//   [--threads 1] [--variant best]

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openPage } from './lib/browser.js';
import { floresLines } from './lib/lines.js';
import { BUSY, deviceFacts, load, waitForQuiet } from './lib/machine.js';
import { downloadSize, modelFiles, versions } from './lib/served.js';
import { countWords, median, percentile, spread } from './lib/statistics.js';
import { kilobytes, range, table } from './lib/table.js';

const { values: options } = parseArgs({
  options: {
    origin: { type: 'string' },
    flores: { type: 'string' },
    out: { type: 'string' },
    pair: { type: 'string', default: 'en-pt' },
    lines: { type: 'string', default: '200' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    threads: { type: 'string', default: '1' },
    variant: { type: 'string', default: 'best' },
    'wait-minutes': { type: 'string', default: '0' },
  },
});

/** Texts that Bergamot's worker gets at a time; the quickest in a trial is measured. */
const BATCH_SIZES = [8, 64, 256];
const SIDES = ['bergamot', 'multihead'].filter((side) => options.only === undefined || side === options.only);
const MODES = { sentence: 'oneByOne', list: 'atOnce' };
const threads = Number(options.threads);
/** Workers of our side by the name of what they lack; the package takes the best that its browser has. */
const WORKERS = { best: undefined, simd128: '/benches/page/simd128-worker.js' };
if (!Object.hasOwn(WORKERS, options.variant)) {
  throw new Error(`no variant ${options.variant}; there are: ${Object.keys(WORKERS).join(', ')}`);
}

const lines = (await floresLines(options.flores, options.pair.split('-')[0])).slice(0, Number(options.lines));
const words = countWords(lines);
const model = await modelFiles(options.origin, options.pair);
const version = await versions(options.origin);
const quiet = await waitForQuiet(Number(options['wait-minutes']));
const { browser, page, requested, cpuSeconds } = await openPage(options.origin);
try {
  const result = await measureAll();
  printReport(result);
  await mkdir(path.dirname(options.out), { recursive: true });
  await writeFile(options.out, `${JSON.stringify(result, undefined, 2)}\n`);
  console.log(`written: ${options.out}`);
} finally {
  await browser.close();
}

async function measureAll() {
  const engines = [];
  const sizes = {};
  for (const side of SIDES) {
    const before = new Set(requested);
    for (const [mode, method] of Object.entries(MODES)) {
      for (const workers of workersOf(side, mode)) engines.push(await prepare(side, mode, method, workers));
    }
    const isCode = (file) =>
      !before.has(file) && !file.startsWith('/models/') && !file.startsWith('/benches/');
    sizes[side] = await downloadSize(options.origin, [...requested].filter(isCode));
  }
  const otherWork = [quiet];
  for (let turn = 0; turn < Number(options.runs); turn += 1) {
    for (const engine of engines) {
      otherWork.push(await load(1000));
      const { outputs: _outputs, ...run } = await measure(engine);
      engine.runs.push(run);
    }
  }
  const busyCpus = median(otherWork);
  return {
    benchmark: 'translation',
    date: new Date().toISOString(),
    device: deviceFacts(browser),
    machine: { otherWorkInCpus: busyCpus, most: Math.max(...otherWork), busy: busyCpus > BUSY },
    settings: {
      pair: options.pair,
      lines: lines.length,
      words,
      runs: Number(options.runs),
      threads,
      variant: options.variant,
      sentenceCache: false,
      crossOriginIsolated: await page.evaluate(() => globalThis.crossOriginIsolated),
    },
    engines: engines.map(summary),
    sizes,
  };
}

/** Numbers of Bergamot's workers to measure: a list keeps several busy, one line after the other does not. */
function workersOf(side, mode) {
  return side === 'bergamot' && mode === 'list' && threads > 1 ? [1, threads] : [1];
}

/** Loads and warms an engine: every line once. */
async function prepare(side, mode, method, workers) {
  const key = `${side} ${mode} ${workers}`;
  const engine = { key, side, mode, method, workers, version: version[side], batchSize: undefined, runs: [] };
  if (side === 'bergamot' && mode === 'list') await chooseBatchSize(engine);
  engine.reason = await loadEngine(engine, engine.batchSize ?? 1);
  const { outputs } = await measure(engine);
  const empty = outputs.findIndex((text, i) => text.trim() === '' && lines[i].trim() !== '');
  if (empty !== -1) throw new Error(`${key}: line ${empty + 1} came back empty`);
  return engine;
}

function loadEngine({ key, side, workers }, batchSize) {
  const settings = { ...model, threads, workers, batchSize, workerUrl: WORKERS[options.variant] };
  const call = [key, side, settings];
  return page.evaluate((args) => globalThis.bench.load(...args), call);
}

/** Sets the batch size that took least CPU time with one worker, where other programs do not count; else least time. */
async function chooseBatchSize(engine) {
  engine.trials = [];
  for (const batchSize of BATCH_SIZES) {
    await loadEngine(engine, batchSize);
    await measure(engine);
    const { cpuSeconds: used, milliseconds } = await measure(engine);
    engine.trials.push({ batchSize, cpuSeconds: used, milliseconds });
    await page.evaluate((key) => globalThis.bench.destroy(key), engine.key);
  }
  const cost = (trial) => (engine.workers === 1 ? trial.cpuSeconds : trial.milliseconds);
  const [best] = engine.trials.toSorted((a, b) => cost(a) - cost(b));
  engine.batchSize = best.batchSize;
}

async function measure({ key, method }) {
  const before = await cpuSeconds();
  const run = await page.evaluate(
    ([name, call, texts]) => globalThis.bench[call](name, texts),
    [key, method, lines],
  );
  return { ...run, cpuSeconds: (await cpuSeconds()) - before };
}

function summary({ runs, key: _key, method: _method, ...engine }) {
  const calls = runs.flatMap((run) => run.calls);
  return {
    ...engine,
    wordsPerSecond: spread(runs.map(({ milliseconds }) => (words * 1000) / milliseconds)),
    cpuSecondsPer1000Words: spread(runs.map((run) => (run.cpuSeconds * 1000) / words)),
    millisecondsPerCall:
      calls.length > 0 ? { p50: percentile(calls, 50), p95: percentile(calls, 95) } : undefined,
    runs: runs.map(({ milliseconds, cpuSeconds: cpu }) => ({ milliseconds, cpuSeconds: cpu })),
  };
}

function printReport({ device, machine, settings, engines, sizes }) {
  console.log(`\n${device.cpu}, ${device.cores} cores, ${device.browser}, ${device.system}`);
  console.log(
    `${settings.pair}: ${settings.lines} lines, ${settings.words} words, threads: ${settings.threads}, ` +
      `median of ${settings.runs} runs in turn (least, most)\n`,
  );
  const head = ['call', 'package', 'words/s', 'CPU s per 1000 words', 'ms a call, p50 / p95'];
  console.log(table([head, ...engines.map((engine) => rowOf(engine, settings))], [2, 3, 4]));
  for (const mode of Object.keys(MODES)) {
    // Theirs at its best.
    const [theirs, ours] = ['bergamot', 'multihead'].map(
      (side) =>
        engines
          .filter((engine) => engine.side === side && engine.mode === mode)
          .toSorted((a, b) => b.wordsPerSecond.median - a.wordsPerSecond.median)[0],
    );
    if (theirs === undefined || ours === undefined) continue;
    const speed = ours.wordsPerSecond.median / theirs.wordsPerSecond.median;
    const cpu = theirs.cpuSecondsPer1000Words.median / ours.cpuSecondsPer1000Words.median;
    console.log(
      `multihead / bergamot, ${mode}: ${speed.toFixed(2)}× words/s, ${cpu.toFixed(2)}× words per CPU second`,
    );
  }
  console.log('');
  for (const [side, { raw, gzip, files }] of Object.entries(sizes)) {
    const size = `${kilobytes(raw)}, gzipped ${kilobytes(gzip)}`;
    console.log(`${side}: wasm and scripts that the page asked for: ${size}, ${files.length} files`);
  }
  if (machine.busy) {
    console.log(
      `MACHINE BUSY: other work took ${machine.otherWorkInCpus.toFixed(1)} CPUs between the runs; ` +
        'words/s are too low, compare CPU seconds',
    );
  }
}

function rowOf({ side, mode, version: of, batchSize, workers, reason, ...figures }, settings) {
  const how = [
    ...(batchSize === undefined ? [] : [`batches of ${batchSize}`]),
    ...(workers > 1 ? [`${workers} workers`] : []),
    ...(reason === undefined ? [] : [reason.replace(/;.*/u, '')]),
  ];
  const calls = figures.millisecondsPerCall;
  return [
    mode === 'list' ? `list of ${settings.lines}` : 'line after line',
    [`${side} ${of}`, ...how].join(', '),
    range(figures.wordsPerSecond, 0),
    range(figures.cpuSecondsPer1000Words, 2),
    calls === undefined ? '' : `${calls.p50.toFixed(1)} / ${calls.p95.toFixed(1)}`,
  ];
}
