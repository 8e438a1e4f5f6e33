// The package's calls in Chromium, from a page without anything else.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { inChromium, openBlank, until } from './chromium.mjs';
import { floresLines, SENTENCES, translateNatively } from './native.mjs';

const { server, blank } = inChromium({});
/** @type {import('playwright-core').Page} */
let page;

beforeEach(async () => {
  ({ page } = await blank());
});
afterEach(() => page.context().close());

for (const [model, [from, to]] of /** @type {const} */ ([
  ['en-pt', ['en', 'pt']],
  ['pt-en', ['pt', 'en']],
])) {
  test(`translate() gives the text of the native command line, ${model}`, async () => {
    const lines = [...SENTENCES[model], ...floresLines(from, 30)];
    const expected = await translateNatively(model, lines);
    const got = await page.evaluate(
      ([texts, source, target]) => {
        return multihead.translate(texts, { from: source, to: target });
      },
      /** @type {const} */ ([lines, from, to]),
    );
    assert.deepEqual(got, expected);
  });
}

test('alone, in a list and inside a paragraph, a sentence gives the same tokens', async () => {
  const sentences = SENTENCES['en-pt'].slice(0, 6).filter((text) => /[.!?]$/.test(text));
  const ids = await page.evaluate(async (texts) => {
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const tokens = (
      /** @type {Awaited<ReturnType<typeof translator.translateDetailed>>} */ { sentences: all },
    ) => all.map(({ targetTokens }) => targetTokens.map(({ id }) => id));
    const alone = [];
    for (const text of texts) alone.push(...tokens(await translator.translateDetailed(text)));
    const atOnce = await Promise.all(texts.map((text) => translator.translateDetailed(text)));
    const paragraph = tokens(await translator.translateDetailed(texts.join(' ')));
    const listed = await multihead.translate(texts, { from: 'en', to: 'pt' });
    const solo = [];
    for (const text of texts) solo.push(await translator.translate(text));
    translator.destroy();
    return { alone, atOnce: atOnce.flatMap(tokens), paragraph, listed, solo };
  }, sentences);
  assert(ids.alone.every((tokens) => tokens.length > 0));
  assert.deepEqual(ids.atOnce, ids.alone);
  assert.deepEqual(ids.paragraph, ids.alone);
  assert.deepEqual(ids.listed, ids.solo);
});

test('translateStreaming() joined is translate()', async () => {
  const text = `  ${SENTENCES['en-pt'].join(' ')}\n\n\tSecond paragraph. It has two sentences.\n`;
  const { pieces, whole } = await page.evaluate(async (input) => {
    // With the package's own, a quick machine is done before there is a second piece.
    multihead.configure({ workerUrl: '/tests/e2e/altered-worker.mjs' });
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const parts = [];
    const reader = translator.translateStreaming(input).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
    }
    return { pieces: parts, whole: await translator.translate(input) };
  }, text);
  assert(pieces.length > 3);
  assert.equal(pieces.join(''), whole);
  assert(whole.startsWith('  ') && whole.endsWith('\n') && whole.includes('\n\n\t'), 'white space survives');
});

test('translateDetailed(): ranges are UTF-16, alignment rows sum to 1', async () => {
  const text = '🎉 The party is tomorrow! The café opens at nine o’clock.';
  const translation = await page.evaluate(async (input) => {
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const result = await translator.translateDetailed(input);
    const usage = await translator.measureInputUsage(input);
    return {
      usage,
      text: result.text,
      sentences: result.sentences.map((sentence) => ({ ...sentence, alignment: [...sentence.alignment] })),
    };
  }, text);
  assert(translation.usage > 10);
  assert(translation.sentences.length >= 2);
  for (const { source, target, sourceTokens, targetTokens, alignment } of translation.sentences) {
    assert(source[0] < source[1] && target[0] < target[1]);
    for (const token of sourceTokens) assert.equal(text.slice(...token.range), token.text);
    for (const token of targetTokens) assert.equal(translation.text.slice(...token.range), token.text);
    if (sourceTokens.length === 0) continue;
    const columns = sourceTokens.length + 1;
    assert.equal(alignment.length, columns * (targetTokens.length + 1));
    for (let row = 0; row <= targetTokens.length; row++) {
      const sum = alignment.slice(row * columns, (row + 1) * columns).reduce((a, b) => a + b, 0);
      assert(Math.abs(sum - 1) < 1e-3, `row ${row} sums to ${sum}`);
    }
  }
  const last = translation.sentences.at(-1);
  assert.equal(text.slice(...(last?.source ?? [0, 0])), 'The café opens at nine o’clock.');
});

test('an abort while the model loads stops the transfer; the model stays usable', async () => {
  let [asked, closed] = [false, false];
  server().state.fault = (_, response, path) => {
    if (!/\/model\..*\.bin$/.test(path)) return false;
    asked = true;
    response.on('close', () => (closed = true));
    return true;
  };
  await page.evaluate(() => {
    globalThis.stopping = new AbortController();
    const options = { from: 'en', to: 'pt', signal: globalThis.stopping.signal };
    globalThis.outcome = multihead.translate('Thank you.', options).catch((error) => error.name);
  });
  await until(() => asked, 'the model is asked for');
  const outcome = await page.evaluate(() => {
    globalThis.stopping.abort();
    return globalThis.outcome;
  });
  assert.equal(outcome, 'AbortError');
  await until(() => closed, 'the transfer ends');
  server().state.fault = undefined;
  const [expected] = await translateNatively('en-pt', ['Thank you.']);
  const next = await page.evaluate(() => multihead.translate('Thank you.', { from: 'en', to: 'pt' }));
  assert.equal(next, expected);
});

test('aborts while decoding and queued; the model stays usable', async () => {
  const outcome = await page.evaluate(async () => {
    const nameOf = async (/** @type {Promise<unknown>} */ promise) =>
      promise.then(
        () => 'done',
        (error) => error.name,
      );
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const long = 'The rain in the north has not stopped for a week. '.repeat(200);
    const [decoding, queued] = [new AbortController(), new AbortController()];
    const reader = translator.translateStreaming(long, { signal: decoding.signal }).getReader();
    const rest = [nameOf(translator.translate(long, { signal: queued.signal }))];
    const last = translator.translate('Thank you.');
    // At the first piece, whose message comes before that of the answer, nothing else has been heard of.
    const first = await reader.read();
    decoding.abort();
    queued.abort();
    rest.unshift(nameOf(reader.read()));
    const names = await Promise.all(rest);
    const text = await last;
    names.push(await nameOf(translator.translate('x', { signal: AbortSignal.abort() })));
    const open = nameOf(translator.translate(long));
    translator.destroy();
    names.push(await open, await nameOf(translator.translate('x')));
    return { names, piece: first.value, last: text };
  });
  assert.deepEqual(outcome.names, [
    'AbortError',
    'AbortError',
    'AbortError',
    'AbortError',
    'InvalidStateError',
  ]);
  assert.match(outcome.piece ?? '', /\S/);
  const [expected] = await translateNatively('en-pt', ['Thank you.']);
  assert.equal(outcome.last, expected);
});

test('two calls for one model load it once; the next page takes it from the cache', async () => {
  const start = server().state.requests.length;
  const load = () =>
    page.evaluate(async () => {
      /** @type {number[]} */
      const seen = [];
      const options = {
        sourceLanguage: 'en',
        targetLanguage: 'pt-BR',
        monitor: (/** @type {import('../../pkg/dist/index.js').CreateMonitor} */ monitor) => {
          monitor.addEventListener('downloadprogress', ({ loaded, total }) => {
            if (total === 1) seen.push(loaded);
          });
        },
      };
      const first = await multihead.Translator.availability(options);
      await Promise.all([multihead.Translator.create(options), multihead.Translator.create(options)]);
      const last = await multihead.Translator.availability(options);
      const memory = await multihead.memoryUsage();
      return { first, last, seen, memory };
    });
  const { first, last, seen, memory } = await load();
  const files = server()
    .state.requests.slice(start)
    .filter((path) => path.endsWith('.bin'));
  assert.equal(files.length, 2);
  assert.deepEqual([first, last], ['downloadable', 'available']);
  assert.equal(seen[0], 0);
  assert.equal(seen.at(-1), 1);
  assert.equal(memory.models.length, 1);
  assert(memory.wasm > 17_000_000);
  await openBlank(page, server());
  const again = server().state.requests.length;
  assert.equal((await load()).first, 'available');
  assert.deepEqual(
    server()
      .state.requests.slice(again)
      .filter((path) => path.startsWith('/models/') && path.endsWith('.bin')),
    [],
  );
});

test('the worker ends with its last model, and comes back', async () => {
  const facts = await page.evaluate(async () => {
    const pair = { from: 'en', to: 'pt' };
    await multihead.translate('Thank you.', pair);
    const loaded = await multihead.memoryUsage();
    await multihead.unload();
    const unloaded = await multihead.memoryUsage();
    return { loaded: loaded.wasm, unloaded, text: await multihead.translate('Thank you.', pair) };
  });
  assert(facts.loaded > 0);
  assert.deepEqual(facts.unloaded, { wasm: 0, gpu: 0, models: [] });
  assert.notEqual(facts.text, '');
});

test('a trap rejects the open calls; the next call works on a new worker', async () => {
  const outcome = await page.evaluate(async () => {
    multihead.configure({ workerUrl: '/tests/e2e/altered-worker.mjs' });
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const calls = ['Good morning.', 'trap', 'Good night.'].map((text) => translator.translate(text));
    const settled = await Promise.allSettled(calls);
    multihead.configure({ workerUrl: '/pkg/dist/worker.js' });
    return {
      codes: settled.map((call) => (call.status === 'rejected' ? call.reason.code : 'done')),
      next: await translator.translate('Thank you.'),
    };
  });
  assert.deepEqual(outcome.codes, ['done', 'internal', 'internal']);
  const [expected] = await translateNatively('en-pt', ['Thank you.']);
  assert.equal(outcome.next, expected);
});

test('damaged and wrong files, names and values are typed errors', async () => {
  const outcomes = await page.evaluate(async () => {
    const facts = async (/** @type {Promise<unknown>} */ promise) =>
      promise.then(
        () => ['done'],
        ({ name, code, option, file }) => [name, typeof code === 'string' ? code : '', option ?? file ?? ''],
      );
    const pair = { from: 'en', to: 'pt' };
    const junk = {
      files: { 'model.bin': new Blob(['junk']), 'vocab.spm': new Blob(['junk']) },
    };
    const unknown = /** @type {any} */ ({ ...pair, dtype: 'q8' });
    return [
      await facts(multihead.translate('x', { ...pair, model: junk })),
      await facts(multihead.translate('x', { ...pair, model: 'en-xx' })),
      await facts(multihead.translate('x', { from: 'en', to: 'de' })),
      await facts(multihead.translate('x', unknown)),
      await facts(multihead.translate('x', { ...pair, device: /** @type {any} */ ('wasm') })),
      await facts(multihead.translate('x', { ...pair, beamSize: 0 })),
      await facts(multihead.translate('x', { ...pair, beamSize: 1.5 })),
      await facts(multihead.translate('x', { ...pair, html: true })),
      await facts(multihead.translate(/** @type {any} */ (7), pair)),
      await facts(multihead.transliterate('x', { beamSize: 0 })),
      await facts(multihead.classify('x')),
    ];
  });
  assert.deepEqual(outcomes, [
    ['MultiheadError', 'model-corrupt', 'vocab.spm'],
    ['MultiheadError', 'model-not-found', 'model'],
    ['MultiheadError', 'model-not-found', ''],
    ['MultiheadError', 'invalid-argument', 'dtype'],
    ['MultiheadError', 'invalid-argument', 'device'],
    ['MultiheadError', 'invalid-argument', 'beamSize'],
    ['MultiheadError', 'invalid-argument', 'beamSize'],
    ['NotSupportedError', '', ''],
    ['MultiheadError', 'invalid-argument', 'text'],
    ['MultiheadError', 'invalid-argument', 'beamSize'],
    ['MultiheadError', 'invalid-argument', 'model'],
  ]);
});
