// Looking into the page's own models in Chromium, one after the other on one page: every head is there and its rows are
// softmaxes, weights are torch's and Keras's, hover, steps, files, a phone's width; a model is freed for the next one.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { largestOf } from '../../www/lesson/numbers/arithmetic.js';
import { headOf, rowOf } from '../../www/lesson/numbers/attention.js';
import { demo } from './demo.mjs';
import { lookAt } from './looks.mjs';

/** @typedef {import('../../pkg/dist/index.js').AttentionWeights & { kind: string }} Saved */
/** @typedef {{ source: string, target: string, attention: Record<'encoder' | 'decoder' | 'cross', number[][][][]> }} Traced */

/** @param {string} name */
const fixture = (name) =>
  JSON.parse(readFileSync(new URL(`../fixtures/letters/${name}`, import.meta.url), 'utf8'));

const { open, server } = demo();
/** @type {Awaited<ReturnType<typeof open>>} */
let visit;
let isThere = false;
/** @type {import('playwright-core').Locator} */
let section;

/** One visitor for all tests. */
async function arrive() {
  if (isThere) return;
  visit = await open();
  await visit.page.goto(`${server().origin}/#attention-looking`);
  section = visit.page.locator('#attention-looking');
  isThere = true;
}

afterEach(() => {
  if (isThere) assert.deepEqual(visit.problems.splice(0), []);
});

/** Models in memory. */
const held = () =>
  visit.page.evaluate(async () => {
    const path = '/pkg/dist/index.js';
    /** @type {typeof import('../../pkg/dist/index.js')} */
    const { memoryUsage } = await import(path);
    return (await memoryUsage()).models.map(({ id }) => id);
  });

/** @param {string} id Of the task. @param {string} text @param {string | RegExp} said What the page says then. */
async function look(id, text, said) {
  await arrive();
  await section.getByRole('combobox', { name: 'Model' }).selectOption(id);
  await section.getByRole('textbox', { name: 'Text' }).fill(text);
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText(said).waitFor();
}

/** @param {string} kind */
const choose = (kind) => section.getByRole('radio', { name: kind }).check();

/** @param {string} name Of the button. */
async function download(name) {
  const coming = visit.page.waitForEvent('download');
  await section.getByRole('button', { name }).click();
  const given = await coming;
  return { name: given.suggestedFilename(), bytes: readFileSync(await given.path()) };
}

/** The numbers that the page saves: rows are softmaxes, and what is masked is exactly 0. */
async function numbersOf() {
  const { weights, ...shape } = JSON.parse((await download('Save JSON')).bytes.toString());
  /** @type {Saved} */
  const saved = { ...shape, weights: Float32Array.from(weights) };
  const { kind, layers, heads, queryLen, keyLen } = saved;
  assert.equal(saved.weights.length, layers.length * heads.length * queryLen * keyLen);
  for (let row = 0; row < saved.weights.length / keyLen; row++) {
    const values = saved.weights.subarray(row * keyLen, (row + 1) * keyLen);
    const sum = values.reduce((all, one) => all + one, 0);
    assert(Math.abs(sum - 1) < 1e-4, `row ${row}: ${sum}`);
    if (kind === 'decoder') assert(values.subarray((row % queryLen) + 1).every((weight) => weight === 0));
  }
  return saved;
}

/** Every weight of all heads is the reference's. @param {Saved} saved @param {number[]} expected */
function same({ kind, weights }, expected) {
  assert.equal(weights.length, expected.length, kind);
  for (const [place, weight] of weights.entries()) {
    const wanted = expected[place] ?? NaN;
    assert(Math.abs(weight - wanted) < 1e-3, `${kind} ${place}: ${weight}, not ${wanted}`);
  }
}

const title = async () => (await section.locator('.head-side .sum').textContent()) ?? '';
const facts = async () => (await section.locator('.head-side .quiet').first().textContent()) ?? '';

/** What pointing at a cell of the first head shown says, and that it is the number saved. @param {Saved} saved @param {number} row @param {number} column */
async function hover({ queryLen, keyLen, queryTokens, keyTokens }, row, column) {
  const picture = section.getByRole('application');
  const { width = NaN, height = NaN } = (await picture.boundingBox()) ?? {};
  await picture.hover({
    position: { x: ((column + 0.5) / keyLen) * width, y: ((row + 0.5) / queryLen) * height },
  });
  const said = (await section.locator('.readout').textContent()) ?? '';
  const name = (/** @type {{ text: string } | undefined} */ token) => token?.text.trim() ?? '';
  assert(said.startsWith(`${name(queryTokens[row])} (${row + 1}) `), said);
  assert(said.includes(` ${name(keyTokens[column])} (${column + 1})`), said);
  const lit = await section.locator('.matrix .lit').allTextContents();
  assert.deepEqual(lit, [name(keyTokens[column]), name(queryTokens[row])]);
  await visit.page.mouse.move(0, 0);
  return said;
}

/** Goes back to the first step by button and keys: one query is left. @param {Saved} saved */
async function step({ queryLen }) {
  const seen = () =>
    section
      .locator('.links .queries button')
      .evaluateAll((all) => all.filter((one) => getComputedStyle(one).visibility === 'visible').length);
  assert.equal(await seen(), queryLen);
  await section.getByRole('button', { name: 'Back' }).click();
  assert.equal(await seen(), queryLen - 1);
  await section.getByRole('slider').focus();
  await visit.page.keyboard.press('Home');
  assert.equal(await seen(), 1);
  await section.getByRole('button', { name: 'Step' }).click();
  assert.equal(await seen(), 2);
}

/** At a phone's width, in light and dark. @param {string} name */
async function onPhone(name) {
  await visit.page.setViewportSize({ width: 390, height: 844 });
  await section.scrollIntoViewIfNeeded();
  await lookAt(visit.page, `looking-${name}-390`);
  await visit.page.setViewportSize({ width: 1280, height: 800 });
}

test('dates, by default: all three sublayers, every weight of every head that torch has', async () => {
  /** @type {Traced} */
  const { source, target, attention } = fixture('dates.json').cases[0];
  await arrive();
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText(`“${source}” → ${target}`).waitFor();
  assert.match(await title(), /^Layer 2, head 1: .* Nobody labelled where it looks\.$/);
  assert.match(await facts(), /^Mask: none.*Positions: sinusoids/);
  const cross = await numbersOf();
  same(cross, attention.cross.flat(3));
  assert.match(await hover(cross, 5, 0), /^0 \(6\) looks at march \(1\) by 0\.\d{3}\.$/);
  await choose('Decoder: self-attention');
  assert.match(await facts(), /^Mask: causal/);
  const decoder = await numbersOf();
  same(decoder, attention.decoder.flat(3));
  assert.equal(await hover(decoder, 0, 3), '1 (1) does not see 8 (4): masked, exactly 0.');
  await step(decoder);
  await choose('Encoder: self-attention');
  same(await numbersOf(), attention.encoder.flat(3));
  assert.equal(await section.locator('.heads-grid button').count(), 8);
});

test('letters turned round look at those that they copy, unlabelled', async () => {
  await look('reverse-additive', 'attention', '“attention” → noitnetta');
  const turned = await numbersOf();
  // The first letter written is the last one read, and so on.
  assert.deepEqual(
    Array.from('noitnetta', (_, query) => largestOf(rowOf(turned.weights, query, turned.keyLen))),
    [8, 7, 6, 5, 4, 3, 2, 1, 0],
  );
  /** @type {Traced} */
  const { attention } = fixture('reverse-transformer.json').cases[0];
  await look('reverse-transformer', 'attention', '“attention” → noitnetta');
  same(await numbersOf(), attention.cross.flat(3));
});

test('Khmer: the weights of Keras; hover, steps, files, a phone', async () => {
  const [{ word, attention }] = fixture('khmer.json').steps;
  await look('khmer', word, `“${word}” → សខា`);
  const cross = await numbersOf();
  same(cross, attention.flat());
  assert.match(await facts(), /Positions: none: it reads one after the other/);
  const most = cross.weights[0]?.toFixed(3);
  assert.equal(await hover(cross, 0, 0), `ស (1) looks at s (1) by ${most}.`);
  await step(cross);
  const picture = await download('Save PNG');
  assert.equal(picture.name, 'attention-en-km-translit-cross-layer-1-head-1.png');
  assert.deepEqual([...picture.bytes.subarray(1, 4)], [...Buffer.from('PNG')]);
  await onPhone('khmer');
});

test('a classifier and a tagger: labels and weights of transformers', async () => {
  for (const id of ['moods', 'things']) {
    const [{ text, answer, attention }] = fixture(`${id}.json`).cases;
    const said = answer.map(
      (/** @type {{ label: string, text?: string, score: number }} */ { label, text: words, score }) =>
        `${words === undefined ? '' : `${words}: `}${label} ${score.toFixed(3)}`,
    );
    await look(id, text, `“${text}” → ${said.join(', ')}`);
    same(await numbersOf(), attention.encoder.flat(3));
    assert.match(await facts(), /^Mask: none.*Positions: a learned table/);
  }
});

test('a translation: the guided head looks at the words that belong together, and is told from those that nobody labelled', async () => {
  await look('translate', 'The door was closed.', /“The door was closed\.” → .*porta/);
  assert.match(await title(), /^Layer 2, head 1:.*trained on word alignments/);
  const cross = await numbersOf();
  assert.deepEqual([cross.layers, cross.heads.length], [[0, 1], 8]);
  const query = cross.queryTokens.findIndex(({ text }) => text.trim() === 'porta');
  const guided = headOf(cross, 1, 0);
  assert.equal(cross.keyTokens[largestOf(rowOf(guided, query, cross.keyLen))]?.text.trim(), 'door');
  assert.equal(await section.locator('.heads-grid .known').count(), 1);
  await section.getByRole('button', { name: /^Layer 1, head 1,/ }).click();
  assert.match(await title(), /^Layer 1, head 1:.*was not trained on alignments: nobody labelled/);
  await choose('Encoder: self-attention');
  const { layers, queryLen, keyLen } = await numbersOf();
  assert.deepEqual([layers.length, queryLen], [6, keyLen]);
});

test('SmolLM2 writes on: a causal mask; hover, steps, files, a phone', async () => {
  await look('write', 'The capital of France is', /“The capital of France is” → … Paris/);
  assert.equal(await section.locator('.heads-grid button').count(), 30 * 9);
  assert.match(await facts(), /^Mask: causal.*Positions: rotary/);
  const decoder = await numbersOf();
  assert.equal(decoder.queryLen, decoder.keyLen);
  // The first token sees itself alone.
  assert.equal(await hover(decoder, 0, 0), 'The (1) looks at The (1) by 1.000.');
  assert.match(await hover(decoder, 1, 3), /^capital \(2\) does not see France \(4\): masked, exactly 0\.$/);
  await step(decoder);
  const picture = await download('Save PNG');
  assert.equal(picture.name, 'attention-smollm2-135m-instruct-decoder-layer-1-head-1.png');
  await onPhone('write');
});

test('an encoder: twelve heads in six layers; measured, its weights take four bytes a pair of tokens and head', async () => {
  await look('embed', 'The bank of the river was muddy.', /→ a vector of 384 numbers/);
  assert.equal(await section.locator('.heads-grid button').count(), 6 * 12);
  const { queryTokens, queryLen, keyLen } = await numbersOf();
  assert.equal(queryLen, keyLen);
  assert.deepEqual([queryTokens[0]?.text, queryTokens.at(-1)?.text], ['[CLS]', '[SEP]']);

  // Of all models that were looked into, this one alone is in memory, beside the one whose heads are switched off.
  assert.deepEqual(await held(), ['all-minilm-l6-v2']);
  const switched = visit.page.locator('#attention-switching');
  for (const id of ['moods', 'dates']) {
    await switched.getByRole('combobox', { name: 'Model' }).selectOption(id);
    await switched.getByRole('button', { name: 'Switch off Encoder, layer 1, head 2' }).click();
    await switched.getByText(/^The answer (stays|changes)/).waitFor();
  }
  // Of files, the id is their names: here those of the second.
  assert.deepEqual(await held(), ['all-minilm-l6-v2', 'config.json+model.safetensors']);

  const measured = visit.page.locator('#attention-measured');
  await measured.getByRole('button', { name: 'Measure' }).click();
  await measured.locator('tbody tr').nth(9).waitFor();
  const rows = await measured
    .locator('tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.children].map(({ textContent }) => textContent ?? '')));
  const numbers = rows.map((row) => row.map((cell) => Number(cell.replaceAll(',', ''))));
  for (const [tokens = NaN, milliseconds = NaN, , bytes] of numbers.slice(0, 5)) {
    assert(milliseconds > 0);
    assert.equal(bytes, 6 * 12 * tokens ** 2 * 4);
  }
  for (const [tokens = NaN, work, kept, steps] of numbers.slice(5)) {
    assert.deepEqual([work, kept, steps], [6 * 2 * 384 * tokens ** 2, 6 * 2 * 4 * 384 * tokens, tokens]);
  }
  // Whoever pressed it by keys can do so again.
  assert.equal(await visit.page.evaluate(() => document.activeElement?.textContent), 'Measure');
  // All on one chart, which a phone has room for.
  assert.equal(await measured.locator('.chart .line').count(), 5);
  await visit.page.setViewportSize({ width: 390, height: 844 });
  await measured.scrollIntoViewIfNeeded();
  await lookAt(visit.page, 'measured-390');
});
