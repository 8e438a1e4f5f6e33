// Language models in Chromium, from a page without anything else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHATS, fault } from './chats.mjs';
import { inChromium, until } from './chromium.mjs';

const { server, blank } = inChromium({});
/** @type {Promise<import('playwright-core').Page> | undefined} */
let opened;

/** For what does not look at how the model comes, so that it comes once. */
const shared = () => (opened ??= blank().then(({ page }) => page));

test('greedy answers are those of float32 arithmetic, up to where it is nearly undecided', async () => {
  const chats = CHATS.map(({ prompt, greedy }) => ({ prompt, greedy }));
  const answers = await (
    await shared()
  ).evaluate(async (asked) => {
    const model = await multihead.LanguageModel.create({ temperature: 0 });
    const told = [];
    for (const { prompt, greedy } of asked) {
      // None of them knows of the others.
      const clone = await model.clone();
      const tokens = await clone.measureContextUsage(prompt);
      const answer = await clone.prompt(prompt, { maxNewTokens: greedy.length });
      clone.destroy();
      const beginnings = [];
      for (const place of greedy.keys()) beginnings.push(await model.detokenize(greedy.slice(0, place + 1)));
      told.push({ tokens, answer, beginnings });
    }
    return told;
  }, chats);
  for (const [place, chat] of CHATS.entries()) {
    const { tokens = 0, answer = '', beginnings = [] } = answers[place] ?? {};
    assert.equal(tokens, chat.ids.length, 'the template and its tokens');
    assert.equal(fault(chat, answer, beginnings), undefined);
  }
});

test('a page that translates fetches nothing of language models, and one of these nothing to translate', async () => {
  const { page: own, close } = await blank();
  const asked = (/** @type {number} */ since) => server().state.requests.slice(since);
  const ofText = /text-worker|text-modules|_text_|generation|conversation|jinja|\.gguf$/;
  let start = server().state.requests.length;
  await own.evaluate(() => multihead.translate('Thank you.', { from: 'en', to: 'pt' }));
  assert.deepEqual(
    asked(start).filter((path) => ofText.test(path)),
    [],
  );
  start = server().state.requests.length;
  await own.evaluate(async () => {
    await multihead.unload();
    return multihead.generate('Thank you.', { maxNewTokens: 1 });
  });
  const paths = asked(start);
  assert.equal(paths.filter((path) => /\/multihead_text_\w+_bg\.wasm$/.test(path)).length, 1);
  assert.deepEqual(
    paths.filter((path) => path.endsWith('.wasm') && !path.includes('_text_')),
    [],
  );
  await close();
});

test('streams joined are the whole, and no piece ends inside of a character', async () => {
  const prompts = [
    'Repeat after me: 😀😃😄😁🎉🎊',
    'Say "你好" and an emoji 🎉.',
    'List the days of the week.',
  ];
  const told = await (
    await shared()
  ).evaluate(async (asked) => {
    const all = [];
    for (const prompt of asked) {
      const options = { temperature: 0, maxNewTokens: 24 };
      const pieces = [];
      const reader = multihead.generateStreaming(prompt, options).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        pieces.push({ value, isWhole: !/\p{Surrogate}/u.test(value) });
      }
      all.push({ pieces, whole: await multihead.generate(prompt, options) });
    }
    return all;
  }, prompts);
  for (const { pieces, whole } of told) {
    assert(pieces.length > 3);
    assert.equal(pieces.map(({ value }) => value).join(''), whole);
    assert(pieces.every(({ isWhole }) => isWhole));
  }
  assert(told.some(({ whole }) => /\p{Emoji_Presentation}/u.test(whole)));
});

test('turns, clones and calls at once give what fresh conversations give; what was read is not read again', async () => {
  const facts = await (
    await shared()
  ).evaluate(async () => {
    const few = { temperature: 0, maxNewTokens: 8 };
    const [first, second, third] = [
      'Why is the sky blue?',
      'And at night?',
      'Write one sentence about winter.',
    ];
    /** @type {(role: 'user' | 'assistant', content: string) => import('../../pkg/dist/index.js').ChatMessage} */
    const say = (role, content) => ({ role, content });
    const model = await multihead.LanguageModel.create();
    const answer = await model.prompt(first, few);
    const clone = await model.clone();
    const [next, other] = await Promise.all([model.prompt(second, few), clone.prompt(third, few)]);
    const texts = ['The capital of France is', 'Two and two are'];
    const together = await Promise.all(texts.map((text) => model.complete(text, few)));
    const fresh = [];
    for (const content of [second, third]) {
      fresh.push(
        await multihead.generate([say('user', first), say('assistant', answer), say('user', content)], few),
      );
    }
    const alone = [];
    for (const text of texts) {
      const solo = await multihead.LanguageModel.create();
      alone.push((await solo.complete(text, few)).text);
      solo.destroy();
    }
    const longer = `${texts[1]}${together[1]?.text}`;
    const { stats } = await model.complete(longer, few);
    model.destroy();
    clone.destroy();
    return { said: [next, other], fresh, together: together.map(({ text }) => text), alone, stats };
  });
  assert.deepEqual(facts.said, facts.fresh);
  assert.deepEqual(facts.together, facts.alone);
  assert.notEqual(facts.said[0], facts.said[1]);
  // The last token that was written is read with what comes after it.
  assert.equal(facts.stats.cachedTokens, facts.stats.promptTokens - 1);
});

test('an abort while the model loads stops the transfer; the next call loads it', async () => {
  const { page: own, close } = await blank();
  let [asked, closed] = [false, false];
  server().state.fault = (_, response, path) => {
    if (!path.endsWith('.gguf')) return false;
    asked = true;
    response.on('close', () => (closed = true));
    return true;
  };
  await own.evaluate(() => {
    globalThis.stopping = new AbortController();
    globalThis.outcome = multihead
      .generate('Thank you.', { signal: globalThis.stopping.signal })
      .catch((error) => error.name);
  });
  await until(() => asked, 'the model is asked for');
  const outcome = await own.evaluate(() => {
    globalThis.stopping.abort();
    return globalThis.outcome;
  });
  assert.equal(outcome, 'AbortError');
  await until(() => closed, 'the transfer ends');
  server().state.fault = undefined;
  assert.notEqual(await own.evaluate(() => multihead.generate('Thank you.', { maxNewTokens: 4 })), '');
  await close();
});

test('aborts while waiting, reading and writing leave the conversation as it was', async () => {
  const facts = await (
    await shared()
  ).evaluate(async () => {
    const few = { temperature: 0, maxNewTokens: 8 };
    const nameOf = async (/** @type {Promise<unknown>} */ promise) =>
      promise.then(
        () => 'done',
        (error) => error.name,
      );
    const expected = await multihead.generate('Why is the sky blue?', few);
    const model = await multihead.LanguageModel.create();
    const [reading, waiting, writing] = [new AbortController(), new AbortController(), new AbortController()];
    const long = 'The rain in the north has not stopped for a week. '.repeat(150);
    const names = [
      nameOf(model.prompt(long, { signal: reading.signal })),
      nameOf(model.prompt('Never asked.', { signal: waiting.signal })),
    ];
    waiting.abort();
    // By then some of it has been read, and far from all.
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    reading.abort();
    await Promise.all(names);
    const reader = model.promptStreaming('Count to one hundred.', { signal: writing.signal }).getReader();
    await reader.read();
    writing.abort();
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    names.push(nameOf(rest()));
    const stream = model.promptStreaming('Count to one hundred.').getReader();
    await stream.read();
    await stream.cancel();
    const usage = model.contextUsage;
    const answer = await model.prompt('Why is the sky blue?', few);
    model.destroy();
    names.push(nameOf(model.prompt('x')));
    return { expected, answer, usage, names: await Promise.all(names) };
  });
  assert.deepEqual(facts.names, ['AbortError', 'AbortError', 'AbortError', 'InvalidStateError']);
  assert.equal(facts.usage, 0);
  assert.equal(facts.answer, facts.expected);
});

test('a full window loses its oldest turns and says so; what does not fit is a QuotaExceededError', async () => {
  const facts = await (
    await shared()
  ).evaluate(async () => {
    const model = await multihead.LanguageModel.create({
      contextWindow: 96,
      temperature: 0,
      initialPrompts: [{ role: 'system', content: 'Answer in one word.' }],
    });
    /** @type {string[]} */
    const told = [];
    model.oncontextoverflow = (event) => {
      told.push(event.type);
      throw new Error('a handler that throws fails no call');
    };
    model.addEventListener('contextoverflow', () => told.push('listener'));
    for (let turn = 0; turn < 20 && told.length === 0; turn++) {
      await model.prompt(`Is ${turn} a number?`, { maxNewTokens: 4 });
    }
    const usage = model.contextUsage;
    const error = await model.prompt('one two three four '.repeat(40)).catch((thrown) => thrown);
    const { name, requested, quota } = error;
    const isOurs = error instanceof DOMException;
    const after = model.contextUsage;
    model.destroy();
    return { told, usage, after, name, requested, quota, isOurs };
  });
  assert.deepEqual(facts.told, ['contextoverflow', 'listener']);
  assert(facts.usage <= 96);
  assert.equal(facts.after, facts.usage);
  assert.deepEqual([facts.name, facts.quota, facts.isOurs], ['QuotaExceededError', 96, true]);
  assert(facts.requested > 160);
});

test('names of control tokens that somebody types are text; stop strings end it; seeds repeat it', async () => {
  const facts = await (
    await shared()
  ).evaluate(async () => {
    const model = await multihead.LanguageModel.create();
    const [plain, typed] = [
      await model.measureContextUsage('ab'),
      await model.measureContextUsage('ab<|im_end|><|im_start|>'),
    ];
    const names = (await model.tokenize('<|im_end|>')).map(({ text }) => text);
    const whole = await model.complete('The capital of France is', { temperature: 0, maxNewTokens: 8 });
    const cut = await model.complete('The capital of France is', { temperature: 0, stop: ['ris.'] });
    const ask = (/** @type {number} */ seed) =>
      multihead.generate('Write a poem.', { seed, maxNewTokens: 12, topK: 50, temperature: 1.5 });
    const poems = [await ask(1), await ask(1), await ask(2)];
    model.destroy();
    return { plain, typed, names, whole, cut, poems };
  });
  // Each would be one token.
  assert(facts.typed > facts.plain + 10);
  assert(facts.names.length > 3 && facts.names.join('') === '<|im_end|>');
  assert(facts.whole.text.startsWith(' Paris.'));
  assert.deepEqual([facts.cut.text, facts.cut.finishReason], [' Pa', 'stop']);
  assert.equal(facts.poems[0], facts.poems[1]);
  assert.notEqual(facts.poems[0], facts.poems[2]);
});
