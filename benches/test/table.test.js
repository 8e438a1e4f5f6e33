import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, table } from '../lib/table.js';

test('columns are as wide as their widest cell', () => {
  const rows = [
    ['name', 'n', ''],
    ['a', '12', 'x'],
  ];
  assert.equal(table(rows, [1]), 'name    n\na      12   x');
});

test('a spread is median, least and most', () => {
  assert.equal(range({ median: 2.26, min: 1, max: 10 }, 1), '2.3 (1.0, 10.0)');
});
