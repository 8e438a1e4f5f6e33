// A GGUF file by its address, a Blob or bytes: what is kept of it without a hash, and what stops a wrong one. A fetch
// and a Cache Storage of the test's own.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { configure, models } from 'multihead';
import { patience } from '../dist/download.js';
import { find } from '../dist/find.js';
import { loadFiles } from '../dist/loader.js';
import { kept } from './kept.js';

const URL_OF_FILE = 'https://site.test/models/tiny.gguf';

/** @typedef {(init: RequestInit, attempt: number) => Response | Promise<Response>} Answer */
/** @type {Answer} */
let answer;
/** @type {string[]} */
let requests = [];
configure({
  fetch: async (url, init) => {
    const range = new Headers(init?.headers).get('range');
    requests.push([init?.method ?? 'GET', ...(range === null ? [] : [range])].join(' '));
    const { origin, pathname } = new URL(url instanceof Request ? url.url : url);
    assert.equal(`${origin}${pathname}`, URL_OF_FILE);
    return answer(init ?? {}, requests.length);
  },
});
beforeEach(() => {
  Object.assign(patience, { pause: 1, tries: 3 });
  configure({ memoryLimit: Number.MAX_SAFE_INTEGER });
  requests = [];
  kept.clear();
});

/** A GGUF file, as far as its first bytes go. @param {number} length @param {number} fill */
const gguf = (length, fill) => Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(length - 4, fill)]);

/** @param {Uint8Array<ArrayBuffer>} content @param {Record<string, string>} headers @returns {Answer} */
const serve = (content, headers) => {
  const all = { 'content-length': String(content.length), ...headers };
  return ({ method }) => new Response(method === 'HEAD' ? null : content, { headers: all });
};

/** @param {import('multihead').ModelSource} source @param {(part: number) => void} [progress] */
const load = async (source, progress = () => undefined) => {
  const [file, ...others] = await loadFiles(
    await find(source),
    new AbortController().signal,
    progress,
    () => 0,
  );
  assert(file !== undefined && others.length === 0);
  const { name, role, data } = file;
  const bytes = data instanceof Blob ? await data.arrayBuffer() : data;
  return { name, role, content: Buffer.from(/** @type {Uint8Array<ArrayBuffer>} */ (bytes)) };
};

test('by address: one file in the role of the model, its progress known from the start', async () => {
  const content = gguf(200_000, 1);
  answer = serve(content, {});
  for (const source of [URL_OF_FILE, new URL(URL_OF_FILE), `${URL_OF_FILE}?token=a.b/c#part`]) {
    /** @type {number[]} */
    const seen = [];
    const file = await load(source, (part) => seen.push(part));
    assert.deepEqual(file, { name: 'tiny.gguf', role: 'model', content });
    assert.deepEqual([seen[0], seen.at(-1)], [0, 1]);
  }
  assert.deepEqual(requests, ['HEAD', 'GET', 'HEAD', 'GET', 'HEAD', 'GET']);
  assert.equal(kept.size, 0, 'a server that does not tell versions apart: nothing is kept');
  assert.equal(await models.isCached(URL_OF_FILE), false);
});

for (const [what, first, second] of /** @type {const} */ ([
  ['an ETag', { etag: '"1"' }, { etag: '"2"' }],
  ['a weak ETag', { etag: 'W/"1"' }, { etag: 'W/"2"' }],
  [
    'a date',
    { 'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT' },
    { 'last-modified': 'Tue, 02 Jan 2024 00:00:00 GMT' },
  ],
])) {
  test(`by address, of a server that gives ${what}: kept, and fetched again once it is replaced`, async () => {
    const [old, replaced] = [gguf(1000, 1), gguf(1000, 2)];
    answer = serve(old, first);
    assert.equal(await models.isCached(URL_OF_FILE), false);
    assert.deepEqual((await load(URL_OF_FILE)).content, old);
    assert.equal(await models.isCached(URL_OF_FILE), true);
    requests = [];
    assert.deepEqual((await load(URL_OF_FILE)).content, old);
    assert.deepEqual(requests, ['HEAD'], 'asked whether it is the same, not for the file');
    answer = serve(replaced, second);
    assert.equal(await models.isCached(URL_OF_FILE), false);
    assert.deepEqual((await load(URL_OF_FILE)).content, replaced);
    assert.equal(kept.size, 1, 'in the place of the old one');
    answer = () => Promise.reject(new TypeError('fetch failed'));
    assert.deepEqual((await load(URL_OF_FILE)).content, replaced, 'without a network');
    assert.equal(await models.isCached(URL_OF_FILE), true);
    assert.equal(await models.delete(URL_OF_FILE), true);
    assert.equal(await models.delete(URL_OF_FILE), false);
    await assert.rejects(load(URL_OF_FILE), { code: 'download-failed', message: /fetch failed/ });
  });
}

test('a file that is replaced between the question and the answer is kept as what came', async () => {
  const content = gguf(1000, 2);
  answer = (init, attempt) => serve(content, { etag: attempt === 1 ? '"1"' : '"2"' })(init, attempt);
  assert.deepEqual((await load(URL_OF_FILE)).content, content);
  assert.match([...kept.keys()].join(), /%222%22/);
});

/** Sends the first `length` bytes, and breaks off. @param {Buffer<ArrayBuffer>} content @param {number} length @param {Record<string, string>} headers */
const broken = (content, length, headers) => {
  let sent = false;
  const body = new ReadableStream({
    pull(controller) {
      if (sent) controller.error(new TypeError('terminated'));
      else controller.enqueue(new Uint8Array(content.subarray(0, length)));
      sent = true;
    },
  });
  return new Response(body, { headers: { 'content-length': String(content.length), ...headers } });
};

/** The rest from `start` on. @param {Buffer<ArrayBuffer>} content @param {number} start @param {Record<string, string>} headers */
const rest = (content, start, headers) =>
  new Response(content.subarray(start), {
    status: 206,
    headers: { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}`, ...headers },
  });

test('an interrupted download goes on where the version is the same, and begins anew where it is not, or is not told', async () => {
  const [old, replaced] = [gguf(1000, 1), gguf(1000, 2)];
  const etag = { etag: '"1"' };
  const head = (/** @type {Record<string, string>} */ headers) => serve(old, headers)({ method: 'HEAD' }, 1);
  answer = ({ method }, attempt) =>
    method === 'HEAD' ? head(etag) : attempt === 2 ? broken(old, 600, etag) : rest(old, 600, etag);
  assert.deepEqual((await load(URL_OF_FILE)).content, old);
  assert.deepEqual(requests, ['HEAD', 'GET', 'GET bytes=600-']);
  kept.clear();

  requests = [];
  const other = { etag: '"2"' };
  answer = ({ method, headers }, attempt) => {
    if (method === 'HEAD') return head(etag);
    if (attempt === 2) return broken(old, 600, etag);
    return new Headers(headers).has('range') ? rest(replaced, 600, other) : serve(replaced, other)({}, 1);
  };
  assert.deepEqual((await load(URL_OF_FILE)).content, replaced);
  assert.deepEqual(requests, ['HEAD', 'GET', 'GET bytes=600-', 'GET']);

  requests = [];
  kept.clear();
  answer = ({ method }, attempt) =>
    method === 'HEAD' ? head({}) : attempt === 2 ? broken(old, 600, {}) : serve(replaced, {})({}, 1);
  assert.deepEqual((await load(URL_OF_FILE)).content, replaced);
  assert.deepEqual(requests, ['HEAD', 'GET', 'GET']);
});

test('what is no GGUF file is stopped at its first bytes', async () => {
  const cases = /** @type {const} */ ([
    ['version https://git-lfs.github.com/spec/v1\noid sha256:0', 'model-corrupt', /Git LFS.*git lfs pull/],
    ['{"error":"rate limited"}', 'model-corrupt', /begins with "\{\\"error.*in place of "GGUF"/],
    ['<!doctype html><title>Sign in</title>', 'model-not-found', /web page/],
    ['FUGG, the other way round', 'model-corrupt', /no GGUF file/],
    ['GG', 'download-failed', /ended after 2 bytes/],
  ]);
  for (const [text, code, message] of cases) {
    let cancelled = false;
    let sent = 0;
    const body = () =>
      new ReadableStream({
        pull(controller) {
          if (text.length > 4 && sent++ < 1000) controller.enqueue(Buffer.from(text.padEnd(65536, ' ')));
          else {
            if (text.length <= 4) controller.enqueue(Buffer.from(text));
            controller.close();
          }
        },
        cancel() {
          cancelled = true;
        },
      });
    answer = ({ method }) => new Response(method === 'HEAD' ? null : body(), { headers: { etag: '"1"' } });
    await assert.rejects(load(URL_OF_FILE), (/** @type {any} */ error) => {
      assert.deepEqual([error.code, error.file], [code, 'tiny.gguf'], error.message);
      assert.match(error.message, message);
      assert(error.message.includes(URL_OF_FILE));
      return true;
    });
    if (text.length > 4) assert(cancelled && sent < 10, `${sent} chunks were asked for`);
    assert.equal(kept.size, 0);
  }
});

test('a model without room is refused before it is fetched', async () => {
  configure({ memoryLimit: 1_000_000 });
  answer = ({ method }) => {
    assert.equal(method, 'HEAD');
    return new Response(null, { headers: { 'content-length': '1000001' } });
  };
  await assert.rejects(load(URL_OF_FILE), { code: 'out-of-memory', option: 'memoryLimit' });
  configure({ memoryLimit: Number.MAX_SAFE_INTEGER });
  answer = ({ method }) => {
    assert.equal(method, 'HEAD');
    return new Response(null, { headers: { 'content-length': String(2 ** 32) } });
  };
  await assert.rejects(load(URL_OF_FILE), {
    code: 'out-of-memory',
    message: /tiny\.gguf has 4294967296 bytes, WebAssembly.*fewer bits/,
  });
});

test('with threads there is half as much memory, which the error says', async () => {
  answer = ({ method }) => {
    assert.equal(method, 'HEAD');
    return new Response(null, { headers: { 'content-length': String(2 ** 31) } });
  };
  const found = await find(URL_OF_FILE);
  await assert.rejects(
    loadFiles(
      found,
      new AbortController().signal,
      () => undefined,
      () => 0,
      2,
    ),
    { code: 'out-of-memory', message: /has 2147483648 bytes, .*at most 2147483648\..*threads: 1/ },
  );
});

test('an answer that is shorter than was announced is not kept', async () => {
  const content = gguf(1000, 1);
  answer = ({ method }) =>
    method === 'HEAD'
      ? new Response(null, { headers: { etag: '"1"', 'content-length': '2000' } })
      : new Response(content, { headers: { etag: '"1"' } });
  assert.deepEqual((await load(URL_OF_FILE)).content, content);
  assert.equal(kept.size, 0);
});

test('by name: a Blob, bytes, an address', async () => {
  const content = gguf(1000, 3);
  answer = serve(content, {});
  const buffer = new Uint8Array(content).buffer;
  for (const given of [new Blob([content]), buffer, URL_OF_FILE, new URL(URL_OF_FILE)]) {
    const file = await load({ files: { 'any.gguf': given } });
    assert.deepEqual(file, { name: 'any.gguf', role: 'model', content });
  }
  assert.equal(buffer.byteLength, 1000, 'never detached');
});
