// Memory in Chromium: hundreds of calls, models that come and go.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChromium, until } from './chromium.mjs';
import { floresLines, SENTENCES } from './native.mjs';

/** What garbage collection leaves of a heap may differ by this many bytes. */
const HEAP_SLACK = 1_000_000;

const { blank } = inChromium({});

/**
 * A page with the package. `heap(workers)` gives the bytes of JavaScript heap of the page and its workers, so many,
 * once garbage is collected; a worker that is a thread of another one never answers, so there may be none.
 */
async function open() {
  const { context, page, close } = await blank();
  // A thread that came in late would take its memory late.
  await page.evaluate(() => {
    multihead.configure({ workerUrl: '/tests/e2e/patient-worker.mjs' });
  });
  const session = await context.newCDPSession(page);
  /** @type {Set<string>} */
  const workers = new Set();
  /** @type {Map<string, (result: { usedSize?: number }) => void>} */
  const waiting = new Map();
  let nextId = 1;
  session.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
    if (targetInfo.type === 'worker') workers.add(sessionId);
  });
  session.on('Target.detachedFromTarget', ({ sessionId }) => {
    workers.delete(sessionId);
    // What was asked of it goes unanswered.
    for (const [key, answer] of waiting) if (key.startsWith(`${sessionId} `)) answer({});
  });
  session.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => {
    const { id, result } = JSON.parse(message);
    waiting.get(`${sessionId} ${id}`)?.(result);
  });
  await session.send('Target.setAutoAttach', {
    autoAttach: true,
    waitForDebuggerOnStart: false,
    flatten: false,
  });
  /** @param {string} sessionId @param {string} method @returns {Promise<{ usedSize?: number }>} */
  const ask = (sessionId, method) =>
    new Promise((resolve) => {
      const id = nextId++;
      waiting.set(`${sessionId} ${id}`, resolve);
      session
        .send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method }) })
        .catch(() => {
          resolve({});
        });
    });
  return {
    page,
    heap: async (/** @type {number} */ expected) => {
      await until(() => workers.size === expected, `${expected} workers`);
      await session.send('HeapProfiler.collectGarbage');
      let { usedSize } = await session.send('Runtime.getHeapUsage');
      for (const worker of workers) {
        await ask(worker, 'HeapProfiler.collectGarbage');
        usedSize += (await ask(worker, 'Runtime.getHeapUsage')).usedSize ?? 0;
      }
      return usedSize;
    },
    close,
  };
}

for (const [threads, all] of /** @type {const} */ ([
  [1, 500],
  [2, 200],
])) {
  test(`after 50 calls of ${all}, memory stays as it is, threads: ${threads}`, async () => {
    const { page, heap, close } = await open();
    const texts = [
      ...SENTENCES['en-pt'],
      ...floresLines('en', 12),
      SENTENCES['en-pt'].join(' '),
      'A',
      '',
      '12 345',
    ];
    /** @param {number} calls */
    const translate = (calls) =>
      page.evaluate(
        async ([inputs, count, wanted]) => {
          const pair = { sourceLanguage: 'en', targetLanguage: 'pt' };
          globalThis.translator ??= await multihead.Translator.create({ ...pair, threads: wanted });
          for (let call = 0; call < count; call++) {
            const text = inputs[call % inputs.length] ?? '';
            // Every kind of answer.
            if (call % 3 === 0) await translator.translate(text);
            else if (call % 3 === 1) await translator.translateDetailed(text);
            else for await (const _ of translator.translateStreaming(text));
          }
          return (await multihead.memoryUsage()).wasm;
        },
        /** @type {const} */ ([texts, calls, threads]),
      );
    const wasm = await translate(50);
    const heapBefore = threads === 1 ? await heap(1) : undefined;
    assert.equal(await translate(all - 50), wasm, 'wasm memory has grown');
    if (heapBefore !== undefined) {
      const grown = (await heap(1)) - heapBefore;
      assert(grown < HEAP_SLACK, `the JavaScript heap has grown by ${grown} bytes`);
    }
    await close();
  });
}

test('the memory of wasm is at most 2.5 times the model, however long the list', async () => {
  const { page, close } = await open();
  const { wasm, model } = await page.evaluate(
    async (lines) => {
      // As many as any device gets by itself.
      await multihead.translate(lines, { from: 'en', to: 'pt', threads: 4 });
      const found = (await multihead.models.list()).find(({ id }) => id === 'en-pt');
      const file = found?.files.find(({ name }) => name.startsWith('model.'));
      return { wasm: (await multihead.memoryUsage()).wasm, model: file?.bytes ?? 0 };
    },
    [...floresLines('en', 120), ...Array.from({ length: 8 }, () => SENTENCES['en-pt']).flat()],
  );
  assert(model > 1e6);
  assert(wasm <= 2.5 * model, `${wasm} bytes for a model of ${model}`);
  await close();
});

test('twenty times create, translate, destroy: memory ends where it began', async () => {
  const { page, heap, close } = await open();
  const round = (/** @type {number} */ times) =>
    page.evaluate(async (count) => {
      for (let time = 0; time < count; time++) {
        const pair = { sourceLanguage: 'en', targetLanguage: 'pt' };
        const translator = await multihead.Translator.create({ ...pair, threads: 1 });
        await translator.translate('The cat sleeps.');
        translator.destroy();
      }
      return (await multihead.memoryUsage()).wasm;
    }, times);
  await round(2);
  const baseline = await heap(0);
  assert.equal(await round(20), 0, 'a worker is left');
  const grown = (await heap(0)) - baseline;
  assert(grown < HEAP_SLACK, `the JavaScript heap has grown by ${grown} bytes`);
  await close();
});

test('models that come and go beside another leave it and its memory alone', async () => {
  const { page, close } = await open();
  const { first, last, text } = await page.evaluate(async () => {
    const kept = await multihead.Translator.create({ sourceLanguage: 'pt', targetLanguage: 'en' });
    const expected = await kept.translate('O gato dorme.');
    /** @type {number[]} */
    const sizes = [];
    for (let time = 0; time < 8; time++) {
      const other = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
      await other.translate('The cat sleeps.');
      sizes.push((await multihead.memoryUsage()).wasm);
      await other[Symbol.asyncDispose]();
    }
    const again = await kept.translate('O gato dorme.');
    kept.destroy();
    return { first: sizes[1], last: sizes.at(-1), text: expected === again ? again : '' };
  });
  assert.equal(last, first, 'wasm memory grows with every model that comes');
  assert.notEqual(text, '');
  await close();
});

test('twenty conversations of ten turns: after the first, memory stays as it is', async () => {
  const { page, heap, close } = await open();
  await page.evaluate(() => {
    multihead.configure({ workerUrl: '/pkg/dist/worker.js' });
  });
  /** @param {number} conversations */
  const talk = (conversations) =>
    page.evaluate(async (count) => {
      // Keeps the model; the conversations come and go beside it.
      globalThis.holder ??= await multihead.LanguageModel.create({ threads: 1 });
      for (let conversation = 0; conversation < count; conversation++) {
        const model = await multihead.LanguageModel.create({ threads: 1, temperature: 0 });
        for (let turn = 0; turn < 10; turn++) await model.prompt(`${turn}?`, { maxNewTokens: 4 });
        model.destroy();
      }
      return (await multihead.memoryUsage()).wasm;
    }, conversations);
  const wasm = await talk(1);
  const baseline = await heap(1);
  assert.equal(await talk(19), wasm, 'wasm memory has grown');
  const grown = (await heap(1)) - baseline;
  assert(grown < HEAP_SLACK, `the JavaScript heap has grown by ${grown} bytes`);
  await close();
});
