// LiveTranslation against translating the whole text anew, after edits at random places.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { configure, LiveTranslation, Translator } from 'multihead';

const MODELS = new URL('../../models/', import.meta.url);
configure({ modelBase: MODELS });
const FIXTURES = new URL('../../tests/fixtures/marian/', import.meta.url);

/** @type {Translator[]} */
const open = [];
after(() => {
  for (const translator of open) translator.destroy();
});

/** @param {import('multihead').ModelSource} [model] */
async function english(model) {
  const translator = await Translator.create({
    sourceLanguage: 'en',
    targetLanguage: 'pt',
    ...(model === undefined ? {} : { model }),
  });
  open.push(translator);
  return translator;
}

/** A model of random weights: its translations mean nothing, but it is quick, and it cuts texts as every model does. */
function quick() {
  const file = (/** @type {string} */ name) => {
    const bytes = readFileSync(new URL(name, FIXTURES));
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  };
  return english({ files: { 'model.bin': file('tiny.bin'), 'vocab.spm': file('shared-80.spm') } });
}

/** Numbers from 0 to `below`, the same in every run (mulberry32). @param {number} seed */
function random(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** What is typed and pasted: words, stops, and all that can move the border of a sentence. */
const PROSE = [
  'a|The| cat| sleeps| I| e.g.| Dr.| Mr. Smith| U.S.| J. R.| etc.| 3.5| 1.',
  '.|. |? |! |...|…|." |.) |) | [1]|“|” | "|\'|, |: | - |¿',
  '\n|\n\n|\t|  | |\r\n|\n- |\n2. ',
  ' https://a.org/x.y | a@b.org. | {name} |<b>|</b> |😀| é|你好。|世界！',
  ' No. 5| Yes.| Go.| (see p. 4).| Nobody knows why it rained all day. ',
].flatMap((row) => row.split('|'));

/** What can hold sentences together that would be two. */
const PAIRS = ['`', ' `x. Y` ', '```', ' (', '[', ' <', '<!--', '{', '}', '{{', '[a](b "c. D") '];

const TEXT = `Dear Ana,

The parcel arrived this morning, and nothing was broken. The children opened it before breakfast. Thank you! We met Dr. Silva at 3.5 km from the U.S. border. "Who is there?" she asked. Nobody (not even Tom) answered. Then it rained. And rained.
See https://example.org/a.b for more. Yes. No. The end is near, said J. R. Smith. He was right.

1. Buy bread. Do not forget.
2. Call the bank. They close at five.
With love,
Tom`;

/** @param {string} text @param {(below: number) => number} roll @param {readonly string[]} snippets */
function edited(text, roll, snippets) {
  const at = roll(text.length + 1);
  const kind = roll(10);
  const snippet = snippets[roll(snippets.length)] ?? '';
  if (kind < 5) return text.slice(0, at) + snippet + text.slice(at);
  if (kind < 8) return text.slice(0, at) + text.slice(at + 1 + roll(6));
  if (kind < 9) return text.slice(0, at) + snippet + text.slice(at + roll(60));
  // Something moves elsewhere.
  const piece = text.slice(at, at + roll(80));
  const rest = text.slice(0, at) + text.slice(at + piece.length);
  const to = roll(rest.length + 1);
  return rest.slice(0, to) + piece + rest.slice(to);
}

/**
 * Compares after each edit. Returns which part of the text was translated again, on average.
 * @param {Translator} translator @param {number} seed @param {number} edits @param {readonly string[]} snippets
 */
async function follow(translator, seed, edits, snippets = PROSE) {
  const live = new LiveTranslation(translator);
  const roll = random(seed);
  let text = TEXT;
  let sent = 0;
  for (let edit = 0; edit <= edits; edit++) {
    const result = await live.update(text);
    const whole = await translator.translateDetailed(text);
    assert(result !== undefined);
    const { translated, source, ...translation } = result;
    assert.equal(source, text);
    assert.deepEqual(translation, whole, `seed ${seed}, edit ${edit}: ${JSON.stringify(text)}`);
    if (edit > 0) sent += translated.reduce((sum, [start, end]) => sum + end - start, 0) / text.length;
    text = edit % 40 === 39 ? TEXT : edited(text, roll, snippets);
  }
  return sent / edits;
}

test('after every edit the translation is that of the whole text', async () => {
  const part = await follow(await english(), 1, 30);
  assert(part < 0.5, `${Math.round(part * 100)} % of the text were translated again`);
});

test('the same with many edits, on a model of random weights', async () => {
  const translator = await quick();
  const seeds = Number(process.env['MULTIHEAD_LIVE_SEEDS'] ?? 3);
  let parts = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    parts += await follow(translator, seed, 120);
    await follow(translator, 1000 + seed, 60, [...PROSE, ...PAIRS]);
  }
  assert(parts / seeds < 0.6, `${Math.round((parts / seeds) * 100)} % of the text were translated again`);
});

test('the same through English, where only line breaks are trusted', async () => {
  /** @type {{ models: { id: string, to: string, base: string }[] }} */
  const index = JSON.parse(readFileSync(new URL('index.json', MODELS), 'utf8'));
  for (const model of index.models) {
    model.base = new URL(model.base, MODELS).href;
    if (model.id === 'en-pt') Object.assign(model, { id: 'en-xx', to: 'xx' });
  }
  const folder = mkdtempSync(join(tmpdir(), 'multihead-live-'));
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
  configure({ modelBase: pathToFileURL(`${folder}/`) });
  const translator = await Translator.create({ sourceLanguage: 'pt', targetLanguage: 'xx' });
  configure({ modelBase: MODELS });
  rmSync(folder, { recursive: true });
  await follow(translator, 7, 25);
  translator.destroy();
});

test('one sentence of ten: the others are not sent', async () => {
  const translator = await english();
  const live = new LiveTranslation(translator);
  const sentences = [
    'One dog barks loudly.',
    'Two cats sleep all day.',
    'Three birds sing at dawn.',
    'It rains again today.',
  ];
  sentences.push(
    'The bread is still warm.',
    'Nobody closed the old door.',
    'We left before noon.',
    'The train was late.',
  );
  sentences.push('She reads a long letter.', 'They laugh all the time.');
  const before = await live.update(sentences.join(' '));
  assert.deepEqual(before?.translated, [[0, sentences.join(' ').length]]);
  const old = [...sentences];
  sentences[4] = 'The bread is still very warm.';
  const text = sentences.join(' ');
  const start = text.indexOf(sentences[4]);
  const result = await live.update(text);
  assert.deepEqual(result?.translated, [[start, start + sentences[4].length]]);
  assert.equal(result.text, await translator.translate(text));
  assert.equal(result.sentences.length, 10);
  // Taken back, nothing is sent at all.
  assert.deepEqual((await live.update(old.join(' ')))?.translated, []);
});

test('the newest text wins; the one before ends without a result, and what it had done is kept', async () => {
  const translator = await english();
  /** @type {string[]} */
  const seen = [];
  const progress = new EventTarget();
  /** The first lines are done, and others are not: every call of the model is reported when it ends. */
  const started = once(progress, 'lines');
  const live = new LiveTranslation(translator, {
    onProgress: ({ source, sentences }) => {
      seen.push(source);
      if (sentences.length > 0) progress.dispatchEvent(new Event('lines'));
    },
  });
  const line = 'The rain in the north has not stopped for a week, and nobody knows why.';
  const paragraphs = Array.from({ length: 40 }, (_, index) => `${index + 2} men came in. ${line}`);
  const [first, second] = [paragraphs.join('\n'), [...paragraphs, 'Thank you.'].join('\n')];
  const early = live.update(first);
  await started;
  const [dropped, result] = await Promise.all([early, live.update(second)]);
  assert.equal(dropped, undefined);
  assert.equal(result?.text, await translator.translate(second));
  assert(!seen.slice(seen.indexOf(second)).includes(first));
  const sent = result.translated.reduce((sum, [start, end]) => sum + end - start, 0);
  assert(sent < second.length, 'something was kept');
});

test('progress: what is done, what stood there before, and what stays', async () => {
  const translator = await english();
  /** @type {import('multihead').LiveProgress[]} */
  const seen = [];
  const live = new LiveTranslation(translator, { onProgress: (progress) => seen.push(progress) });
  const before = await live.update('It rains.\nThe cat sleeps.\nGood night.');
  assert(before !== undefined && before.sentences.length === 3);
  seen.length = 0;
  const edit = await live.update('It rains.\nThe dog sleeps. It is old.\nGood night.');
  assert(edit !== undefined && seen.length > 0);
  const tail = before.text.slice(before.sentences[2]?.target[0]);
  for (const { text, pending, sentences } of seen) {
    assert.equal(sentences.length >= 2, true, text);
    assert(text.startsWith(before.text.slice(0, before.sentences[1]?.target[0])) && text.endsWith(tail));
    assert(pending[0] <= pending[1] && pending[1] <= text.length - tail.length);
    const last = sentences.at(-1);
    assert.equal(text.slice(...(last?.target ?? [0, 0])), tail);
  }
});

test('faults reach the caller, and the next text is translated', async () => {
  const translator = await Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
  const live = new LiveTranslation(translator);
  const wrong = /** @type {string} */ (/** @type {unknown} */ (7));
  await assert.rejects(live.update(wrong), { code: 'invalid-argument', option: 'text' });
  assert.equal((await live.update('Good morning.'))?.text, 'Bom dia.');
  translator.destroy();
  await assert.rejects(live.update('Good night.'), { name: 'InvalidStateError' });
  const none = /** @type {Translator} */ (/** @type {unknown} */ ({}));
  assert.throws(() => new LiveTranslation(none), { code: 'invalid-argument', option: 'translator' });
});
