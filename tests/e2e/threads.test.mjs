// Modules and threads in Chromium: what is fetched, what is said of it, and that no result depends on it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChromium } from './chromium.mjs';
import { floresLines, SENTENCES, translateNatively } from './native.mjs';

const { server, blank } = inChromium({}, { isolated: false });

/**
 * A page with the package, cross-origin isolated or not.
 * @param {'isolated' | 'plain'} kind
 */
async function open(kind) {
  const from = server(kind === 'isolated' ? 0 : 1);
  const start = from.state.requests.length;
  return {
    ...(await blank(from)),
    modules: () => from.state.requests.slice(start).filter((path) => path.endsWith('.wasm')),
  };
}

/**
 * Everything that a translation holds, floats by their bits, and what it was computed on.
 * @param {import('playwright-core').Page} page @param {number | 'auto'} threads @param {readonly string[]} lines
 */
function translated(page, threads, lines) {
  return page.evaluate(
    async ([count, texts]) => {
      const pair = { sourceLanguage: 'en', targetLanguage: 'pt' };
      const translator = await multihead.Translator.create({ ...pair, threads: count });
      const bits = (/** @type {Iterable<number>} */ floats) => [
        ...new Uint32Array(new Float32Array(floats).buffer),
      ];
      const whole = [];
      for (const text of [...texts, texts.join(' ')]) {
        const { text: target, sentences } = await translator.translateDetailed(text);
        const exact = sentences.map((sentence) => ({
          ...sentence,
          alignment: bits(sentence.alignment),
          score: bits([sentence.score]),
        }));
        whole.push({ target, sentences: exact });
      }
      const list = await multihead.translate(texts, { from: 'en', to: 'pt', threads: count });
      const { deviceReason } = translator;
      translator.destroy();
      await multihead.unload();
      return { deviceReason, list, whole };
    },
    /** @type {const} */ ([threads, lines]),
  );
}

test('two threads give the bits of one', async () => {
  const lines = [...SENTENCES['en-pt'], ...floresLines('en', 30)];
  const { page, modules, told, close } = await open('isolated');
  await page.evaluate(() => {
    multihead.configure({ workerUrl: '/tests/e2e/patient-worker.mjs' });
  });
  const one = await translated(page, 1, lines);
  const two = await translated(page, 2, lines);
  assert.match(one.deviceReason, /^relaxed SIMD, 1 thread;/);
  assert.match(two.deviceReason, /^relaxed SIMD, 2 threads;/);
  assert.deepEqual(two.whole, one.whole);
  assert.deepEqual(two.list, one.list);
  assert.deepEqual(one.list, await translateNatively('en-pt', lines));
  assert.deepEqual(
    modules().map((path) => path.replace(/^.*\//, '')),
    ['multihead_relaxed_bg.wasm', 'multihead_threads_bg.wasm'],
  );
  assert.deepEqual(told, []);
  await close();
});

test('a page that is not isolated works on one thread and says so once', async () => {
  const { page, modules, told, close } = await open('plain');
  const [line] = SENTENCES['en-pt'];
  const { deviceReason, list } = await translated(page, 2, [line ?? '']);
  await translated(page, 'auto', [line ?? '']);
  assert.match(deviceReason, /^relaxed SIMD, 1 thread: the page is not cross-origin isolated/);
  assert.deepEqual(list, await translateNatively('en-pt', [line ?? '']));
  assert.deepEqual([...new Set(modules())], ['/pkg/wasm/multihead_relaxed_bg.wasm']);
  assert.equal(told.length, 1);
  assert.match(told[0]?.text ?? '', /Cross-Origin-Opener-Policy.*Cross-Origin-Embedder-Policy/);
  await close();
});

test('a thread that traps takes the worker with it, and the next call works', async () => {
  const { page, close } = await open('isolated');
  const long = SENTENCES['en-pt'].join(' ');
  const outcome = await page.evaluate(async (text) => {
    multihead.configure({ workerUrl: '/tests/e2e/losing-worker.mjs' });
    const pair = { sourceLanguage: 'en', targetLanguage: 'pt' };
    const translator = await multihead.Translator.create({ ...pair, threads: 3 });
    const code = await translator.translate(text).catch(({ code: of }) => of);
    multihead.configure({ workerUrl: '/pkg/dist/worker.js' });
    return { code, next: await translator.translate(text) };
  }, long);
  assert.equal(outcome.code, 'internal');
  assert.equal(outcome.next, (await translateNatively('en-pt', [long]))[0]);
  await close();
});

test('where a thread cannot start, the others do its work', async () => {
  const { page, close } = await open('isolated');
  server().state.fault = (request, response, path) => {
    if (path !== '/pkg/dist/worker.js' || request.headers['referer']?.endsWith('worker.js') !== true)
      return false;
    response.writeHead(404).end();
    return true;
  };
  const [line] = SENTENCES['en-pt'];
  const { deviceReason, list } = await translated(page, 2, [line ?? '']);
  assert.match(deviceReason, /^relaxed SIMD, 1 thread: 1 more could not be started/);
  assert.deepEqual(list, await translateNatively('en-pt', [line ?? '']));
  await close();
});

test('wrong numbers of threads are typed errors', async () => {
  const { page, close } = await open('isolated');
  const codes = await page.evaluate(async () => {
    /** @type {[string, string][]} */
    const seen = [];
    for (const threads of [0, -1, 1.5, NaN, Infinity, '2', null]) {
      const options = { from: 'en', to: 'pt', threads: /** @type {any} */ (threads) };
      await multihead.translate('x', options).catch(({ code, option }) => seen.push([code, option]));
    }
    return seen;
  });
  assert.deepEqual(
    codes,
    codes.map(() => ['invalid-argument', 'threads']),
  );
  assert.equal(codes.length, 7);
  await close();
});
