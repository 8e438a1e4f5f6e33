// The page's service worker without a browser: the order of what it does, which no browser lets a test choose.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import vm from 'node:vm';
import { fileOf } from './server.mjs';

const SCOPE = 'https://page.example/';

/** A few turns of the event loop: all that can be done without waiting for anything is done. */
async function settle() {
  for (let turn = 0; turn < 50; turn++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** The service worker, Cache Storage in memory, and a network that can be cut. */
function start() {
  /** @type {Map<string, Map<string, Response>>} */
  const stored = new Map();
  const state = {
    offline: false,
    /** @type {{ id: string, type: string }[]} */
    open: [],
    beforeKeys: () => Promise.resolve(),
  };
  /** @type {Map<string, (event: object) => void>} */
  const listeners = new Map();
  const caches = {
    open: (/** @type {string} */ name) => {
      const entries = stored.get(name) ?? new Map();
      stored.set(name, entries);
      return Promise.resolve({
        match: (/** @type {string} */ url) => Promise.resolve(entries.get(url)?.clone()),
        put: (/** @type {string} */ url, /** @type {Response} */ response) => {
          entries.set(url, response);
          return Promise.resolve();
        },
        keys: () => Promise.resolve([...entries.keys()].map((url) => ({ url }))),
      });
    },
    keys: async () => {
      await state.beforeKeys();
      return [...stored.keys()];
    },
    delete: (/** @type {string} */ name) => Promise.resolve(stored.delete(name)),
  };
  vm.runInNewContext(readFileSync(fileOf('/sw.js'), 'utf8'), {
    registration: { scope: SCOPE },
    skipWaiting: () => undefined,
    clients: {
      claim: () => undefined,
      matchAll: () => Promise.resolve(state.open),
      get: () => Promise.resolve(),
    },
    addEventListener: (/** @type {string} */ type, /** @type {(event: object) => void} */ listener) => {
      listeners.set(type, listener);
    },
    caches,
    fetch: () =>
      state.offline ? Promise.reject(new TypeError('no network')) : Promise.resolve(new Response('page')),
    crypto,
    Response,
    URL,
    setTimeout: (/** @type {() => void} */ then, /** @type {number} */ after) =>
      setTimeout(then, after).unref(),
  });
  /** @param {string} id @returns {Promise<Response>} */
  const visit = (id) =>
    new Promise((resolve, reject) => {
      listeners.get('fetch')?.({
        request: { url: SCOPE, method: 'GET', mode: 'navigate' },
        resultingClientId: id,
        respondWith: (/** @type {Promise<Response>} */ answer) => {
          answer.then(resolve, reject);
        },
      });
    });
  /** Says that the page has loaded; resolves with whether it is kept. @param {string} id @returns {Promise<string>} */
  const loaded = (id) =>
    new Promise((resolve) => {
      listeners.get('message')?.({
        source: { id, postMessage: (/** @type {{ kind: string }} */ { kind }) => resolve(kind) },
        data: { kind: 'loaded', urls: [`${SCOPE}demo.js`] },
        waitUntil: () => undefined,
      });
    });
  return { state, stored, visit, loaded };
}

test('a visit that is kept while the one before it still is stays kept', async () => {
  const { state, stored, visit, loaded } = start();
  await visit('first');
  // The first page is left at once: when it is asked who is there, nobody is, and the second is not open yet.
  let second = Promise.resolve('');
  state.beforeKeys = async () => {
    state.beforeKeys = () => Promise.resolve();
    await visit('second');
    state.open = [{ id: 'second', type: 'window' }];
    second = loaded('second');
    await settle();
  };
  assert.equal(await loaded('first'), 'kept');
  assert.equal(await second, 'kept');
  state.offline = true;
  assert.equal(await (await visit('third')).text(), 'page');
  await settle();
  assert.equal(
    [...stored.keys()].filter((name) => name.includes('-set-')).length,
    1,
    'and the first is gone',
  );
});
