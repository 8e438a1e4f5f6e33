import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tooFarBelow } from '../lib/scores.js';

test('a score may be below by what is allowed, and no more', () => {
  const theirs = { bleu: 46.7778, chrf2: 69.1281 };
  const allowed = { bleu: 0.1, chrf2: 0.1 };
  assert.deepEqual(tooFarBelow({ bleu: 46.6778, chrf2: 69.0281 }, theirs, allowed), []);
  assert.deepEqual(tooFarBelow({ bleu: 46.6777, chrf2: 70 }, theirs, allowed), ['bleu']);
  assert.deepEqual(tooFarBelow({ bleu: 0, chrf2: 0 }, theirs, { bleu: 0.3 }), ['bleu']);
});
