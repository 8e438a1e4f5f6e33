// Language models in Chromium, from a page without anything else.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { inChromium } from './chromium.mjs';

const { blank } = inChromium({});
/** @type {import('playwright-core').Page} */
let page;

beforeEach(async () => {
  ({ page } = await blank());
});
afterEach(() => page.context().close());

test('generate() and a conversation', async () => {
  const outcome = await page.evaluate(async () => {
    const greedy = { temperature: 0, maxNewTokens: 16 };
    const whole = await multihead.generate('What is the capital of France?', greedy);
    const pieces = [];
    const reader = multihead.generateStreaming('What is the capital of France?', greedy).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
    }
    const model = await multihead.LanguageModel.create();
    const answer = await model.prompt('What is the capital of France?', greedy);
    model.destroy();
    return { whole, pieces, answer, reason: model.deviceReason };
  });
  assert.match(outcome.whole, /Paris/);
  assert(outcome.pieces.length > 2);
  assert.equal(outcome.pieces.join(''), outcome.whole);
  assert.equal(outcome.answer, outcome.whole);
});
