// Heads of the page's small models switched off, in Chromium: what is answered then, beside torch, which has the same columns
// set to zero (tests/fixtures/letters/heads_off.py).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { demo } from './demo.mjs';
import { lookAt } from './looks.mjs';

/** @typedef {{ right: number, answer: string, probability: number }} Result */
/** @typedef {Result & import('../../www/lesson/switching/models.js').Head} Without */
/** @type {Record<string, { text: string, texts: number, whole: Result, without: Without[] }>} */
const TORCH = JSON.parse(
  readFileSync(new URL('../fixtures/letters/heads_off.json', import.meta.url), 'utf8'),
);

const { open, server } = demo();

test('each head off: as many texts right as torch counts, its answers and probabilities; by pointer and by keys', async () => {
  const { page, problems, close } = await open();
  await page.goto(`${server().origin}/#attention-switching`);
  const section = page.locator('#attention-switching');
  const [heads, answers] = [section.locator('.wide table').first(), section.locator('.worked')];
  for (const [id, { texts, whole, without }] of Object.entries(TORCH)) {
    await section.getByRole('combobox', { name: 'Model' }).selectOption(id);
    await section.getByText(`Asks ${texts} `).waitFor();
    assert.equal(await heads.locator('[aria-pressed=true]').count(), 0);
    assert.deepEqual(new Set(await heads.locator('td').allTextContents()), new Set(['on']));
    await section.getByRole('button', { name: 'Count for every head' }).click();
    const spared = without.filter(({ right }) => right >= whole.right).length;
    await section
      .getByText(
        `${whole.right} of ${texts} right with all heads on. ${spared} of ${without.length} heads can be switched off`,
      )
      .waitFor();
    assert.deepEqual(
      (await heads.locator('td').allTextContents()).map(Number),
      without.map(({ right }) => right),
      id,
    );
  }
  const asked = await page.evaluate(async () => {
    const path = '/lesson/switching/models.js';
    /** @type {typeof import('../../www/lesson/switching/models.js')} */
    const { headsOf, Loaded, SWITCHABLE } = await import(path);
    const found = SWITCHABLE.map(async (model) => {
      const loaded = await Loaded.open(model);
      const whole = await loaded.ask(model.example);
      const without = [];
      for (const head of headsOf(model)) {
        without.push({ ...head, ...(await loaded.without(head, (ask) => ask(model.example))) });
      }
      await loaded.free();
      return { id: model.id, text: model.example, whole, without };
    });
    return Promise.all(found);
  });
  for (const { id, text, whole, without } of asked) {
    const torch = TORCH[id];
    assert.equal(text, torch?.text, id);
    assert(torch !== undefined, id);
    const expected = [torch.whole, ...torch.without];
    assert.deepEqual(
      without.map(({ kind, layer, head }) => [kind, layer, head]),
      torch.without.map(({ kind, layer, head }) => [kind, layer, head]),
    );
    assert.deepEqual(
      [whole, ...without].map(({ said }) => said),
      expected.map(({ answer }) => answer),
      id,
    );
    for (const [place, { probability }] of [whole, ...without].entries()) {
      const wanted = expected[place]?.probability ?? NaN;
      assert(Math.abs(probability - wanted) < 1e-3, `${id} ${place}: ${probability}, not ${wanted}`);
    }
  }

  // What the text says of two of them: "many can go", "hardly a string", "hardly misses any".
  const rightOf = (/** @type {string} */ id) => TORCH[id]?.without.map(({ right }) => right) ?? [];
  assert(rightOf('reverse-transformer').filter((right) => right === 40).length >= 10);
  assert(Math.min(...rightOf('reverse-transformer')) <= 4);
  assert(Math.min(...rightOf('dates')) >= 36);

  // In the table: what is lost and what is new is lit.
  await section.getByRole('combobox', { name: 'Model' }).selectOption('reverse-transformer');
  await section.getByRole('button', { name: 'Switch off Cross-attention, layer 1, head 2' }).focus();
  await page.keyboard.press('Enter');
  await answers.getByText('noitnettta').waitFor();
  assert.deepEqual(await answers.locator('mark').allTextContents(), ['t']);
  assert.match((await answers.textContent()) ?? '', /All heads onnoitnetta0\.9999.*The answer changes/s);
  assert.equal(await heads.locator('[aria-pressed=true]').count(), 1);
  // Pressed again, it is on.
  await page.keyboard.press('Enter');
  await answers.getByText('Choose a head above').waitFor();
  assert.equal(await heads.locator('[aria-pressed=true]').count(), 0);
  // The keys go on from there: the next head.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await answers.getByText('The answer stays').waitFor();
  assert.match((await answers.textContent()) ?? '', /Off: Cross-attention, layer 1, head 3noitnetta0\.9999/);
  await section.getByRole('textbox', { name: 'Text' }).fill('abc');
  await page.keyboard.press('Enter');
  await answers.getByText('cba').first().waitFor();

  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await section.scrollIntoViewIfNeeded();
    await lookAt(page, `switching-${width}`);
  }
  assert.deepEqual(problems, []);
  await close();
});

test('another choice ends a count, and its model is freed, even one that was loading; asking ends nothing, and keys keep their place', async () => {
  const { page, problems, close } = await open();
  await page.goto(`${server().origin}/#attention-switching`);
  const section = page.locator('#attention-switching');
  const choose = (/** @type {string} */ id) =>
    section.getByRole('combobox', { name: 'Model' }).selectOption(id);
  const counting = section.getByRole('button', { name: 'Count for every head' });
  const answers = section.locator('.worked');
  /** One model is in memory, once what was overtaken has come to its end: it might load another. */
  const alone = async () => {
    /** @type {string[]} */
    let held = [];
    for (let left = 20; left > 0; left--) {
      await page.waitForTimeout(500);
      held = await page.evaluate(async () => {
        const path = '/pkg/dist/index.js';
        /** @type {typeof import('../../pkg/dist/index.js')} */
        const { memoryUsage } = await import(path);
        return (await memoryUsage()).models.map(({ id }) => id);
      });
      if (held.length === 1 && left < 19) return;
    }
    assert.fail(`in memory: ${held.join(', ')}`);
  };

  // Its files are still on the way when two others are chosen, the second of them once more the same.
  await choose('moods');
  await page.evaluate(() => {
    const { fetch } = globalThis;
    /** @type {Promise<void>} */
    const held = new Promise((resolve) => {
      globalThis.letGo = resolve;
    });
    globalThis.fetch = async (...asked) => {
      await held;
      return fetch(...asked);
    };
  });
  await counting.click();
  await section.getByText('Loading the model').waitFor();
  await choose('things');
  await choose('moods');
  await section.getByRole('button', { name: 'Ask' }).click();
  await page.evaluate(() => {
    globalThis.letGo();
  });
  await answers.getByText('Choose a head above').waitFor();
  await alone();

  // And in the middle of a count.
  await choose('reverse-transformer');
  await counting.click();
  await section.getByRole('button', { name: /layer 1, head 2: 40 of 40/ }).waitFor();
  await choose('moods');
  await choose('reverse-transformer');
  await section.getByRole('button', { name: 'Ask' }).click();
  await answers.getByText('noitnetta').waitFor();
  await alone();
  assert.equal(await section.getByRole('button', { name: / right without it$/ }).count(), 0);

  // A head is switched off by keys while they are counted.
  await counting.click();
  await section.getByRole('button', { name: /^Switch off Encoder, layer 1, head 1: / }).waitFor();
  await section.getByRole('button', { name: 'Switch off Cross-attention, layer 1, head 2' }).focus();
  await page.keyboard.press('Enter');
  await answers.getByText('noitnettta').waitFor();
  await section.getByText(/^40 of 40 right with all heads on\. \d+ of 24 heads/).waitFor();
  assert.match(
    await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? ''),
    /^Switch off Cross-attention, layer 1, head 2: 3 of 40/,
  );
  await alone();
  assert.deepEqual(problems, []);
  await close();
});
