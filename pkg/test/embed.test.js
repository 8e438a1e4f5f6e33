// embed(), Embedder, classify(), tagTokens() and fillMask() in Node, on an encoder of the tests' own (`fake-encoder.js`).

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import {
  classify,
  configure,
  embed,
  Embedder,
  fillMask,
  generate,
  memoryUsage,
  models,
  MultiheadError,
  tagTokens,
  translate,
  transliterate,
  unload,
  warmup,
} from 'multihead';

configure({
  workerUrl: new URL('altered/encoder/worker.js', import.meta.url),
  modelBase: new URL('no-models/', import.meta.url),
});
after(() => unload());

/** @param {string} text */
const file = (text) => new TextEncoder().encode(text).buffer;
const FILES = {
  'config.json': file('{}'),
  'tokenizer.json': file('{}'),
  'model.safetensors': file('weights'),
};
const model = { files: FILES };
/** One that has no heads. */
const bare = { files: { ...FILES, 'modules.json': file('[]') } };

/** @param {Promise<unknown>} promise @param {string} option @param {RegExp} message */
async function rejects(promise, option, message) {
  await assert.rejects(promise, (error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['invalid-argument', option], error.message);
    assert.match(error.message, message);
    return true;
  });
}

test('a text is a vector, a list is as many, each over a buffer of its own', async () => {
  assert.deepEqual([...(await embed('abc', { model }))], [3, 97, -1, -1]);
  const vectors = await embed(['a', 'bc', ''], { model, pooling: 'cls', normalize: false });
  assert.deepEqual(
    vectors.map((vector) => [...vector]),
    [
      [1, 97, 1, 0],
      [2, 98, 1, 0],
      [0, 0, 1, 0],
    ],
  );
  for (const vector of vectors) assert.equal(vector.buffer.byteLength, 4 * 4);
  assert.equal(new Set(vectors.map(({ buffer }) => buffer)).size, 3);
  const [first] = vectors;
  structuredClone(first, { transfer: [first?.buffer ?? new ArrayBuffer(0)] });
  assert.equal(vectors[1]?.[0], 2, 'one that was sent away takes no other along');
});

test('an empty list is one, and loads nothing', async () => {
  assert.deepEqual(await embed([]), []);
  assert.deepEqual(await embed([], { model: 'none-such' }), []);
  await rejects(embed([], /** @type {any} */ ({ pooling: 'none' })), 'pooling', /single tokens/);
});

test("the default model is the index's, and is named where there is none", async () => {
  configure({ modelBase: new URL('altered/', import.meta.url) });
  await assert.rejects(embed('a'), { code: 'model-not-found', file: 'index.json' });
  await assert.rejects(Embedder.create(), { code: 'model-not-found' });
  assert.equal(await Embedder.availability(), 'unavailable');
  assert.equal(await Embedder.availability({ model }), 'available');
  for (const call of [classify, tagTokens, fillMask])
    await rejects(call('x'), 'model', /only embed\(\) has a model/);
});

test('a thousand texts: in order, with their progress', async () => {
  const texts = Array.from({ length: 1000 }, (_, place) =>
    String.fromCharCode(65 + (place % 26)).repeat(place % 9),
  );
  /** @type {number[]} */
  const seen = [];
  const vectors = await embed(texts, {
    model,
    onProgress: ({ done, total }) => {
      assert.equal(total, 1000);
      seen.push(done);
    },
  });
  assert.deepEqual(
    vectors.map(([length]) => length),
    texts.map(({ length }) => length),
  );
  assert.deepEqual([...new Set(seen)], seen, 'nothing twice');
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    seen,
  );
  assert.equal(seen.at(-1), 1000);
  assert(seen.length > 100);
});

test('an abort stops a long call, and the next one works', async () => {
  const texts = Array.from({ length: 5000 }, (_, place) => String(place));
  const stop = new AbortController();
  let last = 0;
  const call = embed(texts, {
    model,
    signal: stop.signal,
    onProgress: ({ done }) => {
      last = done;
      if (done >= 300) stop.abort();
    },
  });
  await assert.rejects(call, { name: 'AbortError' });
  const then = last;
  assert(then >= 300 && then < 5000);
  assert.equal((await embed('abc', { model }))[0], 3);
  assert.equal(last, then, 'nothing more is told');
  await assert.rejects(embed('a', { model, signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('what a listener throws is an uncaught error, and fails no call', () => {
  // In a process of its own: here the test runner would take it for a fault of the test.
  const script = `
    import { configure, embed } from 'multihead';
    configure({ workerUrl: ${JSON.stringify(new URL('altered/encoder/worker.js', import.meta.url).href)} });
    const uncaught = [];
    process.on('uncaughtException', ({ message }) => uncaught.push(message));
    const file = new ArrayBuffer(2);
    const model = { files: { 'config.json': file, 'tokenizer.json': file, 'model.safetensors': file } };
    const onProgress = () => { throw new Error('a fault of the page'); };
    const vectors = await embed(['a', 'b'], { model, onProgress });
    console.log(vectors.length, [...new Set(uncaught)].join());`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('./', import.meta.url),
    encoding: 'utf8',
  });
  assert.equal(out, '2 a fault of the page\n');
});

test('an Embedder keeps its options, tells of itself, and ends', async () => {
  /** @type {number[]} */
  const loads = [];
  const embedder = await Embedder.create({
    model,
    pooling: 'max',
    normalize: true,
    precision: 'int8',
    monitor: (monitor) => {
      monitor.addEventListener('downloadprogress', ({ loaded }) => loads.push(loaded));
    },
  });
  assert.deepEqual([loads[0], loads.at(-1)], [0, 1]);
  assert.deepEqual(
    [embedder.device, embedder.precision, embedder.dimensions, embedder.maxTokens],
    ['cpu', 'int8', 4, 16],
  );
  assert.match(embedder.deviceReason, /thread/);
  assert.deepEqual([...(await embedder.embed('ab'))], [2, 97, 2, 1]);
  /** @type {[number, number][]} */
  const seen = [];
  const two = await embedder.embed(['ab', 'c'], {
    onProgress: ({ done, total }) => seen.push([done, total]),
  });
  assert.equal(two.length, 2);
  assert.deepEqual(seen.at(-1), [2, 2]);
  const [detailed] = await embedder.embedDetailed(['abcdefghijklmnopqrst']);
  assert.deepEqual([detailed?.truncated, detailed?.tokens.length, detailed?.vector[0]], [true, 16, 16]);
  assert.deepEqual(await embedder.embedDetailed([]), []);
  assert.deepEqual(await embedder.embed([]), []);
  assert.deepEqual(
    (await embedder.tokenize('hi')).map(({ range }) => range),
    [
      [0, 1],
      [1, 2],
    ],
  );
  await rejects(embedder.embedDetailed(['a'], { attention: { heads: [] } }), 'attention', /heads: a list/);
  await rejects(embedder.embedDetailed(/** @type {any} */ ('a')), 'texts', /a list of texts/);

  const open = embedder.embed(Array.from({ length: 5000 }, () => 'a'));
  embedder.destroy();
  embedder.destroy();
  await assert.rejects(open, { name: 'AbortError' });
  await assert.rejects(embedder.embed('a'), { name: 'InvalidStateError' });
  await embedder[Symbol.asyncDispose]();
  assert.throws(() => Reflect.construct(Embedder, []), TypeError);
});

test('two models at once, each with its own calls', async () => {
  const one = await Embedder.create({ model });
  const two = await Embedder.create({ model: bare, pooling: 'mean' });
  const [first, second] = await Promise.all([one.embed(['a', 'b']), two.embed(['a', 'b'])]);
  assert.deepEqual([first[0]?.[2], second[0]?.[2]], [-1, 0]);
  const { models: there, wasm } = await memoryUsage();
  assert(wasm > 0);
  assert(there.some(({ id }) => id.includes('modules.json')));
  one.destroy();
  assert.equal((await two.embed('abc'))[0], 3);
  two.destroy();
});

test('heads: labels, entities, candidates', async () => {
  const { labels, truncated } = await classify('x', { model });
  assert.deepEqual(
    [labels, truncated],
    [
      [
        { label: 'yes', score: 0.75 },
        { label: 'no', score: 0.25 },
      ],
      false,
    ],
  );
  assert.equal((await classify('x'.repeat(20), { model, topK: 1 })).labels.length, 1);
  assert.deepEqual((await tagTokens('Ana is here', { model })).entities, [
    { label: 'PER', score: 0.5, text: 'Ana', range: [0, 3] },
  ]);
  const { candidates } = await fillMask('b_c', { model, topK: 2 });
  assert.deepEqual(
    candidates.map(({ text, score, token }) => [text, score, token.range]),
    [
      ['bac', 0.5, [1, 2]],
      ['bac', 0.25, [1, 2]],
    ],
  );
});

test('a model without the head says what it can do', async () => {
  await assert.rejects(classify('x', { model: bare }), (error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['model-unsupported', 'model']);
    assert.match(error.message, /cannot do classify\(\).*ForSequenceClassification.*it can do: embed\(\)/);
    return true;
  });
  await assert.rejects(tagTokens('x', { model: bare }), /ForTokenClassification/);
  await assert.rejects(fillMask('x', { model: bare }), /ForMaskedLM/);
  assert.equal((await embed('abc', { model: bare }))[0], 3, 'the next call works');
});

test('an encoder without its tokenizer is one all the same', async () => {
  const { 'tokenizer.json': _, ...others } = FILES;
  const files = { ...others, 'config.json': file('{ "model_type": "bert" }') };
  /** @param {Promise<unknown>} call @param {RegExp} said */
  const says = (call, said) =>
    assert.rejects(call, (error) => {
      assert(error instanceof MultiheadError);
      assert.deepEqual([error.code, error.option], ['model-unsupported', 'model']);
      assert.match(error.message, said);
      assert.doesNotMatch(error.message, /letters/);
      return true;
    });
  const none = /is an encoder, and transliterates nothing\. Use embed\(\)/;
  for (const more of [{}, { 'vocab.txt': file('a') }, { 'my_tokenizer.json': file('{}') }]) {
    const lacking = { files: { ...files, ...more } };
    const missing = /missing: tokenizer\.json; there: .*AutoTokenizer\.from_pretrained/;
    await says(embed('a', { model: lacking }), missing);
    await says(warmup({ model: lacking }), missing);
    await says(transliterate('a', { model: lacking }), none);
    // Names alone do not tell two files from those of a model over letters.
    if (Object.keys(more).length === 0) continue;
    await says(translate('a', { model: lacking, to: 'pt' }), /is an encoder, and does not translate\./);
    await says(generate('a', { model: lacking }), /is an encoder, and writes no text\./);
  }
});

test('a text that is too long is cut, or an error', async () => {
  const long = 'a'.repeat(40);
  assert.equal((await embed(long, { model }))[0], 16);
  await assert.rejects(embed(['a', long], { model, tooLong: 'error' }), {
    code: 'invalid-argument',
    message: /40 tokens.*16/,
  });
  const list = [...Array.from({ length: 700 }, () => 'a'), long];
  await assert.rejects(embed(list, { model, tooLong: 'error' }), {
    option: 'tooLong',
    message: /^text 700 /,
  });
  assert.equal((await embed(list.slice(0, 700), { model, tooLong: 'error' })).length, 700);
  await assert.rejects(classify(long, { model, tooLong: 'error' }), { code: 'invalid-argument' });
  const embedder = await Embedder.create({ model, tooLong: 'error' });
  await assert.rejects(embedder.embed(long), { code: 'invalid-argument' });
  embedder.destroy();
});

test('options of other libraries name ours; values are checked', async () => {
  /** @type {[Record<string, unknown>, string, RegExp][]} */
  const cases = [
    [{ dtype: 'q8' }, 'dtype', /called precision here/],
    [{ quantized: true }, 'quantized', /called precision here/],
    [{ quantize: true }, 'quantize', /called precision here/],
    [{ pooling: 'none' }, 'pooling', /'mean', 'cls' or 'max' expected, got "none".*single tokens/],
    [{ pooling: 'first_token' }, 'pooling', /'cls' here/],
    [{ pooling: 1 }, 'pooling', /got 1$/],
    [{ normalize: 'yes' }, 'normalize', /true or false expected, got "yes"/],
    [{ normalize_embeddings: true }, 'normalize_embeddings', /called normalize here/],
    [{ truncation: true }, 'truncation', /called tooLong here/],
    [{ tooLong: 'cut' }, 'tooLong', /'truncate' or 'error' expected, got "cut"/],
    [{ device: 'wasm' }, 'device', /'cpu' here/],
    [{ precision: 'binary' }, 'precision', /got "binary"/],
    [{ progress_callback: () => 0 }, 'progress_callback', /called monitor here/],
    [{ onProgress: 5 }, 'onProgress', /a function expected, got 5/],
    [{ topK: 3 }, 'topK', /embed\(\) has no such option; it has model/],
    [{ batchSize: 3 }, 'batchSize', /it has .*pooling, normalize, tooLong, onProgress/],
  ];
  for (const [options, option, message] of cases) {
    await rejects(embed('a', { model, ...options }), option, message);
  }
  for (const name of ['topk', 'top_k']) {
    await rejects(classify('a', { model, [name]: 3 }), name, /called topK here/);
  }
  for (const topK of [0, -1, 1.5, NaN, '3', null]) {
    await rejects(fillMask('a', /** @type {any} */ ({ model, topK })), 'topK', /a whole number above 0/);
  }
  await rejects(
    tagTokens('a', /** @type {any} */ ({ model, topK: 1 })),
    'topK',
    /tagTokens\(\) has no such option/,
  );
  await rejects(
    Embedder.create(/** @type {any} */ ({ model, onProgress: () => 0 })),
    'onProgress',
    /monitor/,
  );
  const embedder = await Embedder.create({ model });
  await rejects(
    embedder.embed('a', /** @type {any} */ ({ pooling: 'cls' })),
    'pooling',
    /it has signal, onProgress/,
  );
  embedder.destroy();
});

test('what is no text is named by its place', async () => {
  for (const wrong of [5, null, undefined, {}, ['a']]) {
    await rejects(
      embed(/** @type {any} */ (['a', 'b', wrong]), { model }),
      'texts[2]',
      /a string expected, got/,
    );
  }
  await rejects(embed(/** @type {any} */ (5), { model }), 'text', /a string expected, got number/);
  // A hole.
  await rejects(
    embed(/** @type {any} */ (Object.assign(Array(2), { 1: 'a' })), { model }),
    'texts[0]',
    /got undefined/,
  );
  for (const call of [classify, tagTokens, fillMask]) {
    await rejects(call(/** @type {any} */ (['a']), { model }), 'text', /a string expected, got object/);
  }
});

test('a model of another kind is an error that says what it is for, both ways', async () => {
  /** @param {string} message */
  const unsupported = (message) => ({
    code: 'model-unsupported',
    option: 'model',
    message: new RegExp(message),
  });
  await assert.rejects(
    translate('x', { from: 'en', to: 'pt', model }),
    unsupported('is an encoder, and does not translate\\. Use embed\\(\\)'),
  );
  await assert.rejects(
    generate('x', { model }),
    unsupported('is an encoder, and writes no text\\. Use embed\\(\\)'),
  );
  const gguf = { files: { 'tiny.gguf': file('GGUF') } };
  await assert.rejects(
    embed('x', { model: gguf }),
    unsupported('is a language model, and no encoder\\. Use generate\\(\\) or LanguageModel'),
  );
  const pair = { files: { 'model.bin': file('x'), 'vocab.spm': file('x') } };
  await assert.rejects(
    embed('x', { model: pair }),
    unsupported('is a translation model, and no encoder\\. Use translate\\(\\) or Translator'),
  );
  assert.equal(await Embedder.availability({ model: pair }), 'unavailable');
});

test('warmup() and unload() know encoders', async () => {
  await unload();
  const { precision, device } = await warmup({ model, precision: 'int8' });
  assert.deepEqual([precision, device], ['int8', 'cpu']);
  const { models: there } = await memoryUsage();
  assert.deepEqual(
    there.map(({ bytes }) => bytes),
    [2 + 2 + 7],
  );
  await unload(model);
  assert.deepEqual((await memoryUsage()).models, []);
  assert.equal(await models.isCached(model), true, 'given files need no network');
});

test('a worker that dies is another one for the next call', async () => {
  await assert.rejects(embed(['a', 'trap'], { model }), { code: 'internal' });
  assert.equal((await embed('abc', { model }))[0], 3);
});
