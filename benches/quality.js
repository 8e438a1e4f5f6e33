// sacreBLEU and chrF2 of our translations beside Bergamot's on FLORES dev, in both directions; fails where ours are
// further below than allowed.
// node quality.js --origin http://localhost:PORT --flores FOLDER --models FOLDER --translate PROGRAM --python PROGRAM --out FILE.json

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { openPage } from './lib/browser.js';
import { floresLines, linesOf } from './lib/lines.js';
import { deviceFacts } from './lib/machine.js';
import { score, tooFarBelow } from './lib/scores.js';
import { modelFiles, versions } from './lib/served.js';
import { table } from './lib/table.js';

const NAMES = ['origin', 'flores', 'models', 'translate', 'python', 'out'];
const { values: options } = parseArgs({
  options: Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])),
});

/** Directions, and how far below Bergamot's each score of ours may be. The model was made for English → Portuguese
 * references; the other way the same lines are turned round. */
const DIRECTIONS = [
  { from: 'en', to: 'pt', allowed: { bleu: 0.1, chrf2: 0.1 } },
  { from: 'pt', to: 'en', allowed: { bleu: 0.3 } },
];

const outFolder = path.dirname(options.out);
await mkdir(outFolder, { recursive: true });
const version = await versions(options.origin);
const { browser, page } = await openPage(options.origin);
try {
  const directions = [];
  for (const direction of DIRECTIONS) directions.push(await compare(direction));
  const result = {
    benchmark: 'quality',
    date: new Date().toISOString(),
    device: deviceFacts(browser),
    data: 'FLORES-200 dev',
    versions: version,
    directions,
  };
  await writeFile(options.out, `${JSON.stringify(result, undefined, 2)}\n`);
  printReport(directions);
  console.log(`written: ${options.out}`);
  if (directions.some(({ failed }) => failed.length > 0)) process.exitCode = 1;
} finally {
  await browser.close();
}

async function compare({ from, to, allowed }) {
  const pair = `${from}-${to}`;
  const file = (side) => path.join(outFolder, `${pair}.${side}.txt`);
  const source = path.join(options.flores, `dev.${from}`);
  const lines = await floresLines(options.flores, from);
  console.log(`${pair}: ${lines.length} lines by bergamot ${version.bergamot}`);
  await writeFile(file('bergamot'), (await byBergamot(pair, lines)).map((text) => `${text}\n`).join(''));
  console.log(`${pair}: ${lines.length} lines by multihead ${version.multihead}`);
  await byMultihead(pair, source, file('multihead'));
  const reference = path.join(options.flores, `dev.${to}`);
  const [theirs, ours] = await Promise.all(
    ['bergamot', 'multihead'].map((side) => score(options.python, reference, file(side))),
  );
  const [theirLines, ourLines] = [await linesOf(file('bergamot')), await linesOf(file('multihead'))];
  if (ourLines.length !== lines.length) throw new Error(`${pair}: ${ourLines.length} lines came back`);
  const sameLines = ourLines.filter((text, i) => text === theirLines[i]).length;
  const failed = tooFarBelow(ours, theirs, allowed);
  return { pair, lines: lines.length, sameLines, bergamot: theirs, multihead: ours, allowed, failed };
}

async function byBergamot(pair, lines) {
  const model = { ...(await modelFiles(options.origin, pair)), batchSize: 1 };
  await page.evaluate((loaded) => globalThis.bench.load('bergamot', 'bergamot', loaded), model);
  // One by one: in a batch, the shortlist is that of the batch, and a line's translation depends on its neighbours.
  const { outputs } = await page.evaluate((texts) => globalThis.bench.oneByOne('bergamot', texts), lines);
  await page.evaluate(() => globalThis.bench.destroy('bergamot'));
  return outputs;
}

async function byMultihead(pair, source, target) {
  const program = spawn(options.translate, [path.join(options.models, pair)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(program, 'close');
  await Promise.all([
    pipeline(createReadStream(source), program.stdin),
    pipeline(program.stdout, createWriteStream(target)),
  ]);
  const [status] = await ended;
  if (status !== 0) throw new Error(`${options.translate} ended with ${status}`);
}

function printReport(directions) {
  const rows = [['pair', 'package', 'sacreBLEU', 'chrF2', 'allowed below', 'same lines']];
  for (const { pair, bergamot, multihead, allowed, sameLines, lines } of directions) {
    rows.push([pair, 'bergamot', bergamot.bleu.toFixed(2), bergamot.chrf2.toFixed(2), '', '']);
    const limits = Object.entries(allowed).map(([metric, limit]) => `${limit} ${metric}`);
    const scores = [multihead.bleu.toFixed(2), multihead.chrf2.toFixed(2)];
    rows.push([pair, 'multihead', ...scores, limits.join(', '), `${sameLines} of ${lines}`]);
  }
  console.log(`\n${table(rows, [2, 3, 5])}`);
  for (const { pair, failed } of directions.filter((direction) => direction.failed.length > 0)) {
    console.log(`${pair}: FAILED, too far below in ${failed.join(' and ')}`);
  }
}
