// Downloads of gzip files in Chromium: what is transferred, what is kept, and faults of the server and of the cache.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { inChromium, LIMIT, openBlank, until } from './chromium.mjs';
import { translateNatively } from './native.mjs';
import { packModels } from './packed.mjs';
import { fileOf } from './server.mjs';

const TEXT = 'The cat sleeps on the warm stones.';
const VOCAB = 'en-pt/vocab.enpt.spm.gz';
const MODEL = 'en-pt/model.enpt.intgemm.alphas.bin.gz';

const packed = packModels('en-pt');
const { server, blank } = inChromium({ folders: { '/packed/': packed.folder } });
/** @type {Awaited<ReturnType<typeof blank>>} */
let visit;
/** @type {import('playwright-core').Page} */
let page;
/** @type {string} */
let expected;

before(async () => {
  expected = (await translateNatively('en-pt', [TEXT]))[0] ?? '';
});
after(packed.remove);
beforeEach(async () => {
  visit = await blank();
  ({ page } = visit);
  await prepare();
});
afterEach(() => visit.close());

/** What the console has warned of. */
const warnings = () => visit.told.flatMap(({ type, text }) => (type === 'warning' ? [text] : []));

/** The package takes the packed models, and waits for a slow machine as long as that takes. */
function prepare() {
  return page.evaluate(async (silence) => {
    multihead.configure({ modelBase: '/packed/' });
    const { patience } = await import(new URL('/pkg/dist/download.js', location.href).href);
    Object.assign(patience, { pause: 5, silence });
  }, LIMIT);
}

/** The page is opened anew. */
async function open() {
  await openBlank(page, server());
  await prepare();
}

/** Loads the model and translates; what came of it, in the page's words. */
function attempt() {
  return page.evaluate(async (text) => {
    /** @type {number[]} */
    const seen = [];
    const options = {
      sourceLanguage: 'en',
      targetLanguage: 'pt',
      monitor: (/** @type {import('../../pkg/dist/index.js').CreateMonitor} */ monitor) => {
        monitor.addEventListener('downloadprogress', ({ loaded, total }) => {
          globalThis.progress = loaded / total;
          seen.push(globalThis.progress);
        });
      },
    };
    try {
      const translator = await multihead.Translator.create(options);
      const translated = await translator.translate(text);
      translator.destroy();
      return { text: translated, seen };
    } catch (thrown) {
      const error = /** @type {import('../../pkg/dist/index.js').MultiheadError} */ (thrown);
      return { code: error.code, file: error.file, message: error.message };
    }
  }, TEXT);
}

/** Addresses and sizes of what is kept. */
function kept() {
  return page.evaluate(async () => {
    /** @type {Record<string, number>} */
    const sizes = {};
    const cache = await caches.open('multihead-models');
    for (const request of await cache.keys()) {
      const blob = await (await cache.match(request))?.blob();
      sizes[new URL(request.url).pathname] = blob?.size ?? -1;
    }
    return sizes;
  });
}

test('the first visit transfers the gzip files, the next none; the progress is one total', async () => {
  const start = server().state.requests.length;
  // Half of the model comes, and the rest once the page has been asked how far it is.
  let goOn = () => {};
  server().state.fault = instead(MODEL, (response, file) => {
    response.writeHead(200, { 'content-length': file.length });
    response.write(file.subarray(0, file.length / 2));
    goOn = () => void response.end(file.subarray(file.length / 2));
  });
  const coming = attempt();
  const availability = () =>
    page.evaluate(() => multihead.Translator.availability({ sourceLanguage: 'en', targetLanguage: 'pt' }));
  await until(() => server().state.requests.includes(`/packed/${MODEL}`), 'the model is asked for');
  assert.equal(await availability(), 'downloading');
  await page.waitForFunction(() => (globalThis.progress ?? 0) > 0.3);
  goOn();
  const first = await coming;
  assert.equal(first.text, expected);
  assert.equal(await availability(), 'available');
  assert.equal(first.seen?.[0], 0);
  assert.equal(first.seen?.at(-1), 1);
  assert(
    first.seen.some((loaded) => loaded > 0.3 && loaded < 0.7),
    'steps in between',
  );
  assert.deepEqual(
    first.seen,
    first.seen?.toSorted((a, b) => a - b),
  );
  const files = server()
    .state.requests.slice(start)
    .filter((path) => path.startsWith('/packed/en-pt/'));
  assert.equal(files.length, 3);
  assert(files.every((path) => path.endsWith('.gz')));
  /** @type {{ models: { files: { bytes: number, gzip: { name: string, bytes: number } }[] }[] }} */
  const { models } = JSON.parse(readFileSync(join(packed.folder, 'index.json'), 'utf8'));
  const sizes = await kept();
  let transferred = 0;
  for (const { bytes, gzip } of models[0]?.files ?? []) {
    assert.equal(sizes[`/packed/en-pt/${gzip.name}`], bytes, 'the content is kept');
    transferred += gzip.bytes;
  }
  // With the package (pkg/test/budget.test.js holds it to 350 KB) a first visit stays within 17 MB.
  assert(transferred + 350_000 <= 17_000_000, `${transferred} bytes`);

  await open();
  server().state.fault = undefined;
  const again = server().state.requests.length;
  const second = await attempt();
  assert.equal(second.text, expected);
  assert.deepEqual(
    server()
      .state.requests.slice(again)
      .filter((path) => path.startsWith('/packed/en-pt/')),
    [],
  );
  assert.deepEqual(warnings(), []);
});

/**
 * Answers for one file of the model in another way.
 * @param {string} name
 * @param {(response: import('node:http').ServerResponse, file: Buffer) => void} give
 * @returns {import('./server.mjs').Fault}
 */
const instead = (name, give) => (_, response, path) => {
  if (path !== `/packed/${name}`) return false;
  give(response, readFileSync(join(packed.folder, name)));
  return true;
};

/** @type {[name: string, path: string, code: string, message: RegExp, fault: import('./server.mjs').Fault][]} */
const FAULTS = [
  [
    'a web page with status 200',
    VOCAB,
    'model-not-found',
    /web page/,
    instead(VOCAB, (response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Nothing here');
    }),
  ],
  [
    'a web page under another type',
    VOCAB,
    'model-not-found',
    /web page/,
    instead(VOCAB, (response) => response.end('<html><p>Nothing here, whatever the type says')),
  ],
  [
    'status 404',
    VOCAB,
    'model-not-found',
    /404/,
    instead(VOCAB, (response) => response.writeHead(404).end('no')),
  ],
  [
    'a transfer cut at 60 %',
    MODEL,
    'download-failed',
    /ended after \d+ of \d+ bytes|network|failed/i,
    instead(MODEL, (response, file) => {
      response.writeHead(200, { 'content-length': file.length });
      response.write(file.subarray(0, file.length * 0.6), () => response.destroy());
    }),
  ],
  [
    'a transfer that ends at 60 % as if it were whole',
    MODEL,
    'download-failed',
    /ended after \d+ of \d+ bytes/,
    instead(MODEL, (response, file) => response.end(file.subarray(0, file.length * 0.6))),
  ],
  [
    'a flipped byte',
    MODEL,
    'model-corrupt',
    /damaged|SHA-256/,
    instead(MODEL, (response, file) => {
      file[5_000_000] = (file[5_000_000] ?? 0) ^ 1;
      response.end(file);
    }),
  ],
];

for (const [name, path, code, message, fault] of FAULTS) {
  test(`${name}: named, not kept, and the next try works`, async () => {
    server().state.fault = fault;
    await assertFault(await attempt(), path, code, message);
  });
}

test('a stall: named, not kept, and the next try works', async () => {
  let stalling = () => {};
  server().state.fault = instead(VOCAB, (response, file) => {
    stalling = () => {
      response.writeHead(200, { 'content-length': file.length });
      response.write(file.subarray(0, 1000));
    };
  });
  const setPatience = (/** @type {object} */ wanted) =>
    page.evaluate(async (changes) => {
      const { patience } = await import(new URL('/pkg/dist/download.js', location.href).href);
      Object.assign(patience, changes);
    }, wanted);
  const failing = attempt();
  // Once all other files are there, patience ends.
  const { models } = JSON.parse(readFileSync(join(packed.folder, 'index.json'), 'utf8'));
  /** @type {{ name: string, gzip: { bytes: number } }[]} */
  const files = models[0].files;
  const bytes = files.map(({ name, gzip }) => ({ isVocab: VOCAB.includes(name), size: gzip.bytes }));
  const sum = (/** @type {typeof bytes} */ some) => some.reduce((total, { size }) => total + size, 0);
  const rest = sum(bytes.filter(({ isVocab }) => !isVocab)) / sum(bytes);
  await page.waitForFunction((part) => (globalThis.progress ?? 0) > part - 1e-6, rest);
  await setPatience({ silence: 200, tries: 1 });
  stalling();
  const failed = await failing;
  await setPatience({ silence: LIMIT });
  await assertFault(failed, VOCAB, 'download-failed', /nothing came/);
});

/**
 * The fault is named and nothing of the file is kept; without the fault it works.
 * @param {Awaited<ReturnType<typeof attempt>>} failed @param {string} path @param {string} code @param {RegExp} message
 */
async function assertFault(failed, path, code, message) {
  assert.equal(failed.code, code, failed.message);
  assert.match(failed.message ?? '', message);
  assert.equal(`en-pt/${failed.file}.gz`, path);
  assert(failed.message?.includes(`${server().origin}/packed/${path}`), failed.message);
  assert.equal((await kept())[`/packed/${path}`], undefined);
  server().state.fault = undefined;
  const next = await attempt();
  assert.equal(next.text, expected, next.message);
  assert.deepEqual(warnings(), []);
}

test('without Content-Length, and with a server that undoes the compression', async () => {
  server().state.fault = (_, response, path) => {
    if (!path.endsWith('.gz')) return false;
    const file = readFileSync(join(packed.folder, path.slice('/packed/'.length)));
    if (path.endsWith('.spm.gz')) response.setHeader('content-encoding', 'gzip');
    response.write(file.subarray(0, 100), () => response.end(file.subarray(100)));
    return true;
  };
  const result = await attempt();
  assert.equal(result.text, expected, result.message);
  assert.equal(result.seen?.at(-1), 1);
});

test('a cache that cannot be opened costs one warning', async () => {
  await page.evaluate(() => {
    CacheStorage.prototype.open = () => Promise.reject(new DOMException('blocked', 'SecurityError'));
  });
  assert.equal((await attempt()).text, expected);
  assert.equal((await attempt()).text, expected);
  assert.equal(warnings().length, 1);
  assert.match(warnings()[0] ?? '', /multihead: models are not kept.*blocked/);
});

test('a quota that ends half-way through a write costs one warning, and keeps nothing half', async () => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: server().origin, quotaSize: 8_000_000 });
  assert.equal((await attempt()).text, expected);
  assert.equal(warnings().length, 1);
  assert.match(warnings()[0] ?? '', /multihead: models are not kept/);
  const sizes = await kept();
  assert.equal(sizes[`/packed/${MODEL}`], undefined);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: server().origin });
  assert.equal((await attempt()).text, expected);
  assert.equal((await kept())[`/packed/${MODEL}`], 17_140_836);
});

test('a model that the site has replaced is fetched anew, however long its files may be cached', async () => {
  let [id, from, to] = ['en-pt', 'en', 'pt'];
  server().state.fault = (_, response, path) => {
    if (!path.startsWith('/swap/')) return false;
    response.setHeader('cache-control', 'public, max-age=31536000');
    /** @type {{ models: { id: string, files: { name: string, role: string }[] }[] }} */
    const { models } = JSON.parse(readFileSync(fileOf('/models/index.json'), 'utf8'));
    const files = models.find((model) => model.id === id)?.files ?? [];
    if (path === '/swap/index.json') {
      const renamed = files.map((file) => ({ ...file, name: `${file.role}.bin` }));
      response.end(
        JSON.stringify({ models: [{ id: 'm', tasks: ['translation'], from, to, files: renamed }] }),
      );
      return true;
    }
    const asked = files.find(({ role }) => path === `/swap/m/${role}.bin`);
    response.end(readFileSync(fileOf(`/models/${id}/${asked?.name}`)));
    return true;
  };
  const translate = async (/** @type {string} */ text) => {
    await open();
    return page.evaluate(
      (options) => {
        multihead.configure({ modelBase: '/swap/' });
        return multihead.translate(options.text, { from: options.from, to: options.to });
      },
      { text, from, to },
    );
  };
  assert.equal(await translate('Good morning.'), 'Bom dia.');
  [id, from, to] = ['pt-en', 'pt', 'en'];
  assert.equal(await translate('Bom dia.'), 'Good morning.');
});

test('an abort while the gzip files come leaves nothing, and the next try works', async () => {
  const name = await page.evaluate(async () => {
    const stop = new AbortController();
    return multihead.Translator.create({
      sourceLanguage: 'en',
      targetLanguage: 'pt',
      signal: stop.signal,
      monitor: (monitor) => {
        monitor.addEventListener('downloadprogress', ({ loaded }) => {
          if (loaded > 0.3) stop.abort();
        });
      },
    }).then(
      () => 'done',
      (/** @type {Error} */ error) => error.name,
    );
  });
  assert.equal(name, 'AbortError');
  assert.equal((await kept())[`/packed/${MODEL}`], undefined);
  assert.equal((await attempt()).text, expected);
});
