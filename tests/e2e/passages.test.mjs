// What the search of the demo page is made of, without a browser: passages of texts, and the plane of the map.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passagesOf, tokensIn } from '../../www/passages.js';
import { placeIn, planeOf } from '../../www/principal.js';

const MARKDOWN = `First paragraph, with **bold**, \`code\` and
a [link](https://example.com/a_b) in it.

# The *first* heading

- One item of a list, which
  goes on.
- Another item that stands alone.

| Name | What it is for |
| --- | --- |
| kettle | boils the water |

\`\`\`sh
npm install something
npm run **it**
\`\`\`

Tip:

Short ones belong to the next. Here are two sentences.
`;

test('paragraphs, items, rows and code of Markdown are passages, with their heading and line, without its marks', async () => {
  const passages = await passagesOf('a.md', MARKDOWN);
  assert.deepEqual(
    passages.map(({ text, heading, line }) => [text, heading, line]),
    [
      ['First paragraph, with bold, code and a link in it.', '', 1],
      ['One item of a list, which goes on.', 'The first heading', 6],
      ['Another item that stands alone.', 'The first heading', 8],
      ['Name · What it is for', 'The first heading', 10],
      ['kettle · boils the water', 'The first heading', 12],
      ['npm install something\nnpm run **it**', 'The first heading', 15],
      ['Tip:\nShort ones belong to the next. Here are two sentences.', 'The first heading', 19],
    ],
  );
  const last = passages.at(-1);
  assert.deepEqual(
    last?.sentences.map((range) => last.text.slice(...range)),
    ['Tip:', 'Short ones belong to the next.', 'Here are two sentences.'],
  );
});

test('plain text keeps its signs; lines of a paragraph are joined, and ends of lines may be of any kind', async () => {
  const texts = async (/** @type {string} */ text) =>
    (await passagesOf('a.txt', text)).map((one) => one.text);
  assert.deepEqual(
    await texts('Here is **one** of\r\nthe two `texts`.\r\n\r\n- And here is the | other.\r'),
    ['Here is **one** of the two `texts`.', '- And here is the | other.'],
  );
  assert.deepEqual(await texts(' \n\n\t\n'), []);
  assert.deepEqual(await texts('Word'), ['Word']);
});

test('long paragraphs are cut between sentences, long sentences between words, long words anywhere; nothing is lost', async () => {
  const sentence = 'The quick brown fox jumps over the lazy dog and runs away from it.';
  const joined = (/** @type {readonly { text: string }[]} */ passages, /** @type {string} */ by) =>
    passages.map(({ text }) => text).join(by);
  for (const [text, by] of /** @type {const} */ ([
    [Array.from({ length: 100 }, () => sentence).join(' '), ' '],
    ['word and '.repeat(500).trim(), ' '],
    ['x'.repeat(5000), ''],
    ['漢字'.repeat(900), ''],
  ])) {
    const passages = await passagesOf('a.txt', text);
    assert.equal(joined(passages, by), text);
    assert(passages.length > 1 && passages.every((passage) => tokensIn(passage.text) <= 220));
    for (const { text: own, sentences } of passages) {
      assert.equal(sentences.map((range) => own.slice(...range)).join(by), own);
    }
  }
  const [first] = await passagesOf('a.txt', Array.from({ length: 100 }, () => sentence).join(' '));
  assert.match(first?.text ?? '', /it\.$/);
});

test('the plane holds the two directions of the largest spread', async () => {
  /** @param {...number} values */
  const at = (...values) => Float32Array.from(values);
  // Around (1, 1, 1): spread of 2·9 along the second axis, 2·4 along the third, 2·1 along the first.
  const vectors = [at(1, 4, 1), at(1, -2, 1), at(1, 1, 3), at(1, 1, -1), at(2, 1, 1), at(0, 1, 1)];
  const plane = await planeOf(vectors);
  const near = (/** @type {ArrayLike<number>} */ found, /** @type {number[]} */ expected) => {
    for (const [place, value] of expected.entries()) {
      assert(
        Math.abs((found[place] ?? NaN) - value) < 1e-3,
        `${Array.from(found).join()}, not ${expected.join()}`,
      );
    }
  };
  near(plane.mean, [1, 1, 1]);
  near(plane.axes[0].map(Math.abs), [0, 1, 0]);
  near(plane.axes[1].map(Math.abs), [0, 0, 1]);
  near([plane.share], [26 / 28]);
  near(placeIn(plane, at(7, 3, 1)).map(Math.abs), [2, 0]);
  // From a plane that is turned, with its left and right.
  const turned = await planeOf(vectors, {
    ...plane,
    axes: [Float64Array.of(0.5, -0.8, 0.1), Float64Array.of(0.5, 0.1, -0.8)],
  });
  near(turned.axes[0], [0, -1, 0]);
  near(turned.axes[1], [0, 0, -1]);
  // Without any spread there is no direction, and all is in the middle.
  const still = await planeOf([at(1, 2), at(1, 2)]);
  near(placeIn(still, at(1, 2)), [0, 0]);
  assert.equal(still.share, 1);
});
