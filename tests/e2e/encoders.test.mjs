// Encoders in Chromium and Firefox, from a page without anything else.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cosine, expectedOf, MINILM } from '../../pkg/test/encoder-fixtures.js';
import { inChromium } from './chromium.mjs';
import { launchFirefox } from './firefox.mjs';

const { server, blank } = inChromium({});
const texts = MINILM.odd.map(({ text }) => text);

/** The least of the texts' nearness to transformers. @param {readonly (readonly number[])[]} vectors */
const least = (vectors) => {
  assert.equal(vectors.length, texts.length);
  return Math.min(...vectors.map((vector, place) => cosine(vector, MINILM.odd[place]?.vector ?? [])));
};

test('vectors of odd texts are those of transformers; what was fetched is not fetched again', async () => {
  const { page } = await blank();
  const visit = async () => {
    const start = server().state.requests.length;
    const told = await page.evaluate(async (all) => {
      /** @type {number[]} */
      const progress = [];
      const vectors = await multihead.embed(all, {
        monitor: (monitor) => {
          monitor.addEventListener('downloadprogress', ({ loaded }) => progress.push(loaded));
        },
      });
      const isCached = await multihead.models.isCached('all-minilm-l6-v2');
      await multihead.unload();
      return { vectors: vectors.map((vector) => [...vector]), progress, isCached };
    }, texts);
    assert(least(told.vectors) >= 0.9999);
    assert.deepEqual([told.progress[0], told.progress.at(-1), told.isCached], [0, 1, true]);
    return server().state.requests.slice(start);
  };
  const first = await visit();
  assert.equal(first.filter((path) => path.endsWith('/model.safetensors')).length, 1);
  assert.equal(first.filter((path) => /\/multihead_encoder_\w+_bg\.wasm$/.test(path)).length, 1);
  const second = await visit();
  assert.deepEqual(
    second.filter((path) => path.includes('all-minilm-l6-v2/')),
    [],
  );
});

test('a page that translates fetches nothing of encoders', async () => {
  const { page, close } = await blank();
  const start = server().state.requests.length;
  await page.evaluate(() => multihead.translate('Thank you.', { from: 'en', to: 'pt' }));
  const asked = server().state.requests.slice(start);
  assert.deepEqual(
    asked.filter((path) => /encod|_text_|\.safetensors$/.test(path)),
    [],
  );
  await close();
});

test('a thousand texts: progress, an abort in between, and memory that stays', async () => {
  const { page, close } = await blank();
  const told = await page.evaluate(async (all) => {
    const many = Array.from(
      { length: 1000 },
      (_, place) => `${place}: ${all[place % all.length]?.slice(0, 60)}`,
    );
    await multihead.embed(many.slice(0, 300));
    const first = (await multihead.memoryUsage()).wasm;
    const stop = new AbortController();
    let last = 0;
    const aborted = await multihead
      .embed(many, {
        signal: stop.signal,
        onProgress: ({ done }) => {
          last = done;
          if (done >= 100) stop.abort();
        },
      })
      .then(
        () => 'done',
        (/** @type {Error} */ { name }) => name,
      );
    const atAbort = last;
    const vectors = await multihead.embed(many, {
      onProgress: ({ done, total }) => {
        last = total === 1000 ? done : NaN;
      },
    });
    const second = (await multihead.memoryUsage()).wasm;
    const own = vectors.every(({ buffer, byteLength }) => buffer.byteLength === byteLength);
    return { first, second, aborted, atAbort, last, count: vectors.length, own };
  }, texts);
  assert.deepEqual([told.aborted, told.count, told.last, told.own], ['AbortError', 1000, 1000, true]);
  assert(told.atAbort >= 100 && told.atAbort < 1000);
  assert.equal(told.second, told.first);
  await close();
});

test('heads of small encoders by the address of their folders', async () => {
  const { page, close } = await blank();
  const { labels, texts: classified } = expectedOf('bert-classify');
  const folder = (/** @type {string} */ name) => `${server().origin}/tests/fixtures/encoders/${name}/`;
  const [one] = classified;
  const got = await page.evaluate(({ text, model, topK }) => multihead.classify(text, { model, topK }), {
    text: one?.text ?? '',
    model: folder('bert-classify'),
    topK: labels.length,
  });
  for (const { label, score } of got.labels) {
    assert(Math.abs(score - (one?.scores[labels.indexOf(label)] ?? NaN)) <= 1e-3);
  }
  const [tagged] = expectedOf('distilbert-tag').texts;
  const { entities } = await page.evaluate(({ text, model }) => multihead.tagTokens(text, { model }), {
    text: tagged?.text ?? '',
    model: folder('distilbert-tag'),
  });
  assert.deepEqual(
    entities.map(({ label }) => label),
    tagged?.first.map(({ label }) => label),
  );
  await close();
});

test("a file of the page's own: Blobs by their paths", async () => {
  const { page, close } = await blank();
  const vectors = await page.evaluate(async (all) => {
    /** @type {Record<string, Blob>} */
    const files = {};
    for (const name of [
      'config.json',
      'tokenizer.json',
      'model.safetensors',
      'modules.json',
      // Without it the model would look at more tokens.
      'sentence_bert_config.json',
      '1_Pooling/config.json',
    ]) {
      files[`MiniLM/${name}`] = await (await fetch(`/models/all-minilm-l6-v2/${name}`)).blob();
    }
    const embedder = await multihead.Embedder.create({ model: { files }, precision: 'int8' });
    const made = await embedder.embed(all);
    embedder.destroy();
    return made.map((vector) => [...vector]);
  }, texts);
  assert(least(vectors) >= 0.99);
  await close();
});

/** @type {Awaited<ReturnType<typeof launchFirefox>> | undefined} */
let firefox;
before(async () => {
  firefox = await launchFirefox();
});
after(() => firefox?.close());

test('in Firefox', async () => {
  assert(firefox !== undefined);
  await firefox.goto(`${server().origin}/tests/e2e/blank.html`);
  const got = await firefox.run(
    `const { embed } = await import(location.origin + '/pkg/dist/index.js');
     const vectors = await embed(args[0]);
     return vectors.map((vector) => [...vector]);`,
    texts,
  );
  assert(least(/** @type {number[][]} */ (got)) >= 0.9999);
});
