import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agreement, comparisons, figuresOf, shortfalls } from '../lib/sentence-figures.js';

/** 100 sentences in so many seconds, one at a time and in batches, with half as many CPU seconds. */
const engine = (side, precision, single, batches, least = 1) => {
  const runs = (seconds) => figuresOf([{ milliseconds: seconds * 1000, cpuSeconds: seconds / 2 }], 100);
  return {
    side,
    precision,
    name: `${side} ${precision}`,
    agrees: { least, mean: 1 },
    single: runs(single),
    batches: runs(batches),
  };
};

test('sentences by the second and by the CPU second', () => {
  const runs = [2000, 4000, 5000].map((milliseconds) => ({ milliseconds, cpuSeconds: 2 }));
  const { perSecond, perCpuSecond } = figuresOf(runs, 100);
  assert.deepEqual(perSecond, { median: 25, min: 20, max: 50 });
  assert.deepEqual(perCpuSecond, { median: 50, min: 50, max: 50 });
});

test('cosines to the reference, whatever the length of vectors', () => {
  const reference = [
    [1, 0],
    [1, 0],
  ];
  // 3/5, and 1.
  assert.deepEqual(
    agreement(
      [
        [3, 4],
        [7, 0],
      ],
      reference,
    ),
    { least: 0.6, mean: 0.8 },
  );
  assert.throws(() => agreement([[1, 0]], reference), /1 vectors, 2 expected/u);
  assert.throws(() => agreement([[1], [1]], reference), /a vector of 1 numbers, 2 expected/u);
});

test('ours is compared with the best of the same arithmetic, in the same calls and in its best', () => {
  const engines = [
    engine('multihead', 'float32', 1, 1),
    engine('multihead', 'int8', 0.5, 0.5),
    engine('transformers', 'float32', 2, 4),
    engine('transformers', 'float32', 2.5, 3),
  ];
  assert.deepEqual(comparisons(engines), [
    {
      precision: 'float32',
      call: 'one at a time',
      perSecond: 2,
      perCpuSecond: 2,
      bestCall: { perSecond: 2, perCpuSecond: 2 },
    },
    {
      precision: 'float32',
      call: 'batches of 16',
      perSecond: 3,
      perCpuSecond: 3,
      bestCall: { perSecond: 2, perCpuSecond: 2 },
    },
  ]);
});

test('what falls short is told, by CPU seconds where the machine is busy', () => {
  const compared = [
    { precision: 'float32', call: 'one at a time', perSecond: 1.6, perCpuSecond: 1.7 },
    { precision: 'int8', call: 'batches of 16', perSecond: 1.7, perCpuSecond: 1.5 },
  ];
  const good = {
    compared,
    engines: [engine('multihead', 'int8', 1, 1, 0.98)],
    memory: [{ precision: 'int8', weights: 10e6, atEnd: 13e6 }],
    visitBytes: 25e6,
  };
  assert.deepEqual(shortfalls({ ...good, busy: false }), [
    'float32, one at a time: 1.60× sentences/s of the best peer, 1.7× wanted',
  ]);
  assert.deepEqual(shortfalls({ ...good, busy: true }), [
    'int8, batches of 16: 1.50× sentences a CPU second of the best peer, 1.7× wanted',
  ]);
  const bad = {
    compared: [],
    busy: false,
    engines: [engine('multihead', 'float32', 1, 1, 0.99), engine('transformers', 'int8', 1, 1, Number.NaN)],
    memory: [{ precision: 'int8', weights: 10e6, atEnd: 14e6 }],
    visitBytes: 26e6,
  };
  assert.deepEqual(shortfalls(bad), [
    'multihead float32: a cosine of 0.9900 to the reference, 0.9999 wanted',
    'transformers int8: a cosine of NaN to the reference, 0.98 wanted',
    'int8: 14000 kB of wasm memory, at most 13000 kB wanted',
    'a first visit takes 26.0 MB, at most 25.0 MB wanted',
  ]);
});
