// Encoders by the address of their folder, by name on Hugging Face and as files: which files they are, what is missing, what
// is kept. A network and a Cache Storage of the test's own.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { configure, embed, Embedder, models, MultiheadError, translate } from 'multihead';
import { patience } from '../dist/download.js';
import { encoderFiles } from '../dist/encoder-files.js';
import { find } from '../dist/find.js';
import { loadFiles } from '../dist/loader.js';
import { kept } from './kept.js';

const COMMIT = 'ab810cf68114990406fdf996510dd3d3c6adbdf5';
const MODULES = [
  { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
  { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  { idx: 2, name: '2', path: '2_Dense', type: 'sentence_transformers.models.Dense' },
  { idx: 3, name: '3', path: '3_Normalize', type: 'sentence_transformers.models.Normalize' },
];

/** What the network has, by address. @type {Map<string, (init: RequestInit) => Response>} */
const network = new Map();
/** @type {string[]} */
let requests = [];
let isOffline = false;
/** What is answered for addresses that are not there. @type {() => Response} */
let otherwise = () => new Response('no', { status: 404 });
configure({
  fetch: async (url, init) => {
    const { href } = new URL(url instanceof Request ? url.url : url);
    const method = init?.method ?? 'GET';
    requests.push(`${method} ${href}`);
    if (isOffline) throw new TypeError('fetch failed');
    return (network.get(href) ?? otherwise)(init ?? {});
  },
});
let count = 0;
/** A folder of the test's own: what is found is remembered. */
let folder = '';
let repository = '';
beforeEach(() => {
  Object.assign(patience, { pause: 1, tries: 2 });
  folder = `https://site.test/${++count}/mini/`;
  repository = `owner/mini-${count}`;
  network.clear();
  kept.clear();
  requests = [];
  isOffline = false;
  otherwise = () => new Response('no', { status: 404 });
});

/** @param {string} address @param {unknown} content @param {Record<string, string>} [headers] */
function put(address, content, headers = {}) {
  const bytes = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
  const all = { 'content-length': String(bytes.length), etag: `"${bytes.length}"`, ...headers };
  network.set(address, ({ method }) => new Response(method === 'HEAD' ? null : bytes, { headers: all }));
}

/** @param {Record<string, unknown>} files */
function putFolder(files) {
  for (const [name, content] of Object.entries(files)) put(`${folder}${name}`, content);
}

const PLAIN = { 'config.json': {}, 'tokenizer.json': {}, 'model.safetensors': 'weights' };

/** @param {Promise<unknown>} promise @param {string} code @param {RegExp} message */
async function rejects(promise, code, message) {
  await assert.rejects(promise, (error) => {
    assert(error instanceof MultiheadError);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });
}

/** @param {import('multihead').ModelSource} source */
const namesOf = async (source) => (await find(source, 'encoder')).files.map(({ name }) => name).toSorted();

/** @param {import('multihead').ModelSource} source @param {(part: number) => void} [progress] */
async function load(source, progress = () => undefined) {
  const none = new AbortController().signal;
  const files = await loadFiles(await find(source, 'encoder'), none, progress, () => 0);
  const texts = files.map(async ({ name, data }) => [name, await new Response(data).text()]);
  return Object.fromEntries(await Promise.all(texts));
}

test('a folder: config.json decides, other files may be missing', async () => {
  putFolder(PLAIN);
  assert.deepEqual(await namesOf(folder), ['config.json', 'model.safetensors', 'tokenizer.json']);
  /** @type {number[]} */
  const seen = [];
  const loaded = await load(folder, (part) => seen.push(part));
  assert.deepEqual(loaded, { 'config.json': '{}', 'tokenizer.json': '{}', 'model.safetensors': 'weights' });
  assert.deepEqual([seen[0], seen.at(-1)], [0, 1]);
  assert(
    seen.some((part) => part > 0 && part < 1),
    'the total is known before it begins',
  );
});

test('a folder as the command of the package writes it, served without its index', async () => {
  const { 'tokenizer.json': tokenizer, ...others } = PLAIN;
  putFolder(others);
  const packed = gzipSync(JSON.stringify(tokenizer));
  network.set(`${folder}tokenizer.json.gz`, ({ method }) => new Response(method === 'HEAD' ? null : packed));
  assert.equal((await load(folder))['tokenizer.json'], '{}');
});

test('a folder of sentence-transformers: what modules.json names', async () => {
  putFolder({
    ...PLAIN,
    'modules.json': MODULES,
    '1_Pooling/config.json': {},
    '2_Dense/config.json': {},
    '2_Dense/model.safetensors': 'dense',
    'sentence_bert_config.json': {},
    'tokenizer_config.json': {},
    'special_tokens_map.json': {},
    'README.md': 'not asked for',
  });
  assert.deepEqual(await namesOf(folder), [
    '1_Pooling/config.json',
    '2_Dense/config.json',
    '2_Dense/model.safetensors',
    'config.json',
    'model.safetensors',
    'modules.json',
    'sentence_bert_config.json',
    'special_tokens_map.json',
    'tokenizer.json',
    'tokenizer_config.json',
  ]);
  assert(!requests.some((request) => request.includes('README')));
});

test('paths in modules.json that lead out of the folder are not followed', async () => {
  putFolder({
    ...PLAIN,
    'modules.json': [
      { path: '../../secret' },
      { path: '/root' },
      { path: 'https://other.test/x' },
      5,
      null,
      {},
    ],
  });
  assert.deepEqual(await namesOf(folder), [
    'config.json',
    'model.safetensors',
    'modules.json',
    'tokenizer.json',
  ]);
  assert(requests.every((request) => request.includes(' https://site.test/')));
  assert(!requests.some((request) => /secret|root/.test(request)));
});

test('a folder with weights in parts', async () => {
  const weight_map = { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' };
  putFolder({
    'config.json': {},
    'tokenizer.json': {},
    'model.safetensors.index.json': { weight_map },
    'model-00001-of-00002.safetensors': 'one',
    'model-00002-of-00002.safetensors': 'two',
  });
  assert.deepEqual(await namesOf(folder), [
    'config.json',
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'model.safetensors.index.json',
    'tokenizer.json',
  ]);
});

test('a part that is missing is named', async () => {
  const weight_map = { a: 'model-00001-of-00003.safetensors', b: 'x-2.safetensors', c: 'x-3.safetensors' };
  putFolder({
    'config.json': {},
    'tokenizer.json': {},
    'model.safetensors.index.json': { weight_map },
    'x-2.safetensors': 'two',
  });
  await rejects(
    find(folder, 'encoder'),
    'model-not-found',
    /names files that are not there: model-00001-of-00003\.safetensors, x-3\.safetensors/,
  );
  for (const wrong of ['no', '[]', { weight_map: {} }, { weight_map: { a: '../x.safetensors' } }]) {
    putFolder({ 'model.safetensors.index.json': wrong });
    await rejects(find(folder, 'encoder'), 'model-corrupt', /^model\.safetensors\.index\.json: /);
  }
});

test('a page in place of a file is none', async () => {
  putFolder(PLAIN);
  otherwise = () =>
    new Response('<!doctype html><title>The page</title>', { headers: { 'content-type': 'text/html' } });
  assert.deepEqual(await namesOf(folder), ['config.json', 'model.safetensors', 'tokenizer.json']);
  await rejects(
    find(`${folder}other/`, 'encoder'),
    'model-not-found',
    /no model in https:.*there is no config\.json \(with tokenizer\.json and model\.safetensors\)/,
  );
  await rejects(find(`${folder}another/`), 'model-not-found', /no files model\.\*\.bin/);
});

test('an error says everything that is missing, and how to convert it', async () => {
  putFolder({ 'config.json': {}, 'pytorch_model.bin': 'x', 'vocab.txt': 'x' });
  await rejects(
    embed('x', { model: folder }),
    'model-unsupported',
    /missing: tokenizer\.json, model\.safetensors; there: config\.json, pytorch_model\.bin, vocab\.txt.*not from pytorch_model\.bin.*AutoModel\.from_pretrained.*save_pretrained\('folder', safe_serialization=True\).*not from vocab\.txt.*AutoTokenizer\.from_pretrained/,
  );
  assert.equal(await Embedder.availability({ model: folder }), 'unavailable');
  for (const name of ['onnx/model.onnx', 'tf_model.h5', 'flax_model.msgpack']) {
    const one = `${folder}${name.replaceAll(/\W/g, '')}/`;
    for (const [file, content] of Object.entries({ 'config.json': {}, 'tokenizer.json': {}, [name]: 'x' })) {
      put(`${one}${file}`, content);
    }
    await rejects(
      find(one, 'encoder'),
      'model-unsupported',
      new RegExp(`not from ${name}\\. .*safe_serialization`),
    );
  }
});

test('a folder that is asked for by translate() is told to be an encoder', async () => {
  putFolder(PLAIN);
  await rejects(
    translate('x', { from: 'en', to: 'pt', model: folder }),
    'model-unsupported',
    /mini is an encoder, and does not translate\. Use embed\(\)/,
  );
});

test('the pointer of a file in Git LFS is told', async () => {
  putFolder({ ...PLAIN, 'model.safetensors': 'version https://git-lfs.github.com/spec/v1\noid sha256:0' });
  await rejects(load(folder), 'model-corrupt', /model\.safetensors.*Git LFS.*git lfs pull/);
});

test('files without a hash are kept by the version that the server tells, and load without a network', async () => {
  putFolder({ ...PLAIN, 'modules.json': [] });
  assert.equal(await models.isCached(folder), false);
  await load(folder);
  assert.equal(await models.isCached(folder), true);
  requests = [];
  await load(folder);
  assert(!requests.some((request) => request.startsWith('GET')), 'nothing comes again');
  put(`${folder}model.safetensors`, 'other weights');
  assert.equal((await load(folder))['model.safetensors'], 'other weights', 'a new version does');

  // The next visit, without a network, remembers nothing of what was found.
  (await find(folder, 'encoder')).forget?.();
  isOffline = true;
  assert.deepEqual(await namesOf(folder), [
    'config.json',
    'model.safetensors',
    'modules.json',
    'tokenizer.json',
  ]);
  assert.equal((await load(folder))['model.safetensors'], 'other weights');
  assert.equal(await models.delete(folder), true);
  await assert.rejects(load(folder), { code: 'download-failed' });
});

/** A listing of the hub. @param {Record<string, unknown>} files @param {string} [revision] */
function list(files, revision = 'main') {
  const siblings = Object.entries(files).map(([rfilename, content]) => {
    const bytes = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
    put(`https://huggingface.co/${repository}/resolve/${COMMIT}/${rfilename}`, content);
    const blobId = createHash('sha1').update(bytes).digest('hex');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const lfs = /\.(safetensors|gguf)$/.test(rfilename) ? { lfs: { sha256, size: bytes.length } } : {};
    return { rfilename, size: bytes.length, blobId, ...lfs };
  });
  const api = `https://huggingface.co/api/models/${repository}/revision/${revision}?blobs=true`;
  put(api, { id: repository, sha: COMMIT, siblings });
}

test('a repository: pinned to the commit, checked, kept', async () => {
  list({
    ...PLAIN,
    'modules.json': MODULES,
    '1_Pooling/config.json': {},
    '2_Dense/config.json': {},
    '2_Dense/model.safetensors': 'dense',
    'README.md': '#',
    'pytorch_model.bin': 'x',
    'vocab.txt': 'x',
    'onnx/model.onnx': 'x',
    'openvino/config.json': {},
  });
  list(PLAIN, 'v1');
  const { files, id, key } = await find(repository, 'encoder');
  assert.equal(id, repository);
  assert.equal(key, `https://huggingface.co/${repository}/tree/${COMMIT}`);
  assert.deepEqual(files.map(({ name }) => name).toSorted(), [
    '1_Pooling/config.json',
    '2_Dense/config.json',
    '2_Dense/model.safetensors',
    'config.json',
    'model.safetensors',
    'modules.json',
    'tokenizer.json',
  ]);
  const weights = files.find(({ name }) => name === 'model.safetensors');
  assert.deepEqual(
    [weights?.bytes, weights?.sha256],
    [7, createHash('sha256').update('weights').digest('hex')],
  );
  assert(weights?.origin instanceof URL);
  assert.equal(
    weights.origin.href,
    `https://huggingface.co/${repository}/resolve/${COMMIT}/model.safetensors`,
  );
  for (const name of [
    `${repository}@main`,
    `https://huggingface.co/${repository}`,
    `https://huggingface.co/${repository}/`,
    `https://huggingface.co/${repository}/tree/main`,
  ]) {
    assert.equal((await find(name, 'encoder')).key, key, name);
  }
  assert.deepEqual(await namesOf(`${repository}@v1`), ['config.json', 'model.safetensors', 'tokenizer.json']);

  assert.equal((await load(repository))['2_Dense/model.safetensors'], 'dense');
  requests = [];
  assert.equal(await models.isCached(repository), true);
  await load(repository);
  assert.deepEqual(requests, [], 'kept files are not asked about');
});

test('a repository whose weights are not what the listing says', async () => {
  list(PLAIN);
  put(`https://huggingface.co/${repository}/resolve/${COMMIT}/model.safetensors`, 'WEIGHTS');
  await rejects(load(repository), 'model-corrupt', /SHA-256/);
});

test('a repository of both kinds is what it is asked for as', async () => {
  list({ ...PLAIN, 'mini-Q8_0.gguf': 'GGUF' });
  assert.deepEqual(await namesOf(repository), ['config.json', 'model.safetensors', 'tokenizer.json']);
  for (const kind of /** @type {const} */ (['text', undefined])) {
    const { files } = await find(repository, kind);
    assert.deepEqual(
      files.map(({ name }) => name),
      ['mini-Q8_0.gguf'],
    );
  }
  assert.equal(await models.isCached(repository), false);
  await load(repository);
  assert.equal(await models.isCached(repository), true, 'of either kind');
  assert.equal(await models.delete(repository), true);
  assert.equal(await models.isCached(repository), false);
  await rejects(
    embed('x', { model: `${repository}:Q8_0` }),
    'model-unsupported',
    /is a language model, and no encoder/,
  );
});

test('a repository of another kind', async () => {
  list({ 'mini-Q8_0.gguf': 'GGUF', 'README.md': '#' });
  await rejects(
    embed('x', { model: repository }),
    'model-unsupported',
    /is a language model, and no encoder/,
  );
  repository += '-b';
  list(PLAIN);
  await rejects(find(repository, 'text'), 'model-unsupported', /no \.gguf file/);
  await rejects(
    embed('x', { model: `${repository}:model.safetensors` }),
    'model-not-found',
    /all files of its repository; leave ":model\.safetensors" out/,
  );
  assert.equal((await find(repository)).files.length, 3, 'what nobody says is told by the files');
});

test('a repository that has to be converted says by what', async () => {
  list({ 'config.json': {}, 'pytorch_model.bin': 'x', 'vocab.txt': 'x', 'onnx/model.onnx': 'x' });
  const whole = new RegExp(
    `${repository}: .*missing: tokenizer\\.json, model\\.safetensors;.*not from pytorch_model\\.bin, onnx/model\\.onnx\\. .*AutoModel\\.from_pretrained\\('${repository}'\\)\\.save_pretrained\\('folder', safe_serialization=True\\).*AutoModelForMaskedLM\\. .*AutoTokenizer\\.from_pretrained\\('${repository}'\\)`,
  );
  await rejects(find(repository, 'encoder'), 'model-unsupported', whole);
});

/** @param {readonly string[]} names */
const chosen = (names) =>
  encoderFiles(
    'mini',
    names.map((name) => ({ name })),
  ).map(({ name }) => name);

test('files by their paths, by bare names, and in a folder that was chosen', () => {
  const paths = ['config.json', 'tokenizer.json', 'model.safetensors', '1_Pooling/config.json'];
  assert.deepEqual(chosen(paths).toSorted(), paths.toSorted());
  assert.deepEqual(chosen([...paths, 'pytorch_model.bin', 'README.md']).toSorted(), paths.toSorted());
  for (const prefix of ['mini/', './', '/', 'some/where/mini/', 'mini\\']) {
    assert.deepEqual(chosen(paths.map((path) => prefix + path)).toSorted(), paths.toSorted(), prefix);
  }
  assert.deepEqual(
    chosen(['config.json', 'tokenizer.json', 'mine.safetensors']).toSorted(),
    ['config.json', 'model.safetensors', 'tokenizer.json'],
    'the only weights may have any name',
  );
});

test('what is missing of files', () => {
  /** @param {readonly string[]} names @param {RegExp} message */
  const fails = (names, message) =>
    assert.throws(
      () => chosen(names),
      (/** @type {any} */ error) => {
        assert.deepEqual([error.code, error.option], ['model-unsupported', 'model']);
        assert.match(error.message, message);
        return true;
      },
    );
  fails(['model.safetensors'], /missing: config\.json, tokenizer\.json; there: model\.safetensors/);
  fails(
    ['config.json', 'tokenizer.json'],
    /missing: model\.safetensors; there: config\.json, tokenizer\.json$/,
  );
  fails(
    ['config.json', 'tokenizer.json', 'a.safetensors', 'b.safetensors'],
    /missing: model\.safetensors; there:/,
  );
  const parts = ['config.json', 'tokenizer.json', 'model-00002-of-00003.safetensors'];
  fails(
    parts,
    /missing: model\.safetensors\.index\.json, model-00001-of-00003\.safetensors, model-00003-of-00003\.safetensors;/,
  );
  fails(
    [...parts, 'model.safetensors.index.json'],
    /missing: model-00001-of-00003\.safetensors, model-00003-of-00003\.safetensors;/,
  );
  fails(['config.json', 'tokenizer.json', 'model.safetensors.index.json'], /the \*\.safetensors files that/);
  fails(
    [
      'config.json',
      'tokenizer.json',
      'model.safetensors',
      '2_Dense/config.json',
      '2_Dense/pytorch_model.bin',
    ],
    /missing: 2_Dense\/model\.safetensors;.*SentenceTransformer\('.*'\)\.save\('folder', safe_serialization=True\)/,
  );
});
