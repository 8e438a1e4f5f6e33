import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countWords, median, percentile, spread } from '../lib/statistics.js';

test('the median is the middle value, or half-way between the middle two', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 10, 2]), 3);
  assert.throws(() => median([]), RangeError);
});

test('percentiles lie between the closest ranks', () => {
  const values = [10, 20, 30, 40, 50];
  assert.equal(percentile(values, 0), 10);
  // Rank 0.95 · 4 = 3.8: four fifths of the way from 40 to 50.
  assert.equal(percentile(values, 95), 48);
  assert.equal(percentile(values, 100), 50);
});

test('the spread does not depend on the order', () => {
  assert.deepEqual(spread([3, 1, 2]), { median: 2, min: 1, max: 3 });
});

test('words are what white space separates', () => {
  assert.equal(countWords(['  one two\tthree ', '', 'four\u00a0five']), 5);
});
