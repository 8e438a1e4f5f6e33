// The lesson of the demo page in Chromium: fetched when its tab is shown, changed by pointer and keys, kept for visits
// without a network.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo } from './demo.mjs';
import { checkShifts, lookAt } from './looks.mjs';

/** @typedef {import('playwright-core').Page} Page */

const { open, server } = demo();

/** Paths of the lesson that were asked for since then. @param {number} start */
const asked = (start) =>
  server()
    .state.requests.slice(start)
    .filter((path) => path.startsWith('/lesson/'));

/** @param {Page} page */
async function openLesson(page) {
  await page.goto(`${server().origin}/#attention`);
  await page.locator('#attention-families .stage').waitFor();
}

/** @param {Page} page @param {string} name Of the section. */
const step = (page, name) => page.locator(`#attention-${name}`);

test('the lesson comes with its tab and not before, and a place in it has an address', async () => {
  const { page, source, done, problems, close } = await open();
  const start = server().state.requests.length;
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  assert.deepEqual(asked(start), []);
  await page.getByRole('tab', { name: 'Attention' }).click();
  await step(page, 'families').locator('.stage').waitFor();
  assert(asked(start).length > 10);
  await page.getByRole('link', { name: 'Masks' }).click();
  assert.match(page.url(), /#attention-masks$/);
  assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Attention');
  await page.reload();
  await step(page, 'families').locator('.stage').waitFor();
  await page.waitForFunction(() => {
    const top = document.getElementById('attention-masks')?.getBoundingClientRect().top ?? NaN;
    return Math.abs(top) < 40;
  });
  // Each picture has its sentences.
  const captions = await page.locator('figure figcaption').allTextContents();
  assert.equal(captions.length, await page.locator('figure .stage').count());
  for (const caption of captions) assert.match(caption, /\..+\.\s*$/s, caption);
  assert.deepEqual(problems, []);
  await close();
});

test('what a picture shows follows what is chosen: by pointer, by keys', async () => {
  const { page, problems, close } = await open();
  await openLesson(page);
  const cells = async (/** @type {string} */ name) =>
    (await step(page, name).locator('tbody tr').allTextContents()).map((row) => row.trim());

  const bottleneck = step(page, 'bottleneck');
  assert.match(
    (await bottleneck.locator('.bars').textContent()) ?? '',
    /8\.0 numbers a word.*64 numbers a word/,
  );
  await bottleneck.getByRole('slider', { name: 'Words in the text' }).focus();
  await page.keyboard.press('End');
  assert.match((await bottleneck.locator('.bars').textContent()) ?? '', /1\.0 numbers a word/);

  // By hand: 4 / √4 = 2, e² / (2e² + 3) = 0.416, of (2, 1): (0.83, 0.42).
  assert.equal((await cells('scores'))[0], 'cats(2, 0, 0, 0)42.00.416(2, 1)(0.83, 0.42)');
  assert.match(
    (await step(page, 'scores').locator('.sum').textContent()) ?? '',
    /Context: \(0\.00, 0\.83\)\.$/,
  );
  await step(page, 'scores').getByRole('radio', { name: 'night' }).check();
  // “night” has (0, 0, 2, 1): scores 0, 4, 0, 1, 2; e^0 of 2 + e² + √e + e, of (−2, 1).
  const little = 1 / (2 + Math.E ** 2 + Math.sqrt(Math.E) + Math.E);
  const part = `(−${(2 * little).toFixed(2)}, ${little.toFixed(2)})`;
  assert.equal((await cells('scores'))[2], `mice(0, 2, 0, 0)00.0${little.toFixed(3)}(−2, 1)${part}`);

  await step(page, 'scale').getByRole('slider', { name: 'Width d' }).focus();
  await page.keyboard.press('End');
  assert.match((await step(page, 'scale').locator('.quiet').last().textContent()) ?? '', /√d = 32\.00/);
  const [largest = ''] = await cells('scale');
  const [, plain = NaN, scaled = NaN] = (/(\d\.\d{3})(\d\.\d{3})$/.exec(largest) ?? []).map(Number);
  assert(plain > 0.95 && scaled < 0.45, largest);

  await step(page, 'heads').getByRole('slider', { name: 'Tokens' }).focus();
  await page.keyboard.press('Home');
  // One token: 4 · 256² in the maps.
  assert.equal((await cells('heads'))[0], 'Maps to q, k, v and back262,144262,144');

  const order = step(page, 'order');
  assert.match((await order.locator('.sum').textContent()) ?? '', /bag of words/);
  await order.getByRole('radio', { name: 'On' }).check();
  assert.match((await order.locator('.sum').textContent()) ?? '', /now the order counts/);

  const cost = step(page, 'cost');
  assert.equal((await cells('cost'))[0], 'Attention: q·k and weights × values134,217,728multiply–adds× 4');
  await cost.getByRole('slider', { name: 'Tokens' }).focus();
  await page.keyboard.press('Home');
  assert.equal((await cells('cost'))[3], 'Recurrent layer: steps one after the other16steps× 2');

  const turning = step(page, 'turning');
  await turning.getByRole('slider', { name: 'Position p' }).focus();
  await page.keyboard.press('Home');
  // PE(0) is (0, 1) in each pair; 5 radians on it is (sin 5, cos 5).
  assert.equal((await cells('turning'))[0], '15.000 rad(0.000, 1.000)(−0.959, 0.284)(−0.959, 0.284)');
  assert.match((await turning.locator('.sum').textContent()) ?? '', /less than 10⁻¹²/);
  assert.deepEqual(problems, []);
  await close();
});

test('masks: a cell says its weight when it is pointed at, and by the arrow keys', async () => {
  const { page, close } = await open();
  await openLesson(page);
  const masks = step(page, 'masks');
  await masks.getByRole('radio', { name: 'Causal' }).check();
  const picture = masks.getByRole('application');
  const readout = masks.locator('.readout');
  const { width = NaN, height = NaN } = (await picture.boundingBox()) ?? {};
  await picture.hover({ position: { x: (0.5 / 8) * width, y: (1.5 / 8) * height } });
  // Scores 1.5 and 0.5: 1 / (1 + e⁻¹).
  assert.equal(await readout.textContent(), 'put looks at she by 0.731. The row sums to 1.000.');
  assert.deepEqual(await masks.locator('.lit').allTextContents(), ['she', 'put']);
  await picture.hover({ position: { x: (5.5 / 8) * width, y: (1.5 / 8) * height } });
  assert.equal(await readout.textContent(), 'put does not see back: exactly 0. The row sums to 1.000.');
  await page.mouse.move(0, 0);
  await masks.getByRole('radio', { name: 'Causal' }).focus();
  await page.keyboard.press('Tab');
  assert.equal(await readout.textContent(), 'she looks at she by 1.000. The row sums to 1.000.');
  await page.keyboard.press('ArrowDown');
  assert.match((await readout.textContent()) ?? '', /^put looks at she by 0\.731/);
  await page.keyboard.press('Escape');
  assert.match((await readout.textContent()) ?? '', /^A row is a query/);
  await masks.getByRole('radio', { name: 'Padding' }).check();
  await masks.getByRole('slider', { name: 'Words' }).waitFor();
  assert.equal(await masks.locator('.row-names').textContent(), 'sheputthe(pad)(pad)(pad)(pad)(pad)');
  await close();
});

test('after one look the lesson opens without a network', async () => {
  const { page, context, source, done, kept, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  await page.getByRole('tab', { name: 'Attention' }).click();
  await step(page, 'families').locator('.stage').waitFor();
  await page.getByRole('tab', { name: 'Translate' }).click();
  await kept();
  server().state.fault = (_, response) => {
    response.destroy();
    return true;
  };
  await context.setOffline(true);
  await openLesson(page);
  assert.equal(await page.locator('figure .stage').count(), await page.locator('figure').count());
  await close();
});

test('looks of the lesson: nothing overflows or is faint, nothing jumps; screenshots are left to look at', async () => {
  for (const width of [1280, 390, 320]) {
    const { page, close } = await open({ viewport: { width, height: width < 400 ? 844 : 800 } });
    await openLesson(page);
    // Before the screenshots of the whole page, for which the browser moves it itself.
    await checkShifts(page, `lesson-${width}`);
    await lookAt(page, `lesson-${width}`, { fullPage: true });
    await close();
  }
});
