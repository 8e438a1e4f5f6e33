// Which model the chat of the demo page is with, in Chromium: from the disk, an address, a name; and what is too much for it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { expected, meter, openChatOf, plainly } from './chatting.mjs';
import { until } from './chromium.mjs';
import { demo } from './demo.mjs';
import { fileOf } from './server.mjs';

const MODEL = fileOf('/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf');

const chat = demo();
const { open, server } = chat;

/** @param {number} limit */
const openChat = (limit) => openChatOf(chat, limit);

test('a model comes from the disk, by picker or drop; what is none is said', async () => {
  const { page, message, answers, answered, close } = await openChat(8);
  await page.getByText('Another model').click();
  const picker = page.getByLabel('Open from disk');
  const start = server().state.requests.length;
  await picker.setInputFiles(MODEL);
  await page.getByText(/^98\.4 MB, loaded/).waitFor();
  const workers = page.workers().length;
  assert(workers > 0);
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
  // Of all these models one is in memory, in a worker of its own.
  const loaded = await page.evaluate(async () => {
    const { memoryUsage } = await import(new URL('/pkg/dist/index.js', location.href).href);
    return (await memoryUsage()).models.map((/** @type {{ id: string }} */ { id }) => id);
  });
  assert.deepEqual(loaded, ['smollm2-135m-instruct']);
  await until(() => page.workers().length === workers, 'as many workers as for the first model');
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
    const smaller = text.replace(
      'initialPrompts: beginning,',
      'initialPrompts: beginning, contextWindow: 128,',
    );
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
