// Both implementations against FIPS 180-4's examples and Node's own.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { sha256, sha256Streaming } from '../dist/sha256.js';

const KNOWN = [
  ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
];

test('the examples of the standard', async () => {
  for (const [text = '', hash] of KNOWN) {
    assert.equal(await sha256(new Blob([text])), hash);
    assert.equal(await sha256Streaming(new Blob([text])), hash);
  }
});

test('every length around the block size, and a long one', async () => {
  const lengths = [...Array.from({ length: 140 }, (_, length) => length), 1_000_003];
  for (const length of lengths) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 31 + length) & 255);
    const expected = createHash('sha256').update(bytes).digest('hex');
    assert.equal(await sha256Streaming(new Blob([bytes])), expected, `length ${length}`);
    assert.equal(await sha256(new Blob([bytes])), expected, `length ${length}`);
  }
});
