// Looking into a model on the demo page in Chromium: heads, lines, steps, files; with weights that are known by hand.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { figuresOf, headOf, lookedAt, nameOf, rowOf } from '../../www/lesson/numbers/attention.js';
import { inChromium } from './chromium.mjs';
import { altered } from './demo.mjs';
import { lookAt } from './looks.mjs';

const stub = readFileSync(new URL('told-tasks.mjs', import.meta.url), 'utf8');
const { server, visitor } = inChromium({ altered: { ...altered, '/lesson/looking/tasks.js': stub } });

/** The page of all tests. @type {import('playwright-core').Page | undefined} */
let opened;

/** The section, after a look. */
async function looked() {
  const page = (opened ??= await (await visitor({ viewport: { width: 1280, height: 900 } })).newPage());
  // The first time it opens the page, later it does nothing.
  await page.goto(`${server().origin}/#attention-looking`);
  const section = page.locator('#attention-looking');
  await section.getByRole('combobox', { name: 'Model' }).selectOption('told');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('“red house” → casa').waitFor();
  return { page, section };
}

test('figures of a head by hand: weights, entropy, distance, what is looked at', () => {
  const attention = {
    weights: Float32Array.from([1, 0, 0, 1, 0.5, 0.5, 0.25, 0.75]),
    layers: [3],
    heads: [0, 5],
    queryLen: 2,
    keyLen: 2,
    queryTokens: [],
    keyTokens: [],
  };
  const head = headOf(attention, 0, 1);
  assert.deepEqual([...head], [0.5, 0.5, 0.25, 0.75]);
  assert.deepEqual([...rowOf(head, 1, 2)], [0.25, 0.75]);
  const { entropy, distance } = figuresOf(head, 2, 2);
  // 1 bit, and ¼ · 2 + ¾ · log₂(4/3) bits; half a place, and a quarter.
  assert(Math.abs(entropy - (1 + 0.5 + 0.75 * Math.log2(4 / 3)) / 2) < 1e-9);
  assert.equal(distance, 0.375);
  assert.deepEqual(figuresOf(headOf(attention, 0, 0), 2, 2), { entropy: 0, distance: 0 });
  assert.deepEqual(lookedAt(Float32Array.from([0.25, 0, 0.75]), 0.1), [
    { key: 2, weight: 0.75 },
    { key: 0, weight: 0.25 },
  ]);
  assert.deepEqual(
    [' the', '', ' '].map((text) => nameOf({ text })),
    ['the', '∅', '␣'],
  );
});

test('the guided head stands first; another can be chosen; a cell and a token light up what they look at', async () => {
  const { page, section } = await looked();
  const title = section.locator('.head-side .sum');
  // (0 + 0) / 2 bits: [0, 0, 1] and [0, 1, 0].
  assert.match(
    (await title.textContent()) ?? '',
    /^Layer 2, head 1: on average 0\.00 bits.*trained on word alignments/,
  );
  await section.getByRole('button', { name: /^Layer 1, head 2/ }).click();
  // 1 bit of halves, 1.5 of a half and two quarters; no distance across texts.
  assert.equal(
    await title.textContent(),
    'Layer 1, head 2: on average 1.25 bits of entropy. This head was not trained on alignments: nobody labelled where it looks.',
  );
  assert.equal(
    await section.locator('.head-side .quiet').first().textContent(),
    'Mask: none, every step sees the whole source. Positions: told.',
  );
  assert.match(
    (await section.getByRole('button', { name: /^Layer 1, head 2/ }).textContent()) ?? '',
    /^1\.3$/,
  );
  const picture = section.getByRole('application');
  const { width = NaN, height = NaN } = (await picture.boundingBox()) ?? {};
  await picture.hover({ position: { x: (2.5 / 3) * width, y: 0.75 * height } });
  assert.equal(await section.locator('.readout').textContent(), '</s> (2) looks at </s> (3) by 0.500.');
  const lit = () =>
    section
      .locator('.links .keys span')
      .evaluateAll((all) => all.map((token) => Number(getComputedStyle(token).getPropertyValue('--weight'))));
  assert.deepEqual(await lit(), [0.25, 0.25, 0.5]);
  assert.equal(await section.locator('.links path').count(), 3);
  await section.locator('.links .queries button').first().hover();
  assert.deepEqual(await lit(), [0.5, 0.5, 0]);
  await page.mouse.move(0, 0);
  // Keys stop at the head that is chosen, and arrows go on from there.
  await section.getByRole('radio', { name: 'Cross-attention' }).focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  assert.match((await title.textContent()) ?? '', /^Layer 2, head 2:/);
  await page.keyboard.press('ArrowLeft');
  assert.match((await title.textContent()) ?? '', /^Layer 2, head 1:.*trained on word alignments/);
  // A row ends at its edge.
  await page.keyboard.press('ArrowLeft');
  assert.match((await title.textContent()) ?? '', /^Layer 2, head 1:/);

  await section.getByRole('radio', { name: 'Encoder: self-attention' }).check();
  // Places away: 1, 1, and half of 2.
  assert.equal(
    await title.textContent(),
    'Layer 1, head 1: on average 0.33 bits of entropy, 1.0 places away.',
  );
});

test('a step shows what was written by then; keys move it', async () => {
  const { page, section } = await looked();
  const step = section.getByRole('slider', { name: 'Step of decoding' });
  await step.focus();
  await page.keyboard.press('ArrowLeft');
  assert.equal(await step.getAttribute('aria-valuetext'), '1: casa');
  assert.deepEqual(
    await section
      .locator('.links .queries button')
      .evaluateAll((all) => all.map((token) => getComputedStyle(token).visibility)),
    ['visible', 'hidden'],
  );
  // Layer 2, head 1: "casa" looks at the end alone.
  assert.equal(await section.locator('.links path').count(), 1);
});

test('saves a picture, and the numbers of all heads', async () => {
  const { page, section } = await looked();
  /** @param {string} name */
  const saved = async (name) => {
    const coming = page.waitForEvent('download');
    await section.getByRole('button', { name }).click();
    const download = await coming;
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  };
  const numbers = await saved('Save JSON');
  assert.equal(numbers.name, 'attention-told-cross.json');
  const { weights, ...about } = JSON.parse(numbers.bytes.toString());
  assert.equal(weights.length, 2 * 2 * 2 * 3);
  assert.deepEqual(weights.slice(6, 12), [0.5, 0.5, 0, 0.25, 0.25, 0.5]);
  assert.deepEqual(
    [about.kind, about.queryLen, about.keyLen, about.text, about.result],
    ['cross', 2, 3, 'red house', 'casa'],
  );
  const picture = await saved('Save PNG');
  assert.equal(picture.name, 'attention-told-cross-layer-2-head-1.png');
  assert.deepEqual([...picture.bytes.subarray(1, 4)], [...Buffer.from('PNG')]);
  // Three cells of 28 pixels beside 150 of names; two below.
  assert.deepEqual(
    [picture.bytes.readUInt32BE(16), picture.bytes.readUInt32BE(20)],
    [150 + 3 * 28, 150 + 2 * 28],
  );
});

test('a model that does not come is said, and another one works', async () => {
  const { section } = await looked();
  const model = section.getByRole('combobox', { name: 'Model' });
  await model.selectOption('broken');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('There is no such model').waitFor();
  await model.selectOption('told');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('“red house” → casa').waitFor();
});

test('what is said of a model that was chosen before does not overtake what is said of the next one', async () => {
  const { page, section } = await looked();
  const model = section.getByRole('combobox', { name: 'Model' });
  await model.selectOption('listed');
  await section.getByText(/ MB, .*“Look” loads it/).waitFor();
  await model.selectOption('told');
  await page.evaluate(async () => {
    const path = '/pkg/dist/index.js';
    /** @type {typeof import('../../pkg/dist/index.js')} */
    const { models } = await import(path);
    const list = models.list.bind(models);
    /** @type {Promise<void>} */
    const held = new Promise((resolve) => {
      globalThis.letGo = resolve;
    });
    models.list = async () => {
      models.list = list;
      await held;
      return list();
    };
  });
  await model.selectOption('listed');
  await model.selectOption('told');
  await section.getByText('Ready', { exact: true }).waitFor();
  await page.evaluate(async () => {
    globalThis.letGo();
    await new Promise((resolve) => {
      setTimeout(resolve, 500);
    });
  });
  assert.equal(await section.getByText('Ready', { exact: true }).count(), 1);
});

test('weights are let go of with the choice of another model', async () => {
  const { page, section } = await looked();
  await section.getByRole('button', { name: /^Layer 1, head 2/ }).click();
  await section.getByRole('combobox', { name: 'Model' }).selectOption('broken');
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.enable');
  // What was under the pointer, or was painted last, is held a moment longer.
  await page.mouse.move(0, 0);
  for (let left = 50; left > 0; left--) {
    await devtools.send('HeapProfiler.collectGarbage');
    if (await page.evaluate(() => globalThis.looked.deref() === undefined)) return;
    await page.waitForTimeout(100);
  }
  assert.fail('the weights are still held');
});

test('looks of what was looked into, on a phone as well', async () => {
  const { page, section } = await looked();
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await section.locator('.inspected').evaluate((inspected) => {
      inspected.scrollIntoView();
    });
    await lookAt(page, `looking-${width}`);
  }
});

test('a text that is too long to draw is refused, with its length', async () => {
  const { section } = await looked();
  await section.getByLabel('Text').fill('word '.repeat(100));
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('Too long to look at: at most 300 characters, 499 found').waitFor();
  await section.getByLabel('Text').fill('red house');
  await section.getByRole('button', { name: 'Look' }).click();
  await section.getByText('“red house” → casa').waitFor();
});
