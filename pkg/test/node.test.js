// The package in Node, by its own name, on the models that `cargo xtask models` has put into the repository.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configure, memoryUsage, models, MultiheadError, Translator, translate, unload } from 'multihead';

const FOLDER = new URL('../../models/', import.meta.url);
configure({ modelBase: FOLDER });

test('a text and a list', async () => {
  const pair = { from: 'en', to: 'pt' };
  const texts = ['Good morning.', '12345', 'Good morning, {name}!'];
  const alone = [];
  for (const text of texts) alone.push(await translate(text, pair));
  assert.deepEqual(await translate(texts, pair), alone);
  assert.equal(alone[0], 'Bom dia.');
  assert.equal(alone[1], '12345');
  assert.match(alone[2] ?? '', /\{name\}/);
  await unload();
  assert.equal((await memoryUsage()).wasm, 0);
});

test('files by name, as an ArrayBuffer that stays whole', async () => {
  const record = (await models.list()).find(({ id }) => id === 'pt-en');
  assert(record !== undefined);
  const files = Object.fromEntries(
    record.files.map(({ name }) => {
      const bytes = readFileSync(new URL(`pt-en/${name}`, FOLDER));
      return [name, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)];
    }),
  );
  configure({ workerUrl: new URL('patient-worker.js', import.meta.url) });
  const translator = await Translator.create({
    sourceLanguage: 'pt',
    targetLanguage: 'en',
    model: { files },
    threads: 2,
  });
  assert.equal(translator.device, 'cpu');
  assert.equal(translator.precision, 'int8');
  // Threads where this Node has relaxed SIMD, which 20 lacks.
  assert.match(translator.deviceReason, /^(SIMD, 1 thread|relaxed SIMD, 2 threads)[:;]/);
  assert.equal(await translator.translate('Bom dia.'), 'Good morning.');
  translator.destroy();
  configure({ workerUrl: new URL('../dist/node/worker.js', import.meta.url) });
  for (const { name, bytes } of record.files) assert.equal(files[name]?.byteLength, bytes);
});

test('a missing model is a typed error that names the index', async () => {
  await assert.rejects(translate('x', { from: 'en', to: 'de' }), (/** @type {Error} */ error) => {
    assert.equal('code' in error && error.code, 'model-not-found');
    assert.match(error.message, /en-pt/);
    return true;
  });
});

test('wrong options of every kind are typed errors that name the option', async () => {
  const pair = { from: 'en', to: 'pt' };
  /** @type {[string, () => unknown][]} */
  const wrong = [
    ['options', () => call(translate, 'x')],
    ['options', () => call(translate, 'x', null)],
    ['options', () => call(Translator.create.bind(Translator))],
    ['options', () => call(Translator.availability.bind(Translator))],
    ['options', () => call(configure, null)],
    ['text', () => call(translate, [undefined, 'x'], pair)],
    ['toString', () => call(translate, 'x', { ...pair, toString: 1 })],
    ['memoryLimit', () => call(configure, { memoryLimit: '5' })],
    ['fetch', () => call(configure, { fetch: 5 })],
    ['modelBase', () => call(configure, { modelBase: null })],
    ['modelBase', () => call(configure, { modelBase: 'http://[' })],
    ...['device', 'precision', 'threads', 'signal', 'monitor', 'html', 'model', 'beamSize'].flatMap(
      (option) =>
        [null, 5n, Symbol('x'), [], {}, 'constructor', () => 1]
          .filter((value) => option !== 'monitor' || typeof value !== 'function')
          .filter((value) => option !== 'model' || typeof value !== 'string')
          .map(
            (value) =>
              /** @type {[string, () => unknown]} */ ([
                option,
                () => call(translate, 'x', { ...pair, [option]: value }),
              ]),
          ),
    ),
  ];
  for (const [option, attempt] of wrong) {
    await assert.rejects(
      async () => attempt(),
      (/** @type {unknown} */ error) => {
        assert(error instanceof MultiheadError, String(error));
        assert.deepEqual([error.code, error.option], ['invalid-argument', option]);
        return true;
      },
    );
  }
});

/** Calls without the types' help. @param {Function} method @param {unknown[]} values @returns {unknown} */
function call(method, ...values) {
  return Reflect.apply(method, undefined, values);
}

test('a model asked for by name translates its own pair only', async () => {
  const named = { model: 'pt-en', to: 'pt' };
  for (const options of [named, { ...named, from: 'en' }, { model: 'pt-en', from: 'en', to: 'en' }]) {
    await assert.rejects(translate('Hello there.', options), { code: 'invalid-argument', option: 'model' });
  }
  await assert.rejects(
    Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt', model: 'pt-en' }),
    /pt-en translates pt to en, not en to pt/,
  );
  assert.equal(await translate('Bom dia.', { model: 'pt-en', from: 'pt-BR', to: 'en-GB' }), 'Good morning.');
  await unload();
});

test('calls aborted while their answers are under way leave the process waiting for the others', () => {
  const script = `
    import { configure, Translator } from 'multihead';
    configure({ modelBase: ${JSON.stringify(FOLDER.href)} });
    const translator = await Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    for (let round = 0; round < 3; round++) {
      const stop = new AbortController();
      const quick = translator.measureInputUsage('x', { signal: stop.signal }).catch(() => undefined);
      await Promise.resolve();
      const end = performance.now() + 100;
      while (performance.now() < end);
      stop.abort();
      await quick;
    }
    console.log(await translator.translate('Good morning.'));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('..', import.meta.url),
    encoding: 'utf8',
  });
  assert.deepEqual([run.status, run.stdout], [0, 'Bom dia.\n'], run.stderr);
});
