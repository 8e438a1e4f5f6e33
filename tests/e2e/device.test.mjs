// The demo page's choice of a device: kept between visits, taken by every tab, and said with its reason.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expected, openChatOf } from './chatting.mjs';
import { demo } from './demo.mjs';
import { openSearchOf, fileOf, hitsOf, PASSAGES } from './searching.mjs';

const site = demo();
const { open, server } = site;

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page */
const picker = (page) => page.getByRole('combobox', { name: 'Runs on' });

/** Until a tab says where its model computes. @param {Page} page @param {string} id @param {RegExp} words */
const says = (page, id, words) => page.locator(`#${id}`).filter({ hasText: words }).waitFor();

/** Until the translation is this one. @param {Page} page @param {string} text */
const translates = (page, text) =>
  page.waitForFunction((wanted) => {
    const output = document.querySelector('output');
    return output?.textContent === wanted && output.getAttribute('aria-busy') === 'false';
  }, text);

/** What is in memory, where. @param {Page} page */
const inMemory = (page) =>
  page.evaluate(async () => {
    const address = new URL('/pkg/dist/index.js', location.href).href;
    const { memoryUsage } = /** @type {typeof multihead} */ (await import(address));
    const { gpu, models } = await memoryUsage();
    return { gpu, models: models.map(({ id, device }) => `${id} ${device}`) };
  });

test('by keyboard: the CPU is chosen, kept for the next visit, and nothing asks for a GPU', async () => {
  const start = server().state.requests.length;
  const { page, context, source, problems, close } = await open();
  await context.addInitScript(() => {
    const get = () => {
      throw new Error('navigator.gpu was touched');
    };
    Object.defineProperty(Navigator.prototype, 'gpu', { get });
  });
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await translates(page, 'Bom dia.');
  await says(
    page,
    'engine',
    /^WebAssembly .* int8 on the CPU \(.*; a GPU gains with many texts at once only\)$/,
  );
  assert.equal(await picker(page).inputValue(), 'auto');

  await page.locator('#copy').focus();
  while (!(await picker(page).evaluate((field) => field === document.activeElement))) {
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('End');
  assert.equal(await picker(page).inputValue(), 'cpu');
  await says(page, 'engine', /int8 on the CPU \(relaxed SIMD, \d threads?\)$/);
  await translates(page, 'Bom dia.');
  assert.deepEqual(await inMemory(page), { gpu: 0, models: ['en-pt cpu'] });

  await page.reload();
  assert.equal(await picker(page).inputValue(), 'cpu');
  await source.fill('Good morning.');
  await translates(page, 'Bom dia.');
  await says(page, 'engine', /int8 on the CPU \(relaxed SIMD, \d threads?\)$/);
  await picker(page).selectOption('Automatic');
  await says(page, 'engine', /; a GPU gains with many texts at once only\)$/);
  await page.reload();
  assert.equal(await picker(page).inputValue(), 'auto');
  assert.deepEqual(problems, []);
  assert.deepEqual(
    server()
      .state.requests.slice(start)
      .filter((path) => /gpu/.test(path)),
    [],
  );
  await close();
});

test('on the GPU the same text comes, and the page says which GPU it is; its memory is freed', async () => {
  const { page, source, target, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await translates(page, 'Bom dia.');
  const start = server().state.requests.length;
  await picker(page).selectOption('GPU (WebGPU)');
  await says(
    page,
    'engine',
    /^WebGPU in a worker, float32 on the GPU \(google swiftshader, which is software\)$/,
  );
  await translates(page, 'Bom dia.');
  const { gpu, models } = await inMemory(page);
  assert.deepEqual(models, ['en-pt webgpu']);
  assert(gpu > 10_000_000, `${gpu} bytes`);
  const asked = server().state.requests.slice(start);
  assert.equal(asked.filter((path) => /multihead_gpu_\w+_bg\.wasm$/.test(path)).length, 1);

  // Nothing that the GPU has made is left: the text is translated by the model that is there now.
  await picker(page).selectOption('CPU');
  await says(page, 'engine', /int8 on the CPU/);
  await source.fill('Good morning. Thank you.');
  await page.waitForFunction(() =>
    /^Bom dia\. .*brigad/.test(document.querySelector('output')?.textContent ?? ''),
  );
  assert.equal(await target.getAttribute('aria-busy'), 'false');
  assert.deepEqual(await inMemory(page), { gpu: 0, models: ['en-pt cpu'] });
  await close();
});

test('without WebGPU the choice says so; storage that is blocked keeps nothing, and fails nothing', async () => {
  const { page, context, source, problems, close } = await open();
  await context.addInitScript(() => {
    if (!Reflect.deleteProperty(Navigator.prototype, 'gpu')) throw new Error('it cannot be taken away');
  });
  await page.goto(`${server().origin}/tests/e2e/blank.html`);
  await page.evaluate(() => {
    localStorage.setItem('multihead:device', 'webgpu');
  });
  await page.goto(`${server().origin}/`);
  const option = page.locator('#device option[value=webgpu]');
  assert.equal(await option.textContent(), 'GPU: this browser has no WebGPU');
  assert(await option.isDisabled());
  assert.equal(await picker(page).inputValue(), 'auto');
  // It may be there again on another visit.
  assert.equal(await page.evaluate(() => localStorage.getItem('multihead:device')), 'webgpu');

  await context.addInitScript(() => {
    const get = () => {
      throw new DOMException('storage is blocked', 'SecurityError');
    };
    Object.defineProperty(globalThis, 'localStorage', { get });
  });
  await page.reload();
  await picker(page).selectOption('CPU');
  await source.fill('Good morning.');
  await translates(page, 'Bom dia.');
  await says(page, 'engine', /int8 on the CPU \(relaxed SIMD, \d threads?\)$/);
  assert.deepEqual(problems, []);
  await close();
});

test('a chat goes on with the model on another device, which the next message loads', async () => {
  const { page, message, answers, answered, problems, close } = await openChatOf(site, 12);
  const said = ['Name a colour.', 'Name another one.'];
  await page.locator('summary', { hasText: 'System prompt' }).click();
  await message.fill(said[0] ?? '');
  await message.press('Enter');
  await answered(1);
  await says(
    page,
    'chat-engine',
    /^WebAssembly .* on the CPU \(.*; the browser's GPU \(google swiftshader\) is software/,
  );
  await picker(page).selectOption('CPU');
  await page.getByText('Ready: the next message loads the model again').waitFor();
  assert.deepEqual((await inMemory(page)).models, []);
  assert.equal((await answers()).length, 1, 'what was said stays');
  // What is written there is for a conversation that begins.
  await page.getByRole('textbox', { name: 'System prompt' }).fill('Answer in capitals.');
  await message.fill(said[1] ?? '');
  await message.press('Enter');
  await answered(2);
  await says(page, 'chat-engine', /on the CPU \(relaxed SIMD, \d threads?\)$/);
  const told = await expected(page, said, 12);
  assert.deepEqual(
    await answers(),
    told.map(({ text }) => text),
  );
  assert.deepEqual(problems, []);
  await close();
});

test('texts are read again on another device, and the query is asked again, once the search is shown', async () => {
  const { page, files, read, find, searched, problems, close } = await openSearchOf(site);
  await files.setInputFiles([fileOf('five.txt', PASSAGES.join('\n\n'))]);
  await read(5);
  const before = await find('insects that sting');
  await says(
    page,
    'search-engine',
    /int8 on the CPU \(.*; int8 is computed on the CPU only\); memory .* [\d.]+ MB$/,
  );
  await page.getByRole('tab', { name: 'Translate' }).click();
  await picker(page).selectOption('CPU');
  await page.locator('#read-status').filter({ hasText: '0 of 5 passages' }).waitFor({ state: 'attached' });
  const since = await page.evaluate(() => performance.now());
  await page.getByRole('tab', { name: 'Search' }).click();
  await searched('insects that sting', since);
  await read(5);
  assert.deepEqual(await hitsOf(page), before);
  await says(page, 'search-engine', /int8 on the CPU \(relaxed SIMD, \d threads?\); memory .* [\d.]+ MB$/);
  assert.deepEqual(problems, []);
  await close();
});
