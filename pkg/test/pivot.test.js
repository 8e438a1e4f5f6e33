// Two translations in a row as one, by hand arithmetic on made-up translations.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chained } from '../dist/pivot.js';

/** @typedef {import('../dist/types.js').TranslatedSentence} Sentence */

/** Tokens of `text` that end at these places. @param {string} text @param {number} start @param {number[]} ends */
function tokens(text, start, ...ends) {
  return ends.map((end, id) => {
    const from = ends[id - 1] ?? start;
    return { id, text: text.slice(from, end), range: /** @type {[number, number]} */ ([from, end]) };
  });
}

/**
 * A sentence from the tokens on both sides.
 * @param {[string, [number, number], ...number[]]} source Text, range, ends of the tokens.
 * @param {[string, [number, number], ...number[]]} target
 * @param {number[][]} rows @param {number} [score] @returns {Sentence}
 */
function sentence([from, source, ...sourceEnds], [to, target, ...targetEnds], rows, score = 0) {
  return {
    source,
    target,
    sourceTokens: tokens(from, source[0], ...sourceEnds),
    targetTokens: tokens(to, target[0], ...targetEnds),
    alignment: Float32Array.from(rows.flat()),
    score,
  };
}

/** @param {Sentence | undefined} one */
function rowsOf(one) {
  assert(one !== undefined);
  const columns = one.sourceTokens.length + 1;
  return Array.from({ length: one.alignment.length / columns }, (_, row) =>
    Array.from(one.alignment.subarray(row * columns, (row + 1) * columns)),
  );
}

test('the product of both alignments, tokens of the middle text matched by characters', () => {
  // Source ab | cd, middle EFGH | IJKL by the first model, EF | GHIJKL by the second, target uv.
  const first = {
    text: 'EFGHIJKL',
    sentences: [
      sentence(
        ['abcd', [0, 4], 2, 4],
        ['EFGHIJKL', [0, 8], 4, 8],
        [
          [1, 0, 0],
          [0.25, 0.75, 0],
          [0, 0.5, 0.5],
        ],
        -1,
      ),
    ],
  };
  const second = {
    text: 'uv',
    sentences: [
      sentence(
        ['EFGHIJKL', [0, 8], 2, 8],
        ['uv', [0, 2], 1, 2],
        [
          [0.5, 0.5, 0],
          [0, 1, 0],
          [0.25, 0.25, 0.5],
        ],
        -2,
      ),
    ],
  };
  const { text, sentences } = chained(first, second);
  assert.equal(text, 'uv');
  const [one] = sentences;
  assert.deepEqual([one?.source, one?.target, one?.score], [[0, 4], [0, 2], -3]);
  assert.deepEqual(
    [one?.sourceTokens.map(({ text: part }) => part), one?.targetTokens.map(({ text: part }) => part)],
    [
      ['ab', 'cd'],
      ['u', 'v'],
    ],
  );
  // EF lies in EFGH: [1, 0, 0]. GHIJKL shares two characters with EFGH and four with IJKL:
  // ⅓·[1, 0, 0] + ⅔·[¼, ¾, 0] = [½, ½, 0]. The end: [0, ½, ½].
  // u: ½·[1, 0, 0] + ½·[½, ½, 0] = [¾, ¼, 0]. v: [½, ½, 0].
  // The end: ¼·[1, 0, 0] + ¼·[½, ½, 0] + ½·[0, ½, ½] = [⅜, ⅜, ¼].
  assert.deepEqual(rowsOf(one), [
    [0.75, 0.25, 0],
    [0.5, 0.5, 0],
    [0.375, 0.375, 0.25],
  ]);
});

test('a middle sentence that is split: one sentence, rows one after the other, one end', () => {
  // Middle "AB CD" is one sentence of the first model and two of the second.
  const first = {
    text: 'AB CD',
    sentences: [
      sentence(
        ['xy', [0, 2], 1, 2],
        ['AB CD', [0, 5], 2, 5],
        [
          [1, 0, 0],
          [0, 1, 0],
          [0, 0, 1],
        ],
        -1,
      ),
    ],
  };
  const second = {
    text: 'p. q',
    sentences: [
      sentence(
        ['AB CD', [0, 2], 2],
        ['p. q', [0, 2], 2],
        [
          [1, 0],
          [0, 1],
        ],
        -1,
      ),
      sentence(
        ['AB CD', [3, 5], 5],
        ['p. q', [3, 4], 4],
        [
          [0.5, 0.5],
          [0.25, 0.75],
        ],
        -3,
      ),
    ],
  };
  const { sentences } = chained(first, second);
  assert.equal(sentences.length, 1);
  const [one] = sentences;
  assert.deepEqual([one?.source, one?.target, one?.score], [[0, 2], [0, 4], -3]);
  // "CD" of the second model lies in the first's token " CD", which looked at y.
  assert.deepEqual(rowsOf(one), [
    [1, 0, 0],
    [0, 0.5, 0.5],
    [0, 0.25, 0.75],
  ]);
});

test('middle sentences that are joined: their columns one after the other, their end columns summed', () => {
  const first = {
    text: 'A B',
    sentences: [
      sentence(
        ['x y', [0, 1], 1],
        ['A B', [0, 1], 1],
        [
          [0.5, 0.5],
          [0, 1],
        ],
      ),
      sentence(
        ['x y', [2, 3], 3],
        ['A B', [2, 3], 3],
        [
          [0.75, 0.25],
          [0.5, 0.5],
        ],
      ),
    ],
  };
  const second = {
    text: 'r',
    sentences: [
      sentence(
        ['A B', [0, 3], 1, 3],
        ['r', [0, 1], 1],
        [
          [0.5, 0.5, 0],
          [0, 0, 1],
        ],
      ),
    ],
  };
  const { sentences } = chained(first, second);
  assert.equal(sentences.length, 1);
  assert.deepEqual(
    [sentences[0]?.source, sentences[0]?.target],
    [
      [0, 3],
      [0, 1],
    ],
  );
  // r: ½·[½, 0, ½] + ½·[0, ¾, ¼] = [¼, ⅜, ⅜]. The end is that of the second sentence: [0, ½, ½].
  assert.deepEqual(rowsOf(sentences[0]), [
    [0.25, 0.375, 0.375],
    [0, 0.5, 0.5],
  ]);
});

test('sentences that stay apart keep their own tokens and ranges; what was passed through stays empty', () => {
  /** @type {(from: string, to: string, start: number, end: number) => Sentence} */
  const pair = (from, to, start, end) =>
    sentence(
      [from, [start, end], end],
      [to, [start, end], end],
      [
        [1, 0],
        [0, 1],
      ],
    );
  const passed = { ...pair('', '', 3, 5), sourceTokens: [], targetTokens: [], alignment: new Float32Array() };
  const [source, middle, target] = ['ab 12 cd', 'AB 12 CD', 'uv 12 wx'];
  const first = { text: middle, sentences: [pair(source, middle, 0, 2), passed, pair(source, middle, 6, 8)] };
  const second = {
    text: target,
    sentences: [pair(middle, target, 0, 2), passed, pair(middle, target, 6, 8)],
  };
  const { sentences } = chained(first, second);
  assert.deepEqual(
    sentences.map((one) => [one.source, one.target]),
    [
      [
        [0, 2],
        [0, 2],
      ],
      [
        [3, 5],
        [3, 5],
      ],
      [
        [6, 8],
        [6, 8],
      ],
    ],
  );
  assert.deepEqual(sentences[1]?.alignment, new Float32Array());
  assert.deepEqual([sentences[1]?.sourceTokens, sentences[1]?.targetTokens], [[], []]);
  assert.deepEqual(rowsOf(sentences[2]), [
    [1, 0],
    [0, 1],
  ]);
});

test('a middle token without characters in common goes to the nearest; without any, to the end', () => {
  const first = {
    text: 'A 7',
    sentences: [
      sentence(
        ['x 7', [0, 3], 1],
        ['A 7', [0, 3], 1],
        [
          [1, 0],
          [0, 1],
        ],
      ),
    ],
  };
  const second = {
    text: 'r7',
    sentences: [
      sentence(
        ['A 7', [0, 3], 1, 3],
        ['r7', [0, 2], 2],
        [
          [0, 1, 0],
          [0, 0, 1],
        ],
      ),
    ],
  };
  // The second token of the middle text is nobody's: A is next to it, and looked at x.
  assert.deepEqual(rowsOf(chained(first, second).sentences[0]), [
    [1, 0],
    [0, 1],
  ]);
  const whole = { ...first.sentences[0], sourceTokens: [], targetTokens: [], alignment: new Float32Array() };
  const passed = { text: 'A 7', sentences: [/** @type {Sentence} */ (whole)] };
  assert.deepEqual(rowsOf(chained(passed, second).sentences[0]), [[1], [1]]);
});

test('a sentence that became nothing belongs to its neighbour', () => {
  /** @type {(source: [number, number], target: [number, number]) => Sentence} */
  const bare = (source, target) => ({
    source,
    target,
    sourceTokens: [],
    targetTokens: [],
    alignment: new Float32Array(),
    score: 0,
  });
  const first = { text: 'B', sentences: [bare([0, 1], [0, 0]), bare([2, 3], [0, 1]), bare([4, 5], [1, 1])] };
  const second = { text: 'w', sentences: [bare([0, 1], [0, 1])] };
  assert.deepEqual(
    chained(first, second).sentences.map(({ source, target }) => [source, target]),
    [
      [
        [0, 5],
        [0, 1],
      ],
    ],
  );
  assert.deepEqual(
    chained({ text: '', sentences: [bare([0, 1], [0, 0])] }, { text: '', sentences: [] }).sentences.length,
    1,
  );
  assert.deepEqual(chained({ text: ' ', sentences: [] }, { text: ' ', sentences: [] }), {
    text: ' ',
    sentences: [],
  });
});
