// Two real models in a row: pt-en, and en-pt published under another language (xx), so that pt → xx has none of its own.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { configure, LiveTranslation, memoryUsage, models, Translator, translate, unload } from 'multihead';

const MODELS = new URL('../../models/', import.meta.url);
const TEXT =
  '  O gato dorme nas pedras quentes. Ninguém o quer acordar!\n\n12345\n\nEla chegou às 3 horas, mas o Sr. Silva já tinha ido embora.\n';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihead-pivot-'));
  /** @type {{ models: { id: string, from: string, to: string, base: string }[] }} */
  const index = JSON.parse(readFileSync(new URL('index.json', MODELS), 'utf8'));
  for (const model of index.models) {
    model.base = new URL(model.base, MODELS).href;
    if (model.id === 'en-pt') Object.assign(model, { id: 'en-xx', to: 'xx' });
  }
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
  configure({ modelBase: pathToFileURL(`${folder}/`) });
});
after(async () => {
  await unload();
  rmSync(folder, { recursive: true, force: true });
});

const PAIR = { sourceLanguage: 'pt', targetLanguage: 'xx' };

test('translate() gives what the two models give one after the other', async () => {
  const texts = [TEXT, 'Bom dia.', '', '12345'];
  const english = await translate(texts, { from: 'pt', to: 'en' });
  const expected = await translate(english, { from: 'en', to: 'xx' });
  assert.deepEqual(await translate(texts, { from: 'pt-BR', to: 'xx' }), expected);
  assert.equal(await translate(TEXT, { from: 'pt', to: 'xx' }), expected[0]);
  await unload();
  assert.equal((await memoryUsage()).wasm, 0);
});

test('a Translator: one progress over both, ranges and alignments from end to end, both freed', async () => {
  /** @type {number[]} */
  const seen = [];
  const translator = await Translator.create({
    ...PAIR,
    monitor: (monitor) => {
      monitor.addEventListener('downloadprogress', ({ loaded }) => seen.push(loaded));
    },
  });
  assert.equal(seen[0], 0);
  assert.equal(seen.at(-1), 1);
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
  assert.deepEqual((await memoryUsage()).models.map(({ id }) => id).toSorted(), ['en-xx', 'pt-en']);

  const expected = await translator.translate(TEXT);
  let streamed = '';
  for await (const piece of translator.translateStreaming(TEXT)) streamed += piece;
  assert.equal(streamed, expected);

  const { text, sentences } = await translator.translateDetailed(TEXT);
  assert.equal(text, expected);
  let [source, target] = [0, 0];
  for (const one of sentences) {
    assert.match(TEXT.slice(source, one.source[0]), /^\s*$/);
    assert.equal(
      text.slice(target, one.target[0]),
      TEXT.slice(source, one.source[0]),
      'white space survives',
    );
    [source, target] = [one.source[1], one.target[1]];
    for (const token of one.sourceTokens) assert.equal(TEXT.slice(...token.range), token.text);
    for (const token of one.targetTokens) assert.equal(text.slice(...token.range), token.text);
    if (one.targetTokens.length === 0) continue;
    const columns = one.sourceTokens.length + 1;
    assert.equal(one.alignment.length, columns * (one.targetTokens.length + 1));
    for (let row = 0; row <= one.targetTokens.length; row++) {
      const sum = one.alignment.slice(row * columns, (row + 1) * columns).reduce((a, b) => a + b, 0);
      assert(Math.abs(sum - 1) < 1e-5, `row ${row} sums to ${sum}`);
    }
  }
  assert.equal(text.slice(target), TEXT.slice(source));

  // From Portuguese to Portuguese: a word looks at itself.
  const [first] = sentences;
  assert(first !== undefined);
  for (const word of ['gato', 'pedras']) {
    const row = first.targetTokens.findIndex((token) => token.text.trim() === word);
    const column = first.sourceTokens.findIndex((token) => token.text.trim() === word);
    assert(row >= 0 && column >= 0, text);
    const columns = first.sourceTokens.length + 1;
    /** @type {Float32Array} */
    const weights = first.alignment.slice(row * columns, (row + 1) * columns);
    assert.equal(weights.indexOf(Math.max(...weights)), column, word);
  }

  const live = new LiveTranslation(translator);
  assert.equal((await live.update(TEXT))?.text, expected);
  assert((await translator.measureInputUsage('Bom dia.')) > 1);
  translator.destroy();
  assert.deepEqual((await memoryUsage()).models, []);
  // The worker ends once it has let go of both.
  const end = Date.now() + 600_000;
  while ((await memoryUsage()).wasm > 0) {
    assert(Date.now() < end, 'the worker is still there');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test('availability: what there is, and what a chain through English cannot be', async () => {
  const of = (/** @type {string} */ sourceLanguage, /** @type {string} */ targetLanguage) =>
    Translator.availability({ sourceLanguage, targetLanguage });
  assert.equal(await of('pt', 'xx'), 'downloadable');
  assert.equal(await of('pt', 'en'), 'downloadable');
  for (const [from, to] of /** @type {const} */ ([
    ['xx', 'pt'],
    ['pt', 'pt-BR'],
    ['en', 'en-GB'],
    ['xx', 'en'],
    ['pt', 'de'],
  ])) {
    assert.equal(await of(from, to), 'unavailable', `${from} to ${to}`);
  }
  const toDo = /nor do two through English; .*\. For more: npx multihead models list$/;
  await assert.rejects(translate('x', { from: 'pt', to: 'de' }), toDo);
  assert.deepEqual(
    (await models.list()).filter(({ tasks }) => tasks.includes('translation')).map(({ id }) => id),
    ['en-xx', 'pt-en'],
  );
});

test('an abort ends both; the next call works', async () => {
  const stop = new AbortController();
  const loading = Translator.create({ ...PAIR, signal: stop.signal });
  stop.abort();
  await assert.rejects(loading, { name: 'AbortError' });
  assert.deepEqual((await memoryUsage()).models, []);
  const translator = await Translator.create(PAIR);
  const [whole, streaming] = [new AbortController(), new AbortController()];
  const call = translator.translate(TEXT, { signal: whole.signal });
  whole.abort();
  await assert.rejects(call, { name: 'AbortError' });
  // The first piece comes from the second model while the first has yet to see the rest.
  const reader = translator.translateStreaming(TEXT.repeat(50), { signal: streaming.signal }).getReader();
  assert.notEqual((await reader.read()).value, '');
  streaming.abort();
  await assert.rejects(reader.read(), { name: 'AbortError' });
  assert.match(await translator.translate('Bom dia.'), /Bom dia/);
  translator.destroy();
  await assert.rejects(translator.translate('Bom dia.'), { name: 'InvalidStateError' });
});

test('a limit of memory holds for both together, before anything is fetched', async () => {
  await unload();
  configure({ memoryLimit: 30_000_000 });
  await assert.rejects(translate('Bom dia.', { from: 'pt', to: 'xx' }), {
    code: 'out-of-memory',
    option: 'memoryLimit',
    message: /and the others 2\d{7}, memoryLimit is 30000000/,
  });
  assert.equal(await translate('Bom dia.', { from: 'pt', to: 'en' }), 'Good morning.');
  configure({ memoryLimit: 60_000_000 });
  assert.match(await translate('Bom dia.', { from: 'pt', to: 'xx' }), /Bom dia/);
  configure({ memoryLimit: Number.MAX_SAFE_INTEGER });
  await unload();
});

test('a model that fails takes the other along, and the next try works', async () => {
  const whole = readFileSync(join(folder, 'index.json'), 'utf8');
  const base = join(folder, 'faulty');
  const faulty = JSON.parse(whole);
  faulty.models.find((/** @type {{ id: string }} */ { id }) => id === 'en-xx').base = pathToFileURL(
    `${base}/`,
  ).href;
  const other = mkdtempSync(join(tmpdir(), 'multihead-pivot-'));
  writeFileSync(join(other, 'index.json'), JSON.stringify(faulty));
  configure({ modelBase: pathToFileURL(`${other}/`) });
  // Whichever of its files is looked for first.
  await assert.rejects(translate('Bom dia.', { from: 'pt', to: 'xx' }), {
    code: 'model-not-found',
    file: /enpt/,
  });
  assert.deepEqual((await memoryUsage()).models, []);
  configure({ modelBase: pathToFileURL(`${folder}/`) });
  assert.match(await translate('Bom dia.', { from: 'pt', to: 'xx' }), /Bom dia/);
  rmSync(other, { recursive: true, force: true });
});
