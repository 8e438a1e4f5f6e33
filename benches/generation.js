// Prompt tokens and generated tokens a second of our package and its peers on one model, each in a page of its own, run
// after run in turn.
// node generation.js --origin http://localhost:PORT --flores FOLDER --out FILE.json [--threads 1,2] [--runs 5]
//   [--only PART,OF,NAMES] [--wait-minutes 0]

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CONTENDERS, OURS, PACKAGES, memoryLimit } from './lib/contenders.js';
import { openEngine, wasmBytes } from './lib/engines.js';
import { floresLines } from './lib/lines.js';
import { BUSY, deviceFacts, load, waitForQuiet } from './lib/machine.js';
import { bytesOf } from './lib/served.js';
import { FIGURES, figuresOf, ratios } from './lib/token-figures.js';
import { median } from './lib/statistics.js';
import { megabytes, range, table } from './lib/table.js';

const { values: options } = parseArgs({
  options: {
    origin: { type: 'string' },
    flores: { type: 'string' },
    out: { type: 'string' },
    threads: { type: 'string', default: '1,2' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    'wait-minutes': { type: 'string', default: '0' },
  },
});

const PAGE = '/benches/page/generation/';
const PROMPT_TOKENS = 256;
const NEW_TOKENS = 64;
/** Lines of text that are put together for a prompt, which is cut to its length then. */
const LINES_PER_PROMPT = 14;

const runs = Number(options.runs);
const wanted = options.only?.split(',') ?? [''];
const contenders = CONTENDERS.filter(({ name }) => wanted.some((part) => name.includes(part)));
if (contenders.length === 0) {
  throw new Error(
    `nobody is called ${options.only}; there are: ${CONTENDERS.map(({ name }) => name).join(', ')}`,
  );
}

let device;
const prompts = await makePrompts(await floresLines(options.flores, 'en'));
const passes = [];
for (const threads of options.threads.split(',').map(Number)) passes.push(await measureAll(threads));
const result = {
  benchmark: 'generation',
  date: new Date().toISOString(),
  device,
  settings: { promptTokens: PROMPT_TOKENS, newTokens: NEW_TOKENS, runs },
  passes,
};
printReport(result);
await mkdir(path.dirname(options.out), { recursive: true });
await writeFile(options.out, `${JSON.stringify(result, undefined, 2)}\n`);
console.log(`written: ${options.out}`);

/** One prompt to warm with and one for each run. No two begin with the same token: nobody has read the beginning of one
 * before. */
async function makePrompts(lines) {
  const texts = [];
  for (let at = 0; at + LINES_PER_PROMPT <= lines.length; at += LINES_PER_PROMPT) {
    texts.push(lines.slice(at, at + LINES_PER_PROMPT).join(' '));
  }
  const [ours] = CONTENDERS;
  const { browser, page } = await open(ours, 1);
  try {
    const made = await page.evaluate((args) => globalThis.bench.prompts(...args), [texts, PROMPT_TOKENS]);
    const byFirst = new Map(made.toReversed().map((prompt) => [prompt.ids[0], prompt]));
    const chosen = [...byFirst.values()].slice(0, runs + 1);
    if (chosen.length <= runs)
      throw new Error(`the text has ${chosen.length} prompts, ${runs + 1} are needed`);
    return chosen;
  } finally {
    await browser.close();
  }
}

/** All contenders with so many threads. */
async function measureAll(threads) {
  const otherWork = [await waitForQuiet(Number(options['wait-minutes']))];
  const engines = [];
  try {
    for (const contender of contenders) {
      console.error(`${contender.name} loads, threads: ${threads}`);
      engines.push(await open(contender, threads));
    }
    for (const [turn, prompt] of prompts.entries()) {
      for (const engine of engines) {
        if (turn > 0) otherWork.push(await load(1000));
        const run = await measure(engine, prompt);
        // The first run warms.
        if (turn > 0) engine.runs.push(run);
        else engine.wasmBytes.push(await wasmBytes(engine));
      }
    }
    for (const engine of engines) engine.wasmBytes.push(await wasmBytes(engine));
    const busyCpus = median(otherWork);
    const isolated = await engines[0].page.evaluate(() => globalThis.crossOriginIsolated);
    return {
      threads,
      crossOriginIsolated: isolated,
      machine: { otherWorkInCpus: busyCpus, most: Math.max(...otherWork), busy: busyCpus > BUSY },
      engines: engines.map(summary),
      memory: await memoryOf(engines),
    };
  } finally {
    await Promise.all(engines.map(({ browser }) => browser.close()));
  }
}

async function open(contender, threads) {
  const opened = await openEngine(
    { origin: options.origin, path: PAGE, packages: PACKAGES },
    contender,
    threads,
  );
  const engine = { ...opened, runs: [], cpuAt: {} };
  device ??= deviceFacts(engine.browser);
  await engine.page.exposeFunction('sawToken', async (token) => {
    engine.cpuAt[token] = await engine.cpuSeconds();
  });
  return engine;
}

/** One run, and the CPU seconds of both its parts. */
async function measure(engine, prompt) {
  const before = await engine.cpuSeconds();
  engine.cpuAt = {};
  const run = await engine.page.evaluate((args) => globalThis.bench.run(...args), [prompt, NEW_TOKENS]);
  const after = await engine.cpuSeconds();
  const { promptTokens, newTokens, promptMs, newMs, timedTokens, text } = run;
  if (promptTokens !== PROMPT_TOKENS || newTokens !== NEW_TOKENS) {
    throw new Error(`${engine.name} read ${promptTokens} tokens and wrote ${newTokens}: ${text}`);
  }
  const { first, last = after } = engine.cpuAt;
  return { promptTokens, promptMs, promptCpu: first - before, timedTokens, newMs, newCpu: last - first };
}

function summary({ name, side, version, about, runs: all }) {
  return { name, side, version, about, ...figuresOf(all), runs: all };
}

/** Memory of our wasm beside what its model and text need. */
async function memoryOf(engines) {
  const ours = engines.find(({ side }) => side === 'multihead');
  if (ours === undefined) return undefined;
  const [loaded, once, atEnd] = ours.wasmBytes;
  const file = await bytesOf(options.origin, OURS);
  return { file, loaded, once, atEnd, limit: memoryLimit(file, PROMPT_TOKENS + NEW_TOKENS) };
}

function printReport({ device: on, settings, passes: all }) {
  console.log(`\n${on.cpu}, ${on.cores} cores, ${on.browser}, ${on.system}`);
  console.log(
    `SmolLM2-135M-Instruct, ${settings.promptTokens} tokens in, ${settings.newTokens} out, greedy, no GPU; ` +
      `tokens a second, median of ${settings.runs} runs in turn (least, most)`,
  );
  for (const pass of all) {
    const rows = pass.engines.map((engine) => [
      `${engine.name} (${engine.version})`,
      ...FIGURES.map(({ key, digits }) => range(engine[key], digits)),
      engine.about,
    ]);
    const head = [`threads: ${pass.threads}`, ...FIGURES.map(({ head: words }) => words), ''];
    console.log(`\n${table([head, ...rows], [1, 2, 3, 4])}`);
    for (const line of ratios(pass.engines)) console.log(line);
    printMemory(pass.memory);
    if (pass.machine.busy) {
      console.log(
        `MACHINE BUSY: other work took ${pass.machine.otherWorkInCpus.toFixed(1)} CPUs between the runs; ` +
          'tokens/s are too low, compare CPU seconds',
      );
    }
  }
}

function printMemory(memory) {
  if (memory === undefined) return;
  const [loaded, once, atEnd, limit] = ['loaded', 'once', 'atEnd', 'limit'].map((key) =>
    megabytes(memory[key]),
  );
  console.log(
    `multihead's wasm memory: ${loaded} loaded, ${once} after a run, ${atEnd} at the end; ` +
      `1.25 × the file + keys and values + 16 MB: ${limit}`,
  );
}
