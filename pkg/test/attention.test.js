// Attention weights through the package, in Node: of small encoders beside what transformers looks at
// (tests/fixtures/attention), of small translation models beside a transformer in numpy, of SmolLM2 by what every causal model has to hold to.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  classify,
  configure,
  Embedder,
  fillMask,
  LanguageModel,
  MultiheadError,
  tagTokens,
  Translator,
  unload,
} from 'multihead';
import { attending } from '../dist/attending.js';
import { attentionOf } from '../dist/attention.js';
import { SMALL } from './encoder-fixtures.js';

const FIXTURES = new URL('../../tests/fixtures/attention/', import.meta.url);
configure({ modelBase: new URL('../../models/', import.meta.url) });
after(() => unload());

/** @type {Record<string, { text: string, ids: number[], target_ids: number[], tokens: string[], shapes: Record<string, number[]> }>} */
const EXPECTED = JSON.parse(readFileSync(new URL('expected.json', FIXTURES), 'utf8'));

/** @param {string} name @param {string} kind */
function weightsOf(name, kind) {
  const bytes = readFileSync(new URL(`${name}-${kind}.f32`, FIXTURES));
  return Float32Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(4 * place));
}

/** Largest difference of two lists. @param {Float32Array} a @param {Float32Array} b */
function difference(a, b) {
  assert.equal(a.length, b.length);
  return a.reduce((most, one, place) => Math.max(most, Math.abs(one - (b[place] ?? NaN))), 0);
}

/** Rows sum to 1, and where `isSeen` says no, weights are exactly 0.
 * @param {import('multihead').AttentionWeights} attention @param {(query: number, key: number) => boolean} isSeen */
function checkRows({ weights, layers, heads, queryLen, keyLen, queryTokens, keyTokens }, isSeen) {
  assert.equal(weights.length, layers.length * heads.length * queryLen * keyLen);
  assert.equal(weights.byteLength, weights.buffer.byteLength, 'a buffer of its own');
  assert.deepEqual([queryTokens.length, keyTokens.length], [queryLen, keyLen]);
  for (let row = 0; row < weights.length / keyLen; row++) {
    const own = weights.subarray(row * keyLen, (row + 1) * keyLen);
    const sum = own.reduce((total, weight) => total + weight, 0);
    assert(Math.abs(sum - 1) < 1e-5, `${row}: ${sum}`);
    for (const [key, weight] of own.entries()) {
      if (!isSeen(row % queryLen, key)) assert.equal(weight, 0, `${row}, ${key}`);
    }
  }
}

for (const name of ['bert-embed', 'roberta-embed', 'mpnet-embed']) {
  test(`${name} looks where it does in transformers`, async () => {
    const expected = EXPECTED[name];
    assert(expected !== undefined);
    const embedder = await Embedder.create({ model: new URL(`${name}/`, SMALL), precision: 'float32' });
    const texts = ['the old town', expected.text];
    const detailed = await embedder.embedDetailed(texts, { attention: true });
    const got = detailed[1]?.attention?.encoder;
    assert(got !== undefined);
    assert.deepEqual(Object.keys(detailed[1]?.attention ?? {}), ['encoder']);
    const { layers, heads, queryLen, keyLen } = got;
    assert.deepEqual([layers.length, heads.length, queryLen, keyLen], expected.shapes['encoder']);
    assert.deepEqual(
      got.queryTokens.map(({ id }) => id),
      expected.ids,
    );
    for (const place of [0, -1]) {
      const mark = got.keyTokens.at(place);
      assert.deepEqual([mark?.text, mark?.range], [expected.tokens.at(place), [0, 0]]);
    }
    const most = difference(got.weights, weightsOf(name, 'encoder'));
    assert(most <= 1e-3, `${most}`);
    checkRows(got, () => true);

    // Of some layers and heads, in the order asked for.
    const some = { kinds: /** @type {const} */ (['encoder']), layers: [1], heads: [1, 0] };
    const [few] = await embedder.embedDetailed([expected.text], { attention: some });
    const part = few?.attention?.encoder;
    assert(part !== undefined);
    assert.deepEqual([part.layers, part.heads], [[1], [1, 0]]);
    const size = queryLen * keyLen;
    const start = heads.length * size;
    assert.deepEqual(part.weights.subarray(0, size), got.weights.subarray(start + size, start + 2 * size));
    assert.deepEqual(part.weights.subarray(size), got.weights.subarray(start, start + size));

    // What is not asked for is not there, and the vectors are the same.
    const plain = await embedder.embedDetailed(texts);
    assert(plain.every((one) => !('attention' in one)));
    assert.deepEqual(plain[1]?.vector, detailed[1]?.vector);
    embedder.destroy();
  });
}

/** Texts with what torch looks at, of the lesson's trained encoders. @param {string} name */
function trained(name) {
  /** @type {{ cases: { text: string, attention?: { encoder: number[][][][] } }[] }} */
  const { cases } = JSON.parse(readFileSync(new URL(`../letters/${name}.json`, FIXTURES), 'utf8'));
  return cases.flatMap(({ text, attention }) => (attention === undefined ? [] : [{ text, attention }]));
}

for (const [name, call] of /** @type {const} */ ([
  ['moods', classify],
  ['things', tagTokens],
])) {
  test(`${name} looks where it does in torch`, async () => {
    const model = new URL(`../../../www/lesson/models/${name}/`, FIXTURES).href;
    for (const { text, attention } of trained(name)) {
      const answer = await call(text, { model, precision: 'float32', attention: true });
      const { attention: looked, ...others } = answer;
      assert.deepEqual(await call(text, { model, precision: 'float32' }), others);
      assert.deepEqual(Object.keys(looked ?? {}), ['encoder']);
      const got = looked?.encoder;
      assert(got !== undefined);
      assert(difference(got.weights, Float32Array.from(attention.encoder.flat(3))) <= 1e-3);
      checkRows(got, () => true);
    }
    await assert.rejects(
      call('a', { model, precision: 'float32', attention: { kinds: ['cross'] } }),
      (error) => error instanceof MultiheadError && error.option === 'attention',
    );
  });
}

test('a gap is filled with a look at all of its text', async () => {
  const model = new URL('bert-fill/', SMALL).href;
  const text = 'the old [MASK] by the river';
  const heads = { layers: [1], heads: [2, 0] };
  const { attention, ...filled } = await fillMask(text, { model, precision: 'float32', attention: heads });
  assert.deepEqual(await fillMask(text, { model, precision: 'float32' }), filled);
  const embedder = await Embedder.create({ model, precision: 'float32' });
  const [embedded] = await embedder.embedDetailed([text], { attention: heads });
  embedder.destroy();
  assert(attention?.encoder !== undefined);
  assert.deepEqual(attention, embedded?.attention);
  assert(attention.encoder.keyTokens.some((token) => token.text === '[MASK]'));
  checkRows(attention.encoder, () => true);
});

test('the limit holds for all texts of a call', async () => {
  const embedder = await Embedder.create();
  // 6 layers of 12 heads, 256 tokens by 256: 18,874,368 bytes each, at most.
  const texts = Array.from({ length: 15 }, () => 'river '.repeat(300));
  await assert.rejects(embedder.embedDetailed(texts, { attention: true }), (error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['out-of-memory', 'attention']);
    assert.match(error.message, /283115520 bytes/);
    return true;
  });
  const few = await embedder.embedDetailed(texts.slice(0, 2), { attention: { layers: [0], heads: [0] } });
  assert(few.every(({ attention }) => attention?.encoder?.weights.length === 256 * 256));
  embedder.destroy();
});

test('of a list one text after the other is looked into', async () => {
  const embedder = await Embedder.create({ tooLong: 'error' });
  const stop = new AbortController();
  /** @type {number[]} */
  const told = [];
  const texts = Array.from({ length: 20 }, () => 'a river');
  const aborted = embedder.embedDetailed(texts, {
    attention: { layers: [0], heads: [0] },
    signal: stop.signal,
    onProgress: ({ done, total }) => {
      told.push(done);
      assert.equal(total, 20);
      if (done === 2) stop.abort();
    },
  });
  await assert.rejects(aborted, { name: 'AbortError' });
  assert.deepEqual(told, [1, 2]);
  const long = 'river '.repeat(300);
  const attention = { layers: [0], heads: [0] };
  await assert.rejects(embedder.embedDetailed(['a', long], { attention }), (error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['invalid-argument', 'tooLong']);
    assert.match(error.message, /text 1 of the list \(counted from 0\) has 302 tokens/);
    return true;
  });
  await assert.rejects(embedder.embedDetailed([long], { attention }), /the text has 302 tokens/);
  embedder.destroy();
});

test('what an encoder does not have is said', async () => {
  const embedder = await Embedder.create({ model: new URL('bert-embed/', SMALL) });
  /** @type {[import('multihead').AttentionRequest, RegExp][]} */
  const wrong = [
    [{ layers: [2] }, /layer 2: 'encoder' has 2 layers/],
    [{ heads: [0, 4] }, /head 4: 'encoder' has 4 heads/],
    [{ kinds: ['cross'] }, /kind 'cross'/],
    [{ layers: [] }, /layers: a list/],
  ];
  for (const [attention, said] of wrong) {
    await assert.rejects(embedder.embedDetailed(['a'], { attention }), (error) => {
      assert(error instanceof MultiheadError);
      assert.deepEqual([error.code, error.option], ['invalid-argument', 'attention']);
      assert.match(error.message, said);
      return true;
    });
  }
  assert.equal((await embedder.embedDetailed(['a'])).length, 1, 'it works on');
  embedder.destroy();
});

test('prompt and answer of a language model look back', async () => {
  const model = await LanguageModel.create();
  const call = { temperature: 0, maxNewTokens: 4 };
  const plain = await model.complete('The river runs through', call);
  assert(!('attention' in plain));
  const watched = await model.complete('The river runs through', { ...call, attention: { layers: [0, 29] } });
  assert.deepEqual([watched.text, watched.tokens], [plain.text, plain.tokens]);
  const { decoder, ...others } = watched.attention ?? {};
  assert.deepEqual(others, {});
  assert(decoder !== undefined);
  const { promptTokens, newTokens } = watched.stats;
  assert.deepEqual([decoder.layers, decoder.heads.length], [[0, 29], 9]);
  assert.equal(decoder.queryLen, promptTokens + newTokens);
  assert.equal(decoder.keyTokens.map(({ text }) => text).join(''), `The river runs through${watched.text}`);
  checkRows(decoder, (query, key) => key <= query);
  // 30 layers of 9 heads, 600 tokens by 600.
  const long = 'river '.repeat(600);
  await assert.rejects(model.complete(long, { ...call, attention: true }), (error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['out-of-memory', 'attention']);
    assert.match(error.message, /fewer layers or heads/);
    return true;
  });
  // 498 tokens have room, and no answer is lost for being longer.
  const nearly = 'river '.repeat(495);
  const whole = await model.complete(nearly, { ...call, maxNewTokens: 6 });
  const { attention, text, stats } = await model.complete(nearly, {
    ...call,
    maxNewTokens: 6,
    attention: true,
  });
  assert.equal(text, whole.text);
  assert(stats.promptTokens + stats.newTokens > 498);
  assert.deepEqual([attention?.decoder?.queryLen, attention?.decoder?.keyTokens.length], [498, 498]);
  model.destroy();
});

for (const [name, vocabulary] of /** @type {const} */ ([
  ['self-attention', 'shared-128'],
  ['tiny', 'shared-128'],
])) {
  test(`${name} looks where it does in numpy, translating and aligning`, async () => {
    const { text, ids, target_ids: target, shapes } = EXPECTED[name] ?? assert.fail();
    const file = (/** @type {string} */ path) =>
      new Blob([readFileSync(new URL(`../marian/${path}`, FIXTURES))]);
    const translator = await Translator.create({
      sourceLanguage: 'en',
      targetLanguage: 'pt',
      model: { files: { 'model.bin': file(`${name}.bin`), 'vocab.spm': file(`${vocabulary}.spm`) } },
      precision: 'float32',
    });
    const translated = await translator.translateDetailed(text, { attention: true });
    const aligned = await translator.align(text, translated.text, { attention: true });
    for (const { sentences } of [translated, aligned]) {
      const [sentence] = sentences;
      assert(sentence?.attention !== undefined);
      const { attention, alignment, sourceTokens, targetTokens } = sentence;
      assert.deepEqual(Object.keys(attention).toSorted(), Object.keys(shapes).toSorted());
      const idsOf = (/** @type {readonly import('multihead').Token[]} */ tokens) =>
        tokens.map(({ id }) => id);
      assert.deepEqual([idsOf(sourceTokens), idsOf(targetTokens)], [ids.slice(0, -1), target.slice(0, -1)]);
      for (const [kind, one] of Object.entries(attention)) {
        const { layers, heads, queryLen, keyLen, queryTokens, keyTokens } = one;
        assert.deepEqual([layers.length, heads.length, queryLen, keyLen], shapes[kind]);
        const most = difference(one.weights, weightsOf(name, kind));
        assert(most <= 1e-3, `${kind}: ${most}`);
        checkRows(one, (query, key) => kind !== 'decoder' || key <= query);
        assert.deepEqual(idsOf(queryTokens), kind === 'encoder' ? ids : target);
        if (kind === 'decoder') assert.deepEqual(keyTokens.slice(1), targetTokens);
        else assert.deepEqual(idsOf(keyTokens), ids);
      }
      // The alignment is the first head of the last layer.
      const { weights, heads } = attention.cross ?? assert.fail();
      const own = weights.subarray(heads.length * alignment.length).subarray(0, alignment.length);
      assert.deepEqual(own, alignment);
    }
    const plain = await translator.translateDetailed(text);
    assert(!plain.sentences.some((sentence) => 'attention' in sentence));
    const few = await translator.translateDetailed(text, { attention: { kinds: ['cross'], heads: [2] } });
    assert.deepEqual(Object.keys(few.sentences[0]?.attention ?? {}), ['cross']);
    assert.deepEqual(few.sentences[0]?.attention?.cross?.heads, [2]);
    const decoder = translator.translateDetailed(text, { attention: { kinds: ['decoder'] } });
    if (name === 'tiny') await assert.rejects(decoder, { code: 'invalid-argument', option: 'attention' });
    else await decoder;
    const wrong = translator.align(text, 'x', { attention: { heads: [64] } });
    await assert.rejects(wrong, { code: 'invalid-argument', option: 'attention' });
    translator.destroy();
  });
}

test('the sentences of a translation are held to the limit together, before any is looked at', async () => {
  /** @type {number[]} */
  const asked = [];
  const none = { weights: new Float32Array(0), layers: [], heads: [], queryLen: 0, keyLen: 0 };
  const encoder = { ...none, layers: [0, 1], heads: [0, 1, 2, 3, 4, 5, 6, 7] };
  const route = {
    isDirect: true,
    /** @param {{ source: number[] }} ask */
    attend: async ({ source }) => {
      asked.push(source.length);
      return [encoder, none, none];
    },
  };
  const look = await attending(true, /** @type {any} */ (route), new AbortController().signal);
  const token = { id: 7, text: 'x', range: /** @type {[number, number]} */ ([0, 1]) };
  /** @param {number} count */
  const sentence = (count) => ({
    source: /** @type {[number, number]} */ ([0, 1]),
    target: /** @type {[number, number]} */ ([0, 1]),
    sourceTokens: Array.from({ length: count }, () => token),
    targetTokens: [token],
    alignment: new Float32Array(0),
    score: 0,
  });
  // 16 heads of 255 + 1 tokens are 4 MiB: 64 sentences fit.
  const fits = Array.from({ length: 64 }, () => sentence(255));
  await look({ text: 'x', sentences: fits });
  assert.deepEqual(asked, [0, ...Array(64).fill(255)]);
  asked.length = 0;
  await assert.rejects(look({ text: 'x', sentences: [...fits, sentence(1)] }), (error) => {
    assert(error instanceof MultiheadError);
    assert.deepEqual([error.code, error.option], ['out-of-memory', 'attention']);
    assert.match(error.message, /268435712 bytes/);
    return true;
  });
  assert.deepEqual(asked, []);
});

test('a request is read once, and what it cannot be is said', () => {
  assert.equal(attentionOf(undefined), undefined);
  assert.equal(attentionOf(false), undefined);
  assert.deepEqual(attentionOf(true), { kinds: 0, layers: [], heads: [] });
  assert.deepEqual(attentionOf({ kinds: ['cross', 'encoder'], heads: [3] }), {
    kinds: 0b101,
    layers: [],
    heads: [3],
  });
  for (const wrong of [
    null,
    1,
    'all',
    { layer: [1] },
    { layers: 1 },
    { layers: [-1] },
    { layers: [0.5] },
    { layers: ['0'] },
    { layers: [0, 0] },
    { heads: [] },
    { heads: [2 ** 32] },
    { kinds: ['self'] },
    {
      get kinds() {
        throw new Error('no');
      },
    },
  ]) {
    assert.throws(
      () => attentionOf(wrong),
      (error) => error instanceof MultiheadError && error.option === 'attention',
    );
  }
});
