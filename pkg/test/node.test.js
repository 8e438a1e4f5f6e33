// The package in Node, by its own name, on the models that `cargo xtask models` has put into the repository.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { configure, memoryUsage, models, Translator, translate, unload } from 'multihead';

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
  const translator = await Translator.create({
    sourceLanguage: 'pt',
    targetLanguage: 'en',
    model: { files },
  });
  assert.equal(translator.device, 'cpu');
  assert.equal(translator.precision, 'int8');
  assert.equal(await translator.translate('Bom dia.'), 'Good morning.');
  translator.destroy();
  for (const { name, bytes } of record.files) assert.equal(files[name]?.byteLength, bytes);
});

test('a missing model is a typed error that names the index', async () => {
  await assert.rejects(translate('x', { from: 'en', to: 'de' }), (/** @type {Error} */ error) => {
    assert.equal('code' in error && error.code, 'model-not-found');
    assert.match(error.message, /en-pt/);
    return true;
  });
});
