// What servers do to the index and to the looking for files, and what is kept of them: a fetch and a Cache Storage of
// the test's own.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { configure, models, translate } from 'multihead';
import { patience } from '../dist/download.js';
import { find } from '../dist/find.js';
import { loadFiles } from '../dist/loader.js';
import { probe } from '../dist/probe.js';
import { kept, storage } from './kept.js';

const NONE = new AbortController().signal;
const nothing = () => undefined;
/** Milliseconds in which a slow machine has answered; only servers that are silent are given up sooner. */
const LONG = 600_000;

/** @typedef {(init: RequestInit) => Response | Promise<Response>} Answer */
/** What the site has, by path. @type {Map<string, Answer>} */
const site = new Map();
/** @type {string[]} */
let requests = [];
let origin = '';
let count = 0;

configure({
  fetch: async (url, init) => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    requests.push(`${init?.method ?? 'GET'} ${pathname}`);
    return (await site.get(pathname)?.(init ?? {})) ?? new Response('no', { status: 404 });
  },
});

beforeEach(() => {
  // An index is read once per page: every test has an origin of its own.
  origin = `https://site-${++count}.test`;
  configure({ modelBase: `${origin}/models/` });
  Object.assign(patience, { pause: 1, silence: LONG, tries: 2 });
  requests = [];
  site.clear();
  kept.clear();
});

/** A server that takes the request and says nothing; nor does this fetch listen to its signal. @type {Answer} */
const silent = () => new Promise(() => undefined);

/** @param {string} path @param {string | Uint8Array<ArrayBuffer>} content */
function put(path, content) {
  site.set(path, ({ method }) => new Response(method === 'HEAD' ? null : content));
}

/** @param {string} text */
const described = (text) => ({
  bytes: Buffer.from(text).length,
  sha256: createHash('sha256').update(text).digest('hex'),
});

/** An index of one model with one file, at the base. @param {string} content @param {string} [base] */
function index(content, base = 'm/') {
  return JSON.stringify({
    models: [
      {
        id: 'm',
        tasks: ['translation'],
        from: 'en',
        to: 'pt',
        base,
        files: [{ name: 'model.bin', ...described(content) }],
      },
    ],
  });
}

const ids = async () => (await models.list()).map(({ id }) => id);

/** @param {string} model */
async function load(model) {
  const [file] = await loadFiles(await find(model), NONE, nothing, () => 0);
  assert(file !== undefined);
  return new Response(file.data).text();
}

const INDEX = '/models/index.json';

/** @type {[name: string, answer: Answer, message: RegExp][]} */
const FAULTS = [
  ['that never answers', silent, /nothing came/],
  [
    'that stops within its answer',
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(Buffer.from('{"models": ['));
          },
        }),
      ),
    /nothing came/,
  ],
  ['that cannot be reached', () => Promise.reject(new TypeError('fetch failed')), /fetch failed.*network/],
  ['that is out of service', () => new Response('busy', { status: 503 }), /status 503/],
  ['that wants a password', () => new Response('who?', { status: 401 }), /status 401/],
];

for (const [name, answer, message] of FAULTS) {
  const silence = message.test('nothing came') ? 100 : LONG;

  test(`a server ${name}: the index is download-failed, the next call asks again`, async () => {
    site.set(INDEX, answer);
    Object.assign(patience, { silence });
    for (const _ of [1, 2]) {
      await assert.rejects(translate('x', { from: 'en', to: 'pt' }), (/** @type {any} */ error) => {
        assert.deepEqual([error.code, error.file], ['download-failed', 'index.json'], error.message);
        assert.match(error.message, message);
        assert(error.message.includes(`${origin}${INDEX}`), error.message);
        assert.doesNotMatch(error.message, /the page's/, 'this is no page');
        return true;
      });
    }
    put(INDEX, index('content'));
    patience.silence = LONG;
    assert.deepEqual(await ids(), ['m']);
    assert.deepEqual(requests, Array(3).fill(`GET ${INDEX}`));
  });

  test(`a server ${name}: the index is as it was at the last visit`, async () => {
    kept.set(`${origin}${INDEX}?sha256=index`, new Uint8Array(Buffer.from(index('content'))));
    site.set(INDEX, answer);
    Object.assign(patience, { silence });
    assert.deepEqual(await ids(), ['m']);
  });

  test(`a server ${name}: a folder is not looked for by names, its files unchecked`, async () => {
    put('/models/m/model.bin', 'content');
    put('/models/m/vocab.spm', 'content');
    site.set(INDEX, answer);
    Object.assign(patience, { silence });
    await assert.rejects(load(`${origin}/models/m/`), { code: 'download-failed' });
    assert.deepEqual(requests, [`GET ${INDEX}`]);
    patience.silence = LONG;
    put(INDEX, index('content'));
    assert.equal(await load(`${origin}/models/m/`), 'content');
  });
}

test('entries that cannot be read are left out, and told; the others do not suffer by it', async (context) => {
  const warn = context.mock.method(console, 'warn', () => undefined);
  const [good] = JSON.parse(index('content')).models;
  const file = { name: 'model.bin', ...described('x') };
  /** @type {[unknown, RegExp][]} */
  const bad = [
    [null, /entry 1: an object expected/],
    [{ files: [file] }, /entry 2: its id/],
    [{ ...good, id: 'no-files', files: [] }, /entry 3 \("no-files"\): it lists no "files"/],
    [{ ...good, id: 'a-path', files: [{ ...file, name: '../x' }] }, /\("a-path"\): file 0 lacks a name/],
    [{ ...good, id: 'no-place', base: 'http://[' }, /\("no-place"\): its base "http:\/\/\["/],
    [{ ...good, id: 'no-tag', from: 'in English' }, /\("no-tag"\): its from "in English" is no language tag/],
    [{ ...good, id: 'to', to: 5 }, /\("to"\): its to 5 is no language tag/],
    [{ ...good, id: 'from', from: null }, /\("from"\): its from null is no language tag/],
    [{ ...good, id: 'base', base: 7 }, /\("base"\): its base 7 is no address of a folder/],
    [{ ...good, id: 'tasks', tasks: 'translation' }, /\("tasks"\): its tasks are no list of names/],
    [{ ...good, id: 'task', tasks: [1] }, /\("task"\): its tasks are no list of names/],
    [
      { ...good, id: 'gz', files: [{ ...file, gzip: { name: 'model.bin.gz', bytes: 1 } }] },
      /\("gz"\): file 0 \("model\.bin"\) has a gzip record that lacks a name/,
    ],
  ];
  put(INDEX, JSON.stringify({ models: [good, ...bad.map(([entry]) => entry)] }));
  put('/models/m/model.bin', 'content');
  assert.deepEqual(await ids(), ['m']);
  assert.equal(await load('m'), 'content');
  assert.equal(warn.mock.callCount(), 1);
  const said = String(warn.mock.calls[0]?.arguments[0]);
  for (const [, message] of bad) assert.match(said, message);
  // One that is asked for is damaged, not missing; nor are its files looked for by names, unchecked.
  put('/models/no-tag/model.bin', 'content');
  for (const name of ['no-tag', `${origin}/models/no-tag/`]) {
    await assert.rejects(load(name), {
      code: 'model-corrupt',
      file: 'index.json',
      message: /no language tag/,
    });
  }
  await assert.rejects(translate('x', { from: 'en', to: 'de' }), {
    code: 'model-not-found',
    message: /"no-tag"\) cannot be read/,
  });
  configure({ modelBase: `${origin}/none/` });
  put('/none/index.json', JSON.stringify({ models: bad.map(([entry]) => entry) }));
  await assert.rejects(models.list(), {
    code: 'model-corrupt',
    message: /entry 0 of "models" is no model record/,
  });
});

test('a file may lie in a folder of its model, never outside of it', async (context) => {
  const warn = context.mock.method(console, 'warn', () => undefined);
  const [good] = JSON.parse(index('content')).models;
  const names = ['config.json', '1_Pooling/config.json', 'onnx/int8/model.bin'];
  const files = names.map((name) => ({ name, role: name, ...described(name) }));
  const packed = { name: '1_Pooling/config.json.gz', ...described('packed') };
  const encoder = { id: 'encoder', tasks: ['embedding'], base: 'encoder/', files };
  const gzipped = { ...encoder, id: 'gzipped', files: [{ ...files[1], gzip: packed }] };
  const bad = '/x a/ a//x ../x a/../x a/./x a/.x a\\x a%2fx a/x?y https://a/x'.split(' ');
  const others = bad.map((name, place) => ({
    ...encoder,
    id: `bad-${place}`,
    files: [{ ...files[0], name }],
  }));
  put(INDEX, JSON.stringify({ models: [good, ...others, encoder, gzipped] }));
  for (const name of names) put(`/models/encoder/${name}`, name);
  assert.deepEqual(await ids(), ['m', 'encoder', 'gzipped']);
  const told = String(warn.mock.calls[0]?.arguments[0]);
  for (const { id } of others) assert(told.includes(`("${id}"): file 0 lacks a name`), id);
  const loaded = await loadFiles(await find('encoder'), NONE, nothing, () => 0);
  assert.deepEqual(
    loaded.map(({ name }) => name),
    names,
  );
  assert.deepEqual(await Promise.all(loaded.map(({ data }) => new Response(data).text())), names);
  const [one] = (await find('gzipped')).files;
  assert.deepEqual(one?.origin, new URL(`${origin}/models/encoder/1_Pooling/config.json.gz`));
});

test('404 and 410 are no index, also where one is kept', async () => {
  kept.set(`${origin}${INDEX}?sha256=index`, new Uint8Array(Buffer.from(index('content'))));
  for (const status of [404, 410]) {
    site.set(INDEX, () => new Response('no', { status }));
    await assert.rejects(models.list(), {
      code: 'model-not-found',
      message: new RegExp(`no model index.*status ${status}.*modelBase`),
    });
  }
});

test('a file is there, is not, or the server does not say', async () => {
  const url = new URL(`${origin}/file`);
  const asked = (/** @type {Answer} */ answer) => {
    site.set('/file', answer);
    return probe(url);
  };
  const sized = (/** @type {number} */ status) =>
    new Response(null, { status, headers: { 'content-length': '12' } });
  const version = undefined;
  assert.deepEqual(await asked(() => sized(200)), { bytes: 12, version });
  assert.deepEqual(await asked(() => new Response(null)), { bytes: undefined, version });
  for (const status of [404, 410]) assert.equal(await asked(() => sized(status)), undefined);
  for (const status of [405, 501]) {
    const noHead =
      (/** @type {number} */ other) =>
      (/** @type {RequestInit} */ { method }) =>
        sized(method === 'HEAD' ? status : other);
    assert.deepEqual(
      await asked(noHead(200)),
      { bytes: 12, version },
      'a server without HEAD is asked by GET',
    );
    assert.equal(await asked(noHead(404)), undefined);
  }
  for (const status of [401, 403, 429, 500, 503]) {
    await assert.rejects(
      asked(() => sized(status)),
      { message: `status ${status}` },
    );
  }
  patience.silence = 100;
  await assert.rejects(asked(silent), /nothing came for 0\.1 s/);
  patience.silence = LONG;
  const stop = new AbortController();
  site.set('/file', silent);
  const stopped = probe(url, stop.signal);
  stop.abort();
  await assert.rejects(stopped, { name: 'AbortError' });
});

test('files of a folder that cannot be asked for are an error with their address', async () => {
  site.set('/models/m/vocab.spm', () => new Response(null, { status: 503 }));
  await assert.rejects(load(`${origin}/models/m/`), {
    code: 'download-failed',
    file: 'vocab.spm',
    message: `${origin}/models/m/vocab.spm could not be asked for: status 503`,
  });
});

for (const [what, name] of /** @type {const} */ ([
  ['an id', () => 'm'],
  ['the address of its folder', () => `${origin}/models/m/`],
])) {
  test(`a file that was replaced, of a model by ${what}: the next try reads the index anew`, async () => {
    put(INDEX, index('old'));
    put('/models/m/model.bin', 'old');
    assert.equal(await load(name()), 'old');
    kept.clear();
    put(INDEX, index('new'));
    put('/models/m/model.bin', 'new');
    await assert.rejects(load(name()), { code: 'model-corrupt', file: 'model.bin' });
    assert.equal(await load(name()), 'new');
  });

  test(`a file that has gone, of a model by ${what}: the next try reads the index anew`, async () => {
    put(INDEX, index('old', 'm/'));
    put('/models/m/model.bin', 'old');
    await find(name());
    put(INDEX, index('new', `${origin}/models/m/`).replace('model.bin', 'model.2.bin'));
    site.delete('/models/m/model.bin');
    put('/models/m/model.2.bin', 'new');
    await assert.rejects(load(name()), { code: 'model-not-found', file: 'model.bin' });
    assert.equal(await load(name()), 'new');
  });
}

/** A Blob whose content is gone, as a file's that was moved. @param {string} content */
function goneBlob(content) {
  const gone = () => Promise.reject(new DOMException('it could not be read', 'NotReadableError'));
  return Object.assign(new Blob([content]), { arrayBuffer: gone, slice: () => ({ arrayBuffer: gone }) });
}

test('a kept copy that cannot be read is fetched anew; a file given that cannot be read is named', async (context) => {
  put(INDEX, index('content'));
  put('/models/m/model.bin', 'content');
  const key = `${origin}/models/m/model.bin?sha256=${described('content').sha256}`;
  kept.set(key, new Uint8Array(Buffer.from('content')));
  context.mock.method(storage, 'match', async () => ({
    headers: new Headers(),
    blob: async () => goneBlob('content'),
  }));
  assert.equal(await load('m'), 'content');
  assert(requests.includes('GET /models/m/model.bin'));
  const given = await find({ files: { 'model.bin': goneBlob('content') } });
  await assert.rejects(
    loadFiles(given, NONE, nothing, () => 0),
    { code: 'download-failed', file: 'model.bin', message: /given cannot be read/ },
  );
});

test('a new version of a file takes the place of the kept ones; delete() removes all of an address', async () => {
  const url = `${origin}/models/m/model.bin`;
  const key = (/** @type {string} */ text) => `${url}?sha256=${described(text).sha256}`;
  const others = [`${origin}/models/m/model.bin2?sha256=${'0'.repeat(64)}`, `${origin}/else?v=1&sha256=1`];
  for (const other of others) kept.set(other, new Uint8Array(1));
  for (const text of ['one', 'two']) {
    put(INDEX, index(text));
    put('/models/m/model.bin', text);
    await load('m').catch(() => load('m'));
    (await find('m')).forget?.();
    assert.deepEqual(
      [...kept.keys()].filter((one) => !one.includes('index')).toSorted(),
      [...others, key(text)].toSorted(),
    );
  }
  kept.set(key('three'), new Uint8Array(5));
  assert.equal(await models.isCached('m'), true);
  assert.equal(await models.delete('m'), true);
  assert.equal(await models.delete('m'), false);
  assert.deepEqual([...kept.keys()].filter((one) => !one.includes('index')).toSorted(), others.toSorted());
});

test('a folder whose name is no URI is a typed error; an entry elsewhere does not stand for a folder', async () => {
  await assert.rejects(find(`${origin}/sale/50%off/`), { code: 'model-not-found', option: 'model' });
  put(INDEX, index('elsewhere', `${origin}/elsewhere/`));
  put('/models/m/index.json', index('own', './'));
  put('/models/m/model.bin', 'own');
  put('/elsewhere/model.bin', 'elsewhere');
  assert.equal(await load(`${origin}/models/m/`), 'own');
  assert.equal(await load('m'), 'elsewhere');
});

test('of two entries the one at the address is taken, not the one of its name', async () => {
  const [named] = JSON.parse(index('elsewhere', `${origin}/elsewhere/`)).models;
  const [there] = JSON.parse(index('there', 'm/')).models;
  put(INDEX, JSON.stringify({ models: [named, { ...there, id: 'other' }] }));
  put('/models/m/model.bin', 'there');
  assert.equal(await load(`${origin}/models/m/`), 'there');
});

test('memoryLimit holds for sizes that the server tells, and for those that the download tells', async () => {
  const files = { 'model.bin': `${origin}/model.bin`, 'vocab.spm': `${origin}/vocab.spm` };
  const message = /^model\.bin\+vocab\.spm has 1002 bytes and the others 99, memoryLimit is 1100\./;
  const expected = { code: 'out-of-memory', option: 'memoryLimit', message };
  const attempt = async (/** @type {number} */ memoryLimit) => {
    configure({ memoryLimit });
    requests = [];
    const model = await find({ files });
    return loadFiles(model, NONE, nothing, () => 99);
  };
  try {
    for (const told of [true, false]) {
      for (const [path, size] of /** @type {const} */ ([
        ['/model.bin', 1000],
        ['/vocab.spm', 2],
      ])) {
        site.set(
          path,
          ({ method }) =>
            new Response(method === 'HEAD' ? null : Buffer.alloc(size, 'x'), {
              headers: told ? { 'content-length': String(size) } : {},
            }),
        );
      }
      await assert.rejects(attempt(1100), expected);
      assert.equal(
        requests.some((one) => one.startsWith('GET')),
        !told,
        'nothing is fetched that is known not to fit',
      );
      assert.equal((await attempt(1101)).length, 2);
    }
  } finally {
    configure({ memoryLimit: Number.MAX_SAFE_INTEGER });
  }
});

test('the bodies of answers that are no file are let go of', async () => {
  const url = new URL(`${origin}/model.bin`);
  for (const [status, type, code] of /** @type {const} */ ([
    [404, 'text/plain', 'model-not-found'],
    [403, 'text/plain', 'download-failed'],
    [503, 'text/plain', 'download-failed'],
    [416, 'text/plain', 'download-failed'],
    [200, 'text/html', 'model-not-found'],
  ])) {
    let [open, closed] = [0, 0];
    site.set('/model.bin', ({ method }) => {
      if (method === 'HEAD') return new Response(null, { status: 200 });
      open++;
      const body = new ReadableStream({
        cancel() {
          closed++;
        },
      });
      return new Response(body, { status, headers: { 'content-type': type } });
    });
    const model = await find({ files: { 'model.bin': url } });
    await assert.rejects(
      loadFiles(model, NONE, nothing, () => 0),
      { code },
    );
    assert.deepEqual(
      [open, closed],
      code === 'download-failed' && status !== 403 ? [2, 2] : [1, 1],
      String(status),
    );
  }
});
