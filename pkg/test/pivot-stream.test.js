// Streams through two models, on ones that write down what they are given.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stretches, throughBoth } from '../dist/pivot-stream.js';

/** Runs a text through two models that change letters; what each was given, in order. @param {string} text */
async function traced(text, first = (/** @type {string} */ part) => part.toUpperCase()) {
  /** @type {[number, string][]} */
  const calls = [];
  const whole = await throughBoth(
    text,
    async (part) => {
      calls.push([1, part]);
      return first(part);
    },
    async (part) => {
      calls.push([2, part]);
      return part.replaceAll('A', 'Z');
    },
  );
  return { calls, whole };
}

test('the first line comes through before the others are begun', async () => {
  const { calls, whole } = await traced('\na b\n\nc a\nd\n');
  assert.equal(whole, '\nZ B\n\nC Z\nD\n');
  assert.deepEqual(calls, [
    [1, '\na b\n'],
    [2, '\nA B\n'],
    [1, '\nc a\nd\n'],
    [2, '\nC A\nD\n'],
  ]);
});

test('a bracket over a line break keeps the text together', async () => {
  assert.deepEqual((await traced('a (b\nc) a\n')).calls, [
    [1, 'a (b\nc) a\n'],
    [2, 'A (B\nC) A\n'],
  ]);
});

test('a bracket that the first model opens keeps the rest together', async () => {
  const { calls, whole } = await traced('a\nb\n', (part) => part.replace('a', '(A'));
  assert.equal(whole, '(Z\nb\n');
  assert.deepEqual(calls, [
    [1, 'a\n'],
    [1, 'b\n'],
    [2, '(A\nb\n'],
  ]);
});

test('stretches join to the text, end with lines and are not longer than they need to be', () => {
  const line = `${'x'.repeat(299)}\n`;
  for (const text of [
    '',
    'a',
    '\n',
    '\n\n',
    'a\n',
    '  \n a\nb',
    line.repeat(7),
    `${'y'.repeat(2000)}\n${line}z`,
  ]) {
    const parts = stretches(text);
    assert.equal(parts.join(''), text);
    for (const part of parts.slice(0, -1)) assert(part.endsWith('\n'), part);
  }
  assert.deepEqual(
    stretches(line.repeat(7)).map((part) => part.length),
    [300, 600, 600, 600],
  );
});
