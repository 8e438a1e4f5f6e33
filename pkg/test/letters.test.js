// Models over letters in Node: en-km-translit as `cargo xtask models` has put it into the repository, beside what its package finds on
// Keras; the lesson's trained models as folders, and as files by name.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { configure, embed, memoryUsage, transliterate, translate, unload, warmup } from 'multihead';

const ROOT = new URL('../../', import.meta.url);
configure({ modelBase: new URL('models/', ROOT) });
after(() => unload());

/** @type {{ words: { word: string, candidates: [string, number][] }[] }} */
const khmer = JSON.parse(readFileSync(new URL('tests/fixtures/letters/khmer.json', ROOT), 'utf8'));

test('words become what the package makes of them, with its probabilities', async () => {
  for (const { word, candidates } of khmer.words.slice(0, 20)) {
    const found = await transliterate(word, { candidates: 64 });
    assert.equal(found.text, candidates[0]?.[0], word);
    assert.equal(found.candidates.length, candidates.length);
    for (const [place, { probability }] of found.candidates.entries()) {
      assert(Math.abs(probability - (candidates[place]?.[1] ?? 0)) < 1e-4, word);
    }
  }
});

test('alignments are of written symbols and of all that the model sees', async () => {
  const { candidates } = await transliterate('So-kha', { candidates: 1 });
  const [{ text, alignment }] = /** @type {[(typeof candidates)[0]]} */ (candidates);
  assert.equal(candidates.length, 1);
  const { weights, layers, heads, queryLen, keyLen, queryTokens, keyTokens } = alignment;
  assert.deepEqual([layers, heads, keyLen, weights.length], [[0], [0], 25, queryLen * keyLen]);
  assert.equal(queryTokens.map((token) => token.text).join(''), text);
  // The hyphen is dropped, the padding stands for nothing.
  const ranges = keyTokens.slice(0, 6).map(({ range }) => range);
  assert.deepEqual(ranges, [
    [0, 1],
    [1, 2],
    [3, 4],
    [4, 5],
    [5, 6],
    [6, 6],
  ]);
  for (let row = 0; row < queryLen; row++) {
    const sum = weights.subarray(row * keyLen, (row + 1) * keyLen).reduce((all, one) => all + one, 0);
    assert(Math.abs(sum - 1) < 1e-5);
  }
});

/** @typedef {import('multihead').AttentionWeights} AttentionWeights */
/** @type {{ cases: { source: string, targetIds: number[], attention: Record<string, number[][][][]> }[] }} */
const dates = JSON.parse(readFileSync(new URL('tests/fixtures/letters/dates.json', ROOT), 'utf8'));
const LESSON = new URL('www/lesson/models/', ROOT);
/** @param {AttentionWeights} of */
const textsOf = ({ queryTokens, keyTokens }) =>
  [queryTokens, keyTokens].map((tokens) => tokens.map(({ text }) => text).join('|'));

test('dates are looked at as in torch, by every layer, head and kind', async () => {
  const model = new URL('dates/', LESSON).href;
  for (const { source, targetIds, attention: expected } of dates.cases) {
    const plain = await transliterate(source, { model });
    const { text, candidates } = await transliterate(source, { model, attention: true });
    const [best] = candidates;
    assert(best?.attention !== undefined);
    assert.equal(candidates.length, plain.candidates.length);
    for (const [place, one] of plain.candidates.entries()) {
      const { attention } = candidates[place] ?? {};
      assert.deepEqual(candidates[place], { ...one, attention });
    }
    assert(plain.candidates.every((one) => !('attention' in one)));
    assert(candidates.every(({ attention }) => Object.keys(attention ?? {}).length === 3));
    /** @type {import('multihead').Attention} */
    const looked = best.attention;
    for (const [kind, weights] of Object.entries(expected)) {
      const got = looked[/** @type {'encoder'} */ (kind)];
      assert(got !== undefined, kind);
      const { queryLen, keyLen, layers, heads, queryTokens } = got;
      assert.deepEqual(
        [layers, heads],
        [
          [0, 1],
          [0, 1, 2, 3],
        ],
      );
      assert.equal(got.weights.byteLength, got.weights.buffer.byteLength, 'a buffer of its own');
      const all = weights.flat(3);
      assert.equal(got.weights.length, all.length);
      for (const [place, weight] of got.weights.entries()) {
        assert(Math.abs(weight - (all[place] ?? NaN)) <= 1e-3, `${kind}, ${place}: ${weight}, ${all[place]}`);
        const [query, key] = [Math.floor(place / keyLen) % queryLen, place % keyLen];
        const isHidden = kind === 'decoder' && key > query;
        assert(isHidden ? weight === 0 : weight > 0, `${kind}: ${query}, ${key}: ${weight}`);
      }
      for (let row = 0; row < all.length; row += keyLen) {
        const sum = got.weights.subarray(row, row + keyLen).reduce((total, one) => total + one, 0);
        assert(Math.abs(sum - 1) < 1e-5, `${kind}, ${row}: ${sum}`);
      }
      if (kind !== 'encoder')
        assert.deepEqual(
          queryTokens.map(({ id }) => id),
          targetIds,
        );
    }
    // The end is written last; what starts an answer is read first.
    const written = text.split('').join('|');
    const { encoder, decoder, cross } = looked;
    assert(encoder !== undefined && decoder !== undefined && cross !== undefined);
    assert.deepEqual(textsOf(decoder), [`${written}|`, `|${written}`]);
    assert.deepEqual(textsOf(cross), [`${written}|`, textsOf(encoder)[0]]);
    assert.equal(textsOf(encoder)[0], textsOf(encoder)[1]);
    assert.equal(encoder.queryTokens.map((token) => token.text).join(''), source);
  }
});

test('of recurrent layers there is what they look at', async () => {
  const model = new URL('reverse-additive/', LESSON).href;
  const { candidates } = await transliterate('stone', { model, attention: true, candidates: 1 });
  const [best] = candidates;
  assert.deepEqual(Object.keys(best?.attention ?? {}), ['cross']);
  assert.deepEqual(best?.attention?.cross?.weights.length, best?.alignment.weights.length);
  const khmerFound = await transliterate('sokha', { attention: { kinds: ['cross'] }, candidates: 1 });
  assert.equal(khmerFound.candidates[0]?.attention?.cross?.keyLen, 25);
  const fixed = new URL('reverse-fixed/', LESSON).href;
  const none = await transliterate('stone', { model: fixed, attention: true, candidates: 1 });
  assert.deepEqual(none.candidates[0]?.attention, {});
  const { weights, layers, heads, queryLen } = none.candidates[0]?.alignment ?? assert.fail();
  assert.deepEqual([weights.length, layers, heads, queryLen], [0, [], [], 6]);
  /** @type {[import('multihead').AttentionRequest, RegExp][]} */
  const wrong = [
    [{ kinds: ['encoder'] }, /kind 'encoder'/],
    [{ layers: [1] }, /layer 1: 'cross' has 1 layer, /],
    [{ heads: [] }, /heads: a list/],
  ];
  for (const [attention, said] of wrong) {
    await assert.rejects(
      transliterate('stone', { model, attention }),
      (/** @type {any} */ error) => error.option === 'attention' && said.test(error.message),
    );
  }
});

test('one is warmed up, and unloaded', async () => {
  await unload();
  const model = new URL('dates/', LESSON).href;
  for (const one of ['en-km-translit', model]) {
    const { device, precision } = await warmup({ model: one });
    assert.deepEqual([device, precision], ['cpu', 'float32']);
    const [loaded, ...others] = (await memoryUsage()).models;
    assert.deepEqual(others, []);
    assert.match(loaded?.id ?? '', /^en-km-translit$|dates/);
    await transliterate('may', { model: one });
    assert.equal((await memoryUsage()).models.length, 1, 'the same');
    await unload(one);
    assert.deepEqual((await memoryUsage()).models, []);
  }
  await transliterate('may', { model });
});

test('what is for something else says what it is for', async () => {
  /** @param {Promise<unknown>} call @param {RegExp} said */
  const rejects = (call, said) =>
    assert.rejects(call, (/** @type {any} */ error) => {
      assert.deepEqual([error.code, error.option], ['model-unsupported', 'model']);
      assert.match(error.message, said);
      return true;
    });
  const model = 'en-km-translit';
  await rejects(
    translate('a', { model, to: 'pt' }),
    /is a model over letters, and does not translate\. Use transliterate\(\)/,
  );
  await rejects(
    embed('a', { model }),
    /A model over letters, which has no tokenizer, is for transliterate\(\)/,
  );
  await rejects(
    transliterate('a', { model: 'all-minilm-l6-v2' }),
    /is an encoder, and transliterates nothing\. Use embed\(\)/,
  );
});

test('nothing comes of no letters; what cannot be read says why', async () => {
  assert.deepEqual(await transliterate(' 12 '), { text: '', candidates: [] });
  /** @param {Promise<unknown>} call @param {string} code @param {string} option */
  const rejects = (call, code, option) =>
    assert.rejects(call, (/** @type {any} */ error) => error.code === code && error.option === option);
  await rejects(transliterate('a'.repeat(26)), 'invalid-argument', 'text');
  await rejects(transliterate('a', { beamSize: 65 }), 'invalid-argument', 'beamSize');
  await rejects(transliterate('a', { candidates: 0 }), 'invalid-argument', 'candidates');
  await rejects(transliterate('a', { model: 'all-minilm-l6-v2' }), 'model-unsupported', 'model');
  await rejects(transliterate('a', { model: 'en-pt' }), 'model-unsupported', 'model');
  await rejects(embed('a', { model: 'en-km-translit' }), 'model-unsupported', 'model');
});

test("the lesson's models load from files by name", async () => {
  const folder = new URL('www/lesson/models/reverse-additive/', ROOT);
  const files = Object.fromEntries(
    ['config.json', 'model.safetensors'].map((name) => [
      name,
      new Blob([readFileSync(new URL(name, folder))]),
    ]),
  );
  assert.equal((await transliterate('attention', { model: { files } })).text, 'noitnetta');
  // What lies beside them does not matter where config.json is at hand.
  const beside = { files: { ...files, 'README.md': new Blob(['#']) } };
  assert.equal((await warmup({ model: beside })).precision, 'float32');
  const byAddress = await transliterate('lesson', { model: folder.href });
  assert.equal(byAddress.text, 'nossel');
});
