// What a visitor waits for: bytes and seconds from opening a page to its first translation, on a slow line and
// on this machine; then memory, short and long input, and what is used when nothing is asked.
// node visit.js --origin http://localhost:PORT --flores FOLDER --out FILE.json [--pair en-pt] [--runs 3] [--megabits 10]

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openContext } from './lib/browser.js';
import { floresLines } from './lib/lines.js';
import { deviceFacts } from './lib/machine.js';
import { modelFiles, versions } from './lib/served.js';
import { median, percentile, spread } from './lib/statistics.js';
import { range, table } from './lib/table.js';
import { startThrottled } from './lib/throttle.js';

const { values: options } = parseArgs({
  options: {
    origin: { type: 'string' },
    flores: { type: 'string' },
    out: { type: 'string' },
    pair: { type: 'string', default: 'en-pt' },
    runs: { type: 'string', default: '3' },
    megabits: { type: 'string', default: '10' },
  },
});

const SIDES = ['bergamot', 'multihead'];
const [language] = options.pair.split('-');
const lines = await floresLines(options.flores, language);
const model = await modelFiles(options.origin, options.pair);
const version = await versions(options.origin);
/** Words of a line, its first, its first three and its first five; lines; three lines as one paragraph. */
const INPUTS = {
  '1 to 5 words': lines.slice(0, 60).map((line, at) =>
    line
      .split(/\s+/u)
      .slice(0, [1, 3, 5][at % 3])
      .join(' '),
  ),
  sentence: lines.slice(0, 40),
  paragraph: Array.from({ length: 12 }, (_, at) => lines.slice(3 * at, 3 * at + 3).join(' ')),
};

const results = Object.fromEntries(SIDES.map((side) => [side, { cold: [], cached: [], local: [], held: [] }]));
let device;
const slow = await startThrottled(options.origin, Number(options.megabits));
const fast = await startThrottled(options.origin);
for (const server of [slow, fast]) await warm(server);
for (let run = 0; run < Number(options.runs); run += 1) {
  for (const side of SIDES) {
    const profile = await mkdtemp(path.join(os.tmpdir(), 'visit-'));
    for (const kind of ['cold', 'cached']) results[side][kind].push(await visit(side, slow, profile));
    await rm(profile, { recursive: true, force: true });
    results[side].local.push(await visit(side, fast, undefined, 'local'));
    results[side].held.push(await visit(side, fast, undefined, 'held'));
  }
}
for (const side of SIDES) Object.assign(results[side], await use(side));
await slow.close();
await fast.close();
report();
await mkdir(path.dirname(options.out), { recursive: true });
const result = {
  benchmark: 'visit',
  date: new Date().toISOString(),
  device,
  settings: { pair: options.pair, runs: Number(options.runs), megabits: Number(options.megabits), version },
  results,
};
await writeFile(options.out, `${JSON.stringify(result, undefined, 2)}\n`);
console.log(`written: ${options.out}`);

/** Once through, so that nothing is gzipped on the clock. */
async function warm(server) {
  for (const side of SIDES) await visit(side, server, undefined);
}

/**
 * One visit: seconds to the first translation and bytes sent meanwhile. A profile keeps what the browser keeps.
 * `from`: 'local', the clock starts once the page is there, and no file of a model is gzipped; 'held', once
 * the script and the files are there as well.
 */
async function visit(side, server, profile, from = 'first') {
  const browser = await openContext(profile);
  try {
    const before = server.state.bytes;
    let start = performance.now();
    await openBench(browser.page, server);
    if (from === 'held') {
      const hold = ([name, files]) => globalThis.bench.hold(name, files);
      await browser.page.evaluate(hold, [side, model.files]);
    }
    const plain = from !== 'first';
    if (plain) start = performance.now();
    await loadSide(browser.page, side, plain ? '/models/' : '/packed/', plain ? 'none' : 'default');
    const text = await browser.page.evaluate(() => globalThis.bench.oneByOne('it', ['How much is this?']));
    const seconds = (performance.now() - start) / 1000;
    if (text.outputs[0].trim() === '') throw new Error(`${side}: an empty translation`);
    // What the page asks for after its first translation is not waited for, but it is sent.
    return { seconds, bytes: server.state.bytes - before };
  } finally {
    await browser.close();
  }
}

async function openBench(page, server) {
  await page.goto(new URL('/benches/page/', server.origin).href);
  await page.waitForFunction(() => globalThis.bench !== undefined);
}

function loadSide(page, side, modelBase, cache) {
  const files = { ...model, threads: 1, batchSize: 1, cache, modelBase };
  return page.evaluate(([name, given]) => globalThis.bench.load('it', name, given), [side, files]);
}

/** Milliseconds a call by kind of input, memory, and CPU seconds used in a second without calls. */
async function use(side) {
  const browser = await openContext(undefined);
  try {
    device ??= deviceFacts(browser.browser);
    await openBench(browser.page, fast);
    const empty = await browser.residentBytes();
    await loadSide(browser.page, side, '/models/', 'none');
    const run = (texts) =>
      browser.page.evaluate((given) => globalThis.bench.oneByOne('it', given), texts);
    await run(INPUTS.sentence);
    const calls = {};
    for (const [kind, texts] of Object.entries(INPUTS)) {
      const { calls: milliseconds } = await run(texts);
      calls[kind] = { p50: percentile(milliseconds, 50), p95: percentile(milliseconds, 95) };
    }
    const memory = await browser.residentBytes();
    await pause(1000);
    const before = await browser.cpuSeconds();
    await pause(1000);
    const idle = (await browser.cpuSeconds()) - before;
    return { calls, memory: { empty, used: memory }, idleCpuSeconds: idle };
  } finally {
    await browser.close();
  }
}

function report() {
  console.log(`\n${device.cpu}, ${device.cores} cores, ${device.browser}, ${device.system}`);
  console.log(`${options.pair}, one thread; median (least, most) of ${options.runs}\n`);
  const figure = (side, kind, key) => spread(results[side][kind].map((visit) => visit[key]));
  const rows = Object.entries({
    [`first visit at ${options.megabits} Mbit/s`]: 'cold',
    'visit after that': 'cached',
    'load and first translation, server on this machine': 'local',
    'load and first translation, files in hand': 'held',
  }).flatMap(([name, kind]) =>
    SIDES.map((side) => [
      name,
      `${side} ${version[side]}`,
      range(figure(side, kind, 'seconds'), 2),
      (median(results[side][kind].map(({ bytes }) => bytes)) / 1e6).toFixed(2),
    ]),
  );
  console.log(table([['', 'package', 'seconds to the first translation', 'MB'], ...rows], [2, 3]));
  console.log('');
  const megabytes = (bytes) => (bytes / 1e6).toFixed(0);
  const used = SIDES.map((side) => {
    const { calls, memory, idleCpuSeconds } = results[side];
    const times = Object.values(calls).map(({ p50, p95 }) => `${p50.toFixed(1)} / ${p95.toFixed(1)}`);
    const megabyte = `${megabytes(memory.used)} (${megabytes(memory.empty)} before)`;
    return [`${side} ${version[side]}`, ...times, megabyte, idleCpuSeconds.toFixed(3)];
  });
  const kinds = Object.keys(INPUTS).map((kind) => `${kind}, ms p50 / p95`);
  console.log(table([['package', ...kinds, 'MB resident', 'CPU s a second, idle'], ...used], [1, 2, 3, 4, 5]));
}
