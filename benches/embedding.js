// Sentences a second of our package and its peer on one encoder, each in a page of its own, run after run in turn.
// node embedding.js --origin http://localhost:PORT --flores FOLDER --out FILE.json [--lines 100] [--runs 3]
//   [--only PART,OF,NAMES] [--threads 1] [--wait-minutes 0] [--device cpu|webgpu]
// On WebGPU without a GPU it is Chromium's software: what it shows is who asks less of a device, and no speed of a GPU.

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  CALLS,
  CONTENDERS,
  MODEL,
  OURS,
  PACKAGES,
  SETTINGS,
  VISIT_LIMIT,
  memoryLimit,
  referenceOf,
} from './lib/encoders.js';
import { openEngine, wasmBytes } from './lib/engines.js';
import { floresLines } from './lib/lines.js';
import { BUSY, deviceFacts, load, tell, waitForQuiet } from './lib/machine.js';
import { agreement, comparisons, figuresOf, shortfalls } from './lib/sentence-figures.js';
import { bytesOf, downloadSize } from './lib/served.js';
import { median } from './lib/statistics.js';
import { megabytes, range, table } from './lib/table.js';

const { values: options } = parseArgs({
  options: {
    origin: { type: 'string' },
    flores: { type: 'string' },
    out: { type: 'string' },
    lines: { type: 'string' },
    runs: { type: 'string' },
    only: { type: 'string' },
    threads: { type: 'string', default: '1' },
    'wait-minutes': { type: 'string', default: '0' },
    device: { type: 'string', default: 'cpu' },
  },
});

const PAGE = '/benches/page/embedding/';
const threads = Number(options.threads);
const wanted = options.only?.split(',');
// The others' vectors are compared with the reference's.
const every = CONTENDERS[options.device];
if (every === undefined) throw new Error(`--device: one of ${Object.keys(CONTENDERS).join(', ')}`);
const onGpu = options.device === 'webgpu';
/** Where a sentence takes seconds, a second has few. */
const digits = onGpu ? 3 : 1;
const REFERENCE = referenceOf(every);
const runs = Number(options.runs ?? SETTINGS[options.device].runs);
const contenders = every.filter(
  (one) => one === REFERENCE || wanted === undefined || wanted.some((part) => one.name.includes(part)),
);
const lines = (await floresLines(options.flores, 'en')).slice(
  0,
  Number(options.lines ?? SETTINGS[options.device].lines),
);

let device;
const result = await measureAll();
printReport(result);
await mkdir(path.dirname(options.out), { recursive: true });
await writeFile(options.out, `${JSON.stringify(result, undefined, 2)}\n`);
console.log(`written: ${options.out}`);
for (const line of result.shortfalls) console.error(`SHORT: ${line}`);
if (result.shortfalls.length > 0) process.exitCode = 1;

async function measureAll() {
  const otherWork = [await waitForQuiet(Number(options['wait-minutes']))];
  const engines = [];
  try {
    for (const contender of contenders) {
      console.error(`${contender.name} loads`);
      engines.push(await open(contender));
    }
    // The first turn warms.
    for (let turn = 0; turn <= runs; turn += 1) {
      for (const engine of engines) {
        for (const { key, batch } of CALLS) {
          if (turn > 0) otherWork.push(await load(1000));
          const run = await measure(engine, batch);
          tell(engine, turn, run.milliseconds, run.cpuSeconds);
          if (turn > 0) engine.runs[key].push(run);
        }
      }
    }
    for (const engine of engines) engine.wasmBytes.push(await wasmBytes(engine));
    const busyCpus = median(otherWork);
    const machine = { otherWorkInCpus: busyCpus, most: Math.max(...otherWork), busy: busyCpus > BUSY };
    const isolated = await engines[0].page.evaluate(() => globalThis.crossOriginIsolated);
    const measured = engines.map((engine) => summary(engine, engines));
    const compared = comparisons(measured);
    const memory = await memoryOf(engines);
    const visit = await visitOf(engines);
    const found = {
      device: options.device,
      compared,
      busy: machine.busy,
      engines: measured,
      memory,
      visitBytes: visit?.bytes,
    };
    return {
      benchmark: 'embedding',
      date: new Date().toISOString(),
      device,
      machine,
      settings: { model: MODEL, sentences: lines.length, runs, threads, crossOriginIsolated: isolated },
      engines: measured,
      compared,
      memory,
      visit,
      shortfalls: shortfalls(found),
    };
  } finally {
    await Promise.all(engines.map(({ browser }) => browser.close()));
  }
}

async function open(contender) {
  const engine = await openEngine(
    { origin: options.origin, path: PAGE, packages: PACKAGES, device: options.device },
    contender,
    threads,
  );
  device ??= deviceFacts(engine.browser);
  const { precision } = contender;
  return { ...engine, precision, runs: Object.fromEntries(CALLS.map(({ key }) => [key, []])), vectors: [] };
}

/** One run. Its vectors are kept, handed over when the clock stands: all of them have to be right. */
async function measure(engine, batch) {
  const before = await engine.cpuSeconds();
  const milliseconds = await engine.page.evaluate((args) => globalThis.bench.run(...args), [lines, batch]);
  const cpuSeconds = (await engine.cpuSeconds()) - before;
  engine.vectors.push(await engine.page.evaluate(() => globalThis.bench.vectors()));
  return { milliseconds, cpuSeconds };
}

function summary(engine, all) {
  const { name, side, precision, version, about } = engine;
  const [reference] = all.find((one) => one.name === REFERENCE.name).vectors;
  const agreements = engine.vectors.map((vectors) => agreement(vectors, reference));
  const [worst] = agreements.toSorted((a, b) => a.least - b.least);
  const figures = CALLS.map(({ key }) => [
    key,
    { ...figuresOf(engine.runs[key], lines.length), runs: engine.runs[key] },
  ]);
  return { name, side, precision, version, about, agrees: worst, ...Object.fromEntries(figures) };
}

/** Memory of our wasm beside its weights. */
async function memoryOf(engines) {
  // On a GPU the weights are not in it.
  const ours = engines.filter(({ side }) => side === 'multihead' && !onGpu);
  return Promise.all(
    ours.map(async ({ precision, wasmBytes: [loaded, atEnd] }) => {
      const weights = await bytesOf(options.origin, OURS[precision].weights);
      return { precision, weights, loaded, atEnd, limit: memoryLimit(weights) };
    }),
  );
}

/** Bytes that our int8 page has asked for: code as a server gzips it, the model as it lies on the server. */
async function visitOf(engines) {
  const ours = engines.find(({ side, precision }) => side === 'multihead' && precision === 'int8');
  if (ours === undefined) return undefined;
  const asked = [...ours.requested].filter((file) => !file.startsWith('/benches/'));
  const { base } = OURS.int8;
  const code = await downloadSize(
    options.origin,
    asked.filter((file) => !file.startsWith(base)),
  );
  const sizes = asked.filter((file) => file.startsWith(base)).map((file) => bytesOf(options.origin, file));
  const model = (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
  return { code: code.gzip, model, bytes: code.gzip + model, limit: VISIT_LIMIT, files: asked };
}

function printReport({ device: on, machine, settings, engines, compared, memory, visit }) {
  console.log(`\n${on.cpu}, ${on.cores} cores, ${on.browser}, ${on.system}`);
  console.log(
    `${settings.model}, ${settings.sentences} sentences, ${onGpu ? 'WebGPU' : `threads: ${settings.threads}`}; ` +
      `sentences a second, median of ${settings.runs} runs in turn (least, most)\n`,
  );
  const head = [
    '',
    ...CALLS.flatMap(({ words }) => [words, 'a CPU s']),
    'cosine to the first peer, least / mean',
    '',
  ];
  const rows = engines.map((engine) => [
    `${engine.name} (${engine.version})`,
    ...CALLS.flatMap(({ key }) => [
      range(engine[key].perSecond, digits),
      range(engine[key].perCpuSecond, digits),
    ]),
    `${engine.agrees.least.toFixed(5)} / ${engine.agrees.mean.toFixed(5)}`,
    engine.about,
  ]);
  console.log(table([head, ...rows], [1, 2, 3, 4, 5]));
  for (const { precision, call, perSecond, perCpuSecond, bestCall } of compared) {
    console.log(
      `multihead / best peer, ${precision}, ${call}: ${perSecond.toFixed(2)}× sentences/s, ` +
        `${perCpuSecond.toFixed(2)}× a CPU second (over its quicker way to be called: ` +
        `${bestCall.perSecond.toFixed(2)}×, ${bestCall.perCpuSecond.toFixed(2)}×)`,
    );
  }
  for (const { precision, weights, loaded, atEnd, limit } of memory) {
    const [file, first, last, most] = [weights, loaded, atEnd, limit].map(megabytes);
    console.log(
      `multihead's wasm memory, ${precision}: ${first} loaded, ${last} at the end; weights ${file}, limit ${most}`,
    );
  }
  if (visit !== undefined) {
    const [bytes, code, model, limit] = [visit.bytes, visit.code, visit.model, visit.limit].map(megabytes);
    console.log(
      `first visit, int8: ${bytes} (wasm and scripts gzipped ${code}, model ${model}), limit ${limit}`,
    );
  }
  if (machine.busy) {
    console.log(
      `MACHINE BUSY: other work took ${machine.otherWorkInCpus.toFixed(1)} CPUs between the runs; ` +
        'sentences/s are too low, compare CPU seconds',
    );
  }
}
