// Prompt tokens and generated tokens a second of our package and its peers on one model, each in a page of its own, run
// after run in turn.
// node generation.js --origin http://localhost:PORT --flores FOLDER --out FILE.json [--threads 1,2] [--runs 5]
//   [--only PART,OF,NAMES] [--wait-minutes 0] [--device cpu|webgpu]
// On WebGPU without a GPU it is Chromium's software: what it shows is who asks less of a device, and no speed of a GPU.

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CONTENDERS, OURS, PACKAGES, SETTINGS, memoryLimit } from './lib/contenders.js';
import { inTime, openEngine, wasmBytes } from './lib/engines.js';
import { floresLines } from './lib/lines.js';
import { BUSY, deviceFacts, load, tell, waitForQuiet } from './lib/machine.js';
import { bytesOf, packageVersion } from './lib/served.js';
import { FIGURES, figuresOf, ratios } from './lib/token-figures.js';
import { median } from './lib/statistics.js';
import { megabytes, range, table } from './lib/table.js';

const { values: options } = parseArgs({
  options: {
    origin: { type: 'string' },
    flores: { type: 'string' },
    out: { type: 'string' },
    threads: { type: 'string' },
    runs: { type: 'string' },
    only: { type: 'string' },
    'wait-minutes': { type: 'string', default: '0' },
    device: { type: 'string', default: 'cpu' },
  },
});

const PAGE = '/benches/page/generation/';
const every = CONTENDERS[options.device];
if (every === undefined) throw new Error(`--device: one of ${Object.keys(CONTENDERS).join(', ')}`);
const onGpu = options.device === 'webgpu';
const partly = new Set(every.filter(({ isPartly }) => isPartly).map(({ name }) => name));
const {
  promptTokens: PROMPT_TOKENS,
  newTokens: NEW_TOKENS,
  linesPerPrompt,
  ...unsaid
} = SETTINGS[options.device];
const runs = Number(options.runs ?? unsaid.runs);
const wanted = options.only?.split(',') ?? [''];
const contenders = every.filter(({ name }) => wanted.some((part) => name.includes(part)));
if (contenders.length === 0) {
  throw new Error(`nobody is called ${options.only}; there are: ${every.map(({ name }) => name).join(', ')}`);
}

let device;
const prompts = await makePrompts(await floresLines(options.flores, 'en'));
const passes = [];
for (const threads of (options.threads ?? unsaid.threads).split(',').map(Number)) {
  passes.push(await measureAll(threads));
}
const result = {
  benchmark: 'generation',
  date: new Date().toISOString(),
  device,
  settings: { device: options.device, promptTokens: PROMPT_TOKENS, newTokens: NEW_TOKENS, runs },
  passes,
};
printReport(result);
await mkdir(path.dirname(options.out), { recursive: true });
await writeFile(options.out, `${JSON.stringify(result, undefined, 2)}\n`);
console.log(`written: ${options.out}`);
if (
  passes.some(({ engines, failed }) => failed.length > 0 && engines.every(({ side }) => side === 'multihead'))
) {
  console.error('SHORT: no peer ran');
  process.exitCode = 1;
}

/** One prompt to warm with and one for each run. No two begin with the same token: nobody has read the beginning of one
 * before. */
async function makePrompts(lines) {
  const texts = [];
  for (let at = 0; at + linesPerPrompt <= lines.length; at += linesPerPrompt) {
    texts.push(lines.slice(at, at + linesPerPrompt).join(' '));
  }
  const [ours] = CONTENDERS.cpu;
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
  let engines = [];
  const failed = [];
  /** What one of the others cannot do on a GPU is told, and the rest go on; everything else ends the run. */
  const dropping = async ({ name, side, version, browser }, act) => {
    try {
      return await act();
    } catch (error) {
      if (!onGpu || side === 'multihead') throw error;
      const reason = error.message.split('\n    at ')[0].trim();
      console.error(`${name} FAILED: ${reason}`);
      failed.push({
        name,
        version: version ?? (await packageVersion(options.origin, PACKAGES[side])),
        reason,
      });
      engines = engines.filter((engine) => engine.name !== name);
      await browser?.close();
    }
  };
  try {
    for (const contender of contenders) {
      console.error(`${contender.name} loads, threads: ${threads}`);
      const engine = await dropping(contender, () => open(contender, threads));
      if (engine !== undefined) engines.push(engine);
    }
    for (const [turn, prompt] of prompts.entries()) {
      for (const engine of engines) {
        if (turn > 0) otherWork.push(await load(1000));
        await dropping(engine, async () => {
          const run = await measure(engine, prompt);
          tell(engine, turn, run.promptMs + run.newMs, run.promptCpu + run.newCpu);
          // The first run warms.
          if (turn > 0) engine.runs.push(run);
          else engine.wasmBytes.push(await wasmBytes(engine));
        });
      }
    }
    for (const engine of engines) engine.wasmBytes.push(await wasmBytes(engine));
    const busyCpus = median(otherWork);
    const isolated = await engines[0]?.page.evaluate(() => globalThis.crossOriginIsolated);
    return {
      threads,
      crossOriginIsolated: isolated,
      machine: { otherWorkInCpus: busyCpus, most: Math.max(...otherWork), busy: busyCpus > BUSY },
      engines: engines.map(summary),
      failed,
      memory: await memoryOf(engines),
    };
  } finally {
    await Promise.all(engines.map(({ browser }) => browser.close()));
  }
}

async function open(contender, threads) {
  const opened = await openEngine(
    { origin: options.origin, path: PAGE, packages: PACKAGES, device: options.device },
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
  const run = await inTime(
    engine.page.evaluate((args) => globalThis.bench.run(...args), [prompt, NEW_TOKENS]),
    'a run',
  );
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
  // On a GPU the weights are not in it.
  if (ours === undefined || onGpu) return undefined;
  const [loaded, once, atEnd] = ours.wasmBytes;
  const file = await bytesOf(options.origin, OURS);
  return { file, loaded, once, atEnd, limit: memoryLimit(file, PROMPT_TOKENS + NEW_TOKENS) };
}

function printReport({ device: on, settings, passes: all }) {
  console.log(`\n${on.cpu}, ${on.cores} cores, ${on.browser}, ${on.system}`);
  console.log(
    `SmolLM2-135M-Instruct, ${settings.promptTokens} tokens in, ${settings.newTokens} out, greedy, ` +
      `${onGpu ? 'WebGPU' : 'no GPU'}; tokens a second, median of ${settings.runs} runs in turn (least, most)`,
  );
  for (const pass of all) {
    const rows = pass.engines.map((engine) => [
      `${engine.name} (${engine.version})`,
      // Where a token takes seconds, a second has few.
      ...FIGURES.map(({ key, digits }) => range(engine[key], onGpu ? 3 : digits)),
      partly.has(engine.name) ? `${engine.about}, its products on the CPU` : engine.about,
    ]);
    const head = [`threads: ${pass.threads}`, ...FIGURES.map(({ head: words }) => words), ''];
    console.log(`\n${table([head, ...rows], [1, 2, 3, 4])}`);
    for (const { name, version, reason } of pass.failed)
      console.log(`FAILED: ${name} (${version}): ${reason}`);
    const whole = pass.engines.filter(({ name }) => !partly.has(name));
    for (const line of ratios(whole)) console.log(line);
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
