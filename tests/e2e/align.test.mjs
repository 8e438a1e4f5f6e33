// Translator.align() in Chromium: given pairs against Marian's scorer, a translation's own text, faults and aborts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { inChromium } from './chromium.mjs';
import { SENTENCES } from './native.mjs';
import { fileOf } from './server.mjs';

const { server, blank } = inChromium({});
/** @type {import('playwright-core').Page} */
let page;

beforeEach(async () => {
  ({ page } = await blank());
});
afterEach(() => page.context().close());

/** @param {readonly number[]} got @param {readonly number[]} want @param {string} what */
function assertClose(got, want, what) {
  assert.equal(got.length, want.length, what);
  got.forEach((value, place) => {
    assert(Math.abs(value - (want[place] ?? NaN)) <= 1e-3, `${what}: ${value} for ${want[place]}`);
  });
}

test('scores and alignments of given pairs are those of pymarian in float32', async () => {
  /** @type {{ source: string, target: string, target_ids: number[], token_scores: number[], alignment: number[][] }[]} */
  const all = JSON.parse(readFileSync(fileOf('/tests/fixtures/marian/given.json'), 'utf8'))['en-pt'];
  // Letters that the vocabulary lacks (its unknown token is 1) are written another way here.
  const pairs = all.filter(({ target_ids }) => !target_ids.includes(1));
  assert.equal(pairs.length, 6);
  /** @type {{ models: { id: string, base: string, files: { name: string }[] }[] }} */
  const { models } = JSON.parse(readFileSync(fileOf('/models/index.json'), 'utf8'));
  const model = models.find(({ id }) => id === 'en-pt');
  const addressOf = (/** @type {string} */ start) => {
    const file = model?.files.find(({ name }) => name.startsWith(start));
    return `${server().origin}/models/${model?.base}${file?.name}`;
  };
  const read = await page.evaluate(
    async ({ texts, files }) => {
      const translator = await multihead.Translator.create({
        sourceLanguage: 'en',
        targetLanguage: 'pt',
        precision: 'float32',
        // Without a shortlist every target token is a candidate, as for pymarian.
        model: { files },
      });
      const aligned = await Promise.all(texts.map(({ source, target }) => translator.align(source, target)));
      return aligned.map(({ sentences }) =>
        sentences.map(({ score, alignment, targetTokens }) => ({
          score,
          alignment: [...alignment],
          ids: targetTokens.map(({ id }) => id),
        })),
      );
    },
    { texts: pairs, files: { 'model.bin': addressOf('model.'), 'vocab.spm': addressOf('vocab.') } },
  );
  pairs.forEach(({ source, target_ids, token_scores, alignment }, place) => {
    assert.equal(read[place]?.length, 1, source);
    const sentence = read[place]?.[0];
    if (sentence === undefined) return;
    assert.deepEqual([...sentence.ids, 0], target_ids);
    const mean = token_scores.reduce((sum, score) => sum + score, 0) / token_scores.length;
    assertClose([sentence.score], [mean], source);
    assertClose(sentence.alignment, alignment.flat(), source);
  });
});

test('a translation’s own text gives what translateDetailed() gave', async () => {
  const plain = SENTENCES['en-pt'].filter((text) => /^[A-Za-z ,']+[.!?]$/.test(text)).slice(0, 8);
  assert(plain.length >= 4);
  const results = await page.evaluate(async (texts) => {
    const translator = await multihead.Translator.create({
      sourceLanguage: 'en',
      targetLanguage: 'pt',
      lengthPenalty: 0.5,
    });
    return Promise.all(
      [...texts, texts.join(' '), texts.join('\n')].map(async (text) => {
        const written = await translator.translateDetailed(text);
        const read = await translator.align(text, written.text, { attention: false });
        const plainly = (/** @type {typeof written} */ { text: target, sentences }) => ({
          target,
          sentences: sentences.map((sentence) => ({ ...sentence, alignment: [...sentence.alignment] })),
        });
        return { written: plainly(written), read: plainly(read) };
      }),
    );
  }, plain);
  for (const { written, read } of results) assert.deepEqual(read, written);
});

test('any two strings are read or passed over, and given back as they are', async () => {
  const pairs = [
    ['', ''],
    ['Hello.', ''],
    ['', 'Olá.'],
    ['Hello \ud800 world 🎉!', 'Olá \udc00, mundo 🎉! \ud83d'],
    ['One. Two. Three.', 'Um, dois e três.'],
    ['Isto é português.', 'This is English.'],
    ['🎉', '🎉🎉'],
  ];
  const results = await page.evaluate(async (texts) => {
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    return Promise.all(
      texts.map(async ([source = '', target = '']) => {
        const { text, sentences } = await translator.align(source, target);
        return {
          same: text === target,
          rows: sentences.map(({ alignment, sourceTokens, targetTokens }) => [
            alignment.length,
            targetTokens.length,
            sourceTokens.length,
          ]),
          tokens: sentences.flatMap(({ targetTokens }) =>
            targetTokens
              .filter(({ range }) => range[0] < range[1])
              .map(({ range }) => target.slice(...range)),
          ),
          covered: sentences.map(({ target: [start, end] }) => target.slice(start, end)),
        };
      }),
    );
  }, pairs);
  assert(results.every(({ same }) => same));
  for (const { rows } of results) {
    for (const [length, targets = 0, sources = 0] of rows) {
      assert.equal(length, targets === 0 ? 0 : (targets + 1) * (sources + 1));
    }
  }
  assert.deepEqual(
    results.map(({ covered }) => covered.join('|')),
    ['', '', 'Olá.', 'Olá \udc00, mundo 🎉! \ud83d', 'Um, dois e três.', 'This is English.', '🎉🎉'],
  );
  assert.match(results[3]?.tokens.join('') ?? '', /Olá.*mundo/);
  assert.equal(results[4]?.rows.length, 1);
});

test('faults are typed; aborts are heard at every stage, and the model stays usable', async () => {
  const outcome = await page.evaluate(async () => {
    const facts = async (/** @type {Promise<unknown>} */ promise) =>
      promise.then(
        () => ['done'],
        ({ name, code, option, message }) => [
          name,
          typeof code === 'string' ? code : '',
          option ?? (name === 'NotSupportedError' ? message : ''),
        ],
      );
    const translator = await multihead.Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    const any = /** @type {any} */ (translator);
    const [english, portuguese] = ['The rain has not stopped. ', 'A chuva não parou. '];
    const long = /** @type {const} */ ([english.repeat(1300), portuguese.repeat(1300)]);
    const [reading, queued] = [new AbortController(), new AbortController()];
    const calls = [
      facts(translator.align(...long, { signal: reading.signal })),
      facts(translator.align(...long, { signal: queued.signal })),
    ];
    // The worker answers this in the middle of the first.
    await translator.measureInputUsage('Thank you.');
    reading.abort();
    queued.abort();
    const [mine, others] = [await translator.align('Yes.', 'Sim.'), await translator.align('Yes.', 'Não.')];
    const outcomes = [
      ...(await Promise.all(calls)),
      await facts(translator.align('a', 'b', { signal: AbortSignal.abort() })),
      await facts(translator.align('a', 'b', { attention: { layers: [] } })),
      await facts(any.align('a', 'b', { html: false })),
      await facts(any.align(7, 'b')),
      await facts(any.align('a')),
      await facts(any.align('a', 'b', { signal: 1 })),
      await facts(any.align('a', 'b', null)),
    ];
    const open = facts(translator.align(...long));
    await translator.measureInputUsage('Thank you.');
    translator.destroy();
    outcomes.push(await open, await facts(translator.align('a', 'b')));
    return { outcomes, scores: [mine, others].map(({ sentences }) => sentences[0]?.score ?? NaN) };
  });
  assert.deepEqual(outcome.outcomes, [
    ['AbortError', '', ''],
    ['AbortError', '', ''],
    ['AbortError', '', ''],
    ['MultiheadError', 'invalid-argument', 'attention'],
    ['MultiheadError', 'invalid-argument', 'html'],
    ['MultiheadError', 'invalid-argument', 'source'],
    ['MultiheadError', 'invalid-argument', 'target'],
    ['MultiheadError', 'invalid-argument', 'signal'],
    ['MultiheadError', 'invalid-argument', 'options'],
    ['AbortError', '', ''],
    ['InvalidStateError', '', ''],
  ]);
  const [right = NaN, wrong = NaN] = outcome.scores;
  assert(right < 0 && wrong < right, `${right} of the right one, ${wrong} of the other`);
});

test('through English it is not supported, and says why', async () => {
  /** @type {{ models: { id: string, to: string, base: string }[] }} */
  const index = JSON.parse(readFileSync(fileOf('/models/index.json'), 'utf8'));
  for (const model of index.models) {
    model.base = `/models/${model.base}`;
    if (model.id === 'en-pt') Object.assign(model, { id: 'en-xx', to: 'xx' });
  }
  server().state.fault = (_, response, path) => {
    if (path !== '/chain/index.json') return false;
    response.end(JSON.stringify(index));
    return true;
  };
  const error = await page.evaluate(async () => {
    multihead.configure({ modelBase: '/chain/' });
    const pair = { sourceLanguage: 'pt', targetLanguage: 'xx' };
    const translator = await multihead.Translator.create(pair);
    return translator.align('Olá.', 'Xyz.').then(
      () => 'done',
      ({ name, message }) => `${name}: ${message}`,
    );
  });
  assert.match(error, /^NotSupportedError: .*align\(\).*through English/);
});
