import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLimit } from '../lib/contenders.js';
import { figuresOf, ratios } from '../lib/token-figures.js';

const run = { promptTokens: 256, promptMs: 2000, promptCpu: 4, timedTokens: 63, newMs: 1260, newCpu: 2.52 };

test('tokens by the second and by the CPU second', () => {
  const figures = figuresOf([run]);
  assert.equal(figures.prompt.median, 128);
  assert.equal(figures.promptPerCpuSecond.median, 64);
  assert.equal(figures.generated.median, 50);
  assert.equal(figures.generatedPerCpuSecond.median, 25);
});

test('each figure is compared with whoever is best at it', () => {
  const engine = (side, name, promptMs, newMs) => ({
    side,
    name,
    ...figuresOf([{ ...run, promptMs, newMs }]),
  });
  const peers = [engine('wllama', 'a', 4000, 1500), engine('transformers', 'b', 1600, 3000)];
  const lines = ratios([engine('multihead', 'multihead', 800, 600), ...peers]);
  assert.deepEqual(lines.slice(0, 2), [
    'multihead / b: 2.00× prompt tokens/s',
    'multihead / a: 2.50× generated tokens/s',
  ]);
  assert.deepEqual(ratios(peers), []);
});

test('the limit of memory', () => {
  // 30 layers × keys and values × 3 heads of 64 floats of 4 bytes = 46,080 bytes a token.
  assert.equal(memoryLimit(100_000_000, 320), 125_000_000 + 320 * 46_080 + 16_000_000);
});
