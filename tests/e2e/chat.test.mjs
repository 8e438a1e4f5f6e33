// The chat of the demo page in Chromium, as a person uses it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { demo } from './demo.mjs';
import { fileOf } from './server.mjs';

const MODEL = fileOf('/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');
const FULL = /full|\.gguf$/;
const TRANSLATES = /\/models\/en-pt\/|\/multihead_(threads|relaxed|simd128)_bg\.wasm$/;

const { open, server } = demo();

/** @typedef {Awaited<ReturnType<typeof open>>} Visit */
/** @typedef {import('playwright-core').Page} Page */

/** The chat, where each token is the likeliest and an answer has so many at most. @param {number} limit */
async function openChat(limit) {
  const visit = await open();
  await visit.page.goto(`${server().origin}/#chat`);
  await plainly(visit.page, limit);
  return visit;
}

/** @param {Page} page @param {number} limit */
async function plainly(page, limit) {
  await page.getByText('Sampling').click();
  for (const [name, value] of [
    ['Temperature', 0],
    ['Top k', 0],
    ['Top p', 1],
    ['Min p', 0],
    ['Repetition penalty', 1],
    ['Longest answer', limit],
  ]) {
    await page.getByLabel(String(name), { exact: true }).fill(String(value));
  }
}

/** What the package answers to the same turns, and what it says it took. @param {Page} page @param {string[]} said @param {number} limit */
function expected(page, said, limit) {
  return page.evaluate(
    async ([turns, maxNewTokens]) => {
      /** @type {typeof import('../../pkg/dist/index.js')} */
      const { LanguageModel } = await import(new URL('/pkg/dist/index.js', location.href).href);
      const model = await LanguageModel.create({ temperature: 0, topK: 0 });
      const told = [];
      for (const turn of turns) {
        const before = model.contextUsage;
        const promptTokens = await model.measureContextUsage(turn);
        const text = await model.prompt(turn, { maxNewTokens });
        told.push({ text, before, promptTokens, usage: model.contextUsage });
      }
      model.destroy();
      return told;
    },
    /** @type {const} */ ([said, limit]),
  );
}

/** The context meter. @param {Page} page */
const meter = (page) =>
  page
    .getByRole('meter', { name: 'Context' })
    .evaluate((/** @type {HTMLMeterElement} */ { value, max }) => [value, max]);

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
  assert.equal(asked.filter((path) => /\/multihead_full_\w+_bg\.wasm$/.test(path)).length, 1);
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
    ['Rewrite politely', /parcel/],
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

test('a model comes from the disk, by picker or drop; what is none is said', async () => {
  const { page, message, answers, answered, close } = await openChat(8);
  await page.getByText('Another model').click();
  const picker = page.getByLabel('Open from disk');
  const start = server().state.requests.length;
  await picker.setInputFiles(MODEL);
  await page.getByText(/^98\.4 MB, loaded/).waitFor();
  assert.equal(await page.locator('#model-name').textContent(), 'SmolLM2-135M-Instruct.Q4_1.gguf');
  await message.fill('Write a poem.');
  await message.press('Enter');
  await answered(1);
  assert.deepEqual(
    server()
      .state.requests.slice(start)
      .filter((path) => path.endsWith('.gguf')),
    [],
    'nothing is downloaded',
  );
  const [{ text } = { text: '' }] = await expected(page, ['Write a poem.'], 8);
  assert.deepEqual(await answers(), [text]);

  const alert = page.getByRole('alert');
  const isUsual = async () => {
    await page.getByRole('button', { name: 'Load', exact: true }).waitFor();
    assert.equal(await page.locator('#model-name').textContent(), 'smollm2-135m-instruct');
  };
  const buffer = Buffer.from('These are notes, and no model.');
  await picker.setInputFiles({ name: 'notes.gguf', mimeType: 'application/octet-stream', buffer });
  await alert.getByText(/notes\.gguf/).waitFor();
  await isUsual();
  // Weights without a tokenizer.
  await picker.setInputFiles(fileOf('/tests/fixtures/decoders/llama.gguf'));
  await alert.getByText(/llama\.gguf.*token/).waitFor();
  await isUsual();

  const dropped = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['A letter, and no model.'], 'letter.txt'));
    return data;
  });
  await page.locator('#messages').dispatchEvent('dragover', { dataTransfer: dropped });
  await page.locator('.dropping').waitFor();
  await page.locator('#messages').dispatchEvent('drop', { dataTransfer: dropped });
  await alert.getByText(/letter\.txt/).waitFor();
  await isUsual();
  assert.equal(await page.locator('.dropping').count(), 0);
  // And goes on.
  await message.fill('Write a poem.');
  await message.press('Enter');
  await answered(1);
  assert.deepEqual(await answers(), [text]);
  assert(await alert.isHidden());
  await close();
});

test('a model comes by its address, or by its name on Hugging Face; what is not there is said', async () => {
  const { page, context, message, answers, answered, close } = await openChat(8);
  const headers = { 'access-control-allow-origin': '*' };
  await context.route('https://huggingface.co/**', (route) =>
    route.fulfill({ status: 401, headers, body: '{"error":"Invalid username or password."}' }),
  );
  await page.getByText('Another model').click();
  const place = page.getByLabel('Address, or name on Hugging Face');
  const alert = page.getByRole('alert');
  await place.fill('nobody/no-such-model-GGUF');
  await place.press('Enter');
  await alert.getByText(/no repository nobody\/no-such-model-GGUF on Hugging Face/).waitFor();
  await place.fill('models/none.gguf');
  await place.press('Enter');
  await alert.getByText(/none\.gguf/).waitFor();
  await place.fill('models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');
  await place.press('Enter');
  await page.getByText(/^98\.4 MB, loaded/).waitFor();
  assert(await alert.isHidden());
  await message.fill('Write a poem.');
  await message.press('Enter');
  await answered(1);
  const [{ text } = { text: '' }] = await expected(page, ['Write a poem.'], 8);
  assert.deepEqual(await answers(), [text]);
  await page.getByRole('button', { name: 'Back to the usual one' }).click();
  await page.getByRole('button', { name: 'Load', exact: true }).waitFor();
  assert.equal(await page.locator('#model-name').textContent(), 'smollm2-135m-instruct');
  await close();
});

test('a window that is full loses its oldest turns, which is said; so is a message that is too long', async () => {
  const { page, message, answers, answered, close } = await open();
  /** The page has a window of its own. @type {import('./server.mjs').Fault} */
  const small = (_, response, path) => {
    if (path !== '/chat-session.js') return false;
    const text = readFileSync(fileOf(path), 'utf8');
    const smaller = text.replace('initialPrompts });', 'initialPrompts, contextWindow: 128 });');
    assert.notEqual(smaller, text);
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(smaller);
    return true;
  };
  server().state.fault = small;
  await page.goto(`${server().origin}/#chat`);
  await plainly(page, 16);
  const notice = page.getByText('The conversation no longer fits');
  let turns = 0;
  while ((await notice.count()) === 0) {
    assert(turns < 10, 'ten turns of some 30 tokens fit into 128');
    await message.fill(`Is ${turns} a number?`);
    await message.press('Enter');
    await answered(++turns);
  }
  assert(turns > 1);
  assert.equal((await answers()).length, turns);
  const [usage = NaN, most] = await meter(page);
  assert(usage > 0 && usage <= 128);
  assert.equal(most, 128);
  assert.match((await page.locator('.figures').last().textContent()) ?? '', /^Prompt: read again without/);
  const long = 'one two three four '.repeat(60);
  await message.fill(long);
  await message.press('Enter');
  await page
    .getByRole('alert')
    .getByText(/longer than what the model can take/)
    .waitFor();
  assert.equal(await message.inputValue(), long);
  assert.deepEqual(await meter(page), [usage, 128]);
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
  assert.equal(asked(/\/multihead_full_\w+_bg\.wasm$/).length, 1);

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
  const { page, context, source, message, answers, answered, done, kept, close } = await openChat(8);
  const ask = async () => {
    await message.fill('Write a poem.');
    await message.press('Enter');
    await answered(1);
    return (await answers())[0];
  };
  const first = await ask();
  await kept();
  await page.goto(`${server().origin}/#en-pt`);
  await page.reload();
  await source.fill('Good morning.');
  await done();
  await kept();
  server().state.fault = (_, response) => {
    response.destroy();
    return true;
  };
  await context.setOffline(true);
  await page.goto(`${server().origin}/#chat`);
  await page.reload();
  await page.getByText('98.4 MB, kept on this device').waitFor();
  await plainly(page, 8);
  assert.equal(await ask(), first);
  await close();
});
