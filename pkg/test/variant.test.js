// Which module a browser gets, and on how many threads it computes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choose, described, engineFacts, threadsWanted } from '../dist/variant.js';

const ALL = { relaxed: true, atomics: true, isolated: true };

test('the module with threads only where all of it works and more than one thread is wanted', () => {
  assert.deepEqual(choose(2, ALL), { variant: 'threads', threads: 2, why: '' });
  assert.deepEqual(choose(1, ALL), { variant: 'relaxed', threads: 1, why: '' });
  for (const lacking of /** @type {const} */ (['relaxed', 'atomics', 'isolated'])) {
    const choice = choose(4, { ...ALL, [lacking]: false });
    assert.equal(choice.variant, lacking === 'relaxed' ? 'simd128' : 'relaxed');
    assert.equal(choice.threads, 1);
    assert.notEqual(choice.why, '');
  }
  assert.equal(choose(1, { relaxed: false, atomics: false, isolated: false }).variant, 'simd128');
});

test('the reason says what is used and what stands in the way of more', () => {
  assert.equal(described(choose(2, ALL)), 'relaxed SIMD, 2 threads');
  assert.equal(described(choose(1, ALL)), 'relaxed SIMD, 1 thread');
  assert.equal(described(choose(1, { ...ALL, relaxed: false })), 'SIMD, 1 thread');
  assert.equal(
    described(choose(2, { ...ALL, isolated: false })),
    'relaxed SIMD, 1 thread: the page is not cross-origin isolated',
  );
});

test("'auto' takes the cores up to four, a number itself up to eight", () => {
  assert.deepEqual(
    [1, 2, 4, 16].map((cores) => threadsWanted('auto', cores)),
    [1, 2, 4, 4],
  );
  assert.deepEqual(
    [1, 3, 8, 100].map((threads) => threadsWanted(threads, 2)),
    [1, 3, 8, 8],
  );
  // A browser that hides its cores may say 0, or nothing at all.
  assert.equal(threadsWanted('auto', 0), 1);
});

test('the engine is asked with valid modules', () => {
  // Node has had threads in WebAssembly for long.
  assert.equal(engineFacts().atomics, true);
  assert.equal(typeof engineFacts().relaxed, 'boolean');
});
