// The same calls in Firefox.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cosine } from '../../pkg/test/encoder-fixtures.js';
import { CHATS, fault } from './chats.mjs';
import { altered } from './demo.mjs';
import { launchFirefox } from './firefox.mjs';
import { floresLines, SENTENCES, translateNatively } from './native.mjs';
import { packModels } from './packed.mjs';
import { startServer } from './server.mjs';

/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;
/** @type {Awaited<ReturnType<typeof launchFirefox>>} */
let firefox;

/** @type {ReturnType<typeof packModels>} */
let packed;

before(async () => {
  packed = packModels('en-pt');
  server = await startServer({ folders: { '/packed/': packed.folder }, altered });
  firefox = await launchFirefox();
});
after(async () => {
  await firefox?.close();
  await server?.close();
  packed?.remove();
});

test('translate() in Firefox gives the text of the native command line', async () => {
  await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
  for (const [model, from, to] of /** @type {const} */ ([
    ['en-pt', 'en', 'pt'],
    ['pt-en', 'pt', 'en'],
  ])) {
    const lines = [...SENTENCES[model], ...floresLines(from, 30)];
    const expected = await translateNatively(model, lines);
    const got = await firefox.run(
      `const { translate } = await import(location.origin + '/pkg/dist/index.js');
       return translate(args[0], { from: args[1], to: args[2] });`,
      lines,
      from,
      to,
    );
    assert.deepEqual(got, expected);
  }
});

test('gzip files load in Firefox, and are kept as what is in them', async () => {
  const text = 'The cat sleeps on the warm stones.';
  const [expected] = await translateNatively('en-pt', [text]);
  await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
  const got = await firefox.run(
    `const { configure, models, translate, unload } = await import(location.origin + '/pkg/dist/index.js');
     configure({ modelBase: '/packed/' });
     const before = await models.isCached('en-pt');
     const first = await translate(args[0], { from: 'en', to: 'pt' });
     await unload();
     const after = await models.isCached('en-pt');
     return [before, first, after, await translate(args[0], { from: 'en', to: 'pt' })];`,
    text,
  );
  assert.deepEqual(got, [false, expected, true, expected]);
});

test('threads in Firefox give the text of one', async () => {
  await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
  const text = SENTENCES['en-pt'].join(' ');
  const [expected] = await translateNatively('en-pt', [text]);
  const got = await firefox.run(
    `const { configure, Translator } = await import(location.origin + '/pkg/dist/index.js');
     configure({ workerUrl: '/tests/e2e/patient-worker.mjs' });
     const options = { sourceLanguage: 'en', targetLanguage: 'pt', threads: 2 };
     const translator = await Translator.create(options);
     return [await translator.translate(args[0]), translator.deviceReason];`,
    text,
  );
  const [translated, reason] = /** @type {[string, string]} */ (got);
  assert.equal(translated, expected);
  assert.match(reason, /^relaxed SIMD, 2 threads;/);
});

test('a language model in Firefox: greedy answers, a stream that is stopped, a clone', async () => {
  await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
  const chats = CHATS.slice(0, 3);
  const got = await firefox.run(
    `const { LanguageModel } = await import(location.origin + '/pkg/dist/index.js');
     const model = await LanguageModel.create({ temperature: 0 });
     const told = [];
     for (const { prompt, greedy } of args[0]) {
       const clone = await model.clone();
       const reader = clone.promptStreaming(prompt).getReader();
       await reader.read();
       await reader.cancel();
       const answer = await clone.prompt(prompt, { maxNewTokens: greedy.length });
       clone.destroy();
       const beginnings = [];
       for (const place of greedy.keys()) beginnings.push(await model.detokenize(greedy.slice(0, place + 1)));
       told.push({ answer, beginnings });
     }
     model.destroy();
     return told;`,
    chats.map(({ prompt, greedy }) => ({ prompt, greedy })),
  );
  const told = /** @type {{ answer: string, beginnings: string[] }[]} */ (got);
  for (const [place, chat] of chats.entries()) {
    assert.equal(fault(chat, told[place]?.answer ?? '', told[place]?.beginnings ?? []), undefined);
  }
});

test('a long file in Firefox is kept in parts, and read from them at the next visit', async () => {
  const prompt = 'What is the capital of France?';
  const visit = async () => {
    await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
    const asked = server.state.requests.length;
    const got = await firefox.run(
      `const { generate, models } = await import(location.origin + '/pkg/dist/index.js');
       const text = await generate(args[0], { temperature: 0, maxNewTokens: 8 });
       const cache = await caches.open('multihead-models');
       const keys = (await cache.keys()).filter(({ url }) => new URL(url).pathname.endsWith('.gguf'));
       const sizes = await Promise.all(keys.map(async (key) => (await (await cache.match(key)).blob()).size));
       return { text, sizes, isCached: await models.isCached('smollm2-135m-instruct') };`,
      prompt,
    );
    const { text, sizes, isCached } = /** @type {{ text: string, sizes: number[], isCached: boolean }} */ (
      got
    );
    assert.match(text, /Paris/);
    assert.equal(isCached, true);
    assert(sizes.length > 2, `parts and their seal: ${sizes.join()}`);
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      98_362_432,
    );
    return server.state.requests.slice(asked).some((path) => path.endsWith('.gguf'));
  };
  await visit();
  assert.equal(await visit(), false, 'nothing is fetched again');
});

// Firefox takes a tenth of a second to read back, and compiles on software slowly: the encoder is a small one.
test("an encoder on Firefox's GPU gives the CPU's vectors", async (context) => {
  await firefox.goto(`${server.origin}/tests/e2e/blank.html`);
  if (!(await firefox.run(`return (await navigator.gpu?.requestAdapter()) != null;`))) {
    context.skip('this Firefox has no adapter to give');
    return;
  }
  const got = await firefox.run(
    `const { Embedder } = await import(location.origin + '/pkg/dist/index.js');
     const told = [];
     for (const device of ['webgpu', 'cpu']) {
       const model = await Embedder.create({ model: '/tests/fixtures/encoders/bert-embed/', device });
       const vectors = await model.embed(args[0]);
       told.push([model.device, model.deviceReason, vectors.map((vector) => [...vector])]);
       model.destroy();
     }
     return told;`,
    ['one', 'two words', 'three words here'],
  );
  const [gpu, cpu] = /** @type {[string, string, number[][]][]} */ (got);
  assert.deepEqual([gpu?.[0], cpu?.[0]], ['webgpu', 'cpu'], gpu?.[1]);
  assert.equal(gpu?.[2].length, 3);
  for (const [place, vector] of (gpu?.[2] ?? []).entries()) {
    assert(cosine(vector, cpu?.[2][place] ?? []) >= 0.9999, `text ${place}`);
  }
});

test('the page translates in Firefox', async () => {
  const text = 'The cat sleeps on the warm stones.';
  const [expected] = await translateNatively('en-pt', [text]);
  await firefox.goto(`${server.origin}/`);
  const got = await firefox.run(
    `const source = document.querySelector('textarea');
     source.value = args[0];
     source.dispatchEvent(new Event('input'));
     for (let wait = 0; wait < 6000; wait++) {
       if (document.querySelector('output').textContent === args[1]) break;
       await new Promise((resolve) => setTimeout(resolve, 100));
     }
     return document.querySelector('output').textContent;`,
    text,
    expected,
  );
  assert.equal(got, expected);
});

test('the page in Firefox: pointing at a word lights up the other side; it opens without a network', async () => {
  const lit = `const output = document.querySelector('output');
     for (let wait = 0; wait < 6000; wait++) {
       if (performance.getEntriesByName('multihead:update').length > 0) break;
       await new Promise((resolve) => setTimeout(resolve, 100));
     }
     const text = output.firstChild;
     const range = document.createRange();
     range.setStart(text, text.data.indexOf('pedras'));
     range.setEnd(text, text.data.indexOf('pedras') + 6);
     const { x, y, width, height } = range.getBoundingClientRect();
     const place = { clientX: x + width / 2, clientY: y + height / 2, pointerType: 'mouse' };
     output.dispatchEvent(new PointerEvent('pointermove', place));
     for (let wait = 0; wait < 6000 && document.querySelector('#source-marks span') === null; wait++) {
       await new Promise((resolve) => setTimeout(resolve, 100));
     }
     const mirror = document.querySelector('#mirror').firstChild;
     range.setStart(mirror, mirror.data.indexOf('stones'));
     range.setEnd(mirror, mirror.data.indexOf('stones') + 6);
     const word = range.getBoundingClientRect();
     const best = [...document.querySelectorAll('#source-marks span')].sort((a, b) => b.dataset.weight - a.dataset.weight)[0];
     const box = best.getBoundingClientRect();
     return Math.abs(box.left + box.width / 2 - word.left - word.width / 2) < 2 && Math.abs(box.top - word.top) < 2;`;
  const type = `const source = document.querySelector('textarea');
     source.value = 'The cat sleeps on the warm stones.';
     source.dispatchEvent(new Event('input'));`;
  await firefox.goto(`${server.origin}/`);
  assert.equal(await firefox.run(type + lit), true);
  await firefox.run(
    `for (let wait = 0; wait < 6000; wait++) {
       if (/Works without a network/.test(document.querySelector('#offline').textContent)) return;
       await new Promise((resolve) => setTimeout(resolve, 100));
     }
     throw new Error(document.querySelector('#offline').textContent);`,
  );
  server.state.fault = (_, response) => {
    response.destroy();
    return true;
  };
  // Without the query it would be the same document, and nothing would be loaded.
  await firefox.goto(`${server.origin}/?`);
  assert.equal(await firefox.run(type + lit), true);
  server.state.fault = undefined;
});
