// The bench page in Chromium: it measures, shows and copies. What the figures are is the machine's affair.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { latency, quantile, spread } from '../../www/bench/statistics.js';
import { textsIn } from '../../www/bench/texts.js';
import { demo } from './demo.mjs';

const { open, server } = demo();

test('quantiles by nearest rank', () => {
  const twenty = Array.from({ length: 20 }, (_, index) => 20 - index);
  assert.deepEqual(latency(twenty), { p50: 10, p95: 19, calls: 20 });
  assert.equal(quantile([7], 0.95), 7);
  assert.deepEqual(spread([3, 1, 2]), { median: 2, min: 1, max: 3 });
});

test('its texts are what they are called', () => {
  for (const language of ['en', 'pt']) {
    const { sentences, phrases } = textsIn(language) ?? { sentences: [], phrases: [] };
    assert.equal(sentences.length, 40);
    assert.equal(new Set(sentences).size, 40);
    for (const phrase of phrases) assert(phrase.split(' ').length <= 5, phrase);
    assert.equal(phrases.length, 20);
  }
});

test('measures, shows a table and copies it as JSON', async () => {
  const { page, context, close, problems } = await open({ viewport: { width: 320, height: 700 } });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${server().origin}/`);
  await page.getByRole('link', { name: 'Measure how fast this device is' }).click();
  await page.waitForURL(/\/bench\/$/);
  await page.getByLabel('Lines').selectOption('10');
  await page.getByLabel('Runs').selectOption('1');
  await page.getByLabel(/Measure the download too \(\d+\.\d MB\)/).check();
  const start = server().state.requests.length;
  await page.getByRole('button', { name: 'Measure' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  const models = server()
    .state.requests.slice(start)
    .filter((path) => path.endsWith('.spm'));
  assert.equal(models.length, 1, 'downloaded once, loaded twice');

  // It says so for a moment only: seen from inside the page.
  await page.evaluate(() => {
    const button = /** @type {HTMLElement} */ (document.getElementById('copy'));
    globalThis.outcome = new Promise((resolve) => {
      new MutationObserver(() => {
        resolve(button.textContent ?? '');
      }).observe(button, { childList: true });
    });
  });
  await page.getByRole('button', { name: 'Copy as JSON' }).click();
  assert.equal(await page.evaluate(() => globalThis.outcome), 'Copied');
  const result = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  const { wordsPerSecond, milliseconds, load, memory, browser, engine, input, pair } = result;
  assert.equal(pair.model, 'en-pt');
  assert.deepEqual([input.lines, input.runs], [10, 1]);
  assert(wordsPerSecond.sentenceAfterSentence.median > 0 && wordsPerSecond.oneCall.median > 0);
  for (const [kind, calls] of [
    ['phrase', 20],
    ['sentence', 10],
    ['paragraph', 3],
  ]) {
    const { p50, p95, calls: counted } = milliseconds[kind ?? ''];
    assert(p50 > 0 && p95 >= p50, `${kind}: ${p50}, ${p95}`);
    assert.equal(counted, calls);
  }
  assert(load.downloadSeconds > 0 && load.fromDeviceSeconds > 0 && load.kept);
  assert(memory.wasmBytes > 17_000_000);
  assert.equal(browser.userAgent, await page.evaluate(() => navigator.userAgent));
  assert.deepEqual([engine.device, engine.precision], ['cpu', 'int8']);
  const shown = await page.getByRole('row', { name: /^Sentence after sentence/ }).textContent();
  assert.equal(
    shown?.match(/[\d,]+ words/)?.[0],
    `${Math.round(wordsPerSecond.sentenceAfterSentence.median).toLocaleString('en')} words`,
  );
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0);
  assert.deepEqual(problems, []);

  const folder = fileURLToPath(new URL('../../target/screenshots/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, 'bench-320.png'), fullPage: true });
  await close();
});

test('can be stopped, and says what went wrong', async () => {
  const { page, close } = await open();
  await page.goto(`${server().origin}/bench/`);
  // From inside the page: a quick machine has measured all before a click from outside gets there.
  await page.evaluate(() => {
    const status = document.getElementById('status');
    const observer = new MutationObserver(() => {
      if (!status?.textContent?.startsWith('Run 1 of 3')) return;
      observer.disconnect();
      const button = document.getElementById('run');
      if (button?.textContent === 'Stop') button.click();
    });
    if (status !== null) observer.observe(status, { childList: true });
  });
  await page.getByRole('button', { name: 'Measure' }).click();
  await page.getByText('Stopped').waitFor();
  server().state.fault = (_, response, path) => {
    if (!path.endsWith('.spm')) return false;
    response.writeHead(404).end();
    return true;
  };
  await page.getByLabel(/Measure the download too/).check();
  await page.getByRole('button', { name: 'Measure' }).click();
  assert.match((await page.getByRole('alert').textContent()) ?? '', /vocab\.enpt\.spm/);
  await close();
});
