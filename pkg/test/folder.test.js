// A model as the address of its folder, with and without an index, and as files by name: plain and gzip.

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { configure, memoryUsage, models, Translator, translate, unload } from 'multihead';

const MODELS = new URL('../../models/', import.meta.url);
const PAIR = { from: 'en', to: 'pt' };

/** @type {{ models: { id: string, base: string, files: { name: string }[] }[] }} */
const index = JSON.parse(readFileSync(new URL('index.json', MODELS), 'utf8'));
const record = index.models.find(({ id }) => id === 'en-pt');
assert(record !== undefined);
const names = record.files.map(({ name }) => name);

/** What the server has, by path. @type {Map<string, () => Uint8Array>} */
const content = new Map();
/** Whether it answers every other path with its page, as sites of one page do. */
let onePage = false;
const server = createServer((request, response) => {
  const file = content.get(request.url ?? '')?.();
  if (file !== undefined) {
    response.setHeader('content-length', file.length);
    response.end(request.method === 'HEAD' ? undefined : file);
  } else if (onePage) {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<!doctype html><title>The page</title>');
  } else {
    response.writeHead(404).end('no');
  }
});
let origin = '';

before(async () => {
  for (const name of names) {
    const bytes = readFileSync(new URL(`en-pt/${name}`, MODELS));
    const packed = gzipSync(bytes, { level: 1 });
    for (const place of ['bare/en-pt', 'own/model', 'indexed/en-pt'])
      content.set(`/${place}/${name}`, () => bytes);
    content.set(`/packed/enpt/${name}.gz`, () => packed);
  }
  const text = (/** @type {unknown} */ value) => () => Buffer.from(JSON.stringify(value));
  content.set('/own/model/index.json', text({ models: [{ ...record, id: 'ours', base: './' }] }));
  content.set('/indexed/index.json', text(index));
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(undefined);
    });
  });
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
  configure({ modelBase: `${origin}/none/` });
});
after(async () => {
  await unload();
  server.closeAllConnections();
  server.close();
});

for (const [what, place] of /** @type {const} */ ([
  ['beside an index', '/indexed/en-pt/'],
  ['with an index of its own', '/own/model/'],
  ['without an index', '/bare/en-pt/'],
  ['without an index, of gzip files', '/packed/enpt/'],
])) {
  for (const fallback of [false, true]) {
    test(`a folder ${what}${fallback ? ', on a site that answers everything' : ''}`, async () => {
      onePage = fallback;
      // Every test has an address of its own: what is found is remembered.
      const model = `${origin}${place}`.replace('127.0.0.1', fallback ? 'localhost' : '127.0.0.1');
      /** @type {number[]} */
      const seen = [];
      const translator = await Translator.create({
        sourceLanguage: 'en',
        targetLanguage: 'pt',
        model,
        monitor: (monitor) => {
          monitor.addEventListener('downloadprogress', ({ loaded }) => seen.push(loaded));
        },
      });
      assert.equal(await translator.translate('Good morning.'), 'Bom dia.');
      translator.destroy();
      assert.deepEqual([seen[0], seen.at(-1)], [0, 1]);
      assert(
        seen.some((loaded) => loaded > 0 && loaded < 1),
        'the total is known before it begins',
      );
      assert.equal(await models.isCached(model), false);
      await assert.rejects(translate('x', { from: 'pt', to: 'en', model }), { code: 'invalid-argument' });
    });
  }
}

test('a folder without a model is a typed error that says what was looked for', async () => {
  for (const fallback of [false, true]) {
    onePage = fallback;
    await assert.rejects(
      translate('x', { ...PAIR, model: `${origin}/empty/en-pt/` }),
      (/** @type {any} */ error) => {
        assert.deepEqual([error.code, error.option], ['model-not-found', 'model']);
        assert.match(error.message, /\/empty\/en-pt\/.*model\.enpt\.\*\.bin/);
        return true;
      },
    );
  }
});

test('files by name: addresses and contents, plain and gzip', async () => {
  onePage = false;
  const [model = '', vocab = '', shortlist = ''] = names;
  /** @type {number[]} */
  const seen = [];
  const translator = await Translator.create({
    sourceLanguage: 'en',
    targetLanguage: 'pt',
    model: {
      files: {
        [`${model}.gz`]: `${origin}/packed/enpt/${model}.gz`,
        [`${vocab}.gz`]: new Blob([gzipSync(readFileSync(new URL(`en-pt/${vocab}`, MODELS)))]),
        [shortlist]: new URL(`en-pt/${shortlist}`, MODELS),
      },
    },
    monitor: (monitor) => {
      monitor.addEventListener('downloadprogress', ({ loaded }) => seen.push(loaded));
    },
  });
  assert.equal(await translator.translate('Good morning.'), 'Bom dia.');
  const whole = names.reduce((sum, name) => sum + statSync(new URL(`en-pt/${name}`, MODELS)).size, 0);
  assert.deepEqual(
    (await memoryUsage()).models.map(({ bytes }) => bytes),
    [whole],
    'sizes of the contents, decompressed',
  );
  translator.destroy();
  assert(seen.some((loaded) => loaded > 0 && loaded < 1));
  const damaged = gzipSync(Buffer.alloc(10_000, 'x')).subarray(0, 30);
  await assert.rejects(
    translate('x', {
      ...PAIR,
      model: { files: { 'model.bin.gz': new Blob([damaged]), 'vocab.spm': new Blob(['v']) } },
    }),
    { code: 'model-corrupt', file: 'model.bin' },
  );
});
