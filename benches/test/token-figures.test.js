import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLimit } from '../lib/contenders.js';
import { figuresOf, ratios } from '../lib/token-figures.js';

test('the first token belongs to the prompt', () => {
  // 256 tokens in 2 s; the 63 tokens after the first in 1.26 s of the clock, twice that of CPUs.
  const figures = figuresOf([{ promptMs: 2000, promptCpu: 4, newMs: 1260, newCpu: 2.52 }], 256, 64);
  assert.equal(figures.prompt.median, 128);
  assert.equal(figures.promptPerCpuSecond.median, 64);
  assert.equal(figures.generated.median, 50);
  assert.equal(figures.generatedPerCpuSecond.median, 25);
});

test('each figure is compared with whoever is best at it', () => {
  const engine = (side, name, prompt, generated) => {
    const [promptMs, newMs] = [256_000 / prompt, 63_000 / generated];
    const run = { promptMs, promptCpu: promptMs / 1000, newMs, newCpu: newMs / 1000 };
    return { side, name, ...figuresOf([run], 256, 64) };
  };
  const lines = ratios([
    engine('multihead', 'multihead', 300, 100),
    engine('wllama', 'a', 60, 40),
    engine('transformers', 'b', 150, 20),
  ]);
  assert.deepEqual(lines.slice(0, 2), [
    'multihead / b: 2.00× prompt tokens/s',
    'multihead / a: 2.50× generated tokens/s',
  ]);
  assert.deepEqual(ratios([engine('wllama', 'a', 60, 40)]), []);
});

test('the limit of memory', () => {
  // 30 layers × keys and values × 3 heads of 64 floats of 4 bytes = 46,080 bytes a token.
  assert.equal(memoryLimit(100_000_000, 320), 125_000_000 + 320 * 46_080 + 16_000_000);
});
