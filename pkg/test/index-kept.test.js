// Which index is kept for days without a network: a fetch and a Cache Storage of the test's own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configure } from 'multihead';
import { catalogue, forget } from '../dist/catalogue.js';

/** What is kept, by key. @type {Map<string, string>} */
const kept = new Map();
const storage = {
  match: async (/** @type {string} */ key) => {
    const text = kept.get(key);
    return text === undefined ? undefined : new Response(text);
  },
  put: async (/** @type {string} */ key, /** @type {Response} */ response) =>
    void kept.set(key, await response.text()),
  keys: async () => [...kept.keys()].map((url) => ({ url })),
};
Object.assign(globalThis, { caches: { open: async () => storage } });

const BASE = new URL('https://site.test/models/');

/** An index with a model of each id. @param {string[]} names */
function index(...names) {
  const files = [{ name: 'model.bin', bytes: 1, sha256: '0'.repeat(64) }];
  return { models: names.map((id) => ({ id, files, tasks: ['translation'], from: 'en', to: 'pt' })) };
}

/** The ids that a new visit sees. @param {object | undefined} served undefined: there is no network */
async function visit(served) {
  configure({
    fetch: async () => {
      if (served === undefined) throw new TypeError('fetch failed');
      return new Response(JSON.stringify(served));
    },
  });
  forget(BASE);
  return (await catalogue(BASE)).models.map(({ id }) => id);
}

test('an index with entries that cannot be read does not take the place of the whole one', async (context) => {
  context.mock.method(console, 'warn', () => undefined);
  const whole = index('one', 'two');
  assert.deepEqual(await visit(whole), ['one', 'two']);
  assert.deepEqual(await visit({ models: [...index('one').models, { id: 'two' }] }), ['one']);
  assert.deepEqual(await visit(undefined), ['one', 'two']);
  assert.deepEqual(await visit(index('three')), ['three']);
  assert.deepEqual(await visit(undefined), ['three']);
});
