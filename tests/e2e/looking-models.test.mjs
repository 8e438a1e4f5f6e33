// Looking into the page's own models in Chromium: every head is there, rows are softmaxes, the guided head aligns; time
// and bytes against length are measured.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { largestOf } from '../../www/lesson/numbers/arithmetic.js';
import { headOf, rowOf } from '../../www/lesson/numbers/attention.js';
import { demo } from './demo.mjs';

const { open, server } = demo();

/** @param {import('playwright-core').Page} page */
async function numbersOf(page) {
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save JSON' }).click();
  const { weights, ...shape } = JSON.parse(readFileSync(await (await coming).path(), 'utf8'));
  /** @type {import('../../pkg/dist/index.js').AttentionWeights & { kind: string }} */
  const saved = { ...shape, weights: Float32Array.from(weights) };
  return saved;
}

test('a translation: the guided head looks at the words that belong together', async () => {
  const { page, problems, close } = await open();
  await page.goto(`${server().origin}/#attention-looking`);
  const section = page.locator('#attention-looking');
  await section.getByRole('combobox', { name: 'Model' }).selectOption('translate');
  await section.getByText(/MB, to download once/).waitFor();
  await section.getByRole('textbox', { name: 'Text' }).fill('The door was closed.');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText(/“The door was closed\.” → .*porta/).waitFor();
  assert.equal(await section.locator('.heads-grid button').count(), 1);
  assert.match(
    (await section.locator('.head-side .sum').textContent()) ?? '',
    /^Layer 2, head 1:.*trained on/,
  );
  const cross = await numbersOf(page);
  assert.deepEqual([cross.kind, cross.layers, cross.heads], ['cross', [1], [0]]);
  for (let row = 0; row < cross.weights.length / cross.keyLen; row++) {
    const sum = cross.weights
      .slice(row * cross.keyLen, (row + 1) * cross.keyLen)
      .reduce((all, one) => all + one, 0);
    assert(Math.abs(sum - 1) < 1e-4, `${sum}`);
  }
  const query = cross.queryTokens.findIndex(({ text }) => text.trim() === 'porta');
  const guided = headOf(cross, 0, 0);
  assert.equal(cross.keyTokens[largestOf(rowOf(guided, query, cross.keyLen))]?.text.trim(), 'door');
  assert.deepEqual(problems, []);
  await close();
});

test('small models over letters: dates by default; letters turned round look at those that they copy, unlabelled', async () => {
  const { page, problems, close } = await open();
  await page.goto(`${server().origin}/#attention-looking`);
  const section = page.locator('#attention-looking');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('“march 5, 1987” → 1987-03-05').waitFor();
  assert.doesNotMatch((await section.locator('.head-side .sum').textContent()) ?? '', /trained on/);
  await section.getByRole('combobox', { name: 'Model' }).selectOption('reverse');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('“attention” → noitnetta').waitFor();
  const turned = await numbersOf(page);
  // The first letter written is the last one read, and so on.
  assert.deepEqual(
    Array.from('noitnetta', (_, query) => largestOf(rowOf(turned.weights, query, turned.keyLen))),
    [8, 7, 6, 5, 4, 3, 2, 1, 0],
  );
  assert.deepEqual(problems, []);
  await close();
});

test('an encoder: twelve heads in six layers; measured, its weights take four bytes a pair of tokens and head', async () => {
  const { page, problems, close } = await open();
  await page.goto(`${server().origin}/#attention-looking`);
  const section = page.locator('#attention-looking');
  await section.getByRole('combobox', { name: 'Model' }).selectOption('embed');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText(/→ a vector of 384 numbers/).waitFor();
  assert.equal(await section.locator('.heads-grid button').count(), 6 * 12);
  const { queryTokens, queryLen, keyLen } = await numbersOf(page);
  assert.equal(queryLen, keyLen);
  assert.deepEqual([queryTokens[0]?.text, queryTokens.at(-1)?.text], ['[CLS]', '[SEP]']);

  const measured = page.locator('#attention-measured');
  await measured.getByRole('button', { name: 'Measure' }).click();
  await measured.locator('tbody tr').nth(4).waitFor();
  const rows = await measured
    .locator('tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.children].map(({ textContent }) => textContent ?? '')));
  for (const [tokens = '', milliseconds = '', , bytes = ''] of rows) {
    assert(Number(milliseconds) > 0, milliseconds);
    assert.equal(Number(bytes.replaceAll(',', '')), 6 * 12 * Number(tokens) ** 2 * 4);
  }
  assert.deepEqual(problems, []);
  await close();
});
