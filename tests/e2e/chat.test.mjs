// The chat of the demo page in Chromium, as a person uses it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expected, meter, openChatOf, plainly } from './chatting.mjs';
import { until } from './chromium.mjs';
import { demo } from './demo.mjs';
import { checkShifts, lookAt, screenshot } from './looks.mjs';

const FULL = /text-|_text_|\.gguf$/;
const TRANSLATES = /\/models\/en-pt\/|\/multihead_(threads|relaxed|simd128)_bg\.wasm$/;

const chat = demo();
const { open, server } = chat;

/** @param {number} limit */
const openChat = (limit) => openChatOf(chat, limit);

test('messages are answered piece by piece as the package answers them, and what it took is said', async () => {
  const start = server().state.requests.length;
  const { page, message, answers, answered, problems, close } = await openChat(24);
  await page.evaluate(() => {
    globalThis.seenLengths = [];
    new MutationObserver((records) => {
      for (const { target } of records) {
        if (target instanceof Text) seenLengths.push(target.data.length);
      }
    }).observe(/** @type {Node} */ (document.getElementById('messages')), {
      characterData: true,
      subtree: true,
    });
  });
  const said = ['Why is the sky <b>blue</b>?', 'And at night?'];
  await message.fill(said[0] ?? '');
  await message.press('Enter');
  await answered(1);
  const lengths = await page.evaluate(() => seenLengths);
  assert(lengths.length > 3, `${lengths.length} steps`);
  assert.equal(await message.inputValue(), '');
  await message.fill('And at');
  await message.press('Shift+Enter');
  assert.equal(await message.inputValue(), 'And at\n');
  await message.fill(said[1] ?? '');
  await page.getByRole('button', { name: 'Send' }).click();
  await answered(2);

  const asked = server().state.requests.slice(start);
  assert.equal(asked.filter((path) => /\/multihead_text_\w+_bg\.wasm$/.test(path)).length, 1);
  assert.deepEqual(
    asked.filter((path) => TRANSLATES.test(path)),
    [],
  );

  const told = await expected(page, said, 24);
  assert.deepEqual(
    await answers(),
    told.map(({ text }) => text),
  );
  assert.deepEqual(await page.locator('.message.user .said').allTextContents(), said, 'text, not markup');
  const figures = await page.locator('.figures').allTextContents();
  for (const [place, { before, promptTokens, usage }] of told.entries()) {
    const kept = before === 0 ? '' : `, ${before} kept from before`;
    const rate = String.raw`, [\d.,]+ tokens/s`;
    const words = `^Prompt: ${promptTokens} tokens${rate}${kept} · Answer: ${usage - before - promptTokens} tokens${rate}`;
    assert.match(figures[place] ?? '', new RegExp(words));
  }
  assert.deepEqual(await meter(page), [told[1]?.usage, 8192]);
  // Said once, when it is complete.
  assert.equal(await page.locator('#chat-voice').textContent(), told[1]?.text);
  assert.match((await page.locator('#model-facts').textContent()) ?? '', /^98\.4 MB, loaded/);
  assert.match(
    (await page.locator('#chat-engine').textContent()) ?? '',
    /int8 on the CPU \(.*2 threads|1 thread/,
  );

  await page.getByRole('button', { name: 'Clear' }).click();
  await answered(0);
  assert.deepEqual(await meter(page), [0, 8192]);
  await message.fill(said[0] ?? '');
  await message.press('Enter');
  await answered(1);
  assert.deepEqual(await answers(), [told[0]?.text], 'nothing is known of what was said before');
  assert.deepEqual(problems, []);

  await page.getByRole('button', { name: 'Unload' }).click();
  await page.getByRole('button', { name: 'Load', exact: true }).waitFor();
  // The worker ends with its last model.
  await until(() => page.workers().length === 0, 'no worker is left');
  const loaded = await page.evaluate(async () => {
    const { memoryUsage } = await import(new URL('/pkg/dist/index.js', location.href).href);
    return (await memoryUsage()).models;
  });
  assert.deepEqual(loaded, []);
  await close();
});

test('Stop ends an answer, which stays part of the conversation as far as it was written', async () => {
  const { page, message, answers, answered, close } = await openChat(4000);
  await message.fill('Count to one thousand, and write every number.');
  await message.press('Enter');
  await page.waitForFunction(
    () => (document.querySelector('.message.model .said')?.textContent ?? '').length > 20,
  );
  await page.getByRole('button', { name: 'Stop' }).click();
  await answered(1);
  const [part = ''] = await answers();
  assert.match((await page.locator('.figures').textContent()) ?? '', / · stopped$/);
  assert.equal(await page.locator('#chat-status').textContent(), 'Stopped');
  await page.getByLabel('Longest answer').fill('8');
  await message.fill('Where did you stop?');
  await message.press('Enter');
  await answered(2);
  const next = await page.evaluate(async (text) => {
    const { generate } = await import(new URL('/pkg/dist/index.js', location.href).href);
    return generate(
      [
        { role: 'user', content: 'Count to one thousand, and write every number.' },
        { role: 'assistant', content: text },
        { role: 'user', content: 'Where did you stop?' },
      ],
      { temperature: 0, topK: 0, maxNewTokens: 8 },
    );
  }, part);
  assert.equal((await answers())[1], next);
  await close();
});

test('examples are asked by one click; the system prompt and the seed count', async () => {
  const { page, message, answers, answered, close } = await openChat(8);
  for (const [name, said] of /** @type {const} */ ([
    ['Summarise this text', /library/],
    ['Rewrite politely', /report/],
  ])) {
    await page.getByRole('button', { name }).click();
    await answered(1);
    assert.match((await page.locator('.message.user .said').textContent()) ?? '', said);
    assert.notEqual((await answers())[0], '');
    await page.getByRole('button', { name: 'Clear' }).click();
    await answered(0);
  }
  const ask = async () => {
    await message.fill('Write a poem.');
    await message.press('Enter');
    await answered(1);
    const [answer] = await answers();
    await page.getByRole('button', { name: 'Clear' }).click();
    await answered(0);
    return answer;
  };
  const before = await ask();
  await page.getByText('System prompt', { exact: true }).first().click();
  await page.getByRole('textbox', { name: 'System prompt' }).fill('You answer in Portuguese.');
  const after = await ask();
  const told = await page.evaluate(async () => {
    const { generate } = await import(new URL('/pkg/dist/index.js', location.href).href);
    const system = { role: 'system', content: 'You answer in Portuguese.' };
    const options = { temperature: 0, topK: 0, maxNewTokens: 8 };
    const asked = { role: 'user', content: 'Write a poem.' };
    return [await generate([asked], options), await generate([system, asked], options)];
  });
  assert.deepEqual([before, after], told);

  await page.getByLabel('Temperature', { exact: true }).fill('2');
  const seeded = [];
  for (const seed of [1, 1, 2]) {
    await page.getByLabel('Seed').fill(String(seed));
    seeded.push(await ask());
  }
  assert.equal(seeded[0], seeded[1]);
  assert.notEqual(seeded[0], seeded[2]);

  // What cannot be is said, and the message is not lost.
  await page.getByLabel('Temperature', { exact: true }).fill('-1');
  await message.fill('Write a poem.');
  await message.press('Enter');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match((await alert.textContent()) ?? '', /temperature: a number from 0 on expected, got -1/);
  assert.equal(await message.inputValue(), 'Write a poem.');
  await page.getByRole('button', { name: 'Close' }).click();
  await alert.waitFor({ state: 'hidden' });
  await close();
});

test('the address and the keyboard choose the tab; neither loads what the other needs', async () => {
  const { page, source, message, done, answered, kept, close } = await open();
  const asked = (/** @type {RegExp} */ pattern) =>
    server()
      .state.requests.slice(start)
      .filter((path) => pattern.test(path));
  let start = server().state.requests.length;
  await page.goto(`${server().origin}/`);
  await source.fill('Good morning.');
  await done();
  await kept();
  await page.keyboard.press('Shift+Tab');
  while ((await page.evaluate(() => document.activeElement?.id)) !== 'translate-tab')
    await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('ArrowRight');
  await message.waitFor();
  assert(await source.isHidden());
  assert.match(page.url(), /#chat$/);
  assert.equal(await page.getByRole('tab', { selected: true }).textContent(), 'Chat');
  await page.reload();
  await message.waitFor();
  await page.getByText('98.4 MB to download once').waitFor();
  assert.deepEqual(asked(FULL), []);

  // From there on, all by the keyboard.
  await page.keyboard.press('Tab');
  /** @type {string[]} */
  const reached = [];
  for (let press = 0; press < 14; press++) {
    reached.push(
      await page.evaluate(() => document.activeElement?.id || (document.activeElement?.textContent ?? '')),
    );
    await page.keyboard.press('Tab');
  }
  for (const id of [
    'chat-tab',
    'scroll',
    'Summarise this text',
    'message',
    'send',
    'load',
    'Another model',
    'Sampling',
  ]) {
    assert(reached.includes(id), `${id} is not among ${reached.join(', ')}`);
  }
  await plainly(page, 4);
  start = server().state.requests.length;
  await message.focus();
  await page.keyboard.type('Good morning!');
  await page.keyboard.press('Enter');
  await answered(1);
  assert.equal(asked(/\/multihead_text_\w+_bg\.wasm$/).length, 1);

  await page.getByRole('tab', { name: 'Chat' }).focus();
  await page.keyboard.press('ArrowLeft');
  await source.fill('Good morning.');
  await done();
  assert.equal(await page.locator('output').textContent(), 'Bom dia.');
  assert.match(page.url(), /#en-pt$/);
  await page.goBack();
  await message.waitFor();
  assert.equal(await page.locator('.message').count(), 2, 'the conversation is still there');
  await close();
});

test('a chat that was used goes on without a network, also after a visit that only translated', async () => {
  const { page, context, source, message, answers, answered, done, kept, close } = await open();
  const ask = async () => {
    await plainly(page, 8);
    await message.fill('Write a poem.');
    await message.press('Enter');
    await answered(1);
    return (await answers())[0];
  };
  const unplugged = async () => {
    server().state.fault = (_, response) => {
      response.destroy();
      return true;
    };
    await context.setOffline(true);
    await page.goto(`${server().origin}/#chat`);
    await page.reload();
    await page.getByText('98.4 MB, kept on this device').waitFor();
    const answer = await ask();
    server().state.fault = undefined;
    await context.setOffline(false);
    return answer;
  };
  await page.goto(`${server().origin}/`);
  await kept();
  await page.getByRole('tab', { name: 'Chat' }).click();
  const first = await ask();
  assert.notEqual(first, '');
  assert.equal(await unplugged(), first);
  await page.goto(`${server().origin}/#en-pt`);
  await page.reload();
  await source.fill('Good morning.');
  await done();
  await kept();
  assert.equal(await unplugged(), first);
  await close();
});

test('looks: nothing jumps, nothing overflows; screenshots are left to look at', async () => {
  for (const width of [1280, 390, 320]) {
    const { page, answered, kept, close } = await open({
      viewport: { width, height: width < 400 ? 844 : 800 },
    });
    const name = `chat-${width}`;
    await page.goto(`${server().origin}/#chat`);
    await page.getByText('98.4 MB to download once').waitFor();
    await lookAt(page, `${name}-before`);
    await page.getByRole('button', { name: 'Summarise this text' }).click();
    await page.waitForFunction(
      () => (document.querySelector('.message.model .said')?.textContent ?? '').length > 20,
    );
    await page.screenshot({ path: screenshot(`${name}-during`) });
    await answered(1);
    await kept();
    await checkShifts(page, name);
    await lookAt(page, name);
    for (const summary of await page.locator('#chat-panel .side summary').all()) await summary.click();
    await page.getByLabel('Temperature', { exact: true }).fill('-1');
    await page.getByRole('textbox', { name: 'Message' }).fill('And now?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').waitFor();
    await lookAt(page, `${name}-open`, { fullPage: true });
    await close();
  }
});
