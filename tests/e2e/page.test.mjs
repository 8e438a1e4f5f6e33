// The demo page in Chromium, as a person uses it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demo } from './demo.mjs';
import { checkShifts, frames, lookAt } from './looks.mjs';
import { translateNatively } from './native.mjs';
import { tasksIn, tasksSince } from './tasks.mjs';

const TEXT = 'The cat sleeps on the warm stones. Nobody wants to wake it up.';

const { open, server } = demo();

test('types English, sees the Portuguese of the native command line', async () => {
  const [expected] = await translateNatively('en-pt', [TEXT]);
  const { page, source, target, done, problems, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.pressSequentially(TEXT, { delay: 5 });
  await done();
  await page.waitForFunction((text) => document.querySelector('output')?.textContent === text, expected);
  assert.equal(await target.getAttribute('lang'), 'pt');
  assert.deepEqual(problems, []);
  await close();
});

test('swaps the languages and takes the translation along', async () => {
  const { page, source, target, done, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning!');
  await done();
  const portuguese = await target.textContent();
  await page.getByRole('button', { name: 'Swap languages' }).click();
  assert.equal(await source.inputValue(), portuguese);
  assert.equal(await page.getByRole('combobox', { name: 'Translate from' }).inputValue(), 'pt');
  const [expected] = await translateNatively('pt-en', [portuguese ?? '']);
  await page.waitForFunction((text) => document.querySelector('output')?.textContent === text, expected);
  assert.match(page.url(), /#pt-en$/);
  await close();
});

test('the newest input wins', async () => {
  const { page, source, close } = await open();
  await page.goto(`${server().origin}/`);
  const long = `${TEXT} `.repeat(60);
  await source.fill(long);
  await page.waitForFunction(() => (document.querySelector('output')?.textContent ?? '') !== '');
  await source.fill('Thank you.');
  const [expected] = await translateNatively('en-pt', ['Thank you.']);
  await page.waitForFunction((text) => document.querySelector('output')?.textContent === text, expected);
  await close();
});

test('sentences appear one after the other', async () => {
  const { page, context, source, target, done, close } = await open();
  // What the worker says waits until the piece before it is on the page: a quick machine would show all at once.
  await context.addInitScript(() => {
    const shown = () =>
      new Promise((resolve) => {
        const observer = new MutationObserver(() => {
          observer.disconnect();
          resolve(undefined);
        });
        observer.observe(/** @type {Node} */ (document.querySelector('output')), { childList: true });
      });
    globalThis.Worker = class extends Worker {
      /** @override @param {string} type @param {any} listener */
      addEventListener(type, listener) {
        let before = Promise.resolve();
        super.addEventListener(type, (/** @type {any} */ event) => {
          before = before.then(async () => {
            const next = event.data?.kind === 'piece' ? shown() : undefined;
            listener(event);
            await next;
          });
        });
      }
    };
  });
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  await page.evaluate(() => {
    const output = document.querySelector('output');
    globalThis.seenLengths = [];
    new MutationObserver(() => seenLengths.push(output?.firstChild?.textContent?.length ?? 0)).observe(
      /** @type {Node} */ (output),
      { childList: true },
    );
  });
  // Of that many lines, about ten go to the model at once, which gives at least one piece of them.
  await source.fill(`${TEXT}\n`.repeat(40));
  await done();
  assert.equal(await target.getAttribute('aria-busy'), 'false');
  const lengths = await page.evaluate(() => seenLengths);
  assert(lengths.length > 3, `${lengths.length} steps`);
  assert.deepEqual(
    lengths,
    lengths.toSorted((a, b) => a - b),
  );
  await close();
});

test('a text that the browser puts back is translated', async () => {
  const { page, source, target, done, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  await page.goto(`${server().origin}/tests/e2e/blank.html`);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('output')?.textContent === 'Bom dia.');
  assert.equal(await source.inputValue(), 'Good morning.');
  assert.equal(await target.getAttribute('aria-busy'), 'false');
  assert.equal(await page.locator('#count').textContent(), '2 words');
  await close();
});

test('a text that comes line by line is looked at once a frame; lines have their own directions', async () => {
  const { page, source, done, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  const looks = await page.evaluate(async () => {
    const field = /** @type {HTMLTextAreaElement} */ (document.querySelector('textarea'));
    const mirror = /** @type {Node} */ (document.getElementById('mirror'));
    let [events, changes] = [0, 0];
    field.addEventListener('input', () => events++);
    new MutationObserver((records) => (changes += records.length)).observe(mirror, { childList: true });
    field.value = '';
    for (let line = 0; line < 50; line++) {
      field.value += `שלום ${line}.\n`;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }
    for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
    return { events, changes, shown: mirror.textContent, text: field.value };
  });
  assert.deepEqual([looks.events, looks.changes], [50, 1]);
  assert.equal(looks.shown, `${looks.text} `);
  await done();
  for (const id of ['source', 'mirror', 'target']) {
    const style = await page.evaluate((name) => {
      const { direction, unicodeBidi } = getComputedStyle(
        /** @type {Element} */ (document.getElementById(name)),
      );
      return [direction, unicodeBidi];
    }, id);
    assert.deepEqual(style, ['rtl', 'plaintext'], id);
  }
  await close();
});

test('only the sentence that changed is translated again', async () => {
  const { page, source, done, close } = await open();
  await page.goto(`${server().origin}/`);
  const first =
    'It rains today. The bread is still warm. Nobody closed the old door. She reads a long letter.';
  await source.fill(first);
  await done();
  const edited = first.replace('still warm', 'still very warm');
  await source.fill(edited);
  await done();
  const translated = await page.evaluate(() => {
    const entry = performance.getEntriesByName('multihead:update').at(-1);
    return entry instanceof PerformanceMeasure ? entry.detail.translated : undefined;
  });
  assert.deepEqual(
    translated.map((/** @type {[number, number]} */ range) => edited.slice(...range)),
    ['The bread is still very warm.'],
  );
  const whole = await page.evaluate(async (text) => {
    const { Translator } = await import(new URL('/pkg/dist/index.js', location.href).href);
    const translator = await Translator.create({ sourceLanguage: 'en', targetLanguage: 'pt' });
    return translator.translate(text);
  }, edited);
  assert.equal(await page.locator('output').textContent(), whole);
  await close();
});

test('faults of the server are said, with advice, and a second try works', async () => {
  /** @type {[string, import('./server.mjs').Fault, RegExp][]} */
  const faults = [
    [
      'no index',
      (_, response, path) => {
        if (path !== '/models/index.json') return false;
        response.writeHead(404).end('no');
        return true;
      },
      /no model index.*modelBase/,
    ],
    [
      'a web page instead of a file',
      (_, response, path) => {
        if (!path.endsWith('.spm')) return false;
        response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
        return true;
      },
      /vocab\.enpt\.spm.*web page/,
    ],
    [
      'a damaged file',
      (_, response, path) => {
        if (!path.endsWith('.spm')) return false;
        response.end(Buffer.alloc(812_781));
        return true;
      },
      /vocab\.enpt\.spm.*SHA-256/,
    ],
  ];
  for (const [name, fault, message] of faults) {
    const { page, source, done, close } = await open();
    server().state.fault = fault;
    await page.goto(`${server().origin}/`);
    // Nothing is typed before the fault is gone: what is typed is a try of its own, which would take the
    // place of the one under test.
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match((await alert.textContent()) ?? '', message, name);
    server().state.fault = undefined;
    await page.getByRole('button', { name: 'Try again' }).click();
    await alert.waitFor({ state: 'hidden' });
    await source.fill('Good morning!');
    await done();
    assert(await alert.isHidden(), name);
    await close();
  }
});

test('the keyboard reaches everything, and nothing is requested while translating', async () => {
  const { page, source, done, kept, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning!');
  await done();
  // The last requests of loading are those of the service worker.
  await kept();
  const start = server().state.requests.length;
  await source.fill(TEXT);
  await done();
  assert.deepEqual(server().state.requests.slice(start), []);
  await page.evaluate(() => {
    /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
  });
  /** @type {string[]} */
  const reached = [];
  for (let press = 0; press < 14; press++) {
    await page.keyboard.press('Tab');
    reached.push(
      await page.evaluate(() => document.activeElement?.id || (document.activeElement?.textContent ?? '')),
    );
  }
  for (const id of ['swap', 'source', 'clear', 'target', 'copy', 'A sign']) {
    assert(reached.includes(id), `${id} is not among ${reached.join(', ')}`);
  }
  await close();
});

test('tasks are measured by the time of the processor, which is never more than that of the clock', () => {
  const [here, dur] = [{ ph: 'X', pid: 1, tid: 2 }, 90_000];
  const begin = { ...here, name: 'measure', ph: 'b', ts: 10 };
  const task = { ...here, name: 'RunTask', ts: 20, dur };
  const before = { ...task, ts: 5, tdur: 1000 };
  const elsewhere = { ...task, tid: 3, tdur: 1000 };
  const [short, odd] = [
    { ...task, tdur: 1500 },
    { ...task, tdur: 95_000 },
  ];
  assert.deepEqual(tasksIn([before, begin, elsewhere, short, odd, task], 'measure'), [1.5, 90]);
  assert.throws(() => tasksIn([before, begin, elsewhere, task], 'measure'), /time of the processor/);
  assert.throws(() => tasksIn([task], 'measure'), /no measure/);
});

test('no task of the page is long while 1,000 words are translated', async () => {
  const { page, source, done, kept, close } = await open();
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning!');
  await done();
  await kept();
  const count = Math.ceil(1000 / TEXT.split(' ').length);
  const lines = Array.from({ length: count }, (_, index) => `${index + 1}. ${TEXT}`);
  const tasks = await tasksSince(page, 'multihead:update', async () => {
    await source.fill(lines.join('\n'));
    await done();
    await frames(page);
  });
  const longest = tasks.toSorted((a, b) => b - a).slice(0, 5);
  assert((longest[0] ?? NaN) < 50, `milliseconds of the longest tasks: ${longest.join(', ')}`);
  await close();
});

test('looks: nothing jumps, nothing overflows; screenshots are left to look at', async () => {
  for (const width of [1280, 390, 320]) {
    const { page, source, done, kept, close } = await open({
      viewport: { width, height: width < 400 ? 844 : 800 },
    });
    await page.goto(`${server().origin}/`);
    await source.fill(TEXT);
    await done();
    await kept();
    await checkShifts(page, `page-${width}`);
    await lookAt(page, `page-${width}`);
    await checkShifts(page, `page-${width}, also in dark`);
    await close();
  }
});
