// Files that are too long to be held as bytes: part by part in a Cache Storage of the test's own.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { configure } from 'multihead';
import { patience } from '../dist/download.js';
import { isKept, loadFiles, removeKept } from '../dist/loader.js';
import { lengths } from '../dist/parts.js';
import { platform, usePlatform } from '../dist/platform.js';

// As in a browser, but shorter.
usePlatform({ ...platform(), atOnce: 64 * 1024, readable: async (blob) => blob });
const PART = 32 * 1024;
const GATHERED = 4 * 1024;
Object.assign(lengths, { part: PART, gathered: GATHERED });

/** Bytes of a chunk. */
const CHUNK = 1003;
const CONTENT = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(2 * PART + 1000, 'of all that is long')]);
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');
const ADDRESS = new URL('https://site.test/long.gguf');

/** What is kept, by key. @type {Map<string, { blob: Blob, headers: Headers }>} */
const kept = new Map();
/** Bytes that there is room for. */
let quota = Infinity;
const storage = {
  /** @param {string} key */
  match: async (key) => {
    const found = kept.get(key);
    return found === undefined ? undefined : { headers: found.headers, blob: async () => found.blob };
  },
  /** @param {string} key @param {Response} response */
  put: async (key, response) => {
    const blob = await response.blob();
    const taken = [...kept.values()].reduce((sum, one) => sum + one.blob.size, 0);
    if (taken + blob.size > quota) throw new DOMException('no room', 'QuotaExceededError');
    kept.set(key, { blob, headers: response.headers });
  },
  /** @param {string} key */
  delete: async (key) => kept.delete(key),
  keys: async () => [...kept.keys()].map((url) => ({ url })),
};
Object.assign(globalThis, { caches: { open: async () => storage } });

/** Ranges asked for, or the method where that is none. @type {string[]} */
let requests = [];
/** Bytes from its start after which an answer breaks off. */
let breaks = Infinity;
/** @type {Record<string, string>} */
let headers = {};
let content = CONTENT;
configure({
  fetch: async (_, init) => {
    const range = new Headers(init?.headers).get('range');
    requests.push(range ?? init?.method ?? 'GET');
    if (init?.method === 'HEAD') return new Response(null, { headers });
    const start = Number(/\d+/.exec(range ?? '0')?.[0]);
    let place = start;
    const body = new ReadableStream({
      pull(controller) {
        const end = Math.min(place + CHUNK, content.length);
        if (end - start > breaks) controller.error(new TypeError('terminated'));
        else if (place < end) controller.enqueue(new Uint8Array(content.subarray(place, (place = end))));
        else controller.close();
      },
    });
    const at = { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` };
    return new Response(body, {
      status: start > 0 ? 206 : 200,
      headers: { ...headers, ...(start > 0 ? at : {}) },
    });
  },
});
beforeEach(() => {
  Object.assign(patience, { pause: 1, tries: 1 });
  kept.clear();
  [requests, headers, content, breaks, quota] = [[], {}, CONTENT, Infinity, Infinity];
});

/** A model of the file. @param {object} [facts] What is known of it. */
const model = (facts = { bytes: CONTENT.length, sha256: SHA256 }) => ({
  id: 'long',
  key: 'long',
  files: [{ name: 'long.gguf', role: 'model', origin: ADDRESS, ...facts }],
});
/** Its content. @param {object} [facts] */
const load = async (facts) => {
  const [file] = await loadFiles(
    model(facts),
    new AbortController().signal,
    () => undefined,
    () => 0,
  );
  assert(file?.data instanceof Blob);
  return Buffer.from(await file.data.arrayBuffer());
};
/** Whether it is CONTENT: a message would show all of it. @param {Buffer} got */
const isContent = (got) => got.equals(CONTENT);
const sizes = () => [...kept.values()].map(({ blob }) => blob.size);

test('a long file is put away in parts as it comes, and found again', async () => {
  assert(isContent(await load()));
  assert.deepEqual(sizes(), [...partSizes(), 0], 'its parts, and then the seal');
  assert.equal(await isKept(model()), true);
  requests = [];
  assert(isContent(await load()));
  assert.deepEqual(requests, []);
  assert.equal(await removeKept(model()), true);
  assert.equal(kept.size, 0);
});

/** Every part ends with the chunk that makes it long enough. */
function partSizes() {
  const gathered = (/** @type {number} */ least) => Math.ceil(least / CHUNK) * CHUNK;
  // Chunks are gathered five at a time, and these until they make a part.
  const five = gathered(GATHERED);
  const part = Math.ceil(PART / five) * five;
  return [part, CONTENT.length - part];
}

for (const [what, facts, told] of /** @type {const} */ ([
  ['a known hash', undefined, {}],
  ['a version that the server tells', {}, { etag: '"1"' }],
])) {
  test(`of ${what}: a download that broke off goes on in a later visit`, async () => {
    headers = told;
    breaks = 50_000;
    await assert.rejects(load(facts), { code: 'download-failed' });
    const [first = 0] = partSizes();
    assert.deepEqual(sizes(), [first]);
    assert.equal(await isKept(model(facts)), false);
    breaks = Infinity;
    requests = [];
    assert(isContent(await load(facts)));
    assert.deepEqual(
      requests.filter((one) => one !== 'HEAD'),
      [`bytes=${first}-`],
    );
    assert.equal(await isKept(model(facts)), true);
  });
}

test('parts of another version are not gone on from', async () => {
  headers = { etag: '"1"' };
  content = Buffer.from(CONTENT).fill('other', 1000);
  breaks = 50_000;
  await assert.rejects(load({}), { code: 'download-failed' });
  [headers, content, breaks, requests] = [{ etag: '"2"' }, CONTENT, Infinity, []];
  assert(isContent(await load({})));
  assert.deepEqual(requests, ['HEAD', 'GET']);
  assert.deepEqual(sizes(), [...partSizes(), 0], 'of the new one only');
});

test('parts that are not what the hash says are fetched again', async () => {
  content = Buffer.from(CONTENT).fill('other', 1000);
  breaks = 50_000;
  await assert.rejects(load(), { code: 'download-failed' });
  patience.tries = 2;
  [content, breaks, requests] = [CONTENT, Infinity, []];
  assert(isContent(await load()));
  assert.equal(requests.length, 2, requests.join());
  assert.match(requests[0] ?? '', /^bytes=/);
  assert.equal(requests[1], 'GET');
});

test('a wrong file is not left behind', async () => {
  content = Buffer.from(CONTENT).fill('other', 1000);
  await assert.rejects(load(), { code: 'model-corrupt' });
  assert.equal(kept.size, 0);
});

test('without room it is loaded all the same, and not kept', async (context) => {
  const warned = context.mock.method(console, 'warn', () => undefined);
  quota = PART * 1.5;
  assert(isContent(await load()));
  assert.equal(kept.size, 0);
  assert.equal(warned.mock.callCount(), 1);
});
