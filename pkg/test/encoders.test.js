// Encoders in Node: all-minilm-l6-v2 as `cargo xtask models` has put it into the repository, and small ones of random weights,
// beside what transformers makes of the same files.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { classify, configure, embed, Embedder, fillMask, memoryUsage, tagTokens, unload } from 'multihead';
import { cosine, expectedOf, MINILM, SMALL, utf16 } from './encoder-fixtures.js';

const MODELS = new URL('../../models/', import.meta.url);
configure({ modelBase: MODELS });
after(() => unload());

const texts = MINILM.odd.map(({ text }) => text);

/** How near vectors are to those of transformers. @param {readonly Float32Array[]} vectors */
const nearness = (vectors) =>
  vectors.map((vector, place) => cosine(vector, MINILM.odd[place]?.vector ?? new Float32Array()));

test('vectors of odd texts are those of transformers, in float32 and quantised on load', async () => {
  const exact = nearness(await embed(texts));
  assert.equal(exact.length, texts.length);
  assert(Math.min(...exact) >= 0.9999, `${Math.min(...exact)}`);
  const small = nearness(await embed(texts, { precision: 'int8' }));
  assert(Math.min(...small) >= 0.99, `${Math.min(...small)}`);
  assert(small.reduce((sum, one) => sum + one, 0) / small.length >= 0.996);
});

test('ids, ranges and what was cut', async () => {
  const embedder = await Embedder.create();
  assert.deepEqual([embedder.dimensions, embedder.maxTokens, embedder.precision], [384, 256, 'float32']);
  const detailed = await embedder.embedDetailed(texts);
  for (const [place, { text, ids, truncated }] of MINILM.odd.entries()) {
    const got = detailed[place];
    assert.deepEqual(
      got?.tokens.map(({ id }) => id),
      // Those that the tokenizer puts around the text stand nowhere in it.
      ids.slice(1, -1),
      text,
    );
    assert.equal(got.truncated, truncated, text);
    for (const { range } of got.tokens) assert(range[0] <= range[1] && range[1] <= text.length);
  }
  await assert.rejects(
    Embedder.create({ tooLong: 'error' }).then((one) => one.embed(texts)),
    (error) => {
      assert(error instanceof Error);
      assert.match(error.message, /\d+ tokens/);
      assert.match(error.message, /256/);
      return true;
    },
  );
  embedder.destroy();
});

test('a text has the same bits alone, in a list, and at another place of it', async () => {
  const together = await embed(texts);
  const reversed = (await embed(texts.toReversed())).toReversed();
  for (const [place, text] of texts.entries()) {
    const alone = await embed(text);
    assert.deepEqual(alone, together[place], text);
    assert.deepEqual(alone, reversed[place], text);
  }
});

test('three hundred texts take no more memory than a hundred', async () => {
  const many = Array.from(
    { length: 300 },
    (_, place) => `${place}: ${texts[place % texts.length]?.slice(0, 80)}`,
  );
  await embed(many.slice(0, 100));
  const { wasm } = await memoryUsage();
  let told = 0;
  const vectors = await embed(many, {
    onProgress: ({ done, total }) => {
      assert(done > told && total === 300);
      told = done;
    },
  });
  assert.equal(vectors.length, 300);
  assert.equal(told, 300);
  assert.equal((await memoryUsage()).wasm, wasm);
});

/** The files of a small encoder. @param {string} name */
function filesOf(name) {
  const files = readdirSync(new URL(`${name}/`, SMALL), { recursive: true, withFileTypes: true });
  const blobs = files
    .filter((file) => file.isFile() && file.name !== 'expected.json')
    .map((file) => join(file.parentPath, file.name));
  const root = fileURLToPath(new URL(`${name}/`, SMALL));
  return {
    files: Object.fromEntries(blobs.map((path) => [path.slice(root.length), new Blob([readFileSync(path)])])),
  };
}

test('a model that is unloaded between two moments of a call is loaded again for it', async () => {
  const [model, other] = [filesOf('bert-classify'), filesOf('distilbert-embed')];
  const [scores, vector] = [await classify('a', { model }), await embed('a', { model })];
  const embedder = await Embedder.create({ model });
  const ticked = async (/** @type {number} */ ticks) => {
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  };
  const calls = async () => {
    const made = [embedder.embed('a'), classify('a', { model }), embedder.tokenize('a')];
    assert.deepEqual((await Promise.all(made)).slice(0, 2), [vector, scores]);
  };
  for (let ticks = 0; ticks < 12; ticks++) {
    // While it is being loaded, unload() would stop that.
    await embedder.embed('a');
    const made = calls();
    await ticked(ticks);
    // The worker goes with all its models.
    await Promise.all([made, unload()]);
    await Promise.all([embedder.embed('a'), embed('a', { model: other })]);
    // The worker stays; of files unload() finds out first which model they are.
    const unloaded = unload(model);
    await ticked(ticks);
    await Promise.all([unloaded, calls()]);
  }
  embedder.destroy();
});

test('a model of many files is called by some of them', async () => {
  const { files } = filesOf('bert-embed');
  const many = Array.from({ length: 1000 }, (_, place) => [`notes/${place}.txt`, new Blob()]);
  delete files['tokenizer.json'];
  await assert.rejects(
    embed('a', { model: { files: { ...files, ...Object.fromEntries(many) } } }),
    (error) => {
      assert(error instanceof Error && error.message.length < 2000);
      assert.match(error.message, /997 more: an encoder is .* missing: tokenizer\.json/);
      return true;
    },
  );
});

test('the folder that --int8 writes gives the vectors too', async () => {
  const root = mkdtempSync(join(tmpdir(), 'multihead-encoder-'));
  try {
    const cli = fileURLToPath(new URL('../dist/node/cli.js', import.meta.url));
    const from = fileURLToPath(MODELS);
    const args = [cli, 'models', 'add', 'all-minilm-l6-v2', root, '--from', from, '--int8'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    /** @type {{ models: { files: { bytes: number, gzip?: { bytes: number } }[] }[] }} */
    const { models } = JSON.parse(readFileSync(join(root, 'index.json'), 'utf8'));
    const sizes = models[0]?.files.map(({ bytes, gzip }) => gzip?.bytes ?? bytes) ?? [];
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert(total > 0 && total <= 25_000_000, `${total} bytes`);
    const model = new URL('all-minilm-l6-v2/', pathToFileURL(`${root}/`));
    const embedder = await Embedder.create({ model });
    assert.equal(embedder.precision, 'int8');
    const small = nearness(await embedder.embed(texts));
    embedder.destroy();
    assert(Math.min(...small) >= 0.99, `${Math.min(...small)}`);
    assert(small.reduce((sum, one) => sum + one, 0) / small.length >= 0.996);
  } finally {
    rmSync(root, { recursive: true });
  }
});

/** @param {number} a @param {number} b */
const isNear = (a, b) => Math.abs(a - b) <= 1e-3;

for (const architecture of ['bert', 'distilbert', 'roberta', 'xlm-roberta', 'mpnet']) {
  const model = (/** @type {string} */ task) => new URL(`${architecture}-${task}/`, SMALL);

  test(`${architecture}: pooled vectors`, async () => {
    const expected = expectedOf(`${architecture}-embed`);
    for (const pooling of /** @type {const} */ (['mean', 'cls', 'max'])) {
      // What comes after the pooling is the model's own.
      if (expected.hasModules) break;
      const vectors = await embed(
        expected.texts.map(({ text }) => text),
        { model: model('embed'), pooling, normalize: false },
      );
      for (const [place, text] of expected.texts.entries()) {
        assert(
          text[pooling].every((value, index) => isNear(value, vectors[place]?.[index] ?? NaN)),
          `${pooling} of ${text.text}`,
        );
      }
    }
    for (const { text, sentence } of expected.texts) {
      if (sentence === undefined) continue;
      const vector = await embed(text, { model: model('embed') });
      assert.equal(vector.length, sentence.length);
      assert(
        sentence.every((value, index) => isNear(value, vector[index] ?? NaN)),
        text,
      );
    }
  });

  test(`${architecture}: labels`, async () => {
    const { labels, texts: all } = expectedOf(`${architecture}-classify`);
    for (const { text, scores, truncated } of all) {
      const got = await classify(text, { model: model('classify'), topK: labels.length });
      assert.equal(got.truncated, truncated, text);
      assert.equal(got.labels.length, labels.length);
      for (const { label, score } of got.labels)
        assert(isNear(score, scores[labels.indexOf(label)] ?? NaN), text);
      assert.deepEqual(
        got.labels.map(({ score }) => score),
        got.labels.map(({ score }) => score).toSorted((a, b) => b - a),
      );
    }
  });

  test(`${architecture}: entities`, async () => {
    // With others than WordPiece the pipeline has punctuation take the label of the word that it stands at.
    const isLike = (/** @type {string} */ text) =>
      !architecture.includes('roberta') || /^[\p{L}\p{N} ]*$/u.test(text);
    const { texts: all } = expectedOf(`${architecture}-tag`);
    for (const { text, first, truncated } of all.filter((one) => isLike(one.text))) {
      const got = await tagTokens(text, { model: model('tag') });
      assert.equal(got.truncated, truncated, text);
      const expected = first.map(({ label, start, end }) => {
        const passage = text.slice(utf16(text, start), utf16(text, end));
        const range = [utf16(text, end) - passage.trimStart().length, utf16(text, end)];
        return [label, range, passage.trimStart()];
      });
      assert.deepEqual(
        got.entities.map(({ label, range, text: passage }) => [label, range, passage]),
        expected,
        text,
      );
      for (const [place, { score }] of first.entries()) {
        assert(isNear(score, got.entities[place]?.score ?? NaN), text);
      }
    }
  });

  test(`${architecture}: words in the place of a mask`, async () => {
    for (const { text, top } of expectedOf(`${architecture}-fill`).texts) {
      const { candidates } = await fillMask(text, { model: model('fill'), topK: 5 });
      assert.deepEqual(
        candidates.map(({ token }) => token.id),
        top.map(({ id }) => id),
        text,
      );
      for (const [place, { score }] of top.entries()) {
        assert(isNear(score, candidates[place]?.score ?? NaN), text);
      }
    }
  });
}

test('the folders are those of these tests', () => {
  const folders = readdirSync(SMALL, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  assert.equal(folders.filter(({ name }) => /-(embed|classify|tag|fill)$/.test(name)).length, 20);
});
