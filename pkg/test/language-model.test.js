// Language models in Node, with SmolLM2 as `cargo xtask models` has put it into the repository.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  configure,
  generate,
  generateStreaming,
  LanguageModel,
  memoryUsage,
  MultiheadError,
  translate,
  unload,
  warmup,
} from 'multihead';

const FOLDER = new URL('../../models/', import.meta.url);
configure({ modelBase: FOLDER });

/** What float32 arithmetic answers, and by how much the next best token was worse. */
const { chats } =
  /** @type {{ chats: { prompt: string, ids: number[], greedy: number[], margins: number[] }[] }} */ (
    JSON.parse(readFileSync(new URL('../../tests/fixtures/decoders/smollm2.json', import.meta.url), 'utf8'))
  );

const GREEDY = Object.freeze({ temperature: 0, maxNewTokens: 8 });

/** Holds the model in memory for all tests. @type {LanguageModel} */
let holder;

before(async () => {
  holder = await LanguageModel.create();
});
after(async () => {
  holder.destroy();
  await unload();
  assert.equal((await memoryUsage()).wasm, 0);
});

/** @param {ReadableStream<string>} stream */
async function piecesOf(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

/** @param {Promise<unknown>} promise */
const nameOf = (promise) =>
  promise.then(
    () => 'done',
    (/** @type {Error} */ { name }) => name,
  );

test('greedy answers are those of float32 arithmetic, up to where it is nearly undecided', async () => {
  for (const { prompt, ids, greedy, margins } of chats) {
    const model = await LanguageModel.create();
    assert.equal(await model.measureContextUsage(prompt), ids.length, 'the template and its tokens');
    const text = await model.prompt(prompt, { temperature: 0, maxNewTokens: 16 });
    assert(model.contextUsage > ids.length);
    let same = 0;
    while (same < 16 && text.startsWith(await model.detokenize(greedy.slice(0, same + 1)))) same++;
    // The end of a text is no part of it.
    if (text !== (await model.detokenize(greedy.slice(0, same)))) assert((margins[same] ?? 0) < 0.4, text);
    model.destroy();
  }
});

test('generate(), streamed and as a conversation, gives one text', async () => {
  const prompt = 'Name three animals that live in the sea.';
  const whole = await generate(prompt, GREEDY);
  const pieces = await piecesOf(generateStreaming(prompt, GREEDY));
  assert(pieces.length > 3);
  assert.equal(pieces.join(''), whole);
  const model = await LanguageModel.create({ temperature: 0 });
  assert.deepEqual([model.topK, model.temperature, model.precision], [3, 0, 'int8']);
  assert.equal(await model.prompt([{ role: 'user', content: prompt }], { maxNewTokens: 8 }), whole);
  model.destroy();
});

test('what was said before is known; clones go their own ways', async () => {
  /** @type {import('multihead').ChatMessage[]} */
  const initialPrompts = [{ role: 'system', content: 'You are a helpful assistant.' }];
  const model = await LanguageModel.create({ temperature: 0, initialPrompts });
  const begun = model.contextUsage;
  assert(begun > 5);
  const told = { role: /** @type {const} */ ('user'), content: 'My name is Ada.' };
  const answer = await model.prompt(told.content, { maxNewTokens: 12 });
  assert(model.contextUsage > begun + 12);
  const clone = await model.clone();
  assert.equal(clone.contextUsage, model.contextUsage);
  const questions = ['What is my name?', 'Count to three.'];
  const [first, second] = await Promise.all([
    model.prompt(questions[0] ?? '', { maxNewTokens: 12 }),
    clone.prompt(questions[1] ?? '', { maxNewTokens: 12 }),
  ]);
  for (const one of [model, clone]) one.destroy();
  // The same as one chat each, none of which was read before.
  const chat = [...initialPrompts, told, { role: /** @type {const} */ ('assistant'), content: answer }];
  for (const [place, said] of [first, second].entries()) {
    const content = questions[place] ?? '';
    const fresh = await generate([...chat, { role: 'user', content }], {
      temperature: 0,
      maxNewTokens: 12,
    });
    assert.equal(said, fresh);
  }
});

test('two calls at once give what they give alone, on one conversation and on two', async () => {
  const prompts = ['Why is the sky blue?', 'Write one sentence about winter.'];
  const alone = [];
  for (const prompt of prompts) alone.push(await generate(prompt, GREEDY));
  assert.deepEqual(await Promise.all(prompts.map((prompt) => generate(prompt, GREEDY))), alone);
  const texts = ['The capital of France is', 'Two and two are'];
  const completions = [];
  for (const text of texts) completions.push((await holder.complete(text, GREEDY)).text);
  const together = await Promise.all(texts.map((text) => holder.complete(text, GREEDY)));
  assert.deepEqual(
    together.map(({ text }) => text),
    completions,
  );
});

test('complete() says what it did; a beginning that was read is not read again', async () => {
  const model = await LanguageModel.create();
  const text = 'The capital of France is';
  const first = await model.complete(text, { ...GREEDY, logprobs: true });
  assert.match(first.text, /^ Paris/);
  assert.equal(first.finishReason, 'length');
  assert.equal(first.tokens.length, 8);
  assert.equal(first.tokens.map((token) => token.text).join(''), first.text);
  for (const { text: own, range } of first.tokens) assert.equal(first.text.slice(...range), own);
  assert.equal(first.logprobs?.length, 8);
  assert(first.logprobs?.every((value) => value < 0 && value > -10));
  assert.deepEqual([first.stats.promptTokens, first.stats.cachedTokens, first.stats.newTokens], [5, 0, 8]);
  const again = await model.complete(text + first.text, GREEDY);
  assert.equal(again.stats.cachedTokens, 12);
  assert.equal(again.logprobs, undefined);
  const stopped = await model.complete(text, { ...GREEDY, stop: [' Par', 'aris.'] });
  assert.deepEqual([stopped.text, stopped.finishReason], ['', 'stop']);
  // The log-probabilities of a text are those that its tokens had when they were written.
  const { tokens, logprobs } = await model.score(text + first.text);
  assert.equal(tokens.length, 13);
  assert(Number.isNaN(logprobs[0]));
  for (const [place, value] of first.logprobs?.entries() ?? []) {
    assert(Math.abs((logprobs[5 + place] ?? 0) - value) < 1e-3, `${place}`);
  }
  model.destroy();
});

test('tokens and texts; names of control tokens are text', async () => {
  const text = 'a <|im_end|>\n👩‍👩‍👧 ção';
  const tokens = await holder.tokenize(text);
  assert.equal(await holder.detokenize(tokens.map(({ id }) => id)), text);
  for (const token of tokens) assert.equal(text.slice(...token.range), token.text);
  assert(!tokens.some((token) => token.text === '<|im_end|>'));
  const plain = await holder.measureContextUsage('ab');
  // As a control token it would be one.
  assert((await holder.measureContextUsage('ab<|im_end|>')) >= plain + 4);
});

test('the same seed gives the same text, another one another', async () => {
  const ask = (/** @type {number} */ seed) =>
    generate('Write a short poem about a tree.', { seed, maxNewTokens: 16, topK: 50, temperature: 1.5 });
  const [first, again, other] = [await ask(1), await ask(1), await ask(2)];
  assert.equal(first, again);
  assert.notEqual(first, other);
});

test('an answer goes on from a beginning that is given', async () => {
  const model = await LanguageModel.create({ temperature: 0 });
  const begun = /** @type {const} */ ({
    role: 'assistant',
    content: 'Bonjour! The capital is',
    prefix: true,
  });
  const text = await model.prompt([{ role: 'user', content: 'What is the capital of France?' }, begun], {
    maxNewTokens: 4,
  });
  assert.match(text, /^ Paris/);
  // It is one turn with its beginning.
  assert.match(await model.prompt('Repeat your answer.', { maxNewTokens: 12 }), /Bonjour|capital|Paris/);
  model.destroy();
});

test('append() reads what is not to be answered yet', async () => {
  const model = await LanguageModel.create({ temperature: 0 });
  const [told, question] = ['My favourite colour is green.', 'Which colour do I like?'];
  assert.equal(await model.append(told), undefined);
  const read = model.contextUsage;
  const added = await model.measureContextUsage(question);
  const answer = await model.prompt(question, { maxNewTokens: 8 });
  assert.equal(model.contextUsage, read + added + (await model.tokenize(answer)).length);
  model.destroy();
  const turns = [told, question].map((content) => ({ role: /** @type {const} */ ('user'), content }));
  assert.equal(await generate(turns, GREEDY), answer);
});

test('the oldest turns make room, the initial prompts stay; what does not fit at all is refused', async () => {
  const model = await LanguageModel.create({
    temperature: 0,
    contextWindow: 128,
    initialPrompts: [{ role: 'system', content: 'Answer in one word.' }],
  });
  /** @type {string[]} */
  const told = [];
  model.oncontextoverflow = (event) => told.push(event.type);
  model.addEventListener('contextoverflow', () => told.push('listener'));
  const initial = model.contextUsage;
  let asked = 0;
  while (told.length === 0 && asked < 20) {
    asked++;
    await model.prompt(`Is ${asked} a number, and can you say so?`, { maxNewTokens: 4 });
    assert(model.contextUsage <= 128);
  }
  assert.deepEqual(told, ['contextoverflow', 'listener']);
  assert(asked > 2);
  const [usage, long] = [model.contextUsage, 'one two three four '.repeat(40)];
  await assert.rejects(model.prompt(long), (/** @type {any} */ error) => {
    assert.equal(error.name, 'QuotaExceededError');
    assert.equal(error.quota, 128);
    assert(error.requested > 160 + initial);
    return true;
  });
  assert.equal(model.contextUsage, usage);
  assert.equal(told.length, 2, 'nothing was left out for what cannot fit');
  assert.notEqual(await model.prompt('Still there?', { maxNewTokens: 4 }), '');
  await assert.rejects(model.complete(long), { name: 'QuotaExceededError' });
  await assert.rejects(
    LanguageModel.create({ contextWindow: 64, initialPrompts: [{ role: 'user', content: long }] }),
    { name: 'QuotaExceededError' },
  );
  model.destroy();
});

test('aborts while waiting, reading and writing leave the conversation as it was', async () => {
  const model = await LanguageModel.create({ temperature: 0 });
  const expected = await generate('Why is the sky blue?', GREEDY);
  const [reading, waiting, writing] = [new AbortController(), new AbortController(), new AbortController()];
  const long = `${'The rain in the north has not stopped for a week. '.repeat(60)}Why?`;
  const first = nameOf(model.prompt(long, { signal: reading.signal }));
  const second = nameOf(model.prompt('Never asked.', { signal: waiting.signal }));
  const third = nameOf(model.append(long, { signal: waiting.signal }));
  setTimeout(() => reading.abort(), 100);
  waiting.abort();
  assert.deepEqual(await Promise.all([second, third, first]), ['AbortError', 'AbortError', 'AbortError']);
  const reader = model.promptStreaming('Count to one hundred.', { signal: writing.signal }).getReader();
  await reader.read();
  writing.abort(new TypeError('a reason of my own'));
  await assert.rejects(async () => {
    for (;;) if ((await reader.read()).done) return;
  }, /a reason of my own/);
  const stream = model.promptStreaming('Count to one hundred.').getReader();
  await stream.read();
  await stream.cancel();
  assert.equal(model.contextUsage, 0);
  assert.equal(await model.prompt('Why is the sky blue?', GREEDY), expected);
  await assert.rejects(model.prompt('x', { signal: AbortSignal.abort() }), { name: 'AbortError' });
  const open = nameOf(model.prompt('Count to one hundred.'));
  model.destroy();
  assert.equal(await open, 'AbortError');
  await assert.rejects(model.prompt('x'), { name: 'InvalidStateError' });
  await assert.rejects(piecesOf(model.promptStreaming('x')), { name: 'InvalidStateError' });
  assert.equal(model.destroy(), undefined);
});

test('models of another kind are named as such', async () => {
  await assert.rejects(generate('x', { model: 'en-pt' }), {
    code: 'model-unsupported',
    message: /translate\(\)/,
  });
  await assert.rejects(translate('x', { model: 'smollm2-135m-instruct', from: 'en', to: 'pt' }), {
    code: 'model-unsupported',
    message: /generate\(\)/,
  });
  assert.equal(await LanguageModel.availability({ model: 'en-pt' }), 'unavailable');
  assert.equal(await LanguageModel.availability({ model: 'not-there' }), 'unavailable');
  assert.equal(await LanguageModel.availability(), 'downloadable');
  const info = await warmup({ model: 'smollm2-135m-instruct' });
  assert.equal(info.precision, 'int8');
});

test('wrong options and inputs are typed errors that name them', async () => {
  const create = (/** @type {any} */ options) => LanguageModel.create(options);
  const ask = (/** @type {any} */ input, /** @type {any} */ ...options) => holder.prompt(input, ...options);
  /** @type {[string, () => Promise<unknown>, RegExp?][]} */
  const wrong = [
    ['max_tokens', () => generate('x', /** @type {any} */ ({ max_tokens: 5 })), /maxNewTokens/],
    ['max_new_tokens', () => ask('x', { max_new_tokens: 5 }), /maxNewTokens/],
    ['do_sample', () => ask('x', { do_sample: true }), /temperature/],
    ['top_k', () => create({ top_k: 5 }), /topK/],
    ['top_p', () => ask('x', { top_p: 1 }), /topP/],
    ['systemPrompt', () => create({ systemPrompt: 'x' }), /initialPrompts/],
    ['max_completion_tokens', () => ask('x', { max_completion_tokens: 5 }), /maxNewTokens/],
    ['num_ctx', () => create({ num_ctx: 64 }), /contextWindow/],
    ['beamSize', () => generate('x', /** @type {any} */ ({ beamSize: 5 }))],
    ['signal', () => ask('x', { signal: {} })],
    ['temperature', () => create({ temperature: -1 })],
    ['temperature', () => ask('x', { temperature: NaN })],
    ['topK', () => ask('x', { topK: 1.5 })],
    ['topP', () => ask('x', { topP: 0 })],
    ['topP', () => create({ topP: 1e-300 }), /1e-300/],
    ['repetitionPenalty', () => create({ repetitionPenalty: 1e300 }), /1e\+300/],
    ['minP', () => ask('x', { minP: 2 })],
    ['repetitionPenalty', () => ask('x', { repetitionPenalty: 0 })],
    ['seed', () => ask('x', { seed: -1 })],
    ['maxNewTokens', () => ask('x', { maxNewTokens: 0 })],
    ['maxNewTokens', () => generate('x', { maxNewTokens: 1.5 })],
    ['stop', () => ask('x', { stop: 'x' })],
    ['stop', () => ask('x', { stop: [''] })],
    ['contextWindow', () => create({ contextWindow: 0 })],
    ['contextWindow', () => create({ contextWindow: 1e6 }), /8192/],
    ['kvCache', () => create({ kvCache: 'int4' })],
    ['initialPrompts', () => create({ initialPrompts: 'x' })],
    ['initialPrompts', () => create({ initialPrompts: [{ role: 'robot', content: 'x' }] }), /message 0/],
    ['expectedInputs', () => create({ expectedInputs: [{ type: 'text', languages: ['not a tag'] }] })],
    ['expectedOutputs', () => create({ expectedOutputs: {} })],
    ['input', () => ask(undefined)],
    ['input', () => ask([])],
    ['input', () => ask([null])],
    ['input', () => ask([{ role: 'user' }])],
    ['input', () => ask([{ role: 'user', content: [{ type: 'image', value: 'x' }] }])],
    ['input', () => ask([{ role: 'user', content: 'x', prefix: true }])],
    ['input', () => holder.append([{ role: 'assistant', content: 'x', prefix: true }])],
    ['prompt', () => generate(/** @type {any} */ (5))],
    ['text', () => holder.complete(/** @type {any} */ (5))],
    ['text', () => holder.score(/** @type {any} */ (null))],
    ['ids', () => holder.detokenize(/** @type {any} */ ('x'))],
    ['ids', () => holder.detokenize([1.5])],
    ['ids', () => holder.detokenize([1e9]), /49152/],
    ['logprobs', () => holder.complete('x', /** @type {any} */ ({ logprobs: 1 }))],
    ['attention', () => holder.complete('x', { attention: { layers: [30] } }), /layer 30: 'decoder' has 30/],
    ['attention', () => holder.complete('x', { attention: { heads: [9] } }), /head 9: 'decoder' has 9/],
    ['attention', () => holder.complete('x', { attention: { kinds: ['cross'] } }), /kind 'cross'/],
  ];
  for (const [option, attempt, said] of wrong) {
    await assert.rejects(attempt, (/** @type {unknown} */ error) => {
      assert(error instanceof MultiheadError, `${option}: ${String(error)}`);
      assert.deepEqual([error.code, error.option], ['invalid-argument', option]);
      assert.match(error.message, said ?? /./);
      return true;
    });
  }
  await assert.rejects(create({ expectedInputs: [{ type: 'image' }] }), { name: 'NotSupportedError' });
  await assert.rejects(create({ device: 'webgpu', precision: 'int8' }), { option: 'precision' });
  await assert.rejects(create({ device: 'webgpu', kvCache: 'int8' }), { option: 'kvCache' });
  assert.throws(() => Reflect.construct(LanguageModel, []), TypeError);
  const fine = await create({
    expectedInputs: [{ type: 'text', languages: ['en', 'pt-BR'] }],
    expectedOutputs: [],
  });
  fine.destroy();
});

test('values above the largest count as these, as in the Prompt API', async () => {
  const params = await LanguageModel.params();
  assert.deepEqual(params, { defaultTopK: 3, maxTopK: 128, defaultTemperature: 1, maxTemperature: 2 });
  const model = await LanguageModel.create({ topK: 1000, temperature: 9 });
  assert.deepEqual([model.topK, model.temperature], [128, 2]);
  model.destroy();
});

test('what was read can be kept as int8: another load, and nearly the same probabilities', async () => {
  const model = await LanguageModel.create({ kvCache: 'int8' });
  assert.equal((await memoryUsage()).models.length, 2);
  const text = 'The capital of France is';
  const options = { ...GREEDY, logprobs: true };
  const [float, int8] = [await holder.complete(text, options), await model.complete(text, options)];
  model.destroy();
  assert.equal(int8.text, float.text);
  const differences = [...(int8.logprobs ?? [])].map(
    (value, place) => value - (float.logprobs?.[place] ?? 0),
  );
  assert(differences.some((difference) => difference !== 0));
  assert(
    differences.every((difference) => Math.abs(difference) < 0.4),
    differences.join(' '),
  );
});

test('a trap fails the open calls; the next one reads the conversation again in a new worker', async () => {
  // Only its folder counts here. With another number of threads it is another worker than that of the other tests.
  configure({ workerUrl: new URL('altered/worker.js', import.meta.url) });
  const model = await LanguageModel.create({ temperature: 0, threads: 3 });
  configure({ workerUrl: new URL('../dist/node/worker.js', import.meta.url) });
  const question = 'Name a colour.';
  const answer = await model.prompt(question, { maxNewTokens: 6 });
  const usage = model.contextUsage;
  const calls = [model.prompt('Say trap.'), model.score('Two and two are four. '.repeat(200))];
  for (const call of await Promise.allSettled(calls)) {
    assert.equal(call.status === 'rejected' && call.reason.code, 'internal');
  }
  assert.equal(model.contextUsage, usage);
  const next = await model.prompt('And another one.', { maxNewTokens: 6 });
  model.destroy();
  const chat = [
    /** @type {const} */ ({ role: 'user', content: question }),
    /** @type {const} */ ({ role: 'assistant', content: answer }),
    /** @type {const} */ ({ role: 'user', content: 'And another one.' }),
  ];
  assert.equal(await generate(chat, { temperature: 0, maxNewTokens: 6 }), next);
});

test('an unloaded model is loaded again, and the conversation goes on', async () => {
  const clone = await holder.clone();
  const turns = [/** @type {const} */ ({ role: 'user', content: 'My name is Ada.' })];
  const said = await clone.prompt(turns, GREEDY);
  await unload('smollm2-135m-instruct');
  assert.deepEqual((await memoryUsage()).models, []);
  const answer = await clone.prompt('What is my name?', GREEDY);
  assert.deepEqual(
    (await memoryUsage()).models.map(({ id }) => id),
    ['smollm2-135m-instruct'],
  );
  clone.destroy();
  const chat = [
    ...turns,
    /** @type {const} */ ({ role: 'assistant', content: said }),
    /** @type {const} */ ({ role: 'user', content: 'What is my name?' }),
  ];
  assert.equal(await generate(chat, GREEDY), answer);
});
