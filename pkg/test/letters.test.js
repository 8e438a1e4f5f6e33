// Models over letters in Node: en-km-translit as `cargo xtask models` has put it into the repository, beside what its package finds on
// Keras; the lesson's trained models as folders, and as files by name.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { configure, embed, transliterate, unload } from 'multihead';

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
  const byAddress = await transliterate('lesson', { model: folder.href });
  assert.equal(byAddress.text, 'nossel');
});
