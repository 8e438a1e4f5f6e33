// Where a language model comes from, in Chromium: an address, a name on Hugging Face, a file from the disk. SmolLM2 has
// 98 MB: it is kept in parts, and read from them by ranges.

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { createReadStream } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { inChromium, LIMIT, openBlank } from './chromium.mjs';
import { fileOf } from './server.mjs';

const PATH = '/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf';
const FILE = fileOf(PATH);
const SIZE = statSync(FILE).size;
const REPOSITORY = 'owner/SmolLM2-135M-Instruct-GGUF';
const COMMIT = 'ab810cf68114990406fdf996510dd3d3c6adbdf5';

/** @type {{ models: { id: string, files: { name: string, sha256: string }[] }[] }} */
const index = JSON.parse(readFileSync(fileOf('/models/index.json'), 'utf8'));
const SHA256 = index.models.find(({ id }) => id === 'smollm2-135m-instruct')?.files[0]?.sha256;

const { server, blank } = inChromium({});
/** @type {Awaited<ReturnType<typeof blank>>} */
let visit;
/** @type {import('playwright-core').Page} */
let page;
/** Ranges asked for of the file, or the method where that is none. @type {string[]} */
let asked = [];
/** Bytes from its start after which an answer breaks off. */
let breaks = Infinity;

beforeEach(async () => {
  visit = await blank();
  ({ page } = visit);
  [asked, breaks] = [[], Infinity];
  server().state.fault = (request, response, path) => {
    if (path === `/api/models/${REPOSITORY}/revision/main`) {
      const lfs = { sha256: SHA256, size: SIZE, pointerSize: 134 };
      const siblings = [
        { rfilename: 'README.md' },
        { rfilename: 'SmolLM2-135M-Instruct.Q4_1.gguf', size: SIZE, lfs },
      ];
      response.end(JSON.stringify({ sha: COMMIT, siblings }));
      return true;
    }
    if (path !== PATH && path !== `/${REPOSITORY}/resolve/${COMMIT}/SmolLM2-135M-Instruct.Q4_1.gguf`)
      return false;
    const { range } = request.headers;
    asked.push(range ?? request.method ?? '');
    const start = Number(/\d+/.exec(range ?? '0')?.[0]);
    response.writeHead(range === undefined ? 200 : 206, {
      etag: '"1"',
      'content-length': SIZE - start,
      ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${SIZE - 1}/${SIZE}` }),
    });
    if (request.method === 'HEAD') return response.end() !== undefined;
    const stream = createReadStream(FILE, { start, end: Math.min(SIZE, start + breaks) - 1 });
    if (breaks < SIZE - start) stream.on('end', () => response.destroy());
    stream.pipe(response, { end: breaks >= SIZE - start });
    return true;
  };
  await prepare();
});
afterEach(() => visit.close());

/** The package asks the tests' server for what is on the hub. */
function prepare() {
  return page.evaluate(async (silence) => {
    multihead.configure({
      fetch: (url, init) => {
        const { host, pathname, search } = new URL(url instanceof Request ? url.url : url);
        return fetch(host === 'huggingface.co' ? `${location.origin}${pathname}${search}` : url, init);
      },
    });
    const { patience } = await import(new URL('/pkg/dist/download.js', location.href).href);
    Object.assign(patience, { pause: 5, silence, tries: 1 });
  }, LIMIT);
}

/** The page is opened anew. */
async function open() {
  await openBlank(page, server());
  await prepare();
  asked = [];
}

/** What the model says, or the code of what went wrong. @param {string} model */
function answer(model) {
  return page.evaluate(async (name) => {
    try {
      return await multihead.generate('What is the capital of France?', {
        model: name,
        temperature: 0,
        maxNewTokens: 8,
      });
    } catch (thrown) {
      return /** @type {{ code?: string }} */ (thrown).code ?? String(thrown);
    }
  }, model);
}

/** @param {string} model */
const isCached = (model) => page.evaluate((name) => multihead.models.isCached(name), model);

/** Sizes of what is kept of the file. */
const kept = () =>
  page.evaluate(async () => {
    const cache = await caches.open('multihead-models');
    const keys = (await cache.keys()).filter(({ url }) => new URL(url).pathname.endsWith('.gguf'));
    return Promise.all(keys.map(async (key) => (await (await cache.match(key))?.blob())?.size ?? -1));
  });

/** Parts of at least 32 MB, whatever chunks a browser gives, and the seal. @param {number[]} sizes */
function checkParts(sizes) {
  assert(sizes.length > 2 && sizes.includes(0), sizes.join());
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    SIZE,
  );
}

for (const model of [PATH, REPOSITORY]) {
  test(`${model === PATH ? 'an address' : 'a name on Hugging Face'}: comes once, is kept in parts, and goes on where it broke off`, async () => {
    breaks = 50_000_000;
    assert.equal(await answer(model), 'download-failed');
    const [part = 0, ...others] = await kept();
    assert(part >= 32 * 1024 * 1024 && others.length === 0, 'the part that had come');
    assert.equal(await isCached(model), false);

    await open();
    breaks = Infinity;
    const expected = await answer(model);
    assert.match(expected, /Paris/);
    assert.deepEqual(
      asked.filter((one) => one !== 'HEAD'),
      [`bytes=${part}-`],
    );
    checkParts(await kept());

    await open();
    assert.equal(await isCached(model), true);
    assert.equal(await answer(model), expected, 'of what is kept');
    assert.deepEqual(
      asked.filter((one) => one !== 'HEAD'),
      [],
    );

    await open();
    server().state.fault = (request) => {
      const { pathname } = new URL(request.url ?? '', 'http://localhost');
      if (!/\.gguf$|^\/api\//.test(pathname)) return false;
      request.destroy();
      return true;
    };
    assert.equal(await answer(model), expected, 'without a network');
    assert.equal(await page.evaluate((name) => multihead.models.delete(name), model), true);
    assert.deepEqual(await kept(), []);
  });
}

test('a file from the disk', async () => {
  await page.setContent('<input type="file" />');
  await page.setInputFiles('input', FILE);
  const said = await page.evaluate(async () => {
    const file = /** @type {HTMLInputElement} */ (document.querySelector('input')).files?.[0];
    if (file === undefined) return 'no file';
    const model = { files: { [file.name]: file } };
    const options = { model, temperature: 0, maxNewTokens: 8 };
    return multihead.generate('What is the capital of France?', options);
  });
  assert.match(said, /Paris/);
  assert.deepEqual(await kept(), []);
});
