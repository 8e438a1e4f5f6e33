// Every number that the lesson's pictures show, against arithmetic by hand or a computation of the test's own.

import assert from 'node:assert/strict';
import { existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { entropy, largestOf, mix, softmax, spread } from '../../www/lesson/numbers/arithmetic.js';
import { differing } from '../../www/lesson/numbers/differing.js';
import { keptBytes, layerCosts, perWord, steps } from '../../www/lesson/numbers/counts.js';
import { decades } from '../../www/lesson/numbers/decades.js';
import { COSINES, TABLE } from '../../www/lesson/numbers/learned.js';
import { counted, LENGTHS, RUNS, textOf, timeOf, times } from '../../www/lesson/numbers/measure.js';
import { lookUp } from '../../www/lesson/numbers/one-head.js';
import { comparison, outputs, SENTENCE, swapped } from '../../www/lesson/numbers/order.js';
import { frequencies, rotary, shifted, sinusoidal } from '../../www/lesson/numbers/positions.js';
import { matrixIn, withoutHead } from '../../www/lesson/numbers/safetensors.js';
import {
  averages,
  draw,
  DRAWS,
  KEYS,
  randomBits,
  slope,
  WIDTHS,
} from '../../www/lesson/numbers/saturation.js';
import { curves, MODELS } from '../../www/lesson/numbers/reversal.js';
import { loss } from '../../www/lesson/numbers/switched.js';
import { visible, weightsUnder } from '../../www/lesson/numbers/visible.js';

/** @param {number} value @param {number} expected @param {number} [within] */
const near = (value, expected, within = 1e-12) => {
  assert(Math.abs(value - expected) <= within, `${value} is not ${expected}`);
};

/** @param {readonly number[]} values @param {readonly number[]} expected @param {number} [within] */
const allNear = (values, expected, within) => {
  assert.equal(values.length, expected.length);
  for (const [place, value] of values.entries()) near(value, expected[place] ?? NaN, within);
};

test('softmax, mixture, entropy and spread of numbers that are easy by hand', () => {
  // exp(ln 1), exp(ln 2), exp(ln 5) are 1, 2, 5 of 8.
  allNear(softmax([0, Math.log(2), Math.log(5)]), [1 / 8, 2 / 8, 5 / 8]);
  const masked = softmax([9, Math.log(3), 0], (place) => place > 0);
  assert.equal(masked[0], 0);
  allNear(masked, [0, 3 / 4, 1 / 4]);
  allNear(softmax([1000, 1000]), [0.5, 0.5]);
  allNear(
    mix(
      [0.25, 0.75],
      [
        [4, 0],
        [0, 8],
      ],
    ),
    [1, 6],
  );
  // Half at once, a quarter each: ½ · 1 + 2 · ¼ · 2 bits.
  near(entropy([0.5, 0.25, 0.25, 0]), 1.5);
  assert.equal(entropy([1, 0]), 0);
  near(spread([2, 4, 4, 4, 5, 5, 7, 9]), 2);
  assert.equal(largestOf([3, 9, 2]), 1);
});

test('bottleneck: 64 numbers are 8 for each of 8 words, and attention has 64 a word', () => {
  assert.deepEqual(perWord(8, 64), { fixed: 8, attention: 64 });
  assert.deepEqual(perWord(64, 64), { fixed: 1, attention: 64 });
});

test('reversal: the curves are those of the measurement; within the trained lengths attention cures what breaks', () => {
  const file = new URL('../../www/lesson/models/reversal-accuracy.json', import.meta.url);
  const accuracy = JSON.parse(readFileSync(file, 'utf8'));
  const [, longest] = accuracy.trainedLengths;
  for (const measure of /** @type {const} */ (['exact', 'letters'])) {
    for (const [place, { points }] of curves(accuracy, measure).entries()) {
      const [id = ''] = MODELS[place] ?? [];
      assert.deepEqual(
        points.map(({ y }) => y),
        accuracy.models[id][measure],
      );
      for (const { y } of points) assert(y >= 0 && y <= 1);
    }
  }
  const at = (/** @type {number} */ place) =>
    curves(accuracy, 'exact')[place]?.points.find(({ x }) => x === longest)?.y ?? NaN;
  assert(at(0) < 0.5 && at(1) > 0.95 && at(2) > 0.95, [at(0), at(1), at(2)].join());
  // "Beyond them, all three fail soon": the text says so.
  for (const { points } of curves(accuracy, 'exact')) assert((points.at(-1)?.y ?? NaN) < 0.1);
});

test('look-up of “chase”: scores 4, 0, 4, 0, 0; halves; e² of 2e² + 3; the context', () => {
  const { scores, scaled, weights, parts, context } = lookUp(1);
  assert.deepEqual(scores, [4, 0, 4, 0, 0]);
  assert.deepEqual(scaled, [2, 0, 2, 0, 0]);
  const all = 2 * Math.E ** 2 + 3;
  const [much, little] = [Math.E ** 2 / all, 1 / all];
  allNear(weights, [much, little, much, little, little]);
  near(much, 0.4156, 5e-5);
  // Values (2, 1), (0, 3), (−2, 1), (1, −1), (−1, −2).
  allNear(parts[0] ?? [], [2 * much, much]);
  allNear(parts[4] ?? [], [-little, -2 * little]);
  allNear(context, [0, 2 * much], 1e-12);
  // “at” asks for time, (0, 0, 0, 2): 2 and 4 at the last two, halved 1 and 2.
  const at = lookUp(3);
  assert.deepEqual(at.scores, [0, 0, 0, 2, 4]);
  const sum = 3 + Math.E + Math.E ** 2;
  allNear(at.weights, [1 / sum, 1 / sum, 1 / sum, Math.E / sum, Math.E ** 2 / sum]);
  // The others by their scores: key · query written out.
  assert.deepEqual(lookUp(0).scores, [0, 4, 0, 0, 0]);
  assert.deepEqual(lookUp(2).scores, [2, 4, 0, 0, 0]);
  assert.deepEqual(lookUp(4).scores, [0, 4, 0, 1, 2]);
});

test('saturation: products of ±1 have the variance d, and only the division by √d keeps a softmax soft', () => {
  // mulberry32 as it is published, with numbers from 0 to 1 instead of bits.
  const published = (/** @type {number} */ a) => () => {
    a |= 0;
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const [ours, theirs] = [randomBits(7), published(7)];
  for (let count = 0; count < 100; count++) near(ours() / 4294967296, theirs());

  for (const width of WIDTHS) {
    // The same draws once more, in loops of the test's own.
    let [plainLargest, scaledLargest, plainSlope, scaledSlope, sum, squares] = [0, 0, 0, 0, 0, 0];
    for (let seed = 1; seed <= DRAWS; seed++) {
      const bits = randomBits(seed);
      const sign = () => (bits() % 2 === 1 ? 1 : -1);
      const query = Array.from({ length: width }, sign);
      /** @type {number[]} */
      const scores = [];
      for (let key = 0; key < KEYS; key++) {
        let score = 0;
        for (const component of query) score += component * sign();
        scores.push(score);
        sum += score;
        squares += score * score;
      }
      assert.deepEqual(draw(width, seed).scores, scores);
      for (const [kind, by] of /** @type {const} */ ([
        ['plain', 1],
        ['scaled', Math.sqrt(width)],
      ])) {
        const parts = scores.map((score) => Math.exp((score - Math.max(...scores)) / by));
        const total = parts.reduce((all, part) => all + part, 0);
        const squared = parts.reduce((all, part) => all + (part / total) ** 2, 0);
        if (kind === 'plain') plainLargest += Math.max(...parts) / total;
        else scaledLargest += Math.max(...parts) / total;
        if (kind === 'plain') plainSlope += 1 - squared;
        else scaledSlope += 1 - squared;
      }
    }
    const mean = averages(width);
    near(mean.plain.largest, plainLargest / DRAWS, 1e-9);
    near(mean.scaled.largest, scaledLargest / DRAWS, 1e-9);
    near(mean.plain.slope, plainSlope / DRAWS, 1e-9);
    near(mean.scaled.slope, scaledSlope / DRAWS, 1e-9);
    const count = DRAWS * KEYS;
    near(mean.spread, Math.sqrt(squares / count - (sum / count) ** 2), 1e-9);
    // What the theory says: a variance of d. 800 scores tell it within some per cent.
    assert(Math.abs(mean.spread / Math.sqrt(width) - 1) < 0.08, `${width}: ${mean.spread}`);
  }
  assert(averages(1024).plain.largest > 0.95 && averages(1024).scaled.largest < 0.45);
  near(slope([1, 0]), 0);
  near(slope(Array.from({ length: 8 }, () => 1 / 8)), 0.875);
});

test('heads: as many products in eight heads of 32 as in one of 256, eight times the exponentials', () => {
  // 16 tokens: 4 · 16 · 256² in the maps, 16² · 256 in q·k and in the mixture.
  const one = layerCosts(16, 1, 256);
  assert.deepEqual(one, { maps: 4_194_304, scores: 65_536, mixing: 65_536, exponentials: 256 });
  assert.deepEqual(layerCosts(16, 8, 32), { ...one, exponentials: 2048 });
  // Counted one by one, as loops would.
  let products = 0;
  for (let head = 0; head < 8; head++) {
    for (let query = 0; query < 5; query++) {
      for (let key = 0; key < 5; key++) for (let part = 0; part < 32; part++) products++;
    }
  }
  assert.equal(layerCosts(5, 8, 32).scores, products);
});

test('a head switched off: its columns of the projection are 0, everything else stays; what is new in an answer', () => {
  const table = JSON.stringify({
    other: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
    wo: { dtype: 'F32', shape: [2, 4], data_offsets: [4, 36] },
  });
  const file = new Uint8Array(8 + table.length + 36);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(table.length), true);
  file.set(new TextEncoder().encode(table), 8);
  const numbers = (/** @type {Uint8Array<ArrayBuffer>} */ bytes) =>
    Array.from({ length: 9 }, (_, place) =>
      new DataView(bytes.buffer).getFloat32(8 + table.length + 4 * place, true),
    );
  for (let place = 0; place < 9; place++) view.setFloat32(8 + table.length + 4 * place, place + 1, true);
  assert.deepEqual(matrixIn(file, 'wo'), { start: 8 + table.length + 4, outputs: 2, inputs: 4 });
  // Two heads of width 2: rows 2 3 4 5 and 6 7 8 9 lose their last two columns.
  assert.deepEqual(numbers(withoutHead(file, 'wo', 1, 2)), [1, 2, 3, 0, 0, 6, 7, 0, 0]);
  assert.deepEqual(numbers(file), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.throws(() => withoutHead(file, 'other', 0, 1), /other is no matrix/);

  const lit = (/** @type {string} */ before, /** @type {string} */ after) =>
    differing(before.split(''), after.split(''))
      .map(({ part, isNew }) => (isNew ? `[${part}]` : part))
      .join('');
  assert.equal(lit('abcd', 'abcd'), 'abcd');
  assert.equal(lit('abcd', 'abxcd'), 'ab[x]cd');
  assert.equal(lit('abcd', 'acd'), 'acd');
  assert.equal(lit('abcd', 'xbcdy'), '[x]bcd[y]');
  assert.equal(lit('', 'ab'), '[a][b]');

  // One text is lost and another gained: as many are right, and yet one was lost, of the two.
  assert.deepEqual(loss([true, true, false], [true, false, true]), { right: 2, lost: 1, share: 0.5 });
  assert.deepEqual(loss([true, false], [true, true]), { right: 2, lost: 0, share: 0 });
  assert.deepEqual(loss([false], [true]), { right: 1, lost: 0, share: 0 });
});

test('cost: twice the text is four times the comparisons, twice the memory, twice the recurrent steps', () => {
  assert.equal(layerCosts(512, 8, 32).scores + layerCosts(512, 8, 32).mixing, 134_217_728);
  assert.equal(layerCosts(1024, 8, 32).scores, 4 * layerCosts(512, 8, 32).scores);
  // A key and a value of 256 float32 numbers a token: 2048 bytes.
  assert.equal(keptBytes(512, 256), 512 * 2048);
  assert.deepEqual(
    [steps(512), steps(1024)],
    [
      { recurrent: 512, attention: 1 },
      { recurrent: 1024, attention: 1 },
    ],
  );
});

test('measured: texts have the tokens that they are said to have, ratios are those of neighbours', () => {
  // A word a token, and two marks; every length is twice the one before.
  for (const length of LENGTHS) assert.equal(textOf(length).split(' ').length + 2, length);
  assert(LENGTHS.slice(1).every((length, place) => length === 2 * (LENGTHS[place] ?? 0)));
  // Six layers of width 384: two products of 16² pairs and 384; a key and a value of 384 float32 numbers a token.
  assert.deepEqual(counted(16), { work: 6 * 2 * 256 * 384, kept: 6 * 2 * 4 * 384 * 16, steps: 16 });
  assert.deepEqual(counted(32), { work: 4 * 6 * 2 * 256 * 384, kept: 2 * 6 * 2 * 4 * 384 * 16, steps: 32 });
  assert.deepEqual([times(9, undefined), times(9, 4)], ['', '× 2.3']);
  const lesson = readFileSync(new URL('../../www/lesson/lesson.html', import.meta.url), 'utf8');
  assert.match(lesson, /the shortest of five runs/);
  assert.equal(RUNS, 5);
});

test('measured: a run shorter than a step of the clock has a time, and a time below a millisecond a place on the chart', async () => {
  // Each run takes 3 ms; the clock moves by 16 ms: six runs until it does.
  let [runs, passed] = [0, 0];
  const work = async () => {
    runs++;
    passed += 3;
  };
  assert.equal(await timeOf(work, () => 16 * Math.floor(passed / 16)), 16 / 6);
  assert.equal(runs, 6);
  assert.equal(await timeOf(work, () => passed), 3);

  assert.deepEqual(decades([1, 512, 134_217_728]), { bottom: 1, top: 1e9, ticks: [1, 1e3, 1e6, 1e9] });
  assert.deepEqual(decades([0.02, 90]), { bottom: 0.01, top: 100, ticks: [0.01, 1] });
  assert.deepEqual(decades([0, 1]), { bottom: 1, top: 10, ticks: [1] });
});

test('masks: each is what its name says, rows sum to 1, and what is hidden is exactly 0', () => {
  const table = (/** @type {import('../../www/lesson/numbers/visible.js').Mask} */ mask) =>
    [0, 1, 2, 3].map((query) => [0, 1, 2, 3].map((key) => (visible(mask, query, key, 2) ? 1 : 0)).join(''));
  assert.deepEqual(table('none'), ['1111', '1111', '1111', '1111']);
  assert.deepEqual(table('causal'), ['1000', '1100', '1110', '1111']);
  assert.deepEqual(table('window'), ['1000', '1100', '0110', '0011']);
  assert.deepEqual(table('padding'), ['1100', '1100', '1100', '1100']);
  for (const mask of /** @type {const} */ (['none', 'causal', 'window', 'padding'])) {
    for (const [query, row] of weightsUnder(mask, 8, 3).entries()) {
      near(
        row.reduce((sum, weight) => sum + weight, 0),
        1,
      );
      for (const [key, weight] of row.entries()) {
        if (visible(mask, query, key, 3)) assert(weight > 0);
        else assert.equal(weight, 0);
      }
    }
  }
  // Scores of query 1 at keys 0 and 1: 3 and 8 mod 7, halved: 1.5 and 0.5.
  const [first = NaN, second = NaN] = weightsUnder('causal', 8, 3)[1] ?? [];
  near(first, 1 / (1 + Math.exp(-1)));
  near(second, 1 / (1 + Math.exp(1)));
});

test('order: without positions swapped words swap their outputs, with positions they do not', () => {
  assert.deepEqual(
    swapped(SENTENCE).map(({ word }) => word),
    ['man', 'bites', 'dog'],
  );
  for (const { apart } of comparison(false)) assert(apart <= 1e-12);
  for (const { apart } of comparison(true)) assert(apart > 0.05);
  // “dog” by hand: scores 2/2, 0, 1/2 with (1,0,1,0), (0,2,0,0), (1,0,0,1).
  const [a, b, c] = [Math.E, 1, Math.sqrt(Math.E)];
  const sum = a + b + c;
  allNear(outputs(SENTENCE, false)[0]?.output ?? [], [(a + c) / sum, (2 * b) / sum, a / sum, c / sum]);
  // With positions, its input is (1, 1, 1, 1): PE(0) is (0, 1, 0, 1).
  const [s1, c1, s2, c2] = [Math.sin(1), Math.cos(1), Math.sin(2), Math.cos(2)];
  const [t1, d1, t2, d2] = [Math.sin(0.01), Math.cos(0.01), Math.sin(0.02), Math.cos(0.02)];
  const rows = [
    [1, 1, 1, 1],
    [s1, 2 + c1, t1, d1],
    [1 + s2, c2, t2, 1 + d2],
  ];
  const exps = rows.map((row) => Math.exp(row.reduce((all, value) => all + value, 0) / 2));
  const total = exps.reduce((all, value) => all + value, 0);
  const expected = [0, 1, 2, 3].map((column) =>
    rows.reduce((all, row, place) => all + ((exps[place] ?? 0) / total) * (row[column] ?? 0), 0),
  );
  allNear(outputs(SENTENCE, true)[0]?.output ?? [], expected);
});

test('positions: sines and cosines of the paper; a shift is a turn; rotations keep lengths and know distances', () => {
  allNear(frequencies(8), [1, 0.1, 0.01, 0.001]);
  const [sine = NaN, cosine = NaN, , , , , last = NaN] = sinusoidal(3, 8);
  near(sine, Math.sin(3));
  near(cosine, Math.cos(3));
  near(last, Math.sin(0.003));
  for (let position = 0; position <= 40; position += 4) {
    for (let by = 0; by <= 40; by += 5) {
      allNear(shifted(sinusoidal(position, 8), by), sinusoidal(position + by, 8));
    }
  }
  // (1, 0) turned by a right angle is (0, 1).
  allNear(rotary([1, 0], Math.PI / 2), [0, 1]);
  const product = (/** @type {number} */ a, /** @type {number} */ b) =>
    rotary([1, 2, 3, 4], a).reduce(
      (sum, value, place) => sum + value * (rotary([4, 3, 2, 1], b)[place] ?? 0),
      0,
    );
  near(product(2, 7), product(20, 25), 1e-9);
  near(Math.hypot(...rotary([3, 4], 11)), 5);
  // How alike two positions are: the mean cosine of k · ω, both ways.
  const mean = frequencies(32).reduce((sum, frequency) => sum + Math.cos(5 * frequency), 0) / 16;
  const ones = Array.from({ length: 32 }, () => 1);
  for (const [a, b, length] of /** @type {const} */ ([
    [sinusoidal(4, 32), sinusoidal(9, 32), 16],
    [rotary(ones, 4), rotary(ones, 9), 32],
  ])) {
    near(a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0) / length, mean);
  }
});

test('learned positions are those in the model’s file', (t) => {
  const folder = process.env['MULTIHEAD_MODELS'] ?? fileURLToPath(new URL('../../models', import.meta.url));
  const path = join(folder, 'all-minilm-l6-v2', 'model.safetensors');
  if (!existsSync(path)) {
    t.skip('no model: cargo xtask models all-minilm-l6-v2');
    return;
  }
  const file = openSync(path, 'r');
  const read = (/** @type {number} */ at, /** @type {number} */ length) => {
    const bytes = Buffer.alloc(length);
    readSync(file, bytes, 0, length, at);
    return bytes;
  };
  const size = Number(read(0, 8).readBigUInt64LE());
  const { data_offsets: offsets } = JSON.parse(read(8, size).toString())[
    'embeddings.position_embeddings.weight'
  ];
  const rows = Array.from({ length: 32 }, (_, row) => {
    const bytes = read(8 + size + offsets[0] + row * 384 * 4, 384 * 4);
    return Array.from({ length: 384 }, (__, column) => bytes.readFloatLE(column * 4));
  });
  const product = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
    a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0);
  for (const [a, row] of rows.entries()) {
    for (let column = 0; column < 32; column++)
      near(TABLE[a]?.[column] ?? NaN, (row[column] ?? NaN) * 1000, 0.501);
    for (const [b, other] of rows.entries()) {
      const cosine = product(row, other) / Math.sqrt(product(row, row) * product(other, other));
      near(COSINES[a]?.[b] ?? NaN, 100 * cosine, 0.501);
    }
  }
});
