// Language models by name on Hugging Face: which file is meant, where it is, and what the hub may answer. The hub is
// the test's own: listings in the shape of its API (`/api/models/<name>/revision/<revision>?blobs=true`).

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { configure, models } from 'multihead';
import { patience } from '../dist/download.js';
import { find } from '../dist/find.js';
import { chooseFile, quantisationOf } from '../dist/hub-choice.js';
import { loadFiles } from '../dist/loader.js';
import { knownModel } from '../dist/node/models/known-models.js';
import { PUBLIC_INDEX } from '../dist/node/models/offers.js';

const COMMIT = 'ab810cf68114990406fdf996510dd3d3c6adbdf5';
const CONTENT = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(5000, 7)]);
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

/** @typedef {(init: RequestInit) => Response | Promise<Response>} Answer */
/** What the hub has, by path. @type {Map<string, Answer>} */
const hub = new Map();
/** @type {string[]} */
let requests = [];
configure({
  fetch: async (url, init) => {
    const { host, pathname, search } = new URL(url instanceof Request ? url.url : url);
    assert.equal(host, 'huggingface.co');
    requests.push(`${init?.method ?? 'GET'} ${pathname}${search}`);
    return (await hub.get(pathname)?.(init ?? {})) ?? new Response('{}', { status: 401 });
  },
});

let count = 0;
/** A repository of the test's own: a listing is remembered. */
let repository = '';
beforeEach(() => {
  repository = `owner/model-${++count}-GGUF`;
  hub.clear();
  requests = [];
  Object.assign(patience, { pause: 1, tries: 2 });
});

/** A listing. @param {string[]} paths @param {string} [revision] */
function list(paths, revision = 'main') {
  const siblings = paths.map((rfilename) =>
    /\.gguf$/i.test(rfilename)
      ? { rfilename, size: CONTENT.length, lfs: { sha256: SHA256, size: CONTENT.length, pointerSize: 134 } }
      : { rfilename, size: 10, blobId: '0'.repeat(40) },
  );
  const listing = { id: repository, sha: COMMIT, private: false, gated: false, siblings };
  hub.set(`/api/models/${repository}/revision/${revision}`, () => Response.json(listing));
}

/** Error with these facts. @param {string} code @param {RegExp} message */
const fault = (code, message) => (/** @type {Error & { code: string }} */ error) => {
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  assert(error.message.includes(repository), 'the repository is named');
  return true;
};

const NONE = new AbortController().signal;
const load = async (/** @type {string} */ name) =>
  loadFiles(
    await find(name),
    NONE,
    () => undefined,
    () => 0,
  );

test('quantisations by the names that files have', () => {
  for (const [path, quantisation] of /** @type {const} */ ([
    ['SmolLM2-135M-Instruct.Q4_1.gguf', 'Q4_1'],
    ['smollm2-135m-instruct-q8_0.gguf', 'Q8_0'],
    ['gemma-3-270m-it-Q4_K_M.gguf', 'Q4_K_M'],
    ['Q4_K_M/Qwen3-0.6B-UD-Q4_K_XL.gguf', 'Q4_K_XL'],
    ['model-fp16.gguf', 'F16'],
    ['model.BF16.gguf', 'BF16'],
    ['qwen2.5-0.5b-instruct-q5_k_m-00001-of-00002.gguf', 'Q5_K_M'],
    ['model-IQ4_NL.gguf', 'IQ4_NL'],
    ['Phi-3-mini-4k-instruct-q4.gguf', undefined],
    ['qwen2.5-0.5b.gguf', undefined],
  ])) {
    assert.equal(quantisationOf(path), quantisation, path);
  }
});

/** @param {string | undefined} wanted @param {string[]} paths */
const chosen = (wanted, paths) =>
  chooseFile(
    { repository, revision: 'main', wanted },
    paths.map((path) => ({ path })),
  ).path;

test('the default is the first of a fixed order; other files do not count', () => {
  const order = ['Q4_K_M', 'Q4_K_S', 'Q4_0', 'Q4_1', 'IQ4_NL', 'Q5_K_M', 'Q5_K_S', 'Q5_0', 'Q5_1', 'Q6_K'];
  order.push('Q8_0', 'F16', 'BF16', 'F32');
  const paths = order.map((quantisation) => `m-${quantisation}.gguf`).toReversed();
  for (const quantisation of order) {
    assert.equal(chosen(undefined, ['README.md', 'm-Q2_K.gguf', ...paths]), `m-${quantisation}.gguf`);
    paths.pop();
  }
  assert.equal(chosen(undefined, ['m-UD-Q4_K_XL.gguf']), 'm-UD-Q4_K_XL.gguf', 'the only one');
  assert.equal(chosen(undefined, ['ggml-model.gguf', 'm-Q3_K_M.gguf']), 'ggml-model.gguf');
  assert.equal(chosen(undefined, ['mmproj-m-f16.gguf', 'm-Q8_0.gguf', 'm.imatrix.gguf']), 'm-Q8_0.gguf');
});

test('a file by its quantisation, its name or its path', () => {
  const paths = ['m-Q4_0.gguf', 'm-q8_0.gguf', 'big/m-Q6_K.gguf', 'm-Q8_0-00001-of-00002.gguf'];
  assert.equal(chosen('q4_0', paths), 'm-Q4_0.gguf');
  assert.equal(chosen('Q8_0', paths), 'm-q8_0.gguf', 'whole rather than in parts');
  assert.equal(chosen('M-Q4_0', paths), 'm-Q4_0.gguf');
  assert.equal(chosen('m-q8_0.gguf', paths), 'm-q8_0.gguf');
  assert.equal(chosen('big/m-Q6_K.gguf', paths), 'big/m-Q6_K.gguf');
  assert.equal(chosen('m-Q6_K.gguf', paths), 'big/m-Q6_K.gguf');
});

test('what cannot be chosen says what there is and what to do', () => {
  const rejects = (
    /** @type {string | undefined} */ wanted,
    /** @type {string[]} */ paths,
    /** @type {string} */ code,
    /** @type {RegExp} */ message,
  ) => {
    assert.throws(() => chosen(wanted, paths), fault(code, message));
  };
  rejects(
    undefined,
    ['model.safetensors', 'config.json'],
    'model-unsupported',
    /model\.safetensors, config\.json.*convert_hf_to_gguf\.py/,
  );
  rejects(undefined, [], 'model-unsupported', /there: nothing/);
  rejects('Q5_0', ['m-Q4_0.gguf'], 'model-not-found', /no file or quantisation Q5_0; there: m-Q4_0\.gguf/);
  rejects('x.gguf', ['m-Q4_0.gguf'], 'model-not-found', /x\.gguf; there: m-Q4_0\.gguf/);
  rejects('Q4_0', ['a-Q4_0.gguf', 'b-Q4_0.gguf'], 'model-not-found', /a-Q4_0\.gguf, b-Q4_0\.gguf\. Name one/);
  rejects(undefined, ['a-Q4_0.gguf', 'b-Q4_0.gguf'], 'model-not-found', /several.*Name one/);
  const parts = ['m-Q4_K_M-00001-of-00002.gguf', 'm-Q4_K_M-00002-of-00002.gguf'];
  for (const wanted of ['Q4_K_M', undefined, parts[1]]) {
    rejects(wanted, parts, 'model-unsupported', /is one part of a file.*llama-gguf-split --merge/);
  }
  rejects(
    'Q3_K_M',
    ['m-Q3_K_M.gguf', 'm-Q4_0.gguf'],
    'model-unsupported',
    /Q3_K_M cannot be read.*can: m-Q4_0\.gguf/,
  );
  rejects(
    undefined,
    ['m-Q2_K.gguf', 'm-Q3_K_L.gguf'],
    'model-unsupported',
    /no file of a quantisation.*m-Q2_K/,
  );
  const many = Array.from({ length: 15 }, (_, index) => `m-${index}.bin`);
  rejects(undefined, many, 'model-unsupported', /m-11\.bin and 3 more/);
});

test('every way to write it finds the file at the commit, with size and hash', async () => {
  list(['README.md', 'm-Q4_K_M.gguf', 'sub dir/m-q8_0.gguf']);
  list(['m-Q4_K_M.gguf'], 'refs%2Fpr%2F1');
  const origin = `https://huggingface.co/${repository}/resolve/${COMMIT}/`;
  for (const [name, file] of [
    [repository, 'm-Q4_K_M.gguf'],
    [`${repository}@main`, 'm-Q4_K_M.gguf'],
    [`${repository}:q8_0`, 'sub%20dir/m-q8_0.gguf'],
    [`${repository}:m-q8_0.gguf`, 'sub%20dir/m-q8_0.gguf'],
    [`${repository}@refs/pr/1:Q4_K_M`, 'm-Q4_K_M.gguf'],
    [`https://huggingface.co/${repository}`, 'm-Q4_K_M.gguf'],
    [`https://hf.co/${repository}/tree/main`, 'm-Q4_K_M.gguf'],
    [`https://huggingface.co/${repository}/blob/main/m-Q4_K_M.gguf`, 'm-Q4_K_M.gguf'],
    [
      `https://huggingface.co/${repository}/resolve/main/sub%20dir/m-q8_0.gguf?download=true`,
      'sub%20dir/m-q8_0.gguf',
    ],
  ]) {
    const { files, key } = await find(name ?? '');
    assert.equal(files.length, 1);
    const [found] = files;
    assert(found?.origin instanceof URL);
    assert.equal(found.origin.href, `${origin}${file}`, name);
    assert.deepEqual([found.bytes, found.sha256, found.role], [CONTENT.length, SHA256, 'model']);
    assert.equal(key, `${origin}${file}`);
  }
  assert.deepEqual(requests.toSorted(), [
    `GET /api/models/${repository}/revision/main?blobs=true`,
    `GET /api/models/${repository}/revision/refs%2Fpr%2F1?blobs=true`,
  ]);
});

test('the file comes, and is checked', async () => {
  list(['m-Q4_K_M.gguf']);
  const path = `/${repository}/resolve/${COMMIT}/m-Q4_K_M.gguf`;
  hub.set(path, () => new Response(CONTENT));
  const [file] = await load(repository);
  assert.equal(file?.name, 'm-Q4_K_M.gguf');
  assert.deepEqual(Buffer.from(/** @type {Uint8Array} */ (file.data)), CONTENT);

  const other = Buffer.from(CONTENT);
  other[100] = 8;
  hub.set(path, () => new Response(other));
  await assert.rejects(load(repository), fault('model-corrupt', /m-Q4_K_M\.gguf.*SHA-256/));
  assert.equal(requests.filter((request) => request.includes('/api/')).length, 1);
  await assert.rejects(load(repository), { code: 'model-corrupt' });
  assert.equal(requests.filter((request) => request.includes('/api/')).length, 2, 'then it is listed anew');
});

test('a file that is not for everyone says how to come by it', async () => {
  list(['m-Q4_K_M.gguf']);
  for (const status of [401, 403]) {
    hub.set(`/${repository}/resolve/${COMMIT}/m-Q4_K_M.gguf`, () => new Response('no', { status }));
    await assert.rejects(
      load(repository),
      fault(
        'model-not-found',
        new RegExp(`status ${status}.*grants access.*configure\\({ fetch }\\).*token`),
      ),
    );
  }
});

test('what the hub may answer in place of a listing', async () => {
  const path = `/api/models/${repository}/revision/main`;
  await assert.rejects(
    find(repository),
    fault('model-not-found', /status 401.*no repository.*or it is private/),
  );
  hub.set(path, () => new Response('no', { status: 404 }));
  await assert.rejects(find(repository), fault('model-not-found', /status 404; is there a repository/));
  await assert.rejects(find(`${repository}@v9`), fault('model-not-found', /status 401/));
  hub.set(path, () => new Response('<!doctype html><title>Sign in</title>'));
  await assert.rejects(find(repository), fault('model-not-found', /web page/));
  for (const text of ['{"error":"no"}', '[]', 'no', '{"sha":"main","siblings":[]}', `{"sha":"${COMMIT}"}`]) {
    hub.set(path, () => new Response(text));
    await assert.rejects(find(repository), fault('download-failed', /is no listing of a repository/));
  }
  hub.set(path, () => new Response('busy', { status: 503 }));
  requests = [];
  await assert.rejects(find(repository), fault('download-failed', /status 503/));
  assert.equal(requests.length, 2, 'after a second attempt');
  hub.set(path, () => Promise.reject(new TypeError('fetch failed')));
  await assert.rejects(find(repository), fault('download-failed', /fetch failed.*Is the network there/));
  list([5, null, {}].map(String).concat('m-Q4_0.gguf'));
  assert.equal((await find(repository)).files.length, 1, 'the next call asks again');
});

test('names that are none are an error that says how they look', async () => {
  for (const name of [
    'a/b/c',
    'owner/',
    'x:y',
    'https://site.test/model.bin',
    './owner/name',
    '/owner/name',
    'owner/na me',
  ]) {
    if (name.endsWith('/')) continue;
    await assert.rejects(models.isCached(name), (/** @type {any} */ error) => {
      assert.deepEqual([error.code, error.option], ['invalid-argument', 'model'], name);
      assert.match(error.message, /"owner\/name:Q4_K_M"/);
      return true;
    });
  }
  assert.deepEqual(requests, []);
});

test('what models add knows without an index', async () => {
  list(['m-Q4_K_M.gguf']);
  const index = new URL(PUBLIC_INDEX);
  const model = await knownModel(`${repository}:Q4_K_M`, index);
  const origin = `https://huggingface.co/${repository}/`;
  assert.deepEqual([model?.id, model?.licence], ['m-q4_k_m', `see ${origin}m-Q4_K_M.gguf`]);
  const [file] = model?.files ?? [];
  assert.equal(file?.url.href, `${origin}resolve/${COMMIT}/m-Q4_K_M.gguf`);
  assert.deepEqual(
    [file.name, file.role, file.bytes, file.sha256],
    ['m-Q4_K_M.gguf', 'model', CONTENT.length, SHA256],
  );

  const id = 'smollm2-135m-instruct';
  /** The model that everything here is tested with. @type {{ id: string, files: { name: string, bytes: number, sha256: string }[] }[]} */
  const tested = JSON.parse(readFileSync(new URL('../../xtask/models.json', import.meta.url), 'utf8'));
  for (const one of [id, 'all-minilm-l6-v2']) {
    const facts = (/** @type {{ name: string, bytes?: number, sha256?: string }[]} */ files) =>
      files.map(({ name, bytes, sha256 }) => [name, bytes, sha256].join(' ')).toSorted();
    const expected = tested.find((each) => each.id === one)?.files ?? [];
    assert.deepEqual(facts((await knownModel(one, index))?.files ?? []), facts(expected), one);
    assert(expected.length > 0);
  }
  assert.equal(
    await knownModel(id, new URL('https://site.test/index.json')),
    undefined,
    'another index says',
  );
  assert.equal(await knownModel('en-pt', index), undefined);
});
